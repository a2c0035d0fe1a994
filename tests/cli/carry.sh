# Controls of one workload on others: what carries over, what has no place there.
prepare() { # $1 name, $2 optimum of A, $3 more parameters
    mkdir -p "$1"
    cat > "$1/hone.yaml" <<Y
hone: 1
name: $1
controls: false
run: 'A={A}; ${3:+B=\{B\};} echo cost: \$(( (A-$2)*(A-$2) + 10 ))'
parameters:
  A: {type: int, range: [0, 9], default: 0}
${3:-}
metrics: {source: lines, names: [cost]}
objectives: minimize cost
parity: none
budget: {evaluations: 12}
Y
}
prepare one 7 "  B: {type: int, range: [0, 9], default: 0}"
prepare like 6
prepare unlike 0
"$HONE" tune one/hone.yaml -q --seed 1 > /dev/null 2>&1; echo "= $?"
"$HONE" validate --workload one/hone.yaml -q --top 1 > /dev/null 2>&1; echo "= $?"
ls one
"$HONE" validate --workload one/hone.yaml --on like/hone.yaml,unlike/hone.yaml -q > text 2> words; echo "= $?"; cat words
awk 'NF > 5 { print $1, $2, $NF }' text | head -3
grep -c 'left out: B' text
"$HONE" validate --controls one/one.hone --on one/hone.yaml,like/hone.yaml -q --json > out.json; echo "= $?"
python3 -c 'import json; print([(c["workload"], c["kept"], c["left_out"].split(" ")[0], c["proof"]["kept"]) for c in json.load(open("out.json"))])'
"$HONE" validate --controls one/one.hone --on none/hone.yaml -q; echo "= $?"
"$HONE" validate --workload like/hone.yaml --on one/hone.yaml -q; echo "= $?"
