#!/usr/bin/env bash
# bench/python-overhead.sh — what hone costs a Python objective: microseconds per evaluation of an empty one, in-process and in a
# pool of processes (engine evolve), beside Optuna's samplers in the same run; memory over 50,000 evaluations. Markdown on stdout.
#
# usage: bench/python-overhead.sh      BUILD, ROUNDS (5), EVALS (2000) are read from the environment.
# Ends with status 1 when a median is above its limit.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case "${1:-}" in -h | --help) usage bench/python-overhead.sh ;; esac
need_hone
python=${PYTHON:-$(peers_python)}
make -s BUILD="$BUILD" PYTHON="$python" python >&2
header "Overhead of a search from Python" "bench/python-overhead.sh"
echo "- Python: $("$python" --version | cut -d' ' -f2)"
PYTHONPATH=$BUILD/python "$python" bench/python_overhead.py --rounds "${ROUNDS:-5}" --evals "${EVALS:-2000}"
