# A draft of a project is searched as it stands, and proven.
# long
# needs: make gcc
. "$CASES/init_from.inc"
echo '#define GEN 3' > src/gen.h
printf 'app: src/main.c lib/twice.c\n\tgcc -O2 -Ilib -DFACTOR=2 src/main.c lib/twice.c -o app\n' > Makefile
"$HONE" init --from . --run "./app data.txt" 2> /dev/null; echo "= $?"
"$HONE" tune -q --no-canary --evals 3 --seed 1 > /dev/null 2> words || cat words
"$HONE" status --json | grep '"state"'
