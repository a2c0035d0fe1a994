#!/usr/bin/env bash
# tools/cuda-tools.sh — puts NVIDIA's compilers and disassemblers into build/cuda: bin, lib, include, nvvm, as a CUDA toolkit has them.
#
# usage: tools/cuda-tools.sh [FOLDER]      (BUILD=dir: another build folder; PYTHON=python3.x: another interpreter)
# They are wheels from PyPI, pinned in tools/cuda-tools.txt: 190 MB to fetch, 470 MB on disk. No GPU and no driver is needed. None of
# them is needed to use hone for processors; tests that need one are skipped by name. Does nothing when they are there.
# hone and its tests look for them there, and in HONE_CUDA, CUDA_HOME, /usr/local/cuda and PATH (src/device/cuda.h).
set -eu
case ${1:-} in --help | -h) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit ;; esac
cd "$(dirname "$0")/.."
to=${1:-${BUILD:-build}/cuda}
to=$(realpath -m "$to") # where worktrees share a folder, through the link
list=tools/cuda-tools.txt

if cmp -s "$list" "$to/installed"; then exit 0; fi
[ "$(uname -m)" = x86_64 ] || { echo "cuda-tools: the pinned wheels are for x86-64; on this machine set HONE_CUDA to a toolkit" >&2; exit 1; }
echo "cuda-tools: installing the packages of $list into $to" >&2
mkdir -p "$(dirname "$to")"
new=$(mktemp -d "$to.XXXXXX")
trap 'rm -rf "$new"' EXIT
"${PYTHON:-python3}" -m venv "$new/venv"
"$new/venv/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: --target "$new/packages" -r "$list"
cp "$list" "$new/packages/nvidia/cu13/installed"
rm -rf "$to"
mv "$new/packages/nvidia/cu13" "$to"
