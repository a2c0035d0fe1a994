#!/usr/bin/env bash
# bench/sequences.sh — several sequences of a language model at once: tokens per second of all of them together, beside one alone.
#
# usage: bench/sequences.sh
#   MODELS="qwen2.5-0.5b-q4_0 ... "   names of files in WORK/models, as bench/language.sh writes them (WORK=... SETUP=1), or paths of GGUF files
#   COUNTS=1,2,4,8,16   THREADS="1 2"   PROMPT=128   TOKENS=32 steps a turn   ROUNDS=5   WORK=build/bench/language
# Numbers of sequences take turns within a round. Needs the Python package (make python).
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/sequences.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
python=${HONE_PYTHON:-$BUILD/venv/bin/python}
work=${WORK:-$OUT/language}
export PYTHONPATH=$BUILD/python XDG_CACHE_HOME=${XDG_CACHE_HOME:-$work/cache}
"$python" -c 'import hone, numpy' || { echo "the Python package is not there: make python" >&2; exit 1; }
header "Several sequences at once" "WORK=$work bench/sequences.sh"
echo
echo "| model | threads | sequences | tokens per second | over the first row's |"
echo "|---|---|---|---|---|"
for model in ${MODELS:-qwen2.5-0.5b-q4_0}; do
    file=$model
    [ -e "$file" ] || file=$work/models/$model.gguf
    [ -e "$file" ] || { echo "there is no '$file': bench/language.sh with SETUP=1 writes it" >&2; exit 1; }
    for threads in ${THREADS:-1 2}; do
        "$python" bench/sequences.py "$file" --name "$(basename "$model" .gguf)" --counts "${COUNTS:-1,2,4,8,16}" --threads "$threads" \
            --prompt "${PROMPT:-128}" --tokens "${TOKENS:-32}" --rounds "${ROUNDS:-5}"
    done
done
