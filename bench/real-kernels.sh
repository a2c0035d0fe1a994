#!/usr/bin/env bash
# bench/real-kernels.sh — tunes the five examples with gcc and prints what the closing race of each search claims.
#
# usage: bench/real-kernels.sh [EXAMPLE...]     (default: all of examples/)
#   EVALS=100 SEED=0    evaluations per example; seed
#   BUILD=build         build folder
# A claim is not a proof: the winner of a search looks better than it is. Baseline: each example's own, -O3
# -march=native with strict floating point.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case "${1:-}" in -h | --help) usage bench/real-kernels.sh ;; esac
need_hone
[ $# -gt 0 ] || set -- softmax rmsnorm dot_i8 gemm interp
work=$OUT/real-kernels
mkdir -p "$work"

header "Real kernels" "EVALS=${EVALS:-100} SEED=${SEED:-0} bench/real-kernels.sh"
failed=0
for name; do
    echo "$name" >&2
    "$HONE" tune "examples/$name/hone.yaml" --new --evals "${EVALS:-100}" --seed "${SEED:-0}" --json \
        --store "$work/$name" >"$work/$name.json.part" && mv "$work/$name.json.part" "$work/$name.json" || failed=1
done
python3 bench/real_kernels.py "$work" "$@"
exit $failed
