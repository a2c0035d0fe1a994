#!/usr/bin/env bash
# examples/demo.sh — tunes two of the examples with gcc, within three minutes, and shows what was found.
#
# usage: examples/demo.sh [EXAMPLE...]      default: gemm interp
#   BUILD=build    where hone was built      EVALS=60 TIME=35s    budget of each search
# Called by `make demo`. Records go to $BUILD/demo, so that the examples' own folders stay as they are.
set -eu
cd "$(dirname "$0")/.."
case "${1:-}" in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
build=${BUILD:-build}
hone=$build/hone
[ -x "$hone" ] || { echo "'$hone' is not there: run make first" >&2; exit 1; }
[ $# -gt 0 ] || set -- gemm interp

say() { if [ -t 1 ]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi; }
wide() { cut -c1-"$(if [ -t 1 ]; then tput cols 2>/dev/null || echo 120; else echo 120; fi)"; }

for name; do
    workload=examples/$name/hone.yaml
    say "$name: $(sed -n '1s/^# //; 1s/: *hone tune.*//p' "$workload"), from -O3 -march=native"
    mkdir -p "$build/demo"
    "$hone" tune "$workload" --new --evals "${EVALS:-60}" --time "${TIME:-35s}" --store "$build/demo/$name"
done

for name; do
    workload=examples/$name/hone.yaml store=$build/demo/$name
    say "$name: the best of what was tried"
    "$hone" results --top 5 --workload "$workload" --store "$store" | wide
    say "$name: its flags"
    "$hone" best --argv --workload "$workload" --store "$store" | fold -s -w 110
done
say "Next: build/hone tune examples/gemm/hone.yaml for the full budget; docs/workload.md to write a file for your own code"
