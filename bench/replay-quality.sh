#!/usr/bin/env bash
# bench/replay-quality.sh — hone's engines on recorded spaces: mean fraction of the best, per space and engine.
#
# usage: bench/replay-quality.sh [engine ...]     (default: auto lfbo forest gp random)
#   SPACES="a.tsv.xz ..."   recorded spaces (default: ../shared/spaces/*.tsv.xz)
#   SEEDS=50 EVALS=200 CONSTRAINTS=known|unknown BUILD=build
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case ${1:-} in -h | --help) usage bench/replay-quality.sh ;; esac
need_hone
[ $# -gt 0 ] || set -- auto lfbo forest gp random
spaces=${SPACES:-$(ls ../shared/spaces/*.tsv.xz 2>/dev/null || true)}
[ -n "$spaces" ] || { echo "no recorded space to judge on; set SPACES" >&2; exit 1; }
header "Search quality, hone alone" "SEEDS=${SEEDS:-50} EVALS=${EVALS:-200} bench/replay-quality.sh $*"
echo
echo "| engine | space | 25 | 50 | 100 | 200 | evaluations to 95 % | ask + tell, us |"
echo "|---|---|---|---|---|---|---|---|"
for engine; do
    for space in $spaces; do
        "$HONE" replay "$space" --engine "$engine" --evals "${EVALS:-200}" --seeds "${SEEDS:-50}" \
            --constraints "${CONSTRAINTS:-known}" --json
    done | python3 -c '
import json, sys
text, at, rows = sys.stdin.read(), 0, []
while text[at:].strip():
    row, end = json.JSONDecoder().raw_decode(text[at:].lstrip())
    at = len(text) - len(text[at:].lstrip()) + end
    rows.append(row)
marks = ["25", "50", "100", "200"]
def line(space, f, to, s):
    cells = " | ".join("-" if x is None else f"{x:.3f}" for x in f)
    print(f"| {sys.argv[1]} | {space} | {cells} | {to:.0f} | {1e6 * s:.0f} |")
for r in rows:
    line(r["space"], [r["fraction_of_best"].get(m) for m in marks], r["evals_to_95"], r["ask_s"])
n = len(rows)
means = [None if any(r["fraction_of_best"].get(m) is None for r in rows) else sum(r["fraction_of_best"][m] for r in rows) / n for m in marks]
line("**mean**", means, sum(r["evals_to_95"] for r in rows) / n, sum(r["ask_s"] for r in rows) / n)
' "$engine"
done
