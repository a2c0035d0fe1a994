# What is drafted is tried: what fails is told with advice, and what is printed is looked at.
# needs: gcc
try() { "$HONE" init "$@" 2>&1 | sed -E 's/\([0-9.]+ [mun]?s\)/(TIME)/g; s/[^ ]*ld: .*(undefined reference)/… \1/; s/collect2[^;]*;/…;/'; echo "= ${PIPESTATUS[0]}"; }
printf 'int f(int);\nint main(void) { return f(1); }\n' > main.c; printf 'int f(int x) { return x; }\n' > f.c
try main.c
echo "== a run that fails"
try --build "gcc main.c f.c -o x" --force
try --build "gcc main.c f.c -o x" --no-try --force --json
echo "== an output that is never the same"
printf '#include <stdio.h>\n#include <unistd.h>\nint main(void) { printf("pid\\n%%d\\n", getpid()); }\n' > pid.c
try pid.c -o pid.yaml | sed "s/line '[0-9]*'/line 'PID'/"; grep -B3 ^parity pid.yaml | sed -E 's/[0-9]+/PID/'
echo "== without main() there is nothing to try"
try f.c -o f.yaml
try f.c --run ./f -o f2.yaml; try f.c --metric x --no-try -o f2.yaml; try --from . --build "gcc f.c"; try --program x f.c; try --from . -o f2.yaml; try --from none -o f2.yaml
echo "== lines that change begin like each other: the others are compared"
cat > when.c <<'C'
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#ifndef TERM
#define TERM 2
#endif
int main(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    printf("job no. %d\nsum %d\nat t=%ld.%09ld\n", getpid(), TERM + 40, (long)t.tv_sec, t.tv_nsec);
}
C
try --build "gcc -O2 when.c -o when" -o when.yaml | sed -E "s/line '[^']*'/line '…'/"; grep ^parity when.yaml
sed -i 's/^compilers:.*/controls: false/; s/{cc} {flags}/gcc/; /^baseline:/d' when.yaml; echo 'parameters: {TERM: {type: int, range: [2, 3], default: 2}}' >> when.yaml
"$HONE" tune when.yaml -q --no-canary --evals 2 | grep ^failures
echo "== the time of day, which is the same twice within a second"
printf '#include <stdio.h>\n#include <time.h>\nint main(void) { printf("sum 42\\nstamp %%ld\\n", (long)time(NULL)); }\n' > day.c
try --build "gcc day.c -o day" -o day.yaml | sed -E "s/line '[^']*'/line '…'/"; grep ^parity day.yaml
echo "== a metric that was asked for is not offered again"
printf '#include <stdio.h>\nint main(void) { puts("rate: 3 MB/s"); return 0; }\n' > rate.c
try --build "gcc rate.c -o rate" -o rate.yaml; try --build "gcc rate.c -o rate" --metric rate --force -o rate.yaml
