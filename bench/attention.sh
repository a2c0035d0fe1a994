#!/usr/bin/env bash
# bench/attention.sh — attention alone beside ONNX Runtime, all its optimisations on: interleaved in one run, as ratios.
#
# usage: bench/attention.sh
#   SHAPES="queries,keys,heads,kv_heads,depth,mask ..."    THREADS="1 2"    TIME=3s per shape    BUILD=build
# By default the shapes of minilm_l6, bert_base and gpt2, longer sequences, and one query against a cache of keys, with
# as many heads for the keys and with fewer. mask: none, padding, causal. Python as for bench/models.sh, with onnx.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/attention.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
untuned
export HONE_PYTHON=${HONE_PYTHON:-$(peers_python)}
work=$OUT/attention
mkdir -p "$work"

header "Attention" "bench/attention.sh"
echo
echo "| queries | keys | heads | of the keys | depth | mask | threads | hone p50 us | ONNX Runtime p50 us | hone / ONNX Runtime |"
echo "|---|---|---|---|---|---|---|---|---|---|"
for shape in ${SHAPES:-128,128,12,12,32,padding 128,128,12,12,64,padding 128,128,12,12,64,causal 197,197,12,12,64,none \
    512,512,12,12,64,padding 2048,2048,12,12,64,causal 1,1024,12,12,64,none 1,2048,32,8,128,none}; do
    model=$work/${shape//,/-}.onnx
    # shellcheck disable=SC2086
    "$HONE_PYTHON" bench/attention.py "$model" ${shape//,/ }
    for threads in ${THREADS:-1 2}; do
        "$HONE" bench "$model" --against onnxruntime --threads "$threads" --time "${TIME:-3s}" --json |
            python3 -c '
import json, sys
a, b = json.load(sys.stdin)["results"][:2]
us = lambda x: format(x["p50_s"] * 1e6, ".4g")
print("|", " | ".join([*sys.argv[1].split(","), sys.argv[2], us(a), us(b), format(a["p50_s"] / b["p50_s"], ".2f")]), "|", flush=True)
' "$shape" "$threads"
    done
done
