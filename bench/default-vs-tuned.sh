#!/usr/bin/env bash
# bench/default-vs-tuned.sh — how far default schedules are from tuned ones: per kernel, weighted by nothing and by time.
#
# usage: bench/default-vs-tuned.sh
#   BUILD=build; reads what bench/tune-model.sh left in $BUILD/bench/tune (run that first).
# A kernel without a winner counts as 1: its default is the best known. Aim: geometric mean at most 1.15.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/default-vs-tuned.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
header "Default against tuned schedules" "bench/default-vs-tuned.sh"
python3 - "$OUT"/tune/*.json <<'PY'
import json, math, os, sys
rows = []
for path in sys.argv[1:]:
    r = json.load(open(path))
    if "kernels" not in r or not isinstance(r["kernels"], list):
        continue
    model = os.path.basename(path)[:-5]
    for k in r["kernels"]:
        if k["end"] in ("left out", "none"):
            continue
        gain = k["gain"][1] if k["winner"] else 1.0
        rows.append((model, k, gain))
if not rows:
    sys.exit("no results: run bench/tune-model.sh first")
print("\n| model | kernel | kind | share | default ms | default / tuned | schedule |\n|---|---|---|---|---|---|---|")
for model, k, gain in rows:
    print(f"| {model} | {k['kernel']} | {k['kind']} | {k['share']:.1%} | {k['default_s'] * 1e3:.3g} | {gain:.3f} | {k['schedule']} {k['flags']} |")
mean = math.exp(sum(math.log(g) for _, _, g in rows) / len(rows))
weight = sum(k["share"] for _, k, _ in rows)
timed = math.exp(sum(k["share"] * math.log(g) for _, k, g in rows) / weight) if weight else 1
print(f"\nGeometric mean over {len(rows)} kernels: {mean:.3f}; weighted by their share of the time: {timed:.3f}")
PY
