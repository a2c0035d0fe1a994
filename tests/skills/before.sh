# tests/skills/before.sh: what the commands of a skill find in their folder: a workload whose cost follows from its parameter and,
# where the skill comes later in the work, its record, a proof and a controls file.
case $SKILL in
hone-bootstrap)
    cat > kernel.c <<'C'
#include <stdio.h>
static unsigned x[4096];
int main(void) {
    unsigned sum = 0;
    for (unsigned k = 0; k < 20000; k++)
        for (unsigned i = 0; i < 4096; i++) sum += x[i] = x[i] * 5 + k;
    printf("%u\n", sum);
    return 0;
}
C
    printf 'app: kernel.c\n\t$(CC) $(CFLAGS) kernel.c -o app\n' > Makefile
    ;;
hone-choose-a-workload | hone-author-an-objective | hone-tune-a-model) ;;
*)
    cat > bowl.c <<'C'
#include <stdio.h>
int main(void) {
    printf("cost: %d\n", (TILE - 7) * (TILE - 7) + 1);
    return 0;
}
C
    cat > hone.yaml <<'Y'
hone: 1
name: bowl
sources: [bowl.c]
build: "{cc} {flags} {defines} bowl.c -o {out}"
run: "{out}"
compilers: [gcc]
baseline: -O1
controls: false
parameters:
  TILE: {type: int, range: [0, 9], default: 4}
metrics: {source: lines, names: [cost]}
objectives: minimize cost
parity: none
budget: {evaluations: 4}
proof: {pairs: 10, variants: 3}
Y
    ;;
esac
case $SKILL in
hone-prove | hone-reduce | hone-debug-by-symptom) hone tune --no-canary -q > /dev/null ;;
esac
case $SKILL in
hone-reduce) hone validate -q --top 1 > /dev/null ;;
hone-ship-in-ci)
    hone validate -q --point '{"TILE": 6}' > /dev/null
    echo 'int part = TILE;' > part.c
    ;;
esac
