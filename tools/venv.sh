#!/usr/bin/env bash
# tools/venv.sh — makes build/venv with the Python packages that the benchmarks compare hone with.
#
# usage: tools/venv.sh            (BUILD=dir: another build folder; PYTHON=python3.x: another interpreter)
# Pinned versions from PyPI; does nothing when they are there already. None of them is needed to use or test hone.
set -eu
case "${1:-}" in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
venv=${BUILD:-build}/venv
packages='numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 PyYAML==6.0.3 optuna==5.0.0 pymoo==0.6.2 kernel_tuner==1.5.0 opentuner==0.8.8'

if [ "$(cat "$venv/packages" 2>/dev/null)" = "$packages" ]; then exit 0; fi
echo "venv: installing into $venv: $packages" >&2
mkdir -p "$(dirname "$venv")"
"${PYTHON:-python3}" -m venv "$venv"
# shellcheck disable=SC2086
"$venv/bin/pip" install --quiet --disable-pip-version-check $packages
echo "$packages" >"$venv/packages"
