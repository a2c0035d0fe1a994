# A whole session without a compiler: the program's cost follows from its parameters. Then every way to look at it.
cat > hone.yaml <<'Y'
hone: 1
name: bowl
controls: false
run: 'A={A}; B={B}; [ $A = 2 ] && exit 3; echo cost: $(( (A-7)*(A-7) + (B-3)*(B-3) + 1 ))'
parameters:
  A: {type: int, range: [0, 9], default: 0}
  B: {type: int, range: [0, 9], default: 0}
metrics: {source: lines, names: [cost]}
objectives: minimize cost
parity: none
budget: {evaluations: 40}
Y
"$HONE" tune --json --evals 40 --seed 3 2> progress > out.json; echo "exit $?"
python3 - <<'P'
import json
r = json.load(open("out.json"))
print(list(r))
print(r["trials"], sum(r["classes"].values()), r["reason"], r["speedup"] > 5, r["session"], r["workload"])
print(r["speedup_lo"] <= r["speedup"] <= r["speedup_hi"], r["classes"]["run_crash"] > 0, set(r["point"]) == {"A", "B"})
P
echo "progress: $(grep -c '^trial ' progress | awk '{ print ($1 > 0) ? "gains shown" : "no gain shown" }')"
grep -c $'\033' progress
echo "== again: a new session, since that one is finished"
"$HONE" tune --evals 5 -q > text 2> words; echo "exit $?, $(wc -c < words) bytes of words"
sed 's#: .*better.*#: better#' text | grep -E '^(result|trials|record)'
"$HONE" tune --resume 2> words; echo "= $? $(cat words)"
"$HONE" tune --resume=77 -q 2> words; echo "= $?"; grep -c 77 words
"$HONE" tune --engine foresst; echo "= $?"
"$HONE" tune --new --engine evolve --engine-options pool=8,parents=4 --evals 5 -q > /dev/null; echo "= $?"
"$HONE" tune --new --engine evolve --engine-options pol=8 --evals 5 -q > /dev/null; echo "= $?"
"$HONE" tune --new --resume; echo "= $?"
echo "== status"
"$HONE" status 1 | sed -E 's/^(started|machine) .*/\1/; s/failures.*/failures/; s/, [0-9]+ of them.*//; s/best .*/best/'
"$HONE" status --all | awk '{ print $1, $2, $3, $4 }'
"$HONE" status --json | python3 -c 'import json, sys; s = json.load(sys.stdin); print(s["session"], s["state"], s["objectives"][0]["expr"])'
"$HONE" status --all --json | python3 -c 'import json, sys; print([s["session"] for s in json.load(sys.stdin)])'
"$HONE" status 9; echo "= $?"
echo "== results"
"$HONE" results 1 2> words | head -n 1; wc -l < words
"$HONE" results 1 -n 3 2> /dev/null | wc -l
"$HONE" results 1 --failures 2> /dev/null | awk 'NR > 1 { print $2 }' | uniq
"$HONE" results 1 --csv 2> /dev/null > out.csv
"$HONE" results 1 --all --csv > all.csv; "$HONE" results 1 --json > out.json; "$HONE" results 1 --all --json > all.json
python3 - <<'P'
import csv, json
rows = list(csv.DictReader(open("out.csv", newline="")))
every = list(csv.DictReader(open("all.csv", newline="")))
data, full = json.load(open("out.json")), json.load(open("all.json"))
cost = [float(r["cost"]) for r in rows]
print(cost[1:] == sorted(cost[1:]), len(rows) == len(data["trials"]), len(every) == len(full["trials"]))
print([t["trial"] for t in full["trials"]] == list(range(1, len(every) + 1)), int(rows[0]["trial"]) == data["best"])
print(all(json.loads(r["point"]).keys() == {"A", "B"} for r in every), sorted({r["phase"] for r in every}))
print({t["trial"]: t["phase"] for t in full["trials"]}[data["best"]], "decided")
print(sorted(full["trials"][0]))
P
"$HONE" results 1 --pareto 2> /dev/null | wc -l | awk '{ print ($1 >= 2) ? "a front" : "no front" }'
echo "== best"
"$HONE" best 1 --point | python3 -c 'import json, sys; p = json.load(sys.stdin); print((p["A"] - 7) ** 2 + (p["B"] - 3) ** 2 < 9)'
"$HONE" best 1 | sed -E 's/=.*//' | awk '{ print $1 }' | sort -u
"$HONE" best 1 --json | python3 -c 'import json, sys; b = json.load(sys.stdin); print(sorted(b), b["argv"])'
"$HONE" best 1 --argv; "$HONE" best 1 --rsp | wc -c
sed -i 's/(B-3)/(B-4)/' hone.yaml
"$HONE" best 1 --argv 2>&1 | sed -E 's/[0-9a-f]{32}/HASH/g'; echo "= ${PIPESTATUS[0]}"
"$HONE" best 1 --point > /dev/null; echo "= $?"
echo "== bad workloads"
sed 's/evaluations/evalutions/' hone.yaml > slip.yaml; "$HONE" tune slip.yaml; echo "= $?"
sed "s/run: .*/run: 'A={A}; B={B}; exit 1'/" hone.yaml > fails.yaml; "$HONE" tune fails.yaml -q > /dev/null 2> words; echo "= $?"
echo "== two objectives and a limit: the front, and what is over the limit"
cat > pair.yaml <<'Y'
hone: 1
name: pair
controls: false
run: 'A={A}; B={B}; echo x: $((A + B + 1)); echo y: $((20 - A + B)); echo risk: $A'
parameters:
  A: {type: int, range: [0, 9], default: 0}
  B: {type: int, range: [0, 2], default: 0}
metrics: {source: lines, names: [x, y, risk]}
objectives: [minimize x, minimize y]
limits: ["risk <= 6"]
parity: none
Y
"$HONE" tune pair.yaml --evals 30 --store other -q --json > out.json; echo "exit $?"
"$HONE" results --store other --pareto --json > front.json; "$HONE" results --store other --all --json > all.json
python3 - <<'P'
import json
front, every = json.load(open("front.json"))["trials"], json.load(open("all.json"))["trials"]
print(all(t["point"]["B"] == 0 and t["point"]["A"] <= 6 for t in front), len({t["point"]["A"] for t in front}) == 7)
print(all(t["feasible"] == (t["point"]["A"] <= 6) for t in every if t["phase"] != "baseline"))
print([t["violations"][0] > 0 for t in every if t["point"]["A"] == 9][:1], list(front[0]["values"]))
P
"$HONE" results --store other --all | awk '/over a limit/ { n++ } END { print (n > 0) ? "shown" : "not shown" }'
"$HONE" status --store other | grep -c '^minimize'
