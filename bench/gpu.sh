#!/usr/bin/env bash
# bench/gpu.sh — hone on a machine with a GPU: what it measures, finds and proves there.
#
# usage: bench/gpu.sh tuner|models
#   TIME=20m                    for all of it (models: 15m); the parts get shares
#   ONLY="truth examples spaces"  parts: A/A and planted gains; the five examples tuned and proven beside random search and,
#                               where they can be imported, Kernel Tuner and Triton; two spaces measured exhaustively
#   HONE=FILE                   hone (default: build/portable/hone, build/hone, hone in PATH)
#   PYTHON=python3              an interpreter; the one that has kernel_tuner or triton, for those peers
#   HONE_GPU_DEVICE=opencl:1    the device, as docs/harness-gpu.md names it (default: CUDA's first, else OpenCL's first)
#   ARCH=sm_90                  what is compiled for (default: as nvidia-smi says); compute_90: PTX, which the driver compiles
#   SMALL=1                     the planted gains on small data (default on OpenCL devices that are not NVIDIA's)
#   BUILD=build                 build folder
#   models: the six networks of `hone gen` at batch 32 and ResNet-50 at 64, right and timed beside torch, torch.compile and ONNX Runtime
#   where PYTHON can import them
#   MODELS="mlp:32 gpt2:32 …"   networks and batches    SEQ=128 tokens    MEASURE=3 seconds for each figure
#   PLACE=cuda:0                the device, as `hone devices` names it (default: CUDA's first, else OpenCL's first)
#   JSON=1                      one JSON object instead of the table: rows (right, seconds of each, or why not), peers left out
#   CPU=1                       beside it hone on the CPU and naive kernels on the device, for orientation
# Needs hone, Python, and for CUDA nvcc or NVRTC; nothing is built. Results are kept in $BUILD/bench/gpu: what is there is not
# measured again, remove the folder to do so. Recorded spaces are in spaces/ there, for `hone replay`. Without a device it says
# so and ends with status 3. docs/benchmarks.md says how to read the tables.
set -eu
case "${1:-}" in
tuner | models) what=$1 && shift ;;
-h | --help) exec awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" ;;
*) echo "usage: bench/gpu.sh tuner|models (--help says more)" >&2; exit 2 ;;
esac
[ $# -eq 0 ] || { echo "bench/gpu.sh $what takes no argument: '$1'" >&2; exit 2; }
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
for hone in "${HONE:-}" "$BUILD/portable/hone" "$BUILD/hone" "$(command -v hone || true)"; do
    if [ -n "$hone" ] && [ -x "$hone" ]; then break; fi
done
[ "$what" = tuner ] || [ -n "${HONE:-}" ] || [ ! -x "$BUILD/hone" ] || hone=$BUILD/hone
[ -n "$hone" ] && [ -x "$hone" ] || { echo "no hone: set HONE, or run make" >&2; exit 1; }
if [ "$what" = models ]; then
    exec "${PYTHON:-python3}" bench/gpu_models.py --hone "$hone" --out "${OUT:-$BUILD/bench}/gpu-models" --time "${TIME:-15m}" \
        ${MODELS:+--models "$MODELS"} ${SEQ:+--seq "$SEQ"} ${MEASURE:+--measure "$MEASURE"} ${PLACE:+--place "$PLACE"} ${CPU:+--cpu} ${JSON:+--json}
fi
exec "${PYTHON:-python3}" bench/gpu_tuner.py --hone "$hone" --out "${OUT:-$BUILD/bench}/gpu" --time "${TIME:-20m}" \
    --only "${ONLY:-truth examples spaces}"
