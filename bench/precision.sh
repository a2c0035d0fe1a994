#!/usr/bin/env bash
# bench/precision.sh — models of floats and the same in 8 bits (hone compile --precision int8), in turns: times, sizes, errors;
# then the fronts of a search for mixed precision (--precision mixed): error, held out and its bound, latency, size.
#
# usage: bench/precision.sh
#   MODELS="mobilenet_v2 resnet50 minilm_l6" (of `hone gen`)    THREADS=1    TIME=2s per turn    ROUNDS=3    BUILD=build
#   FRONTS="minilm_l6 mobilenet_v2"    POINTS=64 of the engine    CALIBRATE=mse    PARTS="turns fronts": what is done
# Samples are random: errors say nothing about trained models on real data. Python with numpy makes them.
set -eu
build=${BUILD:-build}
hone=${HONE:-$build/hone}
python=${HONE_PYTHON:-build/venv/bin/python}
case ${1:-} in
"") ;;
*) sed -n '2,9s/^# \{0,1\}//p' "$0"; [ "$1" = --help ] || [ "$1" = -h ]; exit ;;
esac
work=$build/bench/precision
mkdir -p "$work"
"$python" - "$work" <<'PY'
import sys
import numpy as np
rng = np.random.default_rng(0)
np.savez(f"{sys.argv[1]}/image.npz", x=rng.standard_normal((16, 3, 224, 224)).astype("f4"))
mask = np.where(np.arange(128) < rng.integers(32, 129, (16, 1, 1, 1)), 0, -10000).astype("f4")
np.savez(f"{sys.argv[1]}/tokens.npz", ids=rng.integers(0, 30000, (16, 128)), mask=mask)
PY
parts=" ${PARTS:-turns fronts} "
[[ $parts == *" turns "* ]] || MODELS=
[[ $parts == *" fronts "* ]] || FRONTS=
prepare() {
    data=$work/image.npz
    case $1 in minilm* | bert*) data=$work/tokens.npz ;; esac
    [ -s "$work/$1.onnx" ] || "$hone" gen "$1" "$work/$1.onnx" >&2
}
for model in ${MODELS-mobilenet_v2 resnet50 minilm_l6}; do
    prepare "$model"
    "$hone" compile "$work/$model.onnx" -o "$work/$model-f32" >&2
    "$hone" compile "$work/$model.onnx" -o "$work/$model-int8" --precision int8 --data "$data" | grep -A 1 -e ^memory -e ^precision -e ^error
    for _ in $(seq "${ROUNDS:-3}"); do
        for kind in f32 int8; do
            printf '%s %s ' "$model" "$kind"
            "$hone" bench "$work/$model-$kind.so" --threads "${THREADS:-1}" --time "${TIME:-2s}" | sed -n 2p
        done
    done
done
for model in ${FRONTS-minilm_l6 mobilenet_v2}; do
    prepare "$model"
    printf '%s, mixed: ' "$model"
    "$hone" compile "$work/$model.onnx" -o "$work/$model-mixed" --precision mixed --data "$data" --points "${POINTS:-64}" \
        --calibrate "${CALIBRATE:-mse}" --threads "${THREADS:-1}" | sed -n '/^front/,/^chosen/p'
done
