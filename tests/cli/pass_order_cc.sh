# hone cc with edited passes: a stage that fails is named, with the command that repeats it, and leaves nothing.
. "$CASES/bowl.inc"
PIPELINE='function(sroa,instcombine)'
mkdir bin out; export PATH=$PWD/bin:$PATH
tool() { { echo '#!/bin/sh'; cat; } > "bin/$1"; chmod +x "bin/$1"; }
# Each stage writes what it is to the file behind -o, unless $CRASH names it.
tool clang-77 <<'T'
for word; do [ "$last" != -o ] || out=$word; last=$word; done
case "$*" in
*--version*) echo "clang version 77.1.7"; exit ;;
*syntax.c*) echo "syntax.c:1: error: no"; exit 1 ;;
*undefined.o*) echo "ld: undefined reference"; exit 1 ;;
*-emit-llvm*) stage=front ;;
*' -c '*) stage=back ;;
*) stage=link ;;
esac
[ "$stage" != "$CRASH" ] || kill -SEGV $$
echo $stage > "${out:-a.out}"
T
tool opt-77 <<T
for word; do [ "\$last" != -o ] || out=\$word; last=\$word; done
case "\$*" in
--version) echo "LLVM version 77.1.7"; exit ;;
*-print-pipeline-passes*) echo '$PIPELINE'; exit ;;
*-disable-output*) exit ;;
esac
[ "\$CRASH" != opt ] || kill -SEGV \$\$
[ "\$CRASH" != refuse ] || { echo "opt: no such pass"; exit 1; }
echo opt > "\$out"
T
python3 - <<P
import hashlib, re, struct
text = open("bowl.hone").read()
key = hashlib.blake2b(struct.pack("<Q", len("$PIPELINE")) + b"$PIPELINE", digest_size=16).hexdigest()
part = f"passes:\n  opt: opt-77\n  version: 77.1.7\n  hash: {'0' * 32}\n  level: O3\n  pipeline: {key}\n  edits: -2\n"
text = text[:text.rindex("\ndigest: ") + 1]
text = re.sub(r"(?m)^flags:", part + "flags:", text, count=1).encode()
open("p.hone", "wb").write(text + b"digest: " + hashlib.blake2b(text, digest_size=16).hexdigest().encode() + b"\n")
P
cc() { "$HONE" cc --stale=ignore --controls p.hone -- clang-77 "$@"; }
crash() { echo "== $1: ${*:2}"; CRASH=$1 cc "${@:2}" 2> said; echo "= $?"; grep '^hone: ' said | sed 's/; this repeats it: .*//'; ls out; }
crash none -c -DX='a b' a.c -o out/a.o; cat out/a.o; rm out/*
crash front -c a.c -o out/a.o
crash opt -c -DX='a b' a.c -o "out/it's.o"
again=$(sed -n 's/.*; this repeats it: //p' said); echo "$again"
(CRASH=opt sh -c "$again" 2> /dev/null); echo "= $?"; sh -c "$again"; ls out; rm out/*
crash refuse -c a.c -o out/a.o
crash back -c a.c -o out/a.o
crash opt a.c b.c -o out/p
crash link a.c b.c -o out/p; sh -c "$(sed -n 's/.*; this repeats it: //p' said)"; cat out/p; rm out/*
echo "== what the compiler itself tells is not told again"
crash none -c syntax.c -o out/a.o
crash none a.c undefined.o -o out/p
crash none a.c b.c
