#!/usr/bin/env bash
# bench/sequence-models.sh — transformers and recurrent networks of other architectures than bench/models.sh has, beside ONNX Runtime.
#
# usage: bench/sequence-models.sh
#   MODELS="vit_b llama_decode …"    THREADS="1 2"    TIME=5s per model    BUILD=build
# Graphs as exporters write them, random weights (bench/sequence_models.py; by default all that it knows), f32, batch 1.
# Python as for bench/models.sh, with onnx.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/sequence-models.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
written_models bench/sequence_models.py bench/sequence-models.sh
