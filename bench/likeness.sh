#!/usr/bin/env bash
# bench/likeness.sh — do programs that are alike gain by the same controls? What a learned row brings a program that it was
# not learned on, when all programs count alike and when those count more whose object code is like its own.
#
# usage: bench/likeness.sh [size|instructions] [LEVEL]     (default: size, -Oz)
#   CONTROLS=56 SEED=0          so many switches of the optimiser, drawn from all
#   HONE_CC=gcc                 the compiler
#   FILES="a.c b.c"             the programs (default: those of bench/learn and bench/high-dim; for sizes the examples, too)
#   JOBS=N BUILD=build          processes at a time; build folder
# Counts do not depend on load. Compilations and counts are kept under $BUILD/bench/likeness.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ "${1:-}" != --help ] && [ "${1:-}" != -h ] || usage bench/likeness.sh
need_hone
objective=${1:-size} level=${2:--Oz}
files=$(echo bench/learn/*.c bench/high-dim/*.c)
if [ "$objective" = size ]; then
    files="$files $(echo examples/{gemm,softmax,norm,rmsnorm,dot_i8,interp}/*.c)"
fi
header "Likeness of programs" "bench/likeness.sh $objective $level"
# shellcheck disable=SC2086
python3 bench/likeness.py --cc "${HONE_CC:-gcc}" --cache "$OUT/likeness" --objective "$objective" --level="$level" \
    --controls "${CONTROLS:-56}" --seed "${SEED:-0}" --jobs "$JOBS" ${FILES:-$files}
