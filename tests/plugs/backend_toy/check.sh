# A model is compiled for the new backend's target, every kernel holds against the interpreter, and the library runs.
"$HONE" gen mlp mlp.onnx > /dev/null
"$HONE" compile mlp.onnx -t toy --no-winners -o lib/toy > shown
grep -q '^parity    4 of 4 hold; 4 reference versions$' shown
"$HONE" compile mlp.onnx -t toy --emit=c --no-parity -o mlp > /dev/null
grep -q '^static int64_t toy_items;$' mlp.c
grep -q '    k0_plain(buf, s, begin, end, scratch);$' mlp.c
"$HONE" compile mlp.onnx -t generic --no-parity --no-winners -o lib/generic > /dev/null
"$HONE" run lib/toy.so --random 1 -o toy.npz > /dev/null
"$HONE" run lib/generic.so --random 1 -o generic.npz > /dev/null
python3 - <<'PY'
import struct, zipfile
def values(path):
    with zipfile.ZipFile(path) as z:
        raw = z.read(z.namelist()[0])
    head = 10 + struct.unpack("<H", raw[8:10])[0]
    return struct.unpack(f"<{(len(raw) - head) // 4}f", raw[head:])
toy, generic = values("toy.npz"), values("generic.npz")
assert len(toy) == len(generic) and toy
assert all(abs(a - b) <= 1e-3 + 1e-3 * abs(b) for a, b in zip(toy, generic)), "the results differ"
PY
! "$HONE" compile mlp.onnx -t toy,generic 2> why
grep -q "targets 'toy' and 'generic' are of different backends" why
! "$HONE" compile mlp.onnx -t tyo 2> why
grep -q 'known: native.* toy' why
