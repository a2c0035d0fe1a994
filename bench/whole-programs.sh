#!/usr/bin/env bash
# bench/whole-programs.sh — whole programs, by stage: what flags, controls of single files, profiles, BOLT and allocators bring.
#
# usage: bench/whole-programs.sh [PROGRAM...]   (default: zstd lz4 brotli lua sqlite quickjs zlib expat)
#   STAGES="flags files pgo bolt allocator all"   which stages; each is tuned and validated by itself, "all" has everything
#                         also: clang (flags of clang-19 beside its own -O3 -march=native), passes (with LLVM's pass order behind them)
#   TIME=10m EVALS=       time of each search; evaluations instead of time where set
#   PROVE=10m PAIRS=      most time of each validation; least pairs (default: the workload's, 100)
#   SEED=0                seed of the searches
#   BUILD=build           build folder
# Sources come from Debian (apt-get source, with lists of its own; as root or not) and PyPI. The baseline is gcc -O3
# -march=native. A gain counts when it is proven; a stage that proves nothing counts as 1. Results are kept under
# $BUILD/bench/whole: a run that was cut short goes on. Remove the folder to measure again.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case "${1:-}" in -h | --help) usage bench/whole-programs.sh ;; esac
need_hone
[ $# -gt 0 ] || set -- zstd lz4 brotli lua sqlite quickjs zlib expat
python=$(peers_python)
header "Whole programs" "STAGES='${STAGES:-all stages}' TIME=${TIME:-10m} EVALS=${EVALS:-} PROVE=${PROVE:-10m} SEED=${SEED:-0} bench/whole-programs.sh $*"
"$python" bench/whole_programs.py --hone "$HONE" --work "$OUT/whole" --time "${TIME:-10m}" --evals "${EVALS:-0}" \
    --prove "${PROVE:-10m}" --pairs "${PAIRS:-0}" --seed "${SEED:-0}" --stages "${STAGES:-flags files pgo bolt allocator all}" "$@"
