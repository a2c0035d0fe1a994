#!/usr/bin/env bash
# bench/models.sh — compiled models beside ONNX Runtime and OpenVINO, all their optimisations on: interleaved, as ratios.
#
# usage: bench/models.sh
#   MODELS="mlp minilm_l6 bert_base gpt2 resnet50 mobilenet_v2"    THREADS="1 2"    TIME=10s per comparison    BUILD=build
#   SIZES="1x128" (batch x tokens; all that is reported: "1x128 8x128 1x32 1x512"; images know the batch alone)
#   ONNX= (a folder: its NAME.onnx for each of MODELS instead of `hone gen`'s, at the sizes in NAME.size where that is there)
#   PEERS="onnxruntime openvino" ("": hone alone)    TUNE= (a budget, 5m: `hone tune` for each number of threads, and its columns)
# Models come from `hone gen`, f32. The peers come from PyPI, into $BUILD/venv (tools/venv.sh bench); HONE_PYTHON names another
# Python. A peer that fails costs its cells, and is named below the table. What was measured is kept under $BUILD/bench/models, keyed
# by hone's binary, Python and TIME: run again it goes on where it was (remove the folder to measure anew).
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/models.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
PEERS=${PEERS-onnxruntime openvino}
if [ -n "$PEERS" ] && [ -z "${HONE_PYTHON:-}" ]; then
    HONE_PYTHON=$(peers_python) || { echo "the peers could not be installed: hone alone" >&2; PEERS=; }
fi
export HONE_PYTHON=${HONE_PYTHON:-}
time=${TIME:-10s}
mkdir -p "$OUT/models"
kept=$(cd "$OUT/models" && pwd)/$({ sha256sum <"$HONE"; echo "$HONE_PYTHON $time"; } | sha256sum | cut -c1-12)
mkdir -p "$kept"

# Runs a command whose standard output goes to a file, complete or not at all; its words, where it fails, beside it.
keep() {
    local to=$1
    shift
    [ ! -s "$to" ] || return 0
    if "$@" >"$to.part" 2>"$to.error"; then
        mv "$to.part" "$to"
        rm -f "$to.error"
    else
        rm -f "$to.part"
        tail -1 "$to.error" >&2
    fi
}
# hone bench with default schedules or tuned ones: variant, peer ("": alone), model, threads, result.
compare() {
    local data=$kept/$1 against=() size=()
    [ ! -s "${3%.onnx}.size" ] || size=(--size "$(cat "${3%.onnx}.size")")
    [ -z "$2" ] || against=(--against "$2")
    mkdir -p "$data"
    keep "$5" env XDG_DATA_HOME="$data" "$HONE" bench "$3" "${against[@]}" "${size[@]}" --threads "$4" --time "$time" --json
}

header "Models" "${SIZES:+SIZES=\"$SIZES\" }${TUNE:+TUNE=$TUNE }${COMMAND:-bench/models.sh}"
echo
python3 bench/models.py head "${TUNE:-}" "$PEERS"
rows=()
seen=
for model in ${MODELS:-mlp minilm_l6 bert_base gpt2 resnet50 mobilenet_v2}; do
    for size in ${SIZES:-1x128}; do
        case $model in mlp | resnet50 | mobilenet_v2) size=${size%x*} ;; esac
        [ -z "${ONNX:-}" ] || size=1
        case " $seen " in *" $model-$size "*) continue ;; esac
        seen="$seen $model-$size"
        onnx=${ONNX:+$ONNX/$model.onnx}
        onnx=${onnx:-$kept/$model-$size.onnx}
        for threads in ${THREADS:-1 2}; do
            row=$kept/$model-$size-$threads
            rows+=("$row")
            variants=default
            [ -z "${TUNE:-}" ] || variants="default tuned-$TUNE"
            for variant in $variants; do
                for peer in ${PEERS:-alone}; do
                    to=$row.$variant.$peer.json
                    [ -s "$to" ] && continue
                    if [ -z "${ONNX:-}" ] && [ ! -s "$onnx" ]; then
                        seq=()
                        [ "$size" = "${size#*x}" ] || seq=(--seq "${size#*x}")
                        "$HONE" gen "$model" "$onnx" --batch "${size%x*}" "${seq[@]}" >&2 || continue
                    fi
                    if [ "$variant" != default ]; then
                        mkdir -p "$kept/$variant"
                        keep "$row.$variant.tune" env XDG_DATA_HOME="$kept/$variant" "$HONE" tune "$onnx" --budget "$TUNE" --threads "$threads" --json -q
                    fi
                    compare "$variant" "${peer#alone}" "$onnx" "$threads" "$to"
                    [ -s "$to" ] || compare "$variant" "" "$onnx" "$threads" "$row.$variant.alone.json"
                done
            done
            python3 bench/models.py row "${TUNE:-}" "$PEERS" "$row"
        done
        [ -n "${ONNX:-}" ] || rm -f "$onnx"
    done
done
python3 bench/models.py foot "${TUNE:-}" "$PEERS" "${rows[@]}"
