#!/usr/bin/env bash
# examples/demo.sh — tunes two of the examples with gcc, within three minutes, and shows what was found; then compiles,
# verifies and times a model.
#
# usage: examples/demo.sh [EXAMPLE...]      default: gemm interp
#   BUILD=build    where hone was built      EVALS=60 TIME=45s    budget of each search
# Called by `make demo`. Records go to $BUILD/demo, so that the examples' own folders stay as they are.
set -eu
cd "$(dirname "$0")/.."
case "${1:-}" in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
build=${BUILD:-build}
hone=$build/hone
[ -x "$hone" ] || { echo "'$hone' is not there: run make first" >&2; exit 1; }
[ $# -gt 0 ] || set -- gemm interp

say() { if [ -t 1 ]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi; }
wide() { cut -c1-"$(if [ -t 1 ]; then tput cols 2>/dev/null || echo 120; else echo 120; fi)"; }

# Asked and probed once per compiler binary, then kept: apart from the searches, so that it takes none of their time.
say "gcc: asking for its controls and trying each (a minute at most; only the first time)"
"$hone" space count gcc

for name; do
    workload=examples/$name/hone.yaml
    say "$name: $(sed -n '1s/^# //; 1s/: *hone tune.*//p' "$workload"), from -O3 -march=native"
    mkdir -p "$build/demo"
    "$hone" tune "$workload" --new --evals "${EVALS:-60}" --time "${TIME:-45s}" --store "$build/demo/$name"
done

for name; do
    workload=examples/$name/hone.yaml store=$build/demo/$name
    say "$name: the best of what was tried"
    "$hone" results --top 5 --workload "$workload" --store "$store" | wide
    "$hone" best --rsp --workload "$workload" --store "$store" >"$build/demo/$name.rsp" || continue # nothing in time
    n=$(wc -l <"$build/demo/$name.rsp")
    say "$name: $n flags, for any build as gcc @$build/demo/$name.rsp"
    { grep '^-D' "$build/demo/$name.rsp" || true; grep -v '^-D' "$build/demo/$name.rsp"; } | head -24 | paste -sd' ' | fold -s -w 110
    [ "$n" -le 24 ] || echo "... and $((n - 24)) more"
done
# The other half: a model becomes a library, is held against the interpreter and timed.
model=$build/demo/minilm_l6
say "minilm_l6: a text encoder, 6 layers of 384, as ONNX, with random weights"
[ -s "$model.onnx" ] || "$hone" gen minilm_l6 "$model.onnx" --seq 32
say "minilm_l6: compiled to a library; every kernel is held against the interpreter"
"$hone" compile "$model.onnx" -o "$model"
say "minilm_l6: whole outputs, against the interpreter"
"$hone" verify "$model.onnx" --no-parity --inputs 1
say "minilm_l6: timed on one thread"
"$hone" bench "$model.so" --threads 1 --time 3s

say "Next: build/hone tune examples/gemm/hone.yaml for the full budget; docs/workload.md to write a file for your own code"
