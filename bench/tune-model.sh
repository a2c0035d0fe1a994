#!/usr/bin/env bash
# bench/tune-model.sh — models tuned by `hone tune`: against their default schedules and against ONNX Runtime.
#
# usage: bench/tune-model.sh
#   MODELS="mlp minilm_l6 bert_base gpt2 resnet50 mobilenet_v2"    BUDGET=5m per model    TIME=10s per comparison
#   RATE=30s for candidates per second on one product of 128x768x768 (RATE= leaves it out)
#   THREADS="1 2"    PEER=onnxruntime (PEER= leaves it out)    BUILD=build
# Winners and the cache of compiled libraries are those of this benchmark, under $BUILD/bench/tune. "tuned / default" is the whole
# model, measured by hone tune in turns; "2nd compile" takes its winners and what was compiled before.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/tune-model.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
PEER=${PEER-onnxruntime}
[ -z "$PEER" ] || export HONE_PYTHON=${HONE_PYTHON:-$(peers_python)}
models=$OUT/compile
work=$OUT/tune
mkdir -p "$models" "$work"
work=$(cd "$work" && pwd)
export XDG_DATA_HOME=$work/data
[ -z "${COLD:-}" ] || export XDG_CACHE_HOME=$work/cache

header "Tuning models" "BUDGET=${BUDGET:-5m} bench/tune-model.sh"
echo
if [ -n "${RATE-30s}" ]; then
    python3 - >"$work/product.ir" <<'PY'
import random
random.seed(1)
weights = ", ".join(f"0x{random.randint(1, 255):x}p-{random.randint(6, 9)}" for _ in range(768 * 768))
print(f'ir 1\ninput %0 : f32[128, 768] "x"\n%1 = const {{value = f32[768, 768] ({weights})}}\n'
      '%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\noutput %2 "y"')
PY
    "$HONE" tune "$work/product.ir" --new --exhaust --winners "$work/product.db" --budget "${RATE-30s}" --json |
        python3 -c 'import json, sys
r = json.load(sys.stdin)
rate, n = r["candidates_per_s"] or 0, r["candidates"]
print(f"128x768x768: {rate:.1f} candidates per second ({n} of them); aim 15\n")'
fi
echo "| model | default / tuned, 1 thread | all cores | candidates | per second | winners | 2nd compile s | tuned / $PEER (threads) |"
echo "|---|---|---|---|---|---|---|---|"
for model in ${MODELS:-mlp minilm_l6 bert_base gpt2 resnet50 mobilenet_v2}; do
    [ -s "$models/$model.onnx" ] || "$HONE" gen "$model" "$models/$model.onnx" >&2
    "$HONE" tune "$models/$model.onnx" --budget "${BUDGET:-5m}" --json >"$work/$model.json"
    "$HONE" compile "$models/$model.onnx" -o "$work/$model" >/dev/null
    "$HONE" compile "$models/$model.onnx" -o "$work/$model" --json >"$work/$model.second.json"
    peers=
    for threads in ${THREADS:-1 2}; do
        [ -n "$PEER" ] || break
        "$HONE" bench "$models/$model.onnx" --against "$PEER" --threads "$threads" --time "${TIME:-10s}" --json >"$work/$model.$threads.json"
        peers="$peers $work/$model.$threads.json"
    done
    # shellcheck disable=SC2086
    python3 - "$model" "$work/$model.json" "$work/$model.second.json" $peers <<'PY'
import json, sys
name, tuned, second = sys.argv[1], json.load(open(sys.argv[2])), json.load(open(sys.argv[3]))
def interval(x):
    return "-" if x[1] is None else f"{x[1]:.3f} ({x[0]:.3f} .. {x[2]:.3f})"
def ratio(path):
    a, b = json.load(open(path))["results"][:2]
    return f"{a['p50_s'] / b['p50_s']:.2f} ({path.split('.')[-2]})"
won = sum(k["winner"] for k in tuned["kernels"])
cells = [name, interval(tuned["gain"]) + (" dropped" if tuned["dropped"] else ""), interval(tuned["gain_all_cores"]),
         str(tuned["candidates"]), f"{tuned['candidates_per_s'] or 0:.1f}", f"{won} of {len(tuned['kernels'])}",
         f"{second['time_s']:.2f}", ", ".join(map(ratio, sys.argv[4:])) or "-"]
print("| " + " | ".join(cells) + " |", flush=True)
PY
done
