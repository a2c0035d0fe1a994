# LLVM's pass order: searched behind the flags, proven, reduced to its edits, applied by hone cc, stale under another opt.
# The cost is what the script sees in the program: vectors, which one cut pass takes away.
# needs: clang-19 opt-19 objdump
# long
cat > a.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int total(const int *x, int n);
int main(int argc, char **argv) {
    static int x[1000];
    for (int i = 0; i < 1000; i++) x[i] = i * atoi(argc > 1 ? argv[1] : "3");
    printf("total %d\n", total(x, 1000));
    return 0;
}
C
cat > b.c <<'C'
#include "b.h"
int total(const int *x, int n) {
    int s = START;
    for (int i = 0; i < n; i++) s += x[i];
    return s;
}
C
echo '#define START 7' > b.h
cat > cost.sh <<'S'
"$1" 3
if objdump -d "$1" | grep -q paddd; then echo "cost: 8"; else echo "cost: 4"; fi
S
w() { cat <<Y
name: pp
sources: [a.c, b.c, b.h, cost.sh]
build: "${1-{cc\} {flags\} a.c b.c -o {out\}}"
run: sh cost.sh {out}
compilers: [${2-clang-19}]
baseline: -O3 -march=x86-64
controls: {passes: true, lto: false}
objectives: minimize cost
budget: {evaluations: 10}
proof: {pairs: 10, pairs_most: 20, variants: 3}
Y
}
w > hone.yaml
"$HONE" space print hone.yaml | grep -c 'passes\.clang-19\..*tag: passes' | sed 's/^1[01][0-9]$/one for each pass/'
"$HONE" tune -q --no-canary --seed 1 > /dev/null; echo "= $?"
"$HONE" results --json | grep -c 'passes.clang-19[\\]*": *true' | sed 's/^[1-9]$/some/'
gene=$("$HONE" space print hone.yaml | grep -o 'passes\.clang-19\.[0-9]*\.loop-vectorize' | head -1) n=${gene#passes.clang-19.} n=${n%%.*}
other=$("$HONE" space print hone.yaml | grep -o 'passes\.clang-19\.[0-9]*\.constmerge' | head -1) o=${other#passes.clang-19.} o=${o%%.*}
echo "{\"clang-19.-O\": \"3\", \"clang-19.-march\": \"x86-64\", \"passes.clang-19\": true, \"$gene\": \"-$n\", \"$other\": \"-$o\"}" > point.json
"$HONE" validate --point point.json > said 2>&1; echo "= $?"; tail -3 said
"$HONE" minimize --point point.json > said 2>&1; echo "= $?"; grep passes said
"$HONE" check pp.hone
sed -n '/^passes:/,/^[^ ]/p' pp.hone | sed -E "s/[0-9a-f]{32}/H/; s/: \"?19[.0-9]*\"?$/: V/; s/\"-$n\"|-$n$/-N/; /^[a-oq-z]/d"
echo "== hone cc"
vectors() { objdump -d "$1" | grep -q paddd && echo "$1 has vectors" || echo "$1 has none"; }
mkdir o
clang-19 @pp.rsp -c b.c -o o/plain.o; vectors o/plain.o
"$HONE" cc --controls pp.hone -- clang-19 -Wall -Werror -std=c11 -DX='a b' -I. -MMD -c ./b.c -o o/b.o; echo "= $?"; vectors o/b.o; cat o/b.d; ls o
"$HONE" cc --controls pp.hone -- clang-19 -c a.c && clang-19 a.o o/b.o -o p && ./p 3
"$HONE" cc --controls pp.hone -- clang-19 a.c b.c -o q && ./q 3 && vectors q; ls q*
"$HONE" cc --controls pp.hone -- clang-19 -E b.c | grep -c START; "$HONE" cc --controls pp.hone -- clang-19 --version | grep -c 'version 19'
"$HONE" cc --controls pp.hone -- clang-19 -flto -c b.c; echo "= $?"
"$HONE" cc --controls pp.hone -- clang-19 -c a.c b.c; echo "= $?"
echo 'int f(' > bad.c; "$HONE" cc --controls pp.hone -- clang-19 -c bad.c 2>&1 | grep -c error
echo "== another opt than that of the proof"
mkdir bin; printf '#!/bin/sh\n[ "$1" = --version ] || exec %s "$@"\necho "LLVM version 19.9.9"\n' "$(command -v opt-19)" > bin/opt; chmod +x bin/opt
cp bin/opt bin/opt-19; ln -s "$(command -v clang-19)" bin/clang-19
sed -i 's/19.9.9/'"$(opt-19 --version | sed -n 's/.*version //p')"'/; s/exec/case "$*" in *-print-pipeline*) echo sroa; exit;; esac; exec/' bin/opt-19
PATH=$PWD/bin:$PATH "$HONE" check pp.hone | sed -E 's/[0-9a-f]{32}/H/g'
PATH=$PWD/bin:$PATH "$HONE" cc --controls pp.hone -- clang-19 -c b.c; echo "= $?"
"$HONE" check pp.hone --ignore passes > /dev/null; echo "= $?"
echo "== each file with options of its own"
w "{cc} {flags} -DA -c a.c \&\& {cc} {flags} -c b.c -o x.o \&\& {cc} {flags} a.o x.o -o {out}" | sed 's/\\//g; s/^name:.*/name: calls/' > calls.yaml
"$HONE" tune calls.yaml -q --no-canary --seed 1 > /dev/null; echo "= $?"
"$HONE" results --json | grep -c 'passes.clang-19[\\]*": *true' | sed 's/^[1-9]$/some/'
echo "== withheld"
t() { "$HONE" tune bad.yaml --no-canary --evals 2 --seed 1 2>&1 | grep withheld; }
w "cat a.c > x.c; {cc} {flags} x.c b.c -o {out}" > bad.yaml; t
w "{cc} {flags} a.c b.c -flto -o {out}" > bad.yaml; t
echo "== a point with passes where they are withheld"
"$HONE" explain -q --point point.json --workload bad.yaml
