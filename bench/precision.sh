#!/usr/bin/env bash
# bench/precision.sh — models of floats and the same in 8 bits (hone compile --precision int8), in turns: times, sizes, errors.
#
# usage: bench/precision.sh
#   MODELS="mobilenet_v2 resnet50 minilm_l6" (of `hone gen`)    THREADS=1    TIME=2s per turn    ROUNDS=3    BUILD=build
# Samples are random: errors say nothing about trained models on real data. Python with numpy makes them.
set -eu
build=${BUILD:-build}
hone=${HONE:-$build/hone}
python=${HONE_PYTHON:-build/venv/bin/python}
case ${1:-} in
"") ;;
*) sed -n '2,7s/^# \{0,1\}//p' "$0"; [ "$1" = --help ] || [ "$1" = -h ]; exit ;;
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
for model in ${MODELS:-mobilenet_v2 resnet50 minilm_l6}; do
    data=$work/image.npz
    case $model in minilm* | bert*) data=$work/tokens.npz ;; esac
    [ -s "$work/$model.onnx" ] || "$hone" gen "$model" "$work/$model.onnx" >&2
    "$hone" compile "$work/$model.onnx" -o "$work/$model-f32" >&2
    "$hone" compile "$work/$model.onnx" -o "$work/$model-int8" --precision int8 --data "$data" | grep -A 1 -e ^memory -e ^precision -e ^error
    for _ in $(seq "${ROUNDS:-3}"); do
        for kind in f32 int8; do
            printf '%s %s ' "$model" "$kind"
            "$hone" bench "$work/$model-$kind.so" --threads "${THREADS:-1}" --time "${TIME:-2s}" | sed -n 2p
        done
    done
done
