# Controls of single files: found, proven, reduced, written, applied by hone cc. The cost is what the script sees.
# needs: gcc strings nm gprof
cat > a.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int step(int x);
int main(int argc, char **argv) {
    int x = 0;
    for (int i = 0, n = argc > 1 ? atoi(argv[1]) : 1000; i < n; i++) x = step(x);
#ifdef __OPTIMIZE_SIZE__
    puts("a small");
#else
    puts("a quick");
#endif
    return x == 1;
}
C
cat > b.c <<'C'
#ifdef __OPTIMIZE_SIZE__
const char b_is[] = "b small";
#else
const char b_is[] = "b quick";
#endif
int step(int x) {
    for (int i = 0; i < 100; i++) x = (x * 5 + i) & 0xffff;
    return x;
}
C
cat > cost.sh <<'S'
"$1" 1000 > /dev/null
strings -a "$1" > names
c=8
grep -q 'b small' names && c=4
grep -q 'a small' names && c=16
echo "cost: $c"
S
cat > hone.yaml <<'Y'
name: pf
sources: [a.c, b.c, cost.sh]
build: "{cc} {flags} a.c b.c -o {out}"
run: sh cost.sh {out}
compilers: [gcc]
baseline: -O2
controls: {lto: false}
objectives: minimize cost
per_file: [b.c]
budget: {evaluations: 30}
proof: {pairs: 10, pairs_most: 20, variants: 3}
Y
"$HONE" space print hone.yaml | grep -c '^ *"*file.b.c.gcc.-O"*:'
"$HONE" space print hone.yaml | grep -c 'file.a.c'
"$HONE" tune -q --no-canary --seed 1 > /dev/null; echo "= $?"
"$HONE" best | grep -o -E 'cost = 4|-c b\.c -o b\.o && gcc .* a\.o b\.o'| sed 's/gcc .* a/gcc … a/'
"$HONE" validate --top 1 > /dev/null 2>&1; echo "= $?"
"$HONE" minimize 2> /dev/null | grep -c '^file.b.c.gcc.-O '
grep -A 1 '^files:' pf.hone; grep 'file.b.c' pf.hone
"$HONE" check pf.hone > /dev/null; echo "= $?"
echo "== hone cc"
"$HONE" cc --controls pf.hone -- gcc -c a.c && "$HONE" cc --controls pf.hone -- gcc -c ./b.c && gcc a.o b.o -o p && strings -a p | grep -E '^[ab] '
"$HONE" cc --controls pf.hone -- gcc a.c b.c -o p; echo "= $?"
echo "== the hottest is found"
sed 's/^per_file:.*/per_file: 1/; s/^run:.*/run: "{out} 300000"/; s/^objectives.*/objectives: minimize code_size/; s/^name:.*/name: hot/' hone.yaml > hot.yaml
"$HONE" space print hot.yaml | grep -o 'file\.[ab]\.c' | sort -u
echo "== each file with options of its own"
sed 's/^build:.*/build: "{cc} {flags} -DA -c a.c \&\& {cc} {flags} -c b.c -o x.o \&\& {cc} {flags} a.o x.o -o {out}"/; s/^name:.*/name: calls/' hone.yaml > calls.yaml
"$HONE" tune calls.yaml -q --no-canary --seed 1 > /dev/null; echo "= $?"
"$HONE" best --workload calls.yaml | grep -o -E 'cost = 4|-DA .*-c a\.c -o a\.o|-c b\.c -o b\.o && gcc .* a\.o b\.o' | sed -E 's/gcc .* a|-DA .*-c/… &/; s/… (gcc|-DA).* /\1 … /'
echo "== what is wrong"
sed 's/^per_file:.*/per_file: [c.c]/' hone.yaml > bad.yaml; "$HONE" space print bad.yaml
sed 's/^per_file:.*/per_file: 99/' hone.yaml > bad.yaml; "$HONE" space print bad.yaml
sed 's/^controls:.*/controls: false/' hone.yaml > bad.yaml; "$HONE" space print bad.yaml
sed 's/^build:.*/build: "cat a.c > x.c; {cc} {flags} x.c b.c -o {out}"/' hone.yaml > bad.yaml
"$HONE" tune bad.yaml --no-canary --evals 1 2>&1 | grep withheld
"$HONE" explain -q --point '{"file.b.c.gcc.-O": "s"}' --workload bad.yaml
