# BOLT as a stage: searched, proven, reduced, written as commands that work. The cost is what the script sees of the program.
# needs: gcc llvm-bolt-19 merge-fdata-19 readelf strings
export XDG_CACHE_HOME=$PWD/.cache # not that of other tests
cat > a.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int step(int x, unsigned v);
int main(int argc, char **argv) {
    unsigned s = 1;
    int x = 0;
    for (int i = 0, n = argc > 1 ? atoi(argv[1]) : 1000; i < n; i++) x = step(x, (s = s * 1103515245u + 12345u) >> 16);
    printf("x %d\n", x);
    return 0;
}
C
cat > b.c <<'C'
int step(int x, unsigned v) {
    if ((v & 255) == 0) return (x * 3 + 1) & 0xffff;
    if (!(v & 1)) return x - (int)(v & 15);
    switch (v % 5) {
    case 0: return x ^ 5;
    case 1: return x + 3;
    case 2: return x - 9;
    case 3: return (x * 5) & 0xffff;
    default: return x | 1;
    }
}
C
cat > cost.sh <<'S'
"$1" 5000 > said && cat said
c=8
readelf -SW "$1" | grep -q bolt.org.text && c=4
strings -a "$1" | grep -q reorder-blocks=ext-tsp && c=2
echo "cost: $c"
S
cat > hone.yaml <<'Y'
name: pl
sources: [a.c, b.c, cost.sh]
build: "{cc} {flags} a.c b.c -o {out}"
run: sh cost.sh {out}
compilers: [gcc]
baseline: -O2
controls: false
objectives: minimize cost
post_link: bolt
budget: {evaluations: 6}
proof: {pairs: 10, pairs_most: 20, variants: 3}
Y
"$HONE" space print hone.yaml | grep -o -E 'post\.bolt: .*off|reorder-blocks: .*values: \[ext-tsp|split-all-cold: .*when: "[^"]*"'
"$HONE" tune -q --no-canary --seed 1 > /dev/null; echo "= $?"
"$HONE" best | grep -o -E 'cost = 2|emit-relocs$|llvm-bolt-19 -reorder-blocks=ext-tsp'
"$HONE" best --json | grep -o -E '"post_link": "llvm-bolt-19 -reorder-blocks=ext-tsp'
echo "profiles kept: $(ls .cache/hone/bolt | wc -l | sed 's/[12]/few/')"
"$HONE" validate --top 1 > /dev/null 2>&1; echo "= $?"
"$HONE" minimize 2> /dev/null | grep -E '^(controls  |post)' | sed -E 's/ [0-9]+ -> 2.*/ … -> 2/; s/ +/ /g'
grep -E '^#  .*(BOLT|bolt|PROGRAM.profile)|^  (stage|command|version|options): ' pl.hone | sed 's/"[0-9.]*"/V/'
"$HONE" check pl.hone > /dev/null; echo "= $?"
"$HONE" explain > explained 2>&1; echo "= $?"; grep -o 'llvm-bolt-19 -reorder-blocks=ext-tsp' explained
echo "== the commands of the file"
gcc @pl.rsp a.c b.c -o PROGRAM
sed -n 's/^#     //p' pl.hone | sed 's/^\(..PROGRAM.train\).*/\1/' > steps; bash -e steps > log 2>&1; echo "= $?"
./PROGRAM 5000 > said; ./PROGRAM.bolt 5000 | cmp - said && strings -a PROGRAM.bolt | grep -o -m 1 reorder-blocks=ext-tsp
echo "== another BOLT than that of the proof"
mkdir bin; printf '#!/bin/sh\nexec %s "$@" | sed "s/version 19[0-9.]*/version 99/"\n' "$(realpath "$(command -v llvm-bolt-19)")" > bin/llvm-bolt
cp "$(command -v merge-fdata-19)" bin/merge-fdata; chmod +x bin/*
PATH=$PWD/bin:$PATH "$HONE" check pl.hone | sed -E 's/[0-9a-f]{32}/H/g'
