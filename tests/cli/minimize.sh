# From a point to the few settings that carry its gain, proven and written; a controls file; a session; what is refused.
cat > hone.yaml <<'Y'
hone: 1
name: planted
controls: false
run: 'A={A}; B={B}; C={C}; D={D}; E={E}; F={F}; [ $E = 8 ] && exit 3; echo cost: $((1000 - 40*A - (C==3 && D==1 ? 150 : 0))); echo size: $((100 - (B==4 ? 9 : 0)))'
parameters:
  A: {type: int, range: [0, 9], default: 0}
  B: {type: int, range: [0, 9], default: 0}
  C: {type: int, range: [0, 9], default: 0}
  D: {type: int, range: [0, 9], default: 0}
  E: {type: int, range: [0, 9], default: 2}
  F: {type: int, range: [0, 9], default: 0}
metrics: {source: lines, names: [cost, size]}
objectives: minimize cost
parity: none
proof: {pairs: 10, pairs_most: 20, variants: 3}
Y
P='{"A": 5, "B": 4, "C": 3, "D": 1, "E": 7, "F": 6}'
"$HONE" minimize --point "$P" -q; echo "= $?"
grep -E '^( *shares:|    [A-F]:|  controls_before)' planted.hone
echo "== again from the file: nothing more goes"
"$HONE" minimize planted.hone --no-proof -q | sed 's/DIR//'; echo "= $?"
"$HONE" minimize planted.hone --no-proof -q --json > out.json; echo "= $?"
python3 - <<'P'
import json
r = json.load(open("out.json"))
print(r["before"], r["after"], r["complete"], r["proof"], r["controls"], [s["name"] for s in r["shares"]])
print(r["point"], round(r["gain_after"]["mid"], 3), r["gain_after"]["lo"] == r["gain_after"]["hi"])
P
echo "== most of the gain is enough"
"$HONE" minimize --point "$P" --no-proof -q --keep 50% | grep -E '^(controls|after)'
for k in 101% -1 0 much; do "$HONE" minimize --point "$P" --no-proof -q --keep=$k; echo "= $?"; done
echo "== a signature goes with the file that it signed"
"$HONE" keygen team > /dev/null; "$HONE" sign planted.hone --key team
"$HONE" minimize planted.hone -q 2>&1 | grep -E '^hone|written'; "$HONE" verify planted.hone
echo "== of a session: its best, as nothing is proven"
"$HONE" tune --evals 12 --seed 2 -q > /dev/null
"$HONE" minimize --no-proof -q | sed -E 's/trial [0-9]+/trial N/; s/[0-9] -> [0-9], in [0-9]+/N -> N, in N/' | head -n 2
"$HONE" validate --top 1 -q --no-controls > /dev/null; echo "= $?"
"$HONE" minimize --no-proof -q | head -n 1
"$HONE" explain; echo "= $?"
echo "== progress"
"$HONE" minimize --point "$P" --no-proof 2>&1 > /dev/null | grep -c '^measurement'
echo "== the other objective is not worsened, or is the one to keep"
sed 's/objectives: .*/objectives: [minimize cost, minimize size]/' hone.yaml > two.yaml
names='import json, sys; r = json.load(sys.stdin); print(r["objective"], sorted(s["name"] for s in r["shares"]))'
"$HONE" minimize -w two.yaml --point "$P" --no-proof -q --json | python3 -c "$names"
"$HONE" minimize -w two.yaml --point "$P" --no-proof -q --json --objective size | python3 -c "$names"
"$HONE" minimize -w two.yaml --point "$P" --objective sice; echo "= $?"
echo "== what shows no gain, the baseline, what fails, what does not fit"
"$HONE" minimize --point '{"F": 6}' -q; echo "= $?"
"$HONE" minimize --point '{}' -q; echo "= $?"
"$HONE" minimize --point '{"A": 5, "E": 8}' -q; echo "= $?"
"$HONE" minimize --point '{"A": 5, "G": 8}' -q; echo "= $?"
"$HONE" minimize 1 --point '{"A": 5}'; echo "= $?"
"$HONE" minimize none.hone; echo "= $?"
"$HONE" minimize 77; echo "= $?"
echo "== Ctrl-C: what holds by then"
sed -e "s/^run: '/&sleep 0.1; /" hone.yaml > slow.yaml
"$HONE" minimize -w slow.yaml --point "$P" --no-proof > out 2> words & pid=$!
for _ in $(seq 200); do grep -qs '^measurement' words && break; sleep 0.05; done
kill -INT $pid; wait $pid; echo "= $?"
grep -o 'interrupted, fewer might do' out; grep -c '^Not proven. To go on' out; tail -n 1 out | grep -o '^{"A": 5, "B"\|^{"A": 5'
"$HONE" minimize -w slow.yaml --point "$(tail -n 1 out)" --no-proof -q | sed -n 's/^controls  \([0-9]\) -> \([0-9]\), .*/-> \2/p'
ls .hone/work 2> /dev/null
