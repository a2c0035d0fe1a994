# A workload file to start from: written once, never over another one.
printf '#include <stdio.h>\nint main(void) { puts("sum: 3"); return 0; }\n' > prog.c
"$HONE" init prog.c 2>&1 | sed -E 's/\([0-9.]+ [mun]?s\)/(TIME)/g'; echo "= ${PIPESTATUS[0]}"
"$HONE" init prog.c; echo "= $?"
cp hone.yaml first.yaml; echo changed > hone.yaml
"$HONE" init prog.c --force 2> /dev/null; cmp hone.yaml first.yaml && echo replaced
"$HONE" init --build "make CFLAGS='{flags}'" --no-try -o other.yaml --json; echo "= $?"
"$HONE" init prog.c -o - 2> /dev/null | cmp - first.yaml && echo "same on stdout"
"$HONE" init prog.c -o - --json > /dev/null; echo "= $?"
"$HONE" init missing.c -o new.yaml; echo "= $?"
"$HONE" init prog.c -o no/such/folder.yaml; echo "= $?"
(trap "" XFSZ; ulimit -f 0; exec "$HONE" init prog.c -o limited.yaml) 2>&1 | cat; echo "= ${PIPESTATUS[0]}"
echo old > limited.yaml; (trap "" XFSZ; ulimit -f 0; exec "$HONE" init prog.c --force -o limited.yaml) 2>&1 | cat; cat limited.yaml; rm limited.yaml
echo old > shut.yaml; chmod 640 shut.yaml; "$HONE" init prog.c --force -o shut.yaml 2> /dev/null; stat -c %a shut.yaml; rm shut.yaml
echo old > real.yaml; ln -s real.yaml link.yaml; "$HONE" init prog.c --force -o link.yaml 2> /dev/null; grep -c '^hone: 1' real.yaml; rm real.yaml link.yaml
ls
mkdir deep; "$HONE" init prog.c -o deep/hone.yaml 2> /dev/null; grep -c "$PWD/prog.c" deep/hone.yaml
echo "== headers that a build command does not name are asked of the compiler; only its own call is run"
mkdir app; cd app; mkdir inc
printf '#include "lib.h"\n#include "inc/more.h"\nint main(void) { return lib(MORE); }\n' > main.c
printf '#include "lib.h"\nint lib(int x) { return x; }\n' > lib.c; echo 'int lib(int x);' > lib.h; echo '#define MORE 0' > inc/more.h
sources() { sed -n '/^sources:/,/^$/p' "$1" | grep -- -; }
"$HONE" init --build "gcc -O2 -Wall main.c lib.c -o x" 2> /dev/null
sources hone.yaml; ls
"$HONE" init --build "gcc -O2 main.c broken.h lib.c -o x" --no-try -o broken.yaml 2> /dev/null; sources broken.yaml
"$HONE" init --build "gcc main.c lib.c -o x && touch ran" -o more.yaml --no-try 2> /dev/null; sources more.yaml; [ ! -e ran ] && echo "nothing else was run"
