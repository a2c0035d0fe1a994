# A build command of plain calls of a compiler is drafted as a project's is: names with blanks, other folders, several calls.
# needs: gcc ar
s() { sed -n '/^sources/,/^compilers/p;/^inputs:/,/args/p' hone.yaml | sed "s|$ROOT|ROOT|g" | grep -v -e '^#' -e '^$' -e '^compilers'; }
ROOT=$(pwd -P)
draft() { echo "== $*"; "$HONE" init --force --build "$@" 2>&1 | sed -E "s/\([0-9.]+ [mun]?s\)/(TIME)/g; s|$ROOT|ROOT|g"; s; }
mkdir -p 'my src/in dir' opt lib out
printf '#include "in dir/a b.h"\n#include <cfg.h>\n#include <stdio.h>\nint main(void) { int n = 0; while (getchar() != EOF) n++; printf("%%d\\n", f(n) + CFG); }\n' > 'my src/main file.c'
echo 'int f(int x);' > 'my src/in dir/a b.h'; echo 'int f(int x) { return x * LEVEL; }' > lib/f.c; echo '#define CFG 3' > opt/cfg.h; echo abc > 'in put.txt'
draft "gcc -O2 -Iopt -DLEVEL=2 'my src/main file.c' lib/f.c -o \"my prog\"" --run "./\"my prog\" < 'in put.txt'"
draft 'gcc -O2 -Iopt -DLEVEL=2 my\ src/main\ file.c lib/f.c -o prog' --run "cat 'in put.txt' | ./prog"
echo "== several calls, an archive between them"
draft "gcc -O2 -Iopt -c 'my src/main file.c' -o m.o && gcc -O3 -DLEVEL=3 -c lib/f.c -o lib/f.o && ar rcs lib/libf.a lib/f.o && gcc m.o -Llib -lf -o out/prog" --run "out/prog < /dev/null"
echo "== a library that is there, from another folder"
gcc -O2 -DLEVEL=4 -c lib/f.c -o f.o; ar rcs lib/libg.a f.o; cd out
draft "gcc -O2 -I../opt '../my src/main file.c' -L../lib -lg -o prog" --run "./prog < '../in put.txt'"
cd ..
echo "== a file that is missing"
"$HONE" init --force --build "gcc -O2 lib/f.c lib/missing.c -o x" 2>&1 | grep -c "missing.c: No such file"; s
