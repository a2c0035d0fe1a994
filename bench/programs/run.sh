#!/usr/bin/env bash
# bench/programs/run.sh — tunes zstd as a whole with two objectives, compression speed and code size.
#
# usage: bench/programs/run.sh
#   EVALS=80      evaluations (a build of zstd takes some ten seconds)
#   SEED=0        seed of the search
#   CACHE=dir     folder with an already downloaded zstandard-*.tar.gz (default: $BUILD/bench/programs)
#   BUILD=build   build folder
# The C sources are those of the PyPI source package `zstandard` (zstd's own amalgamation), checked by their SHA-256.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/../common.sh"
[ $# -eq 0 ] || usage bench/programs/run.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
version=0.25.0
sum=7713e1179d162cf5c7906da876ec2ccb9c3a9dcbdffef0cc7f70c3667a205f0b
cache=${CACHE:-$OUT/programs}
archive=$cache/zstandard-$version.tar.gz
work=$OUT/programs/zstd

mkdir -p "$cache" "$work"
if [ ! -r "$archive" ]; then
    echo "fetching zstandard $version from PyPI" >&2
    "$(peers_python)" -m pip download --quiet --disable-pip-version-check --no-binary :all: --no-deps \
        "zstandard==$version" -d "$cache" >&2
fi
echo "$sum  $archive" | sha256sum --check --quiet || {
    echo "'$archive' is not the file this benchmark was written for: remove it and run again" >&2
    exit 1
}
tar -xzf "$archive" -C "$work" --strip-components=2 "zstandard-$version/zstd"
cp bench/programs/zstd_driver.c "$work/"
cp bench/programs/zstd.yaml "$work/hone.yaml"

header "zstd as a whole" "EVALS=${EVALS:-80} SEED=${SEED:-0} bench/programs/run.sh"
echo "- zstd $(sed -n 's/^#define ZSTD_VERSION_\(MAJOR\|MINOR\|RELEASE\) *//p' "$work/zstd.h" | paste -sd.)," \
    "$(wc -l <"$work/zstd.c") lines; baseline: gcc -O3 -march=native"
"$HONE" tune "$work/hone.yaml" --evals "${EVALS:-80}" --seed "${SEED:-0}" --store "$work/.hone" --json >"$work/result.json"
"$HONE" results --all --json --workload "$work/hone.yaml" --store "$work/.hone" >"$work/all.json"
"$HONE" results --pareto --json --workload "$work/hone.yaml" --store "$work/.hone" >"$work/pareto.json"
python3 bench/programs/report.py "$work/result.json" "$work/all.json" "$work/pareto.json"
