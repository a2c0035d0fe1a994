#!/usr/bin/env bash
# bench/run-all.sh — all benchmarks, one after the other; their tables as markdown in $BUILD/bench/*.md.
#
# usage: bench/run-all.sh [NAME...]     names: overhead search-quality proof real-gains minimize high-dim static-search opencl programs compile models other-models sequence-models tune-model default-vs-tuned gemm attention rows operators narrow-models dynamic scaling math python-overhead gpu-controls nvrtc-pace gpu-tuner gpu-models (default: all)
#   SEEDS, EVALS, JOBS, BUILD and the rest are handed on; each script's --help says what it reads.
# Takes hours with the defaults; search-quality and high-dim go on where they were when started again.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case "${1:-}" in -h | --help) usage bench/run-all.sh ;; esac
need_hone
all=(overhead search-quality proof real-gains minimize high-dim static-search opencl programs compile models other-models sequence-models tune-model default-vs-tuned gemm attention rows operators narrow-models dynamic scaling math python-overhead gpu-controls nvrtc-pace gpu-tuner gpu-models)
[ $# -gt 0 ] || set -- "${all[@]}"
mkdir -p "$OUT"
failed=
for name; do
    script=bench/$name.sh
    words=()
    case $name in
    programs) script=bench/programs/run.sh ;;
    gpu-tuner | gpu-models) script=bench/gpu.sh words=("${name#gpu-}") ;;
    esac
    [ -x "$script" ] || { echo "no benchmark '$name'; known: ${all[*]}" >&2; exit 2; }
    echo "== $name" >&2
    if "$script" ${words[@]+"${words[@]}"} >"$OUT/$name.md.part"; then
        mv "$OUT/$name.md.part" "$OUT/$name.md"
        cat "$OUT/$name.md"
    elif [ $? -eq 3 ] && [ "${words[*]:-}" ]; then
        echo "$name: no device" >&2
    else
        failed="$failed $name"
    fi
done
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
