#!/usr/bin/env bash
# bench/precision.sh — models of floats and the same in 8 bits (hone compile --precision int8), in turns: times, sizes, errors;
# then models of floats and the same in bf16 (--precision bf16), in turns: with weights as they are (a target without the instruction), in pairs by
# f32 multiply-adds, in pairs by the instruction; the rates of the device table decide, so each is compiled under a table that says which is faster;
# then the fronts of a search for mixed precision (--precision mixed): error, held out and its bound, latency, size;
# then other quantisers beside hone at equal error (bench/precision_peers.py): ONNX Runtime's, and nncf where it is installed;
# then the text detector of rapidocr-onnxruntime by what is read of drawn pages (bench/ocr.py).
#
# usage: bench/precision.sh
#   MODELS="mobilenet_v2 resnet50 minilm_l6" (of `hone gen`)    THREADS=1    TIME=2s per turn    ROUNDS=3    BUILD=build
#   HALVES="mobilenet_v2 resnet50 minilm_l6": models in bf16
#   FRONTS="minilm_l6 mobilenet_v2"    POINTS=64 of the engine    CALIBRATE=mse    PARTS="turns bf16 fronts peers ocr": what is done
#   PEERS="minilm_l6 ocr"    TURNS=60 of each in peers    PAGES=16 of ocr    METRIC_POINTS=24 of ocr
# Samples are random but for ocr: their errors say nothing about trained models on real data. Python with numpy makes them; peers and ocr
# take packages of tools/venv.sh bench and wild.
set -eu
build=${BUILD:-build}
hone=${HONE:-$build/hone}
python=${HONE_PYTHON:-build/venv/bin/python}
case ${1:-} in
"") ;;
*) sed -n '2,17s/^# \{0,1\}//p' "$0"; [ "$1" = --help ] || [ "$1" = -h ]; exit ;;
esac
work=$build/bench/precision
mkdir -p "$work"
work=$(cd "$work" && pwd)
"$python" - "$work" <<'PY'
import sys
import numpy as np
rng = np.random.default_rng(0)
np.savez(f"{sys.argv[1]}/image.npz", x=rng.standard_normal((16, 3, 224, 224)).astype("f4"))
mask = np.where(np.arange(128) < rng.integers(32, 129, (16, 1, 1, 1)), 0, -10000).astype("f4")
np.savez(f"{sys.argv[1]}/tokens.npz", ids=rng.integers(0, 30000, (16, 128)), mask=mask)
PY
parts=" ${PARTS:-turns bf16 fronts peers ocr} "
[[ $parts == *" turns "* ]] || MODELS=
[[ $parts == *" bf16 "* ]] || HALVES=
[[ $parts == *" fronts "* ]] || FRONTS=
[[ $parts == *" peers "* ]] || PEERS=
pages() { # once
    [ -s "$work/ocr/pages.npz" ] || "$python" bench/ocr.py pages "$work/ocr" "${PAGES:-16}"
}
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
            "$hone" bench "$work/$model-$kind.so" --threads "${THREADS:-1}" --time "${TIME:-2s}" | grep '^hone'
        done
    done
done
# table NAME FACTOR: a folder whose device table says that pairs of bf16 are so many times as fast as f32
table() {
    mkdir -p "$work/$1/hone"
    [ -s "$work/device.yaml" ] || { XDG_CACHE_HOME=$work/measured "$hone" doctor --measure >/dev/null && cp "$work/measured/hone/device.yaml" "$work/device.yaml"; }
    awk -v by="$2" '/^f32_flops:/ { f32 = $2 } /^bf16_flops:/ { $2 = by * f32 } { print }' "$work/device.yaml" >"$work/$1/hone/device.yaml"
}
halves=${HALVES-mobilenet_v2 resnet50 minilm_l6}
if [ -n "$halves" ]; then
    kinds="f32 bf16"
    if grep -q avx512_bf16 /proc/cpuinfo; then
        kinds="f32 bf16 bf16-multiply-adds bf16-instruction"
        table slow 0.1
        table quick 10
        echo "bf16: rates of this machine: $(grep -E '^(f32|bf16)_flops' "$work/device.yaml" | cut -d '#' -f 1 | tr '\n' ' ')"
    else
        echo "bf16: this processor has no AVX512_BF16: without pairs"
    fi
fi
compile_half() { # MODEL KIND
    local cache=${XDG_CACHE_HOME:-$HOME/.cache} options=(--precision bf16)
    case $2 in
    f32) options=() ;;
    bf16) grep -q avx512_bf16 /proc/cpuinfo && options+=(--target x86-64-v4-vnni) ;;
    *-adds) cache=$work/slow ;;
    *) cache=$work/quick ;;
    esac
    XDG_CACHE_HOME=$cache "$hone" compile "$work/$1.onnx" -o "$work/$1-half-$2" --no-winners "${options[@]}" >&2
}
for model in $halves; do
    prepare "$model"
    for kind in $kinds; do compile_half "$model" "$kind"; done
    for _ in $(seq "${ROUNDS:-3}"); do
        for kind in $kinds; do
            printf '%s %s ' "$model" "$kind"
            "$hone" bench "$work/$model-half-$kind.so" --threads "${THREADS:-1}" --time "${TIME:-2s}" | grep '^hone'
        done
    done
done
for model in ${FRONTS-minilm_l6 mobilenet_v2}; do
    prepare "$model"
    printf '%s, mixed: ' "$model"
    "$hone" compile "$work/$model.onnx" -o "$work/$model-mixed" --precision mixed --data "$data" --points "${POINTS:-64}" \
        --calibrate "${CALIBRATE:-mse}" --threads "${THREADS:-1}" | sed -n '/^front/,/^chosen/p'
done
for model in ${PEERS-minilm_l6 ocr}; do
    if [ "$model" = ocr ]; then
        pages
        onnx=$work/ocr/det.onnx data=$work/ocr/pages.npz
    else
        prepare "$model"
        onnx=$work/$model.onnx
    fi
    echo "$model, beside other quantisers:"
    "$python" bench/precision_peers.py "$onnx" "$data" "$work/peers-$model" --threads "${THREADS:-1}" --rounds "${TURNS:-60}" --points "${POINTS:-64}" --hone "$hone"
done
if [[ $parts == *" ocr "* ]]; then
    pages
    printf 'ocr, by what is read: '
    "$hone" compile "$work/ocr/det.onnx" -o "$work/ocr/mixed" --precision mixed --data "$work/ocr/pages.npz" --points "${METRIC_POINTS:-24}" \
        --calibrate "${CALIBRATE:-mse}" --threads "${THREADS:-1}" --max-error "${METRIC_ERROR:-5%}" --metric "$python bench/ocr.py metric $work/ocr" |
        sed -n '/^front/,/^chosen/p'
fi
