#!/usr/bin/env bash
# bench/scaling.sh — two threads beside one, in turns in one process.
#
# usage: bench/scaling.sh
#   MODELS="bert_base minilm_l6 gpt2 resnet50 mobilenet_v2 mlp"   THREADS=2   TIME=10 (seconds a model)   TARGET=native   BUILD=build
# Models as bench/models.sh. Aim: bert_base 1.8 times as fast. Needs as many idle cores as threads.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/scaling.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
untuned
work=$OUT/compile
mkdir -p "$work"
${CC:-cc} -std=gnu11 -O2 -Iinclude bench/turns.c -o "$work/turns" -ldl
header "Scaling" "bench/scaling.sh"
echo
echo "| model | 1 thread ms | ${THREADS:-2} threads ms | faster | by minima |"
echo "|---|---|---|---|---|"
for model in ${MODELS:-bert_base minilm_l6 gpt2 resnet50 mobilenet_v2 mlp}; do
    [ -s "$work/$model.onnx" ] || "$HONE" gen "$model" "$work/$model.onnx" >&2
    "$HONE" compile "$work/$model.onnx" -o "$work/$model" --target "${TARGET:-native}" >&2
    "$work/turns" "${TIME:-10}" 1 "$work/$model.so" "${THREADS:-2}" "$work/$model.so" |
        python3 -c '
import json, sys
r = json.load(sys.stdin)
a, b, low = r["a_s"], r["b_s"], r["a_min_s"] / r["b_min_s"]
print("|", " | ".join([sys.argv[1], f"{a * 1e3:.4g}", f"{b * 1e3:.4g}", f"{a / b:.2f}", f"{low:.2f}"]), "|", flush=True)
' "$model"
done
