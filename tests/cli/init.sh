# A workload file to start from: written once, never over another one.
printf '#include <stdio.h>\nint main(void) { puts("sum: 3"); return 0; }\n' > prog.c
"$HONE" init prog.c; echo "= $?"
"$HONE" init prog.c; echo "= $?"
cp hone.yaml first.yaml; echo changed > hone.yaml
"$HONE" init prog.c --force 2> /dev/null; cmp hone.yaml first.yaml && echo replaced
"$HONE" init --build "make CFLAGS='{flags}'" -o other.yaml --json; echo "= $?"
"$HONE" init prog.c -o - 2> /dev/null | cmp - first.yaml && echo "same on stdout"
"$HONE" init prog.c -o - --json > /dev/null; echo "= $?"
"$HONE" init missing.c -o new.yaml; echo "= $?"
"$HONE" init prog.c -o no/such/folder.yaml; echo "= $?"
(trap "" XFSZ; ulimit -f 0; exec "$HONE" init prog.c -o limited.yaml) 2>&1 | cat; echo "= ${PIPESTATUS[0]}"
ls
mkdir deep; "$HONE" init prog.c -o deep/hone.yaml 2> /dev/null; grep -c "$PWD/prog.c" deep/hone.yaml
