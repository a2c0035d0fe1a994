#!/usr/bin/env bash
# bench/real-gains.sh — what tuning brings on real code: the five examples and zstd, tuned, then validated; what each
# search claimed beside what the proof kept.
#
# usage: bench/real-gains.sh [KERNEL...]     (default: softmax rmsnorm dot_i8 gemm interp zstd)
#   MODES="gcc-strict any-strict gcc-relaxed any-relaxed"
#                       gcc alone or the choice between gcc and clang-19; strict floating point or up to -ffast-math
#                       (relaxed: only kernels whose parity rule admits it; the others are left out by name)
#   EVALS=100 SEED=0    evaluations per search; seed
#   TOP=3 TIME=10m      candidates to validate per search; most time for all of them
#   CURVES="30s 2m 10m" instead: what the best point at each of these times is worth, proven (TIME: a proof's most time),
#   TUNERS="auto random opentuner"  of these engines and of OpenTuner, under the same clock; MODES and SEED as above
#   BUILD=build         build folder
# The baseline is -O3 -march=native with gcc and strict floating point in every mode. Results are kept under
# $BUILD/bench/real-gains; a run that was interrupted goes on where it was; remove the folder to measure again.
# docs/benchmarks.md says how to read the table.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case "${1:-}" in -h | --help) usage bench/real-gains.sh ;; esac
need_hone
[ $# -gt 0 ] || set -- softmax rmsnorm dot_i8 gemm interp zstd
work=$OUT/real-gains
python=$(peers_python)
mkdir -p "$work"
for name; do
    [ "$name" != zstd ] || [ -d "$work/source/zstd" ] || bench/programs/fetch.sh "$work/source/zstd"
done

if [ -n "${CURVES:-}" ]; then
    build_program bench/workload_serve.c "$OUT/workload_serve"
    header "Real gains over time" "CURVES='$CURVES' TUNERS='${TUNERS:-all}' MODES='${MODES:-all}' SEED=${SEED:-0} TIME=${TIME:-10m} bench/real-gains.sh $*"
    exec "$python" bench/gain_curves.py --hone "$HONE" --serve "$OUT/workload_serve" --work "$work" --seed "${SEED:-0}" --time "${TIME:-10m}" \
        --marks "$CURVES" --tuners "${TUNERS:-auto random opentuner}" --modes "${MODES:-gcc-strict any-strict gcc-relaxed any-relaxed}" "$@"
fi
header "Real gains" "MODES='${MODES:-all}' EVALS=${EVALS:-100} SEED=${SEED:-0} TOP=${TOP:-3} TIME=${TIME:-10m} bench/real-gains.sh $*"
"$python" bench/real_gains.py --hone "$HONE" --work "$work" --evals "${EVALS:-100}" --seed "${SEED:-0}" \
    --top "${TOP:-3}" --time "${TIME:-10m}" \
    --modes "${MODES:-gcc-strict any-strict gcc-relaxed any-relaxed}" "$@"
