#!/usr/bin/env bash
# bench/overhead.sh — hone's own cost: ask + tell on synthetic spaces, memory at 100,000 trials, own time per candidate.
#
# usage: bench/overhead.sh
#   ENGINES=auto,...   engines to time (default: all that take one objective)
#   EVALS=100          trials of the real search that own time is taken from
#   TRIALS=100000      trials of the memory run
#   BUILD=build        build folder
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/overhead.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
program=$OUT/overhead
build_program bench/overhead.c "$program"
engines=${ENGINES:-auto,lfbo,forest,gp,ridge,evolve,random}
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
times() { echo "$(echo "$1" | field ask_tell_ms) ($(echo "$1" | field ask_tell_cpu_ms)) ms"; }

header "Overhead" "bench/overhead.sh"
echo
echo "Mean time of ask + tell: wall (processor). Aims: 1 ms with 20 parameters over 200 observations, 20 ms with 400 over 1,000."
echo
echo "| engine | 20 parameters, 200 observations | 400 parameters, 1,000 observations |"
echo "|---|---|---|"
for engine in $(echo "$engines" | tr , ' '); do
    small=$("$program" "$engine" 20 200)
    large=$("$program" "$engine" 400 1000)
    echo "| $engine | $(times "$small") | $(times "$large") |"
done

trials=${TRIALS:-100000}
json=$("$program" auto 20 "$trials" 1000)
echo
echo "Peak memory of a search with auto over $trials trials of 20 parameters: $(echo "$json" | field peak_mib) MiB" \
    "(aim: 200 MB); ask + tell over the last 1,000 of them: $(times "$json")."

rm -rf "$OUT/overhead-store"
json=$("$HONE" tune bench/overhead/hone.yaml --new --no-canary --quiet --json --evals "${EVALS:-100}" --store "$OUT/overhead-store")
echo
echo "hone's own time per candidate beyond compiler and program, over a real search: $(echo "$json" | python3 -c '
import json, sys
r = json.load(sys.stdin)
print("%.2f ms (%d trials, %.2f s of %.1f s)" % (1e3 * r["own_s"] / r["trials"], r["trials"], r["own_s"], r["elapsed_s"]))') (aim: 5 ms)."
