# needs: clang-19
# Packs: made, read, tried on another workload, searched on from; and what is no pack.
prepare() { # $1 name, $2 optimum of A, $3 compiler
    mkdir -p "$1"
    cat > "$1/hone.yaml" <<Y
hone: 1
name: $1
controls: false
compilers: $3
run: 'A={A}; echo cost: \$(( (A-$2)*(A-$2) + 10 ))'
parameters:
  A: {type: int, range: [0, 9], default: 0}
metrics: {source: lines, names: [cost]}
objectives: minimize cost
parity: none
budget: {evaluations: 12}
Y
}
prepare far 7 gcc
prepare near 1 gcc
prepare here 6 gcc
prepare alien 6 clang-19
for w in far near; do
    "$HONE" tune $w/hone.yaml -q --seed 1 > /dev/null 2>&1; "$HONE" validate -w $w/hone.yaml -q --top 1 > /dev/null 2>&1; echo "= $?"
done
mkdir other; "$(dirname "$HONE")/tests/helper/report_store" other kept
echo "== build"
"$HONE" pack build kernels far/far.hone near/near.hone | sed -E 's/ +[^ ]+ ?CPU.*//; s/(×|x) .*/x/'; echo "= $?"
ls kernels; cmp far/far.hone kernels/far.hone && cmp far/far.rsp kernels/far.rsp && echo copied
sed -E 's/(version|cpu|hash): .*/\1/' kernels/index.yaml; cp kernels/index.yaml first
"$HONE" pack build kernels > /dev/null && cmp first kernels/index.yaml && echo indexed again
"$HONE" pack build kernels other/kernel.hone --json | python3 -c 'import json, sys; print([(e["file"], e["gain"]) for e in json.load(sys.stdin)["controls"]][1])'
echo "== try"
"$HONE" pack try kernels here/hone.yaml -q > text; echo "= $?"
awk 'NF > 5 && !/left out:/ { print $1, $3, $NF }' text; grep 'left out:' text
"$HONE" pack try kernels here/hone.yaml -q --json > out.json; echo "= $?"
python3 -c 'import json; print([(e["file"], e["outcome"], e["gain"] and round(e["gain"], 3), e["left_out"], e["point"]) for e in json.load(open("out.json"))])'
cp far/far.hone same.hone; "$HONE" pack build doubles far/far.hone same.hone > /dev/null
"$HONE" pack try doubles here/hone.yaml -q > text; echo "= $?"; awk 'NR > 1 { print $1, $NF }' text
"$HONE" pack try kernels alien/hone.yaml -q > text; echo "= $?"; awk 'NR > 1 { print $1, $NF }' text
echo "== tune"
"$HONE" tune here/hone.yaml --pack kernels --evals 4 -q > /dev/null; echo "= $?"
"$HONE" results --store here/.hone --all --json 2> /dev/null | python3 -c 'import json, sys; print([t["point"] for t in json.load(sys.stdin)["trials"] if t["phase"] == "search"][:2])'
"$HONE" tune here/hone.yaml --pack kernels --resume; echo "= $?"
"$HONE" tune here/hone.yaml --pack nowhere; echo "= $?"
echo "== bad input"
"$HONE" pack try far here/hone.yaml; echo "= $?"
"$HONE" pack build x far/far.hone doubles/far.hone; echo "= $?"
"$HONE" pack build x far/far.rsp; echo "= $?"
"$HONE" pack build x far/none.hone; echo "= $?"; ls x 2> /dev/null
mkdir empty; "$HONE" pack build empty; echo "= $?"; "$HONE" pack build nowhere; echo "= $?"
sed 's/A: 7/A: 6/' far/far.hone > edited.hone; "$HONE" pack build x edited.hone 2>&1 | sed -E 's/[0-9a-f]{32}/HASH/g'; echo "= ${PIPESTATUS[0]}"; ls x 2> /dev/null
cp near/near.hone kernels/far.hone; "$HONE" pack try kernels here/hone.yaml; echo "= $?"
for edit in 's/format: 1/format: 2/' '/format/d' 's/file: far/file: ..\/far/' 's/compiler:/complier:/' '/workload/d' 's/gain: .*/gain: much/' 's/controls:/controls: 3/'; do
    sed "$edit" first > kernels/index.yaml; "$HONE" pack try kernels here/hone.yaml; echo "= $?"
done
"$HONE" pack biuld kernels; echo "= $?"
"$HONE" pack try; echo "= $?"
"$HONE" pack try kernels here/hone.yaml more; echo "= $?"
