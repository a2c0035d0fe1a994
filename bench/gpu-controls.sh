#!/usr/bin/env bash
# bench/gpu-controls.sh — which settings of the compilers for NVIDIA's GPUs change machine code, for three kernels.
#
# usage: bench/gpu-controls.sh [FAMILY...]     (default: ptxas nvcc; also nvrtc and clang-cuda, which takes half an hour)
# A table for each: "3 of 6 (2)" says that three of six values change the code, to two different ones. No GPU is needed; timing
# plays no part, so any machine will do. ARCH=sm_90, BUILD=build. Needs nvcc and cuobjdump (tools/cuda-tools.sh).
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case ${1:-} in -h | --help) usage bench/gpu-controls.sh ;; esac
need_hone
[ $# -gt 0 ] || set -- ptxas nvcc
export HONE_CUDA=${HONE_CUDA:-$PWD/$BUILD/cuda}
nvcc=$HONE_CUDA/bin/nvcc
[ -x "$nvcc" ] || nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "no nvcc: run tools/cuda-tools.sh, or set HONE_CUDA to a toolkit" >&2; exit 1; }
build_program bench/gpu_controls.c "$OUT/gpu-controls"
ptx=$(mktemp -d)
trap 'rm -rf "$ptx"' EXIT

header "Settings that change machine code for GPUs" "ARCH=${ARCH:-sm_90} bench/gpu-controls.sh $*"
echo "- $("$nvcc" --version | sed -n 's/^Cuda compilation tools, //p')"
for family; do
    sources=(tests/data/gpu/softmax.cu tests/data/gpu/matmul.cu tests/data/gpu/mixed.cu)
    if [ "$family" = ptxas ]; then
        for k in softmax matmul mixed; do "$nvcc" -arch=sm_80 -ptx "tests/data/gpu/$k.cu" -o "$ptx/$k.ptx"; done
        sources=("$ptx/softmax.ptx" "$ptx/matmul.ptx" "$ptx/mixed.ptx")
    fi
    echo
    "$OUT/gpu-controls" "$family" "${ARCH:-sm_90}" "${sources[@]}"
done
