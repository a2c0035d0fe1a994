# The canary: what passes, and each way to fail; a search refuses to start behind a failed one.
# Sums that do not wait for each other: processors that keep stacks in registers run one chain as fast at -O0.
cat > k.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    for (unsigned long i = 0; i < n; i++) { a += i; b ^= i; c += i >> 1; d ^= i << 1; e += i ^ 7; f ^= i + 9; }
    printf("sum: %lu\n", a ^ b ^ c ^ d ^ e ^ f);
#ifdef T
    if (argc > 9) printf("%lu\n", (unsigned long)T);
#endif
    return 0;
}
C
workload() { # $1 name, $2 build, $3 run
    cat > "$1.yaml" <<Y
hone: 1
name: $1
sources: k.c
build: "$2"
run: "$3"
compilers: [gcc]
baseline: -O2
objectives: minimize $(printf %b "${4:-time}")
budget: {evaluations: 2}
Y
}
workload good "{cc} {flags} k.c -o {out}" "{out} 20000000"
workload deaf "{cc} -O2 k.c -o {out} # {flags}" "{out} 1000"
workload idle "{cc} {flags} k.c -o {out}" "{out} 10; echo wait: 5" "wait\nmetrics: {source: lines, names: [wait]}"
workload random "{cc} {flags} -DT=\$(date +%s%N) k.c -o {out}" "{out} 1000"
workload size "{cc} {flags} k.c -o {out}" "{out} 1000" code_size
"$HONE" canary good.yaml 2> /dev/null | sed 's/it is .*/it is …/'; echo "= ${PIPESTATUS[0]}"
"$HONE" canary size.yaml 2> /dev/null; echo "= $?"
for w in deaf random; do "$HONE" canary $w.yaml 2> words | sed 's/it is .*/it is …/'; echo "= ${PIPESTATUS[0]}"; grep canary: words; done
"$HONE" canary --json idle.yaml 2> words > out.json; echo "= $?"; grep -o 'canary: [^.]*' words
python3 -c 'import json; r = json.load(open("out.json")); print(r["passed"], r["o0_differs"], r["default_same"], bool(r["text"]))'
echo "== a baseline whose level no candidate has"
for level in -O0 -Og -g; do sed "s/^baseline: .*/baseline: $level/; s/^name: .*/name: level/" size.yaml > level.yaml; "$HONE" canary level.yaml 2> words > out; echo "= $?"; grep -o 'canary: .* candidates have' words; done
for level in -Ofast "-O0 -O1" "-O2 -g"; do sed "s/^baseline: .*/baseline: $level/" size.yaml > level.yaml; "$HONE" canary level.yaml 2> /dev/null > out; echo "= $?"; done
echo "== a search behind it"
"$HONE" tune deaf.yaml --evals 2 -q 2> words > out; echo "= $?, $(wc -c < out) bytes"; grep -o '(--no-canary.*' words
ls .hone 2> /dev/null
echo "== what does not apply"
printf 'hone: 1\nname: none\ncontrols: false\nrun: "echo cost: {A}"\nparameters:\n  A: {type: int, range: [1, 3]}\nmetrics: {source: lines, names: [cost]}\n' > none.yaml
"$HONE" canary none.yaml; echo "= $?"
"$HONE" canary; echo "= $?"
