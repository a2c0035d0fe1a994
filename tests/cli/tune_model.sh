# hone tune MODEL: a search of seconds, killed and gone on with; winners listed, carried, taken by a compilation.
# needs: sqlite3
mkdir tmp
export XDG_DATA_HOME=$PWD/data XDG_CACHE_HOME=$PWD/cache TMPDIR=$PWD/tmp
cat > two.ir <<'E'
ir 1
input %0 : f32[64, 96] "x"
input %1 : f32[96, 64] "w"
%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}
%3 = exp %2
output %3 "y"
E
echo '-- wrong calls'
hone tune two.ir --evals 5
hone tune two.ir --size n=3
hone tune two.ir --threads 250 2>&1 | sed 's/([0-9]*)$/(N)/'
hone tune x.yaml --threads 2
hone tune two.ir --budget 1s --kernels k9 -q
hone tune two.ir --target aarch64 --budget 1s -q 2>&1 | sed 's,here: .*,here: WHY,'
hone tune --budget 1s x.yaml
hone winners lits
hone winners list --winners none.db
hone winners prune
echo '-- a search, killed'
# no folder stays; what was measured before the kill is known to the second run, which has no time for more
hone tune two.ir --budget 100s -q >/dev/null & pid=$!
for i in $(seq 900); do sleep 0.1; n=$(sqlite3 data/hone/winners.db 'select count(*) from winner_trial' 2>/dev/null || echo 0); [ "$n" -ge 2 ] && break; done
kill -9 $pid; wait $pid 2>/dev/null
for i in $(seq 150); do [ -z "$(ls tmp)" ] && break; sleep 0.1; done
ls tmp
measured() { sqlite3 data/hone/winners.db 'select candidate, at_s from winner_trial order by 1' > "$1"; }
measured before
hone tune two.ir --budget 0.1s -q --json > tuned.json
measured after
comm -23 before after
python3 - <<'E'
import json
r = json.load(open("tuned.json"))
k = r["kernels"][0]
print(k["kind"], k["candidates"] >= 2, k["candidates"] > r["candidates"], r["stopped"], r["gain"][1], k["end"])
E
echo '-- an imported winner'
hone winners export > none.yaml; grep -c . none.yaml > /dev/null && head -3 none.yaml
hone compile two.ir -o a/two --no-winners > /dev/null && grep -c winner a/two.manifest
echo '-- bad files'
printf 'hone-winners: 1\nwinners:\n  - kind: map\n' > bad.yaml
hone winners import bad.yaml
hone winners export > good.yaml; hone winners import good.yaml bad.yaml
hone winners import good.yaml --json
hone winners prune 0123abcd
hone winners prune 012
hone winners prune --all --json
hone winners list all
echo 'no database, only text that is long enough to be looked at as one ........................................................' > bad.db
hone winners list --winners bad.db
hone compile two.ir -o a/two --winners bad.db
mkdir -p data/hone; cp bad.db data/hone/winners.db; rm -f data/hone/winners.db-*
hone compile two.ir -o a/two | grep ^winners
