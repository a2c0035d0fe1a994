#!/usr/bin/env bash
# bench/narrow-models.sh — models of fewer bits than f32 beside ONNX Runtime, all its optimisations on: interleaved in one run.
#
# usage: bench/narrow-models.sh
#   CASES="minilm_l6:f16 …" (MODEL:KIND)    THREADS="1 2"    TIME=1s per case    BUILD=build
# Models come from `hone gen`; bench/narrow_models.py makes them narrow and says what the kinds are. Python as for
# bench/models.sh, with onnx.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/narrow-models.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
peer_bench narrow
peer_table "Models of fewer bits" "${CASES:+CASES=\"$CASES\" }bench/narrow-models.sh" model bits
for case in ${CASES:-minilm_l6:f16 mobilenet_v2:f16 resnet50:f16 minilm_l6:weights minilm_l6:dynamic minilm_l6:qdq mobilenet_v2:qdq resnet50:qdq resnet50:signed}; do
    IFS=: read -r name kind <<<"$case"
    [ -s "$work/$name.onnx" ] || "$HONE" gen "$name" "$work/$name.onnx" >&2
    "$HONE_PYTHON" bench/narrow_models.py "$work/$name.onnx" "$kind" "$work/$name.$kind.onnx" 2>"$work/said" ||
        { cat "$work/said" >&2; exit 1; }
    peer_rows "$work/$name.$kind.onnx" "${TIME:-1s}" "$name" "$kind"
done
