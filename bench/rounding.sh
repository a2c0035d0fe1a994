#!/usr/bin/env bash
# bench/rounding.sh — how exact sums are: root mean square error of hone and of ONNX Runtime against evaluation in double, for
# single operators that add many terms. Timing plays no part, so any machine will do.
#
# usage: bench/rounding.sh
#   CASES="Conv" (those whose names hold this; default: all)    BUILD=build
# Operators are those of bench/rounding.py, and of bench/operators.py. Python as for bench/models.sh, with onnx.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/rounding.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
peer_bench rounding

header "Rounding of sums" "${CASES:+CASES=\"$CASES\" }bench/rounding.sh"
echo
exec "$HONE_PYTHON" bench/rounding.py "$work" "${CASES:-}"
