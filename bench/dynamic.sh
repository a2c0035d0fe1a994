#!/usr/bin/env bash
# bench/dynamic.sh — a stream of (batch, seq) pairs through one library of symbolic sizes, each pair in turns with the library
# compiled for it alone.
#
# usage: bench/dynamic.sh
#   MODEL=minilm_l6   PAIRS=50   TIME=1 (seconds per pair)   THREADS=1   SPECIALIZE= (--specialize of the one library)
#   TARGET=native     BUILD=build
# Pairs are drawn by a fixed seed: batch 1 .. 8, seq 1 .. 512, batch x seq at most 1024; libraries go to $BUILD/bench/dynamic.
# Aim: no pair above 1.2 x its own library, and no compilation in between. Exits with 1 where the aim is missed.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/dynamic.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
untuned
model=${MODEL:-minilm_l6}
work=$OUT/dynamic
mkdir -p "$work"
${CC:-cc} -std=gnu11 -O2 -Iinclude bench/turns.c -o "$work/turns" -ldl

pairs=$(python3 - "${PAIRS:-50}" <<'PY'
import random, sys
r = random.Random(1)
seen = []
while len(seen) < int(sys.argv[1]):
    p = (r.choice([1, 1, 1, 2, 3, 4, 8]), r.choice([r.randint(1, 512), 2 ** r.randint(3, 9)]))
    if p[0] * p[1] <= 1024 and p not in seen:
        seen.append(p)
print(" ".join(f"{b}x{s}" for b, s in seen))
PY
)
[ -s "$work/$model.onnx" ] || "$HONE" gen "$model" "$work/$model.onnx" --dynamic >&2
options=()
[ -z "${SPECIALIZE:-}" ] || options=(--specialize "$SPECIALIZE")
"$HONE" compile "$work/$model.onnx" -o "$work/$model" --target "${TARGET:-native}" "${options[@]}" >&2
libraries=()
for pair in $pairs; do
    "$HONE" compile "$work/$model.onnx" -o "$work/$pair" --symbol "batch=${pair%x*},seq=${pair#*x}" --target "${TARGET:-native}" \
        --no-parity >/dev/null
    if [ ${#libraries[@]} -gt 0 ] && cmp -s "${libraries[0]%.so}.weights" "$work/$pair.weights"; then
        ln -f "${libraries[0]%.so}.weights" "$work/$pair.weights"
    fi
    libraries+=("$work/$pair.so")
    rm -f "$work/$pair.h" "$work/$pair.manifest"
done

header "Symbolic sizes" "bench/dynamic.sh"
echo
"$work/turns" "${TIME:-1}" "${THREADS:-1}" "$work/$model.so" "${THREADS:-1}" "${libraries[@]}" >"$work/turns.json"
rm -f "$work"/*x*.weights "$work"/*x*.so
python3 - "$work/turns.json" "$model" $pairs <<'PY'
import json, statistics, sys
rows = [json.loads(x) for x in open(sys.argv[1])]
pairs = sys.argv[3:]
ratios = [r["a_s"] / r["b_s"] for r in rows]
print(f"{sys.argv[2]}: medians of runs in turns, ms; *first* is the stream's first run at these sizes.\n")
print("| batch x seq | symbolic | its own | ratio | ratio of minima | first |\n|---|---|---|---|---|---|")
for p, r, q in zip(pairs, rows, ratios):
    ms = [f"{r[k] * 1e3:.3g}" for k in ("a_s", "b_s")]
    print("|", " | ".join([p.replace("x", " x ")] + ms + [f"{q:.3f}", f"{r['a_min_s'] / r['b_min_s']:.3f}", f"{r['first_s'] * 1e3:.3g}"]), "|")
worst = max(range(len(rows)), key=ratios.__getitem__)
print(f"\nworst {ratios[worst]:.3f} ({pairs[worst]}), median {statistics.median(ratios):.3f}, aim 1.2")
sys.exit(ratios[worst] > 1.2)
PY
