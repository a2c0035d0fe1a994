#!/usr/bin/env bash
# bench/static-search.sh — searches by figures of the machine code, without a GPU: fewest instructions of twelve CUDA kernels (bench/gpu/kernels)
# without spills and with an occupancy of at least the default's; hone beside random search and OpenTuner.
#
# usage: bench/static-search.sh [KERNEL...]     (default: all twelve)
#   EVALS=100 SEEDS=3           evaluations of a search; searches of each kernel and tuner
#   TUNERS="auto random opentuner"  hone's engines and OpenTuner
#   CC=nvcc ARCH=sm_90          the compiler, as a workload names it (nvcc, nvrtc), and what it compiles for
#   JOBS=N BUILD=build          searches at a time; build folder
# All tune the compiler's controls and the macros of hone/cuda_controls.h in the same space. Results are kept under
# $BUILD/bench/static-search, so that an interrupted run goes on where it was; remove the folder to search again.
# docs/benchmarks.md says how to read the table.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case "${1:-}" in -h | --help) usage bench/static-search.sh ;; esac
need_hone
compiler=${CC:-nvcc}
case $compiler in nvcc | nvrtc) ;; *) compiler=nvcc ;; esac # CC may be make's
"$HONE" targets "$compiler" >/dev/null || { echo "'$compiler' is not here: tools/cuda-tools.sh installs it" >&2; exit 1; }
[ $# -gt 0 ] || set -- $(basename -as .cu bench/gpu/kernels/*.cu)
python=python3
case " ${TUNERS:-auto random opentuner} " in *" opentuner "*) python=${HONE_PYTHON:-$(peers_python)} ;; esac

header "Static search" "CC=$compiler EVALS=${EVALS:-100} SEEDS=${SEEDS:-3} bench/static-search.sh $*"
"$python" bench/static_search.py --hone "$(realpath "$HONE")" --out "$OUT/static-search" --evals "${EVALS:-100}" --seeds "${SEEDS:-3}" \
    --tuners "${TUNERS:-auto random opentuner}" --compiler "$compiler" --arch "${ARCH:-sm_90}" --jobs "$JOBS" "$@"
