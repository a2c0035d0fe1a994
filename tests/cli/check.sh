# hone check: each status with its exit code and its words; folders, patterns, reports; measured again.
. "$CASES/bowl.inc"
mask() { sed -E 's/[0-9a-f]{32}/HASH/g; s/time="[0-9.]+"/time="T"/g'; }
"$HONE" check bowl.hone; echo "= $?"
"$HONE" check -q; echo "= $? and nothing said"
echo "== stale"
echo '#define BEST 8' > bowl.h
"$HONE" check | mask; echo "= ${PIPESTATUS[0]}"
"$HONE" check --github | mask; echo "= ${PIPESTATUS[0]}"
echo '#define BEST 7' > bowl.h
sed 's/args: 1000/args: 1001/; s/-O1/-O2/' hone.yaml > other.yaml
"$HONE" check --workload other.yaml | mask; echo "= ${PIPESTATUS[0]}"
sed 's/^name: bowl/name: bowl # a comment/; /^baseline/d' hone.yaml > same.yaml; echo 'baseline: -O1' >> same.yaml
"$HONE" check --workload same.yaml -q; echo "= $?"
"$HONE" check --workload other.yaml --ignore input | mask; echo "= ${PIPESTATUS[0]}"
"$HONE" check --workload other.yaml --ignore input,baseline,cpu; echo "= $?"
"$HONE" check --ignore inputs; echo "= $?"
mv bowl.rsp kept; "$HONE" check; echo "= $?"; mv kept bowl.rsp
mv hone.yaml kept; "$HONE" check; echo "= $?"; mv kept hone.yaml
sed 's/^format: 1/format: 2/' bowl.hone > later.hone; cp bowl.rsp later.rsp
"$HONE" check later.hone; echo "= $?"; rm later.*
echo "== tampered"
mkdir sub sub/.hidden; cp bowl.hone bowl.rsp sub/; cp bowl.hone sub/.hidden
sed -i 's/TILE: 6/TILE: 5/' sub/bowl.hone
"$HONE" check sub; echo "= $?"
echo '-O0' > bowl.rsp; "$HONE" check bowl.hone; echo "= $?"; printf '%s\n' -O1 -ffp-contract=fast -DTILE=6 > bowl.rsp
"$HONE" keygen key > /dev/null
"$HONE" check --key key.pub bowl.hone; echo "= $?"
"$HONE" sign bowl.hone --key key > /dev/null; "$HONE" check --key key.pub bowl.hone -q; echo "= $?"
"$HONE" check --key nokey.pub bowl.hone; echo "= $?"
echo "== broken"
head -c 500 bowl.hone > cut.hone; : > empty.hone; head -c 1000 /bin/true > binary.hone; echo hello > words.hone
for f in cut empty binary words none; do "$HONE" check $f.hone; echo "= $?"; done
rm cut.hone empty.hone binary.hone words.hone
cp bowl.hone bowl.txt; "$HONE" check bowl.txt; echo "= $?"
echo "== several: the worst counts"
"$HONE" check --junit out.xml bowl.hone 'su?' bowl.hone none.hone | cut -c 1-60; echo "= ${PIPESTATUS[0]}"
mask < out.xml | cut -c 1-110
python3 - <<'P'
import xml.etree.ElementTree as E
s = E.parse("out.xml").getroot()[0]
print(s.get("tests"), s.get("failures"), s.get("errors"), [c.get("name") for c in s])
P
"$HONE" check --json bowl.hone sub > out.json; echo "= $?"
python3 -c 'import json; r = json.load(open("out.json")); print(r["status"], r["exit"], [(f["file"], f["status"]) for f in r["files"]])'
mkdir none; "$HONE" check none; echo "= $?"
"$HONE" check 'no*.hone'; echo "= $?"
"$HONE" check --json --github; echo "= $?"
echo "== measured again"
"$HONE" check bowl.hone --measure 2> /dev/null; echo "= $?"
touch penalty; export PENALTY=$PWD/penalty
"$HONE" check bowl.hone --measure -q | sed 's/(.*//'; echo "= ${PIPESTATUS[0]}"
"$HONE" check bowl.hone; echo "= $?"
