# hone traffic, hone tune --from-traffic: rows of a file and of a store, the plan, and what is refused.
export XDG_DATA_HOME=$PWD/data XDG_CACHE_HOME=$PWD/cache
cat > two.ir <<'M'
ir 1
symbol batch in 1..64
input %0 : f32[batch, 96] "x"
input %1 : f32[96, 64] "w"
%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}
output %2 "y"
M
cat > traffic.json <<'J'
[{"kind": "run", "size": "batch=1", "count": 900, "time_s": 6},
 {"kind": "run", "size": "batch=16", "count": 50, "time_s": 2.5},
 {"kind": "run", "size": "batch=7", "count": 4, "time_s": 0.9},
 {"kind": "run", "size": "batch=3", "count": 4, "time_s": 0.6}]
J
hone traffic two.ir --store traffic.json
hone traffic two.ir --store traffic.json --json | head -7
echo '-- what is refused'
hone traffic two.ir
hone traffic two.ir --store none.json
echo '[{"kind": "run"}]' > bad.json
hone traffic two.ir --store bad.json
hone tune two.ir --from-traffic --traffic bad.json
hone tune two.ir --from-traffic --size batch=1
hone tune two.ir --traffic traffic.json
hone tune x.yaml --from-traffic
echo '[]' > empty.json
hone tune two.ir --from-traffic --traffic empty.json
echo '[{"kind": "run", "size": "batch=100", "count": 1, "time_s": 1}]' > large.json
hone tune two.ir --from-traffic --traffic large.json -q | head -2
echo '-- the plan'
hone tune two.ir --from-traffic --traffic traffic.json --budget 1s -q > out 2>&1; sed -n '1,5p' out; grep -c '^kernel ' out; grep '% of the time$' out
hone tune two.ir --from-traffic --traffic traffic.json --budget 1s -q --json | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["count"], r["time_s"], r["specialize"])
for p in r["parts"]: print(p["sizes"], p["fixed"], p["share"], p["budget_s"], p["result"]["kernels"][0]["kind"])'
