# Where time goes: rows, counts, trace, refusals. Times are masked.
# quick
shared=$XDG_CACHE_HOME; export XDG_CACHE_HOME=$PWD/cache
cat > mlp.ir <<'END'
ir 1
symbol n in 1..8
input %0 : f32[n, 4] "x"
%1 = const {value = f32[4, 3] (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)}
%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32} from "node 'fc' (Gemm)"
output %2 "y"
END
cat > loop.ir <<'END'
ir 1
symbol k in 0..
input %0 : f32[2] "x"
%1 = const {value = i64[] (3)}
%2 = const {value = bool[] (true)}
%3, %4 = loop %1, %2, %0 {defines = [k], count = 1} : f32[2], f32[k, 2] do (%5 : i64[], %6 : bool[], %7 : f32[2]) {
  %8 = exp %7
  yield %6, %8, %8
}
output %3 "y"
output %4 "all"
END
echo '-- table'
hone profile mlp.ir --time 0.01 --threads 1 --target generic > all; echo "= $?"
head -1 all; sed 1d all > table
head -1 table | tr -s ' '
sed -n 2p table | awk '{ print $1, $2, $3 }'
grep -o "f32\[n, 3\]" table; grep -o "node 'fc' (Gemm)" table
tail -1 table
hone profile mlp.ir --time 0.01 --calls | sed 1d > table; head -1 table | tr -s ' '
echo '-- narrower products'
python3 -c 'print("ir 1\ninput %0 : f32[4, 64] \"x\"\n%1 = const {value = f32[64, 64] (" + ", ".join(str(i % 7) for i in range(4096)) + ")}\n%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\noutput %2 \"y\"")' > wide.ir
for narrow in "" "--precision bf16"; do
    hone profile wide.ir --time 0.01 $narrow --json > out.json; echo "= $?"
    python3 -c 'import json; print([x["shape"] for x in json.load(open("out.json"))["kernels"]])'
done
hone profile mlp.ir --time 0.01 --precision bf16; echo "= $?"
echo '-- JSON: operations and bytes of the sizes that ran'
hone profile mlp.ir --time 0.01 --size n=2 --json > out.json; echo "= $?"
cat > show.py <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
print(abs(sum(x["share"] for x in d["kernels"]) - 1) < 1e-9, abs(sum(x["share"] for x in d["calls"]) - 1) < 1e-9)
print(d["model"], d["runs"] >= 20, d["run_low_s"] <= d["run_s"] <= d["run_high_s"], d["peak_f32_flops_per_s"])
for x in d["kernels"] + d["calls"]:
    print(x["kernel"], x["kind"], x["shape"], x["source"], x["calls"], x["launches"], x["flops"], x["bytes"],
          x["time_low_s"] <= x["time_s"] <= x["time_high_s"], 0 <= x["share"] <= 1, x["of_roof"])
END
python3 show.py out.json
echo '-- a loop launches its kernel three times; a measured machine has a roof'
XDG_CACHE_HOME=$shared "$ROOT/tests/helper/measured.sh" "$PWD/cache"
hone profile loop.ir --time 0.01 --json --trace run.json --html page.html > out.json; echo "= $?"
python3 - <<'END'
import json, re
d = json.load(open("out.json"))
def roof(x):
    of = [x["bytes_per_s"] / d[k] for k in ("peak_bytes_per_s", "peak_l3_bytes_per_s") if d[k]]
    level = next((s for s in of if s <= 1), x["bytes_per_s"] / d["peak_l2_bytes_per_s"])
    return max(x["of_peak"], level)
for x in d["calls"]:
    if x["flops"]: print(x["kind"], x["launches"], x["flops"], x["bytes"], abs(x["of_roof"] / roof(x) - 1) < 1e-9)
t = json.load(open("run.json"))["traceEvents"]
run, calls = t[0], t[1:]
page = open("page.html").read()
print("<title>hone profile: loop.ir</title>" in page, json.loads(re.search('id="data"[^>]*>(.*?)</script>', page, re.S).group(1)) == d)
print(run["name"], run["cat"], len(calls) == len(d["calls"]), {e["ph"] for e in t})
print(all(0 <= e["ts"] and e["ts"] + e["dur"] <= run["dur"] + 1e-3 for e in calls), sorted(calls[0]["args"]))
END
echo '-- a table of another machine'
sed -i 's/^key: .*/key: "0"/' cache/hone/device.yaml
hone profile mlp.ir --time 0.01 | tail -1
echo "-- sizes that the model's relations allow"
cat > halves.ir <<'END'
ir 1
symbol n in 1..64
input %0 : f32[n] "x"
input %1 : f32[2*floordiv(n, 2)] "y"
%2 = add %0, %1
output %2 "z"
END
hone profile halves.ir --time 0.01 | head -1
hone profile halves.ir --time 0.01 --size n=4 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["sizes"])'
echo '-- refused'
hone compile mlp.ir -o mlp > made; head -1 made
hone profile mlp.so
hone profile missing.onnx
hone profile mlp.ir --size n=9
hone profile mlp.ir --time 0.01 --trace no/such/run.json
hone profile mlp.ir --time 0.01 --html no/such/page.html
hone profile mlp.ir --time 0
