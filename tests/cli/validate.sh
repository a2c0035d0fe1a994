# Proof without a compiler: costs follow from parameters, with a noise of a hundredth of a per cent.
cat > hone.yaml <<'Y'
hone: 1
name: bowl
controls: false
run: 'set -- {input}; n=1$(date +%N); echo cost: $(( ({A}-7)*({A}-7) + 60 + ${1:-0} * {A} )).$(( n / 1000000 ))'
parameters:
  A: {type: int, range: [0, 9], default: 0}
inputs: [{name: plain, args: "0"}, {name: odd, args: "90", held_out: true}]
metrics: {source: lines, names: [cost]}
objectives: minimize cost
parity: none
budget: {evaluations: 10}
proof: {pairs: 12, pairs_most: 12, variants: 3}
Y
sed -e '/^inputs/d' -e 's/^name: .*/name: plain/' hone.yaml > plain.yaml
echo "== before there is a record"
"$HONE" validate; echo "= $?"
echo "== a session's best, which lose on held-out inputs"
"$HONE" tune -q --seed 1 > /dev/null 2>&1; echo "tuned $?"
"$HONE" validate --json --no-controls 2> progress > out.json; echo "= $?"
python3 - <<'P'
import json
r = json.load(open("out.json"))
print(list(r), r["kept"], r["controls"], r["session"])
for x in r["proofs"]:
    p = x["proof"]
    print(x["trial"] > 0, x["claimed"] > 1, p["why"], p["n_pairs"], p["n_variants"], [c["input"] for c in p["by_input"]],
          p["by_input"][1]["finding"], "samples" in p)
print(list(r["proofs"][0]["proof"]))
P
grep -c "baseline against itself" progress | awk '{ print ($1 > 0) ? "progress" : "no progress" }'
echo "== a point that is kept, with its controls"
"$HONE" validate -w plain.yaml --point '{"A":7}' -q > text; echo "= $?"
sed -n 's/^1 *\(kept: cost is better\).*/\1/p' text; grep -o "controls written to .*/plain.hone" text; ls plain.hone
head -1 plain.hone
echo '{"A":6}' > point.json
"$HONE" validate -w plain.yaml --point point.json -q --out other.hone > /dev/null; echo "= $?"; ls other.hone
"$HONE" validate -w plain.yaml --controls other.hone -q --no-controls --min-gain "100 %" | grep -o '^1 *rejected: the gain in cost'; echo "= ${PIPESTATUS[0]}"
"$HONE" validate -w plain.yaml --point '{"A":0}' -q | grep -o 'builds to the same program\|same$' | sort -u
echo "== several objectives: the whole front"
sed -e 's/^name: .*/name: front/; s/^objectives.*/objectives: [minimize cost, maximize rate]/; s/\[cost\]/[cost, rate]/' \
    -e 's/; echo cost/; echo rate: $((10 + {A})).$(( n \/ 1000000 )); echo cost/' plain.yaml > front.yaml
"$HONE" tune front.yaml -q --store front --seed 1 --evals 30 > /dev/null 2>&1; echo "tuned $?"
"$HONE" validate -w front.yaml --store front -q --no-controls --json > front.json 2> words; echo "= $?"
python3 - <<'P'
import json
r = json.load(open("front.json"))
points = sorted(json.loads(x["proof"]["point"])["A"] for x in r["proofs"])
print(points == [7, 8, 9], {len(x["proof"]["overall"]) for x in r["proofs"]}, {x["proof"]["kept"] for x in r["proofs"]})
print(any("; rate is better" in x["proof"]["verdict"] or "; cost is better" in x["proof"]["verdict"] for x in r["proofs"]))
P
echo "== what is refused"
"$HONE" validate -w plain.yaml --point '{"B":1}' -q; echo "= $?"
"$HONE" validate -w plain.yaml --point nowhere.json -q; echo "= $?"
"$HONE" validate 1 --point '{"A":7}' -q; echo "= $?"
"$HONE" validate 77 -q; echo "= $?"
"$HONE" validate -w plain.yaml -q; echo "= $?"
"$HONE" validate -q --min-gain much; echo "= $?"
"$HONE" validate -q --variants 2; echo "= $?"
"$HONE" validate -q --pairs 100 --pairs-most 50 --point '{"A":7}'; echo "= $?"
"$HONE" validate --point '{"A":7}' --controls other.hone -q; echo "= $?"
sed -i 's/^run: .*/run: "echo cost: {A}$(date +%N)"/; s/^parity.*/parity: exact/; s/\[cost\]/[cost, more]/' plain.yaml
sed -i 's/^run: .*/run: "echo cost: 1{A}; date +%N"/' plain.yaml
"$HONE" validate -w plain.yaml --point '{"A":7}' -q 2>&1 | grep -o 'the baseline does not work (wrong_result)\|differs between two runs'; echo "= ${PIPESTATUS[0]}"
echo "== Ctrl-C"
"$HONE" validate --pairs 100000 --pairs-most 1000000 --point '{"A":7}' --no-controls > out 2> words & pid=$!
for _ in $(seq 100); do grep -qs 'pair' words && break; sleep 0.1; done
kill -INT $pid; wait $pid; echo "= $?"
tail -1 words; ls .hone/work
