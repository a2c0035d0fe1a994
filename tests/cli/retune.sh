# hone retune: the old winner is the first thing tried; what the space lacks today is named and left out.
. "$CASES/bowl.inc"
first() { "$HONE" results --all --json | python3 -c 'import json, sys; print([(t["phase"], t["point"]) for t in sorted(json.load(sys.stdin)["trials"], key=lambda t: t["trial"])][:3])'; }
"$HONE" retune bowl.hone -q --evals 3 | sed -nE '/^(trials|next)/p'; echo "= ${PIPESTATUS[0]}"
first
"$HONE" retune bowl.hone -q --evals 2 --json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["session"], r["trials"])'
mkdir sub; cp bowl.* sub; sed 's/range: \[0, 9\]/range: [0, 5]/; s/^inputs/  MORE: {type: int, range: [0, 3], default: 0}\ninputs/' hone.yaml > sub/hone.yaml
echo "== a narrower space: named, left out, and refused where all of it is asked for"
"$HONE" retune sub/bowl.hone -q --evals 2 > /dev/null; echo "= $?"
"$HONE" validate -q -w sub/hone.yaml --controls sub/bowl.hone; echo "= $?"
"$HONE" validate -q --controls bowl.hone --no-controls | tail -n 2; echo "= ${PIPESTATUS[0]}"
echo "== bad input"
"$HONE" retune; echo "= $?"
"$HONE" retune none.hone; echo "= $?"
sed 's/TILE: 6/TILE: 5/' bowl.hone > edited.hone; "$HONE" retune edited.hone; echo "= $?"
"$HONE" retune bowl.hone --workload none.yaml; echo "= $?"
"$HONE" retune bowl.hone --engine nonsense -q; echo "= $?"
