#!/usr/bin/env bash
# bench/learn-seeds.sh — learns combinations of controls that pay on many programs: rows of
# src/target/*_learned.def, which are tried first where an objective is like theirs.
#
# usage: bench/learn-seeds.sh size LEVEL [FURTHER]           bytes of the objects, from -O LEVEL on (z, s)
#        bench/learn-seeds.sh instructions LEVEL [FURTHER]   instructions of the runs (callgrind)
#   FURTHER: more controls to start from, as JSON: '{"-funroll-loops": "on"}'
#   SECONDS_MOST=600            try no more values after so long (default: all, some hours)
#   WORST=1.0                   the most that a value may cost one program, in percent
#   FIRST="NAME VALUE; ..."     values to try before all others, as an earlier run's winners; SEED=0: order of the others
#   HONE_CC=gcc BUILD=build     the compiler; build folder
#   FILES="a.c b.c"             the programs to learn from (default: bench/learn/*.c; bench/high-dim judges on others)
# Counts do not depend on load. Compilations and counts are kept under $BUILD/bench/learn.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -ge 2 ] || usage bench/learn-seeds.sh "$([ "${1:-}" = --help ] || [ "${1:-}" = -h ] && echo 0 || echo 2)"
need_hone
cc=${HONE_CC:-gcc}
further=${3:-}
serve=$OUT/high_dim_serve
build_program bench/high_dim_serve.c "$serve"
# shellcheck disable=SC2086
python3 bench/learn_seeds.py --cc "$cc" --serve "$serve" --cache "$OUT/learn/cache" --objective "$1" --level "$2" \
    --seed "${SEED:-0}" --worst "${WORST:-1.0}" --first "${FIRST:-}" --seconds "${SECONDS_MOST:-inf}" --also "${further:-"{}"}" ${FILES:-bench/learn/*.c}
