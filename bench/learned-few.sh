#!/usr/bin/env bash
# bench/learned-few.sh — what learned rows do to searches of few evaluations: the code size that a search ends with, by
# two builds of hone in turn, on programs that nothing was learned from.
#
# usage: bench/learned-few.sh BEFORE          BEFORE: the `hone` of another build, whose rule for learned rows is another
#   EVALS="8 12 19"             evaluations of a search
#   FILES="a.c b.c"             the programs (default: those of bench/high-dim, the examples, src/space)
#   LEVEL=-O2 BUILD=build       the baseline; build folder of the hone that is judged
# Counts do not depend on load.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage bench/learned-few.sh "$([ "${1:-}" = --help ] || [ "${1:-}" = -h ] && echo 0 || echo 2)"
need_hone
before=$1 work=$OUT/learned-few
rm -rf "$work"
mkdir -p "$work"
header "Learned rows in short searches" "bench/learned-few.sh BEFORE"
files=$(echo bench/high-dim/*.c examples/{gemm,softmax,norm,rmsnorm,dot_i8,interp}/*.c src/space/*.c)
# How many times smaller than the baseline's the code is that a search ends with.
gain() {
    "$1" tune "$work/w.yaml" -q --no-canary --evals "$2" --store "$work/store" --new --json 2> "$work/said" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["speedup"])' || { cat "$work/said" >&2; exit 1; }
}
echo
echo "| program | evaluations | gain before | gain now | bytes now / before |"
echo "|---|---|---|---|---|"
# shellcheck disable=SC2086
for f in ${FILES:-$files}; do
    cp "$f" "$work/p.c"
    printf 'name: few\nsources: p.c\nbuild: "{cc} {flags} -w -I%s -c p.c -o {out}"\nbaseline: %s\nobjectives: minimize code_size\n' \
        "$PWD/include -I$PWD/src -I$PWD/$(dirname "$f")" "${LEVEL:--O2}" > "$work/w.yaml"
    for n in ${EVALS:-8 12 19}; do
        a=$(gain "$before" "$n") b=$(gain "$HONE" "$n")
        printf '| %s | %d | %.4f | %.4f | %.4f |\n' "$f" "$n" "$a" "$b" "$(python3 -c "print($a / $b)")"
    done
done | tee "$work/rows"
python3 - "$work/rows" <<'P'
import math, sys
by = {}
for line in open(sys.argv[1]):
    x = [c.strip() for c in line.split("|")]
    by.setdefault(int(x[2]), []).append(float(x[5]))
print()
for n, r in sorted(by.items()):
    mean = math.exp(sum(map(math.log, r)) / len(r))
    print(f"{n} evaluations: {mean:.4f} of the bytes on the geometric mean of {len(r)}; fewer in {sum(x < 1 for x in r)}, more in {sum(x > 1 for x in r)}, at most {max(r):.3f}")
P
