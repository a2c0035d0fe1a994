# Where the best point has link-time optimisation, which edited passes exclude: they are searched around the best without
# it if that is near, else the search before goes on with the whole budget.
# The cost is what the script sees in the program: vectors, and whether the link inlined what stands in another file.
# needs: clang-19 opt-19 objdump
# long
cat > a.c <<'C'
#include <stdio.h>
int total(const int *x, int n);
int main(int argc, char **argv) {
    static int x[1000];
    for (int i = 0; i < 1000; i++) x[i] = i * argc;
    printf("total %d\n", total(x, 1000));
    return argv[0][0] == 0;
}
C
cat > b.c <<'C'
int total(const int *x, int n) {
    int s = 7;
    for (int i = 0; i < n; i++) s += x[i];
    return s;
}
C
cat > cost.sh <<'S'
"$1"
if nm "$1" | grep -q ' T total'; then own=100; else own=$2; fi
if objdump -d "$1" | grep -q paddd; then own=$((own * 2)); fi
echo "cost: $own"
S
w() { cat <<Y
name: pl
sources: [a.c, b.c, cost.sh]
build: "{cc} {flags} a.c b.c -o {out}"
run: sh cost.sh {out} $1
compilers: [clang-19]
baseline: -O3 -march=x86-64
controls: {passes: true}
objectives: minimize cost
budget: {evaluations: 40}
Y
}
try() {
    w "$1" > hone.yaml; rm -rf .hone
    "$HONE" tune --no-canary --seed 1 2>&1 > said | grep -e 'passes' | sed 's/[0-9.]* % behind/N % behind/'
    grep -o 'trials *[0-9]* (all evaluations of the budget' said
    "$HONE" results --json | grep -c 'passes.clang-19[\\]*": *true' | sed 's/^[1-9][0-9]*$/some have passes/'
}
echo "== near"; try 96
echo "== far"; try 60
