#!/usr/bin/env bash
# examples/demo.sh — hone in three minutes: a kernel is tuned, its gain proven and reduced to the flags that carry it; a
# trained model is compiled and timed beside ONNX Runtime; a page for the browser shows what was found.
#
# usage: examples/demo.sh [EXAMPLE]      default: norm (examples/norm)
#   BUILD=build    where hone was built    TIME=40s PROOF=35s    time of the search; of the proof and of the reduction
# Called by `make demo`, which installs ONNX Runtime and Magika where it can. Records go to $BUILD/demo.
set -eu
cd "$(dirname "$0")/.."
case "${1:-}" in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
build=${BUILD:-build}
name=${1:-norm}
hone=$build/hone out=$build/demo
workload=examples/$name/hone.yaml
at=(--workload "$workload" --store "$out/$name")
[ -x "$hone" ] || { echo "'$hone' is not there: run make first" >&2; exit 1; }
mkdir -p "$out"
rm -f "$out/$name"*.hone "$out/$name"*.rsp

say() { if [ -t 1 ]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi; }

# --- a kernel ---
# Once per compiler binary, then kept in a cache.
say "1. gcc: which options it has, and which of them it accepts (a minute at most, only the first time)"
"$hone" space count gcc

say "2. $name: $(sed -n '1s/^# //; 1s/: *hone tune.*//p' "$workload"); from -O3 -march=native, strict floating point"
[ "$name" != norm ] || echo "Results may differ by 1e-5, relative, so the search may use -ffast-math; $workload says both."
"$hone" tune "$workload" --store "$out/$name" --new --time "${TIME:-40s}"

say "3. $name: is it so? The best two against the baseline: fresh builds, other layouts, pairs of runs in turn"
rc=0
"$hone" validate "${at[@]}" --quiet --top 2 --time "${PROOF:-35s}" -o "$out/$name.hone" || rc=$?
[ $rc -eq 0 ] || [ $rc -eq 17 ] || exit $rc # 17: all were rejected
if [ $rc -eq 0 ]; then
    say "4. $name: the fewest options that keep the gain, and what each of them brings"
    "$hone" minimize "${at[@]}" --quiet --time "${PROOF:-35s}" -o "$out/$name-least.hone" "$out/$name.hone" ||
        echo "the reduction was not proven in this time; $out/$name.hone holds the whole set, which was"
else
    say "4. $name: no gain could be proven on this machine in this time. What was tried, the best first:"
    "$hone" results --top 8 "${at[@]}" | cut -c1-120
    echo "\`build/hone doctor\` says how noisy this machine is; TIME=3m PROOF=3m examples/demo.sh looks longer"
fi

# --- a model ---
python=$build/venv/bin/python
model=$(find "$build/venv/" -path '*/magika/models/standard_v3_3/model.onnx' 2>/dev/null | head -n1)
if [ -n "$model" ]; then
    say "5. Magika, a trained model that names the type of a file by its bytes: compiled, every kernel checked against the interpreter"
else
    say "5. minilm_l6, a text encoder with random weights (Magika's trained model is not installed): compiled"
    model=$out/minilm_l6.onnx
    [ -s "$model" ] || "$hone" gen minilm_l6 "$model" --seq 32
fi
"$hone" compile "$model" -o "$out/model"
if "$python" -c 'import onnxruntime' 2>/dev/null; then
    say "6. the same outputs as ONNX Runtime's? And which is faster, on one thread, in turns?"
    export HONE_PYTHON=$python
    "$hone" verify "$model" --no-parity --inputs 1 --against onnxruntime
    "$hone" bench "$model" --no-parity --threads 1 --time 4s --against onnxruntime
else
    say "6. timed on one thread (ONNX Runtime is not installed: tools/venv.sh demo)"
    "$hone" bench "$out/model.so" --threads 1 --time 3s
fi

# --- the page ---
controls=$out/$name-least.hone
[ -e "$controls" ] || controls=$out/$name.hone
[ $rc -eq 0 ] || controls=
"$hone" report "${at[@]}" ${controls:+--controls "$controls"} -o "$out/$name.html" >/dev/null
say "7. the search, the proof and the options' shares as one page:"
echo "file://$(realpath "$out/$name.html")"
say "Next: \`build/hone init kernel.c\` begins with your own code, \`build/hone compile model.onnx\` with your own model"
