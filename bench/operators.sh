#!/usr/bin/env bash
# bench/operators.sh — single operators beside ONNX Runtime, all its optimisations on: interleaved in one run, as ratios. Where
# hone is behind here it has a form that it writes badly; a model may never meet it.
#
# usage: bench/operators.sh
#   CASES="Conv" (those whose names hold this; default: all)    THREADS="1 2"    TIME=0.3s per case    BUILD=build
# Names, shapes and arguments are those of bench/operators.py. Python as for bench/models.sh, with onnx.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/operators.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
peer_bench operators

names=$("$HONE_PYTHON" bench/operators.py --list | grep -F -- "${CASES:-}") ||
    { echo "no operator's name holds '${CASES:-}'; bench/operators.py --list prints them" >&2; exit 2; }
peer_table Operators "${CASES:+CASES=\"$CASES\" }bench/operators.sh" operator
while read -r name; do
    model=$work/$(tr -c 'a-zA-Z0-9\n' _ <<<"$name").onnx
    "$HONE_PYTHON" bench/operators.py "$model" "$name"
    peer_rows "$model" "${TIME:-0.3s}" "$name" </dev/null
done <<<"$names"
