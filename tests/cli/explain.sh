# What a point changes in the machine code: controls that leave it alone cost no measurement, others are explained.
# needs: objdump
cat > k.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static int sum(const int *x, int n) { int s = 0; for (int i = 0; i < n; i++) s += x[i] * 3; return s; }
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100, *x = malloc(sizeof *x * (size_t)n);
    for (int i = 0; i < n; i++) x[i] = i ^ 5;
    for (int i = 0; i < 3; i++) printf("%d\n", sum(x, n - i));
    free(x);
    return 0;
}
C
cat > hone.yaml <<'Y'
hone: 1
name: size
sources: k.c
build: "{cc} {flags} k.c -o {out}"
run: "{out} 50"
compilers: [gcc]
baseline: -O3
objectives: minimize code_size
Y
plain() { sed -E 's/[0-9]+ -> [0-9]+/N -> N/g; s/[0-9]+ loops?, [0-9]+ before; //; s/its largest inner loop has [^;]*; //; s/[0-9]+-bit/N-bit/g; s/\([0-9]+ bytes/(N bytes/'; }
"$HONE" explain -q --point '{"gcc.-O": "3", "gcc.-ftree-vectorize": "off"}' | plain | sed -n '1,5p'; echo "= ${PIPESTATUS[0]}"
"$HONE" explain -q --point '{"gcc.-O": "2", "gcc.-finline-functions-called-once": "off", "gcc.-finline-small-functions": "off"}' |
    grep -o '^- sum: a function of its own now'
"$HONE" explain -q --point '{"gcc.-O": "3"}' | grep -o 'the machine code is the same in [0-9]* function'
"$HONE" explain -q --json --point '{"gcc.-O": "2"}' > out.json; echo "= $?"
python3 - <<'P'
import json
r = json.load(open("out.json"))
program = {f["what"]: (f["baseline"], f["tuned"]) for f in r["facts"] if f["function"] == ""}
print(list(r), len(r["sentences"]) >= 2, program["bytes"][0] > program["bytes"][1] > 50, len(program))
P
"$HONE" explain -q --diff --point '{"gcc.-O": "2"}' > out; grep -c '^main, baseline and tuned:' out
echo "== dead controls go without being measured"
"$HONE" minimize --no-proof -q --json --point '{"gcc.-O": "3", "gcc.-ftree-vectorize": "off", "gcc.-fpeel-loops": "on", "gcc.-fsplit-paths": "on",
  "gcc.-fgcse-las": "on", "gcc.-funroll-loops": "off"}' > out.json
python3 -c 'import json; r = json.load(open("out.json")); print(r["before"], [s["name"] for s in r["shares"]], r["measurements"] < 6)'
echo "== what cannot be explained"
printf 'hone: 1\nname: none\ncontrols: false\nrun: "echo cost: {A}"\nparameters:\n  A: {type: int, range: [1, 3]}\nmetrics: {source: lines, names: [cost]}\nparity: none\n' > none.yaml
"$HONE" explain -w none.yaml --point '{"A": 2}'; echo "= $?"
sed 's/{flags} k.c/{flags} -s k.c/' hone.yaml > bare.yaml
"$HONE" explain -q -w bare.yaml --point '{"gcc.-O": "2"}' | grep -o '^- the program is stripped'
"$HONE" explain; echo "= $?"
