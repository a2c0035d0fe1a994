#!/usr/bin/env bash
# bench/rows.sh — norms, softmax, reductions and transposes alone beside ONNX Runtime, all its optimisations on: interleaved
# in one run, as ratios.
#
# usage: bench/rows.sh
#   CASES="kind:shape[:argument] ..."    THREADS="1 2"    TIME=1s per case    BUILD=build
# Kinds, shapes and arguments are those of bench/rows.py. Each case is one operator on one tensor that is read from memory
# and written to memory, of a size at which the calls themselves do not count. Python as for bench/models.sh, with onnx.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/rows.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
peer_bench rows

peer_table Rows bench/rows.sh operator shape argument
for case in ${CASES:-layer_norm:8x128x768 layer_norm:1024x384 rms_norm:128x4096 instance_norm:1x64x112x112 \
    group_norm:1x320x64x64:32 batch_norm:8x64x56x56 softmax:12x128x128:-1 softmax:16x50257:-1 softmax:8x1000x196:1 \
    log_softmax:128x8000:-1 sum:1024x768:0 sum:1024x768:1 mean:8x512x28x28:2,3 max:64x128x256:1 sum:8x64x56x56:0,2,3 \
    transpose:8x128x12x64:0,2,1,3 transpose:1024x1024:1,0 transpose:8x64x56x56:0,2,3,1 transpose:8x3136x64:0,2,1}; do
    IFS=: read -r kind shape argument <<<"$case"
    model=$work/${case//[:,]/_}.onnx
    "$HONE_PYTHON" bench/rows.py "$model" "$kind" "$shape" ${argument:+"$argument"}
    peer_rows "$model" "${TIME:-1s}" "$kind" "$shape" "$argument"
done
