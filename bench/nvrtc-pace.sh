#!/usr/bin/env bash
# bench/nvrtc-pace.sh — candidates a second of a search by figures of machine code, with NVRTC and with nvcc.
#
# usage: bench/nvrtc-pace.sh [FAMILY...]     (default: nvrtc nvcc)
# For three kernels each: EVALS=100 evaluations, registers, spills, occupancy and instructions of each read from its cubin; builds
# side by side, JOBS=2. Stated is evaluations by wall time of the whole search, probing aside, and the share of evaluations whose
# code was known already. Wants an idle machine. ARCH=sm_90, BUILD=build.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
JOBS=${JOBS_PACE:-2}
case ${1:-} in -h | --help) usage bench/nvrtc-pace.sh ;; esac
need_hone
[ $# -gt 0 ] || set -- nvrtc nvcc
export HONE_CUDA=${HONE_CUDA:-$PWD/$BUILD/cuda}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

header "Pace of a search by figures of machine code" "EVALS=${EVALS:-100} bench/nvrtc-pace.sh $*"
echo
echo "| compiler | kernel | evaluations | distinct codes | seconds | candidates/s |"
echo "|---|---|---|---|---|---|"
for family; do
    "$HONE" targets "$family" >/dev/null # probes, where that was not done yet
    for k in softmax matmul mixed; do
        mkdir -p "$dir/$family-$k"
        cp "tests/data/gpu/$k.cu" "$dir/$family-$k/"
        cat >"$dir/$family-$k/hone.yaml" <<EOF
sources: [$k.cu]
build: "{cc} {flags} -arch=${ARCH:-sm_90} -cubin $k.cu -o {out}"
compilers: [$family]
baseline: -Xptxas=-O3
metrics: {source: sass, threads: 256}
objectives: [minimize instructions]
limits: ["spills == 0", "occupancy >= baseline"]
budget: {evaluations: ${EVALS:-100}}
EOF
        begin=$(date +%s.%N)
        "$HONE" tune "$dir/$family-$k/hone.yaml" --jobs "$JOBS" --json -q >"$dir/$family-$k.json"
        end=$(date +%s.%N)
        python3 - "$dir/$family-$k.json" "$family" "$k" "$begin" "$end" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
n, s = d["trials"], float(sys.argv[5]) - float(sys.argv[4])
known = d["reused"]
print(f"| {sys.argv[2]} | {sys.argv[3]} | {n} | {n - known} | {s:.1f} | {n / s:.1f} |")
PY
    done
done
