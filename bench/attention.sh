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
peer_bench attention

peer_table Attention bench/attention.sh queries keys heads 'of the keys' depth mask
for shape in ${SHAPES:-128,128,12,12,32,padding 128,128,12,12,64,padding 128,128,12,12,64,causal 197,197,12,12,64,none \
    512,512,12,12,64,padding 2048,2048,12,12,64,causal 1,1024,12,12,64,none 1,2048,32,8,128,none}; do
    model=$work/${shape//,/-}.onnx
    IFS=, read -ra cells <<<"$shape"
    "$HONE_PYTHON" bench/attention.py "$model" "${cells[@]}"
    peer_rows "$model" "${TIME:-3s}" "${cells[@]}"
done
