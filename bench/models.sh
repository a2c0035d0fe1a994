#!/usr/bin/env bash
# bench/models.sh — compiled models beside ONNX Runtime, all its optimisations on: interleaved in one run, as ratios.
#
# usage: bench/models.sh
#   MODELS="mlp minilm_l6 bert_base gpt2 resnet50 mobilenet_v2"    THREADS="1 2"    TIME=10s per model    BUILD=build
# Models come from `hone gen`, f32, batch 1, 128 tokens. ONNX Runtime comes from PyPI, into $BUILD/venv (tools/venv.sh bench);
# HONE_PYTHON names another Python that has it. Untuned: hone's default schedules.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/models.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
untuned
export HONE_PYTHON=${HONE_PYTHON:-$(peers_python)}
work=$OUT/compile
mkdir -p "$work"

header "Models" "${COMMAND:-bench/models.sh}"
echo
echo "| model | threads | hone p50 ms | ONNX Runtime p50 ms | hone / ONNX Runtime | p95: hone, ONNX Runtime ms |"
echo "|---|---|---|---|---|---|"
for model in ${MODELS:-mlp minilm_l6 bert_base gpt2 resnet50 mobilenet_v2}; do
    [ -s "$work/$model.onnx" ] || "$HONE" gen "$model" "$work/$model.onnx" >&2
    for threads in ${THREADS:-1 2}; do
        "$HONE" bench "$work/$model.onnx" --against onnxruntime --threads "$threads" --time "${TIME:-10s}" --json |
            python3 -c '
import json, sys
r = json.load(sys.stdin)
a, b = r["results"][:2]
ms = lambda x, k: f"{x[k] * 1e3:.4g}"
ratio = a["p50_s"] / b["p50_s"]
low, high = a["p50_low_s"] / b["p50_high_s"], a["p50_high_s"] / b["p50_low_s"]
print("|", " | ".join([sys.argv[1], sys.argv[2], ms(a, "p50_s"), ms(b, "p50_s"), f"{ratio:.2f} ({low:.2f} .. {high:.2f})", ms(a, "p95_s") + ", " + ms(b, "p95_s")]), "|", flush=True)
' "$model" "$threads"
    done
done
