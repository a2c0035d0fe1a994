# keygen, sign, verify: the good way, and each bad one with words of its own.
. "$CASES/bowl.inc"
mask() { sed -E 's#[A-Za-z0-9+/]{43}=#KEY#g'; }
"$HONE" keygen team --comment "kernels team"; echo "= $?"
ls -l team team.pub | cut -c 1-10
cut -d ' ' -f 1,3- team team.pub
"$HONE" keygen team; echo "= $?"
rm team.pub; "$HONE" keygen team; echo "= $?"
"$HONE" keygen other --json | python3 -c 'import json, sys; print(json.load(sys.stdin))'
rm team; "$HONE" keygen team > /dev/null
"$HONE" keygen no/such/place; echo "= $?"
"$HONE" keygen; echo "= $?"
echo "== sign"
"$HONE" verify bowl.hone --key team.pub; echo "= $?"
"$HONE" sign bowl.hone; echo "= $?"
"$HONE" sign bowl.hone --key team.pub; echo "= $?"
"$HONE" sign bowl.hone --key hone.yaml; echo "= $?"
"$HONE" sign bowl.hone --key missing; echo "= $?"
cp bowl.hone before; "$HONE" sign bowl.hone --key team; echo "= $?"
head -c "$(stat -c %s before)" bowl.hone | cmp - before && tail -n 3 bowl.hone | cut -d : -f 1
"$HONE" check bowl.hone --key team.pub -q; echo "= $?"
echo "== verify"
"$HONE" verify bowl.hone --key team.pub | mask; echo "= ${PIPESTATUS[0]}"
"$HONE" verify bowl.hone | mask; echo "= ${PIPESTATUS[0]}"
"$HONE" verify bowl.hone --key other.pub | mask; echo "= ${PIPESTATUS[0]}"
"$HONE" verify bowl.hone --key team; echo "= $?"
"$HONE" verify bowl.hone --key nokey.pub; echo "= $?"
sed 's/100/101/' bowl.hone > edited.hone; cp bowl.rsp edited.rsp
"$HONE" verify edited.hone --key team.pub; echo "= $?"
"$HONE" sign edited.hone --key team; echo "= $?"
sed 's/^digest: ./digest: x/' bowl.hone > edited.hone; "$HONE" verify edited.hone --key team.pub; echo "= $?"
head -n -1 bowl.hone > edited.hone; "$HONE" verify edited.hone --key team.pub; echo "= $?"
echo >> bowl.rsp; "$HONE" verify bowl.hone --key team.pub; echo "= $?"
"$HONE" sign bowl.hone --key team; echo "= $?"
rm bowl.rsp; "$HONE" verify bowl.hone --key team.pub; echo "= $?"
rm -f edited.*; cp before again.hone; printf '%s\n' -O1 -ffp-contract=fast -DTILE=6 > again.rsp
"$HONE" verify . --key team.pub --json > out.json; echo "= $?"
python3 -c 'import json; print([(f["file"], f["status"], bool(f["signer"])) for f in json.load(open("out.json"))["files"]])'
echo "== precision files"
cat > m.ir <<'IR'
ir 1
input %0 : f32[1, 64] "x"
%1 = iota {shape = [64, 64], axis = 0, dtype = f32}
%2 = iota {shape = [64, 64], axis = 1, dtype = f32}
%3 = mul %1, %2
%4 = sin %3
%5 = contract %0, %4 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}
output %5 "y"
IR
mkdir p
cat > p/m.precision <<'P'
precision: 1
kind: "int8"
calibrate: "mse"
data: "ab"
samples: 3
weights: least_error
products:
  - {name: "product", weights: 64x64, type: int8, scale: 0.02, zero: 130}
P
compile() { "$HONE" compile m.ir -t generic --no-parity -o out "$@" | grep ^precision; echo "= ${PIPESTATUS[0]}"; }
"$HONE" verify p/m.precision; echo "= $?"
compile --precision p/m.precision --key team.pub
"$HONE" sign p --key team; echo "= $?"
"$HONE" verify p --key team.pub | mask; echo "= ${PIPESTATUS[0]}"
compile --precision p/m.precision --key team.pub
cmp p/m.precision out.precision && grep signer out.manifest | mask
compile --precision p/m.precision --key other.pub 2>&1 | mask
sed 's/zero: 130/zero: 131/' p/m.precision > renamed
"$HONE" verify renamed --key team.pub; echo "= $?"
"$HONE" sign renamed --key team; echo "= $?"
compile --precision renamed
head -n -1 p/m.precision > renamed; compile --precision renamed
sed -i '/^digest:/,$d' renamed; compile --precision renamed
"$HONE" sign renamed --key other; echo "= $?"
"$HONE" verify renamed --key team.pub | mask; echo "= ${PIPESTATUS[0]}"
"$HONE" sign renamed --key team > /dev/null; "$HONE" verify renamed --key team.pub --json | mask
compile --key team.pub
compile --precision int8 --key team.pub
