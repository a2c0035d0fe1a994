#!/usr/bin/env bash
# bench/other-models.sh — convolution networks of other architectures than bench/models.sh has, beside ONNX Runtime.
#
# usage: bench/other-models.sh
#   MODELS="vgg16 unet …" (any: those that take images of any size, their height and width symbols)
#   THREADS="1 2"    TIME=5s per model    BUILD=build
# Shapes of published architectures, random weights (bench/other_models.py; by default all that it knows), f32, batch 1.
# Python as for bench/models.sh, with onnx.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/other-models.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
if [ "${MODELS:-}" = any ]; then
    export HONE_PYTHON=${HONE_PYTHON:-$(peers_python)}
    MODELS=$("$HONE_PYTHON" bench/other_models.py --list-any)
fi
written_models bench/other_models.py bench/other-models.sh
