#!/usr/bin/env bash
# bench/builds.sh — two builds of hone beside each other: is anything slower than it was?
#
# usage: BEFORE=/path/to/other/hone bench/builds.sh
#   MODELS="mlp minilm_l6 bert_base gpt2 resnet50 mobilenet_v2"   THREADS="1 2"   ROUNDS=7   TIME=1s a turn
#   SHAPES="128x768x768 …" (MxNxK)   SPACES="../shared/spaces/*.tsv.xz"   SEEDS=10   RATE=20s   BUILD=build
# BEFORE is the program `hone` of the other build. Each part can be left out: MODELS=, SHAPES=, SPACES=, RATE=.
# Every model and product is compiled by both, with default schedules; both libraries are timed in turns, in random order. A ratio
# is the time of this build over that of the other: the median over rounds, with the bootstrap's 95 % interval of it. Searches on
# recorded spaces have fixed seeds, so that their scores are compared as numbers.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/builds.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
[ -x "${BEFORE:-}" ] || { echo "BEFORE names no program: BEFORE=/path/to/other/build/hone bench/builds.sh" >&2; exit 2; }
python=${HONE_PYTHON:-$(peers_python)}
header "Two builds" "BEFORE=$BEFORE bench/builds.sh"
echo "- before: $("$BEFORE" --version | head -1), $(git -C "$(dirname "$BEFORE")" rev-parse --short HEAD 2>/dev/null || echo "no commit known")"
echo
"$python" bench/builds.py --after "$HONE" --before "$BEFORE" --out "$OUT/builds" --rounds "${ROUNDS:-7}" --time "${TIME:-1s}" \
    --threads "${THREADS:-1 2}" --models "${MODELS-mlp minilm_l6 bert_base gpt2 resnet50 mobilenet_v2}" \
    --shapes "${SHAPES-128x768x768 128x3072x768 128x768x3072 1024x1024x1024 49x512x4608 3136x64x576 1x4096x4096}" \
    --spaces "${SPACES-$(echo ../shared/spaces/*.tsv.xz)}" --seeds "${SEEDS:-10}" --rate "${RATE-20s}"
