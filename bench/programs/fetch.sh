#!/usr/bin/env bash
# bench/programs/fetch.sh FOLDER — the third-party program as a workload: zstd's sources, driver and hone.yaml in FOLDER.
#
# The C sources are those of the PyPI source package `zstandard` (zstd's own amalgamation), checked by their SHA-256.
# CACHE names a folder with an already downloaded zstandard-*.tar.gz (default: $BUILD/bench/programs).
set -eu
# shellcheck source=bench/common.sh
work=$(realpath -m "${1:?usage: bench/programs/fetch.sh FOLDER}")
. "$(dirname "$0")/../common.sh"
version=0.25.0
sum=7713e1179d162cf5c7906da876ec2ccb9c3a9dcbdffef0cc7f70c3667a205f0b
cache=${CACHE:-$OUT/programs}
archive=$cache/zstandard-$version.tar.gz

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
