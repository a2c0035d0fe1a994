# The command takes a file of the new format everywhere, whatever its name, and says what is wrong with one.
printf 'toy\ninput x batch 3\nscale 2\nrelu\noutput y\n' > chain
"$HONE" inspect chain | tee shown
grep -q '^chain: toy chain$' shown
grep -q '^inputs     x  f32\[batch, 3\]$' shown
grep -q '^hone can compile this model$' shown
"$HONE" ir chain --symbol batch=2 | grep -q 'f32\[2, 3\] "x"'
"$HONE" compile chain --symbol batch=1:4 -o lib/chain --target generic > /dev/null
"$HONE" verify chain --target generic > /dev/null
python3 - <<'PY'
import struct
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }"
head += " " * (64 - (10 + len(head) + 1) % 64) + "\n"
with open("x.npy", "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<3f", -1, 0.5, 3))
PY
"$HONE" run lib/chain.so x=x.npy -o y.npz > /dev/null
python3 - <<'PY'
import struct, zipfile
raw = zipfile.ZipFile("y.npz").read("y.npy")
got = struct.unpack("<3f", raw[-12:])
assert got == (0, 1, 6), got
PY
printf 'toy\ninput x 3\nsqeeze\noutput y\n' > bad
! "$HONE" compile bad 2> why
grep -q "^hone: bad:3: no operation is called 'sqeeze'$" why
printf 'what\n' > nobodys
! "$HONE" compile nobodys 2> why
grep -q 'toy chain (.toy)' why
