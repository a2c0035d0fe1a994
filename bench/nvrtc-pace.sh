#!/usr/bin/env bash
# bench/nvrtc-pace.sh — candidates a second of a search by figures of machine code, with NVRTC and with nvcc.
#
# usage: bench/nvrtc-pace.sh [FAMILY...]     (default: nvrtc nvcc)
# For three kernels each: EVALS=100 evaluations, registers, spills, occupancy and instructions of each read from its cubin; builds
# side by side, JOBS_PACE=2. Stated is evaluations by wall time of the whole search, probing aside, and the share of evaluations whose
# code was known already. Wants an idle machine; CPU time of hone and the compilers by evaluations can be compared on a busy one too.
# ARCH=sm_90, BUILD=build, HONE=build/hone.
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
echo "| compiler | kernel | evaluations | distinct codes | seconds | candidates/s | CPU s/candidate |"
echo "|---|---|---|---|---|---|---|"
TIMEFORMAT="%R %U %S"
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
        { time "$HONE" tune "$dir/$family-$k/hone.yaml" --jobs "$JOBS" --json -q >"$dir/$family-$k.json" 2>/dev/null; } 2>"$dir/time"
        # shellcheck disable=SC2046
        python3 - "$dir/$family-$k.json" "$family" "$k" $(cat "$dir/time") <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
n, (s, user, system) = d["trials"], map(float, sys.argv[4:7])
known = d["reused"]
print(f"| {sys.argv[2]} | {sys.argv[3]} | {n} | {n - known} | {s:.1f} | {n / s:.1f} | {(user + system) / n:.3f} |")
PY
    done
done
