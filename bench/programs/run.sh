#!/usr/bin/env bash
# bench/programs/run.sh — tunes zstd as a whole with two objectives, compression speed and code size.
#
# usage: bench/programs/run.sh
#   EVALS=80      evaluations (a build of zstd takes some ten seconds)
#   SEED=0        seed of the search
#   CACHE=dir     folder with an already downloaded zstandard-*.tar.gz (default: $BUILD/bench/programs)
#   BUILD=build   build folder
# The sources come from bench/programs/fetch.sh.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/../common.sh"
[ $# -eq 0 ] || usage bench/programs/run.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
work=$OUT/programs/zstd
bench/programs/fetch.sh "$work"

header "zstd as a whole" "EVALS=${EVALS:-80} SEED=${SEED:-0} bench/programs/run.sh"
echo "- zstd $(sed -n 's/^#define ZSTD_VERSION_\(MAJOR\|MINOR\|RELEASE\) *//p' "$work/zstd.h" | paste -sd.)," \
    "$(wc -l <"$work/zstd.c") lines; baseline: gcc -O3 -march=native"
"$HONE" tune "$work/hone.yaml" --evals "${EVALS:-80}" --seed "${SEED:-0}" --store "$work/.hone" --json >"$work/result.json"
"$HONE" results --all --json --workload "$work/hone.yaml" --store "$work/.hone" >"$work/all.json"
"$HONE" results --pareto --json --workload "$work/hone.yaml" --store "$work/.hone" >"$work/pareto.json"
python3 bench/programs/report.py "$work/result.json" "$work/all.json" "$work/pareto.json"
