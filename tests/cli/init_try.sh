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
try pid.c -o pid.yaml; grep -B3 ^parity pid.yaml | sed -E 's/[0-9]+/PID/'
echo "== without main() there is nothing to try"
try f.c -o f.yaml
try f.c --run ./f -o f2.yaml; try f.c --metric x --no-try -o f2.yaml; try --from . --build "gcc f.c"; try --program x f.c; try --from . -o f2.yaml; try --from none -o f2.yaml
