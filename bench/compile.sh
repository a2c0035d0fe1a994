#!/usr/bin/env bash
# bench/compile.sh — what compiling the six generated models takes, and what comes out.
#
# usage: bench/compile.sh
#   MODELS="mlp resnet50 mobilenet_v2 minilm_l6 bert_base gpt2"
#   TARGET=native      THREADS=1      BUILD=build        build folder
# Models and libraries go to $BUILD/bench/compile. Memory is that of a program that opens the library, runs once, and does
# nothing else (bench/compile_load.c), against weights + arena; load is dlopen and create, the weights in the page cache.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/compile.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
untuned
models=${MODELS:-mlp resnet50 mobilenet_v2 minilm_l6 bert_base gpt2}
work=$OUT/compile
mkdir -p "$work"
${CC:-cc} -std=gnu11 -O2 -Iinclude bench/compile_load.c -o "$work/load" -ldl

header "Compiling" "bench/compile.sh"
echo
echo "Times in seconds unless said; sizes in MiB. Aims: resnet50 in 15 s on two cores, code 1 MiB, load 20 ms, memory at most"
echo "5 MiB over weights + arena, arena / bound 1.1."
echo
echo "| model | compile | import | passes | kernels | C compiler | parity | calls | distinct | code | weights | arena | arena / bound | load ms | memory over weights + arena |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
for model in $models; do
    [ -s "$work/$model.onnx" ] || "$HONE" gen "$model" "$work/$model.onnx" >&2
    "$HONE" compile "$work/$model.onnx" -o "$work/$model" --target "${TARGET:-native}" --no-cache --json >"$work/$model.json"
    "$work/load" "$work/$model.so" "${THREADS:-1}" >"$work/$model.load"
    python3 - "$model" "$work/$model.json" "$work/$model.load" <<'PY'
import json, sys
name, result, load = sys.argv[1], json.load(open(sys.argv[2])), json.load(open(sys.argv[3]))
s, mib = result["stages"], 1 << 20
over = load["rss_b"] - result["weights_b"] - result["arena_b"]
cells = [name, f"{result['time_s']:.1f}"] + [f"{s[k]:.1f}" for k in ("import_s", "passes_s", "kernels_s", "compiler_s", "parity_s")]
cells += [str(result["kernels"]), str(result["distinct"])]
cells += [f"{result[k] / mib:.2f}" for k in ("code_b", "weights_b", "arena_b")]
cells += [f"{result['arena_b'] / max(result['arena_lower_bound_b'], 1):.3f}", f"{load['load_s'] * 1e3:.1f}", f"{over / mib:.1f}"]
print("| " + " | ".join(cells) + " |", flush=True)
PY
done
