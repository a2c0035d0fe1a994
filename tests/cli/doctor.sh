# What doctor says depends on the machine; its shape does not.
"$HONE" doctor --seconds 0.05 --json > out.json; echo "exit $?"
python3 - <<'P'
import json
d = json.load(open("out.json"))
print(sorted(d))
print(sorted(d["machine"]))
print(sorted(d["noise"]))
levels = {f["level"] for f in d["findings"]}
print(levels <= {"ok", "note", "warning", "missing"}, all(f["text"] and f["subject"] for f in d["findings"]))
print(all(f["advice"] for f in d["findings"] if f["level"] in ("warning", "missing")))
print(d["machine"]["cores_usable"] >= 1, d["noise"]["rel_mad"] >= 0)
P
"$HONE" doctor --seconds 0.05 | awk '{ print $1 }' | grep -cE '^(ok|note|warning)$' | awk '{ print ($1 > 5) ? "listed" : "too few" }'
echo "== without any compiler"
mkdir empty; PATH=empty "$HONE" doctor --seconds 0.05 > text; echo "exit $?"
grep -E '^missing' text; grep -o 'apt-get install gcc clang' text
"$HONE" doctor --seconds 0; echo "= $?"
echo "== the device table"
export XDG_CACHE_HOME=$PWD/cache
"$HONE" doctor --measure --seconds 0.05 --json > out.json; echo "exit $?"
python3 - <<'P'
import json
d = json.load(open("out.json"))["device"]
print(sorted(d))
print(all(d[k] > 0 for k in ("f32_flops", "f64_flops", "l1_bps", "memory_bps", "copy_bps", "all_f32_flops", "all_memory_bps")))
P
"$HONE" devices --json > devices.json
python3 - <<'P'
import json
said = [f["text"] for f in json.load(open("out.json"))["findings"]]
devices = json.load(open("devices.json"))["devices"]
measured = [d["measured"] for d in devices]
print(all(m and m["f32_flops"] > 0 and m["put_bps"] > 0 and m["launch_s"] > 0 for m in measured))
print(all(any(t.startswith(d["place"] + ": f32") for t in said) for d in devices), any("shim cannot be measured" in t for t in said))
P
"$HONE" doctor --seconds 0.05 | grep -cE '^ok +(vectors|arithmetic|bandwidth)'
sed -i 's/^key: .*/key: "0"/' cache/hone/device.yaml
"$HONE" doctor --seconds 0.05 | grep -E '^warning +peaks' | tr -s ' '
