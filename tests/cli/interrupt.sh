# Ctrl-C ends a search cleanly, what was finished is there, the next run goes on; a second one ends it at once.
cat > hone.yaml <<'Y'
hone: 1
name: slow
controls: false
run: 'sleep 0.1; A={A}; echo cost: $(( (A-700)*(A-700) + 1 ))'
parameters:
  A: {type: int, range: [0, 9999], default: 0}
metrics: {source: lines, names: [cost]}
objectives: minimize cost
parity: none
budget: {evaluations: 1000}
Y
wait_for_trials() {
    for _ in $(seq 300); do
        [ "$("$HONE" status --json 2> /dev/null | sed -n 's/.*"trials": \([0-9]*\).*/\1/p')" -ge "$1" ] 2> /dev/null && return
        sleep 0.1
    done
    echo "no $1 trials within 30 s"
}
set -m
"$HONE" tune > out 2> words & pid=$!
wait_for_trials 3
"$HONE" tune -q > busy 2>&1; echo "a second one: $?"; grep -c "$pid" busy
kill -INT $pid; wait $pid; echo "exit $?"
grep -E "^(stopping|hone: )" words
"$HONE" status | awk 'NR == 1 { print $NF }'
first=$("$HONE" status --json | sed -n 's/.*"trials": \([0-9]*\).*/\1/p')
"$HONE" tune --json -q > out.json 2> words & pid=$!
wait_for_trials $((first + 2))
kill -TERM $pid; wait $pid; echo "exit $?"
python3 -c 'import json; r = json.load(open("out.json")); print(r["session"], r["reason"], r["speedup_lo"])'
"$HONE" status --json | python3 -c 'import json, sys; s = json.load(sys.stdin); print(s["session"], s["state"], s["trials"] >= 5)'
"$HONE" results --all --json | python3 -c '
import json, sys
points = [json.dumps(t["point"]) for t in json.load(sys.stdin)["trials"] if t["phase"] == "search"]
print("no point twice" if len(points) == len(set(points)) else "a point was measured twice")'
sed -i 's/sleep 0.1/sleep 20.7431/' hone.yaml
"$HONE" tune --new -q > out 2> words & pid=$!
sleep 1; kill -INT $pid; sleep 0.3; kill -INT $pid 2> /dev/null; wait $pid; echo "exit $?"
sleep 0.5; pgrep -f "sleep 20.7431" > /dev/null && echo "a child is left" || echo "no child is left"
