#!/usr/bin/env bash
# bench/winograd.sh — convolutions by fewer multiplications: models compiled without and with them, in turns in one process, and each
# in turns with ONNX Runtime where Python has it.
#
# usage: bench/winograd.sh
#   MODELS="vgg16 resnet50 unet"    THREADS="1 2"    TIME=20 seconds per comparison    TOLERANCE=1e-3    PEER=onnxruntime ("": none)
#   BUILD=build
# Shapes of published architectures, random weights (hone gen, bench/other_models.py), f32, batch 1. Both libraries are --relaxed; the
# one has --tolerance 0.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/winograd.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
untuned
PEER=${PEER-onnxruntime}
export HONE_PYTHON=${HONE_PYTHON:-$(peers_python)}
work=$OUT/winograd
mkdir -p "$work"
build_program bench/winograd.c "$work/turns"

make_model() {
    [ ! -s "$work/$1.onnx" ] || return 0
    case $1 in
    resnet50 | mobilenet_v2) "$HONE" gen "$1" "$work/$1.onnx" >&2 ;;
    *) "$HONE_PYTHON" bench/other_models.py "$1" "$work/$1.onnx" ;;
    esac
}
# Median of hone by that of the peer: options, model.
by_peer() {
    "$HONE" bench "$2" --relaxed --tolerance "$1" --no-winners --against "$PEER" --threads "$3" --time "${TIME:-20}" --json |
        python3 -c 'import json, sys; a, b = json.load(sys.stdin)["results"][:2]; print(format(a["p50_s"] / b["p50_s"], ".2f"))' || echo "-"
}

header "Fewer multiplications" bench/winograd.sh
echo
echo "| model | threads | direct ms | fewer ms | fewer / direct | largest difference | direct / ${PEER:-peer} | fewer / ${PEER:-peer} |"
echo "|---|---|---|---|---|---|---|---|"
for model in ${MODELS:-vgg16 resnet50 unet}; do
    make_model "$model"
    for threads in ${THREADS:-1 2}; do
        for tolerance in 0 "${TOLERANCE:-1e-3}"; do
            "$HONE" compile "$work/$model.onnx" --relaxed --tolerance "$tolerance" --no-winners --threads "$threads" -o "$work/$model-$tolerance" >&2
        done
        "$work/turns" "${TIME:-20}" "$threads" "$work/$model-0.so" "$work/$model-${TOLERANCE:-1e-3}.so" >"$work/turns.txt"
        direct=- fewer=-
        [ -z "$PEER" ] || direct=$(by_peer 0 "$work/$model.onnx" "$threads")
        [ -z "$PEER" ] || fewer=$(by_peer "${TOLERANCE:-1e-3}" "$work/$model.onnx" "$threads")
        awk -v model="$model" -v threads="$threads" -v direct="$direct" -v fewer="$fewer" '
            NR == 1 { difference = $3 } NR == 2 { a = $1 } NR == 3 { b = $1; ratio = $2 }
            END { printf "| %s | %s | %.1f | %.1f | %s | %s | %s | %s |\n", model, threads, a * 1e3, b * 1e3, ratio, difference, direct, fewer }' "$work/turns.txt"
    done
done
