# Drafts from a makefile: nothing of it is built, the draft is; programs, runs, metrics, what goes wrong.
# needs: make gcc
. "$CASES/init_from.inc"
cat > Makefile <<'M'
CFLAGS = -O2 -Wall -Werror -Ilib -DNAME='"a b"' -MMD
all: app tool
app: src/main.o libtwice.a
	@echo "  LD $@"; $(CC) -o $@ src/main.o -L. -ltwice -lm
libtwice.a: lib/twice.o
	@ar rcs $@ $^
src/main.o: src/main.c src/gen.h
	@$(CC) $(CFLAGS) -c -o $@ src/main.c
src/gen.h:
	echo '#define GEN 3' > $@
lib/twice.o:
	$(MAKE) -C lib
tool:
	gcc -O1 -o tool src/tool.c
M
printf 'twice.o: twice.c\n\tcc -O3 -DFACTOR=2 -c twice.c\n' > lib/Makefile
echo 'int main(void) { return 0; }' > src/tool.c
"$HONE" init --from . ; echo "= $?"
"$HONE" init --from . --program ap; echo "= $?"
echo "== a generated header is not there yet"
"$HONE" init --from . --program app 2>&1 | sed -E 's/says: .*; what the/says: …; what the/'; ls
make -s src/gen.h
echo "== it does not run without an argument; the draft is written all the same"
"$HONE" init --from . --program app --json 2> /dev/null | grep '"id"'; ls | grep hone
echo "== the run chooses the program, its file is listed, what differs from run to run is a metric"
"$HONE" init --from Makefile --force --run "./app data.txt" 2>&1 | times; echo "= $?"
body; grep -A1 ^inputs hone.yaml; grep ^baseline hone.yaml; goals
"$HONE" init --from . --run "cat data.txt | ./app data.txt" --metric blocks/s -o other.yaml --json | sed -E 's/("value"): [0-9.e+]+/\1: N/'; goals other.yaml; grep ^run other.yaml
"$HONE" init --from . --run "./app data.txt" --metric rat -o third.yaml; echo "= $?"
"$HONE" init --from . --program tool -o - 2> /dev/null | grep ^build
ls; ls src lib
echo "== files of equal names"
mkdir more more/a more/b; cd more
echo 'int f(void); int g(void); int main(void) { return f() + g(); }' > main.c; echo 'int f(void) { return X; }' > a/x.c; echo 'int g(void) { return 0; }' > b/x.c
printf 'p:\n\tgcc -DX=0 -c main.c\n\tgcc -DX=0 -c a/x.c -o a/x.o\n\tgcc -O3 -c b/x.c -o b/x.o\n\tgcc -o p main.o a/x.o b/x.o\n' > Makefile
"$HONE" init --from . -o - 2> /dev/null | grep '{out}' -B 4 | grep cc}; echo "= $?"
