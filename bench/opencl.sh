#!/usr/bin/env bash
# bench/opencl.sh — OpenCL kernels on PoCL: the harness against itself, then two kernels tuned and proven.
#
# usage: bench/opencl.sh [aa] [tune]     (default: both)
#   aa: PAIRS=40 interleaved pairs of runs of the same kernel: the median ratio of a pair's two sides, and how far single
#       pairs lie apart. Half a minute a kernel.
#   tune: searches EVALS=40 points, proves the best; minutes a kernel. SEED=1
#   KERNELS="convolution product". Needs an idle machine, pocl-opencl-icd and ocl-icd-libopencl1. BUILD=build
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case ${1:-} in -h | --help) usage bench/opencl.sh ;; esac
need_hone
[ $# -gt 0 ] || set -- aa tune
kernels=${KERNELS:-convolution product}
program=$(cd "$BUILD" && pwd)/hone-gpu-bench
hone=$(cd "$(dirname "$HONE")" && pwd)/hone
"$program" --devices opencl | grep -q ^opencl || { echo "no OpenCL device: install pocl-opencl-icd and ocl-icd-libopencl1" >&2; exit 1; }

source_of() {
    case $1 in convolution) echo "$PWD/examples/gpu/convolution/convolution.cl" ;; *) echo "$PWD/bench/opencl/$1.cl" ;; esac
}

aa() {
    header "OpenCL on PoCL: the harness against itself" "PAIRS=${PAIRS:-40} bench/opencl.sh aa"
    echo "- device: $("$program" --devices opencl | head -1 | cut -f3,5,6 | tr '\t' ',')"
    echo
    echo "| kernel | median of a run | pairs | A/A, median of the ratios | middle half of the ratios | spread of the samples in a run |"
    echo "|---|---|---|---|---|---|"
    local k
    for k in $kernels; do
        python3 - "$program" "$PWD/bench/opencl/$k.kernel" "$(source_of "$k")" "$k" "${PAIRS:-40}" <<'P'
import json, os, statistics, subprocess, sys
program, kernel, source, name, pairs = *sys.argv[1:5], int(sys.argv[5])
last = max(os.sched_getaffinity(0))
def run():
    out = subprocess.run([program, kernel, source, "--hone-json", "--hone-min-time", "20ms"], capture_output=True, text=True,
                         check=True, preexec_fn=lambda: os.sched_setaffinity(0, {last})).stdout
    return next(x["samples"] for x in map(json.loads, out.splitlines()) if x.get("metric") == "latency")
run()
ratio, time, spread = [], [], []
for i in range(pairs):
    a, b = run(), run()
    if i % 2: a, b = b, a
    ratio.append(statistics.median(a) / statistics.median(b))
    time.append(statistics.median(a))
    spread.append((statistics.quantiles(a)[2] - statistics.quantiles(a)[0]) / statistics.median(a))
q = statistics.quantiles(ratio)
print(f"| {name} | {1e3 * statistics.median(time):.3f} ms | {pairs} | {100 * (statistics.median(ratio) - 1):+.2f} % | "
      f"{100 * (q[0] - 1):+.2f} to {100 * (q[2] - 1):+.2f} % | {100 * statistics.median(spread):.2f} % |")
P
    done
}

tune() {
    header "OpenCL kernels on PoCL, tuned and proven" "EVALS=${EVALS:-40} SEED=${SEED:-1} bench/opencl.sh tune"
    local k dir
    for k in $kernels; do
        dir=$OUT/opencl-$k
        rm -rf "$dir"
        mkdir -p "$dir"
        cp bench/opencl/"$k".* "$dir/"
        cp -n "$(source_of "$k")" "$dir/"
        sed -i "s|../../examples/gpu/convolution/convolution.cl|convolution.cl|; s|{src}/||" "$dir/$k.yaml"
        echo
        echo "### $k"
        echo '```'
        (
            cd "$dir"
            "$hone" tune "$k.yaml" --evals "${EVALS:-40}" --seed "${SEED:-1}" 2>/dev/null
            "$hone" validate -w "$k.yaml" -n 1 2>/dev/null || true
        )
        echo '```'
    done
}

for part; do
    case $part in aa | tune) "$part" ;; *) usage bench/opencl.sh 2 ;; esac
done
