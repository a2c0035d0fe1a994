# hone cc: a compiler with the controls of a file.
. "$CASES/bowl.inc"
cc() { "$HONE" cc --controls bowl.hone "$@"; }
cat > fake <<'C'
#!/bin/sh
[ "$1" = --version ] && [ $# = 1 ] && exec gcc --version
printf '<%s>' "$@"; echo
C
chmod +x fake
cc -- gcc -O3 -DSTART=4 bowl.c -o bowl; echo "= $?"
./bowl 10
make -s CC="$HONE cc --controls bowl.hone -- gcc" CFLAGS=-DSTART=4 -f - prog <<'M'
prog: bowl.c
	$(CC) $(CFLAGS) $< -o $@
M
./prog 10
echo "== the file's flags stand last; exit status, stderr and stdin are the compiler's"
cc --stale=ignore -- ./fake -O2 'a b' "it's"; echo "= $?"
cc -- gcc -DSTART=4 -c missing.c 2> words; echo "= $? $(grep -c missing.c words)"
echo 'int x = TILE;' | cc -- gcc -x c -c - -o x.o; echo "= $?"
cc -- gcc --version | head -n 1 | cut -c 1-3; echo "= ${PIPESTATUS[0]}"
cc -- ./fake --version | head -n 1 | cut -c 1-3
echo "== another compiler"
cc -- ./fake -c bowl.c 2> words; echo "= $? $(grep -c 'not the compiler' words)"
cc --stale=warn -- ./fake -c bowl.c 2> words; echo "= $? $(grep -c 'warning: .*not the compiler' words)"
cc --stale=ignore -- ./fake -c bowl.c; echo "= $?"
cc -- no-such-cc -c bowl.c; echo "= $?"
cc --stale=ignore -- no-such-cc -c bowl.c; echo "= $?"
echo "== wrong words"
"$HONE" cc -- gcc -c bowl.c; echo "= $?"
"$HONE" cc --controls hone.yaml -- gcc -c bowl.c; echo "= $?"
"$HONE" cc --controls none.hone -- gcc -c bowl.c; echo "= $?"
cc; echo "= $?"
cc --stale=maybe -- gcc; echo "= $?"
sed 's/TILE: 6/TILE: 5/' bowl.hone > edited.hone; "$HONE" cc --controls edited.hone -- gcc -c bowl.c; echo "= $?"
"$HONE" keygen key > /dev/null; cc --key key.pub -- gcc -c bowl.c; echo "= $?"
"$HONE" sign bowl.hone --key key > /dev/null; cc --key key.pub -- gcc -DSTART=4 -c bowl.c; echo "= $?"
cc --pgo=use --profile x -- gcc -c bowl.c; echo "= $?"
echo "== profile-guided: two builds and a run between them"
reseal() { # of an edited file: what hone itself would have written
    python3 - "$1" <<'P'
import hashlib, sys
text = open(sys.argv[1], "rb").read()
body = text[:text.rindex(b"\ndigest: ") + 1]
open(sys.argv[1], "wb").write(body + b"digest: " + hashlib.blake2b(body, digest_size=16).hexdigest().encode() + b"\n")
P
}
sed 's/^profile_guided: false/profile_guided: true/' bowl.hone > guided.hone; reseal guided.hone
guided() { "$HONE" cc --controls guided.hone "$@" -- gcc -DSTART=4 bowl.c -o guided; }
guided; echo "= $?"
guided --pgo=use; echo "= $?"
guided --pgo=generate --profile prof; echo "= $?"
./guided 3; find prof -name '*.gcda' | wc -l
guided --pgo=use --profile prof 2>&1 | wc -l; ./guided 3
