# A Rust program, from a draft to a proof's parts: examples/rust_dot with few trials. Speeds are not judged.
# quick
# needs: rustc objdump
cp "$ROOT"/examples/rust_dot/* .
"$HONE" init dot.rs -o draft.yaml 2> /dev/null; grep -E '^(build|compilers|baseline|#floating_point)' draft.yaml
"$HONE" init --build "rustc -O -C target-cpu=native -C panic=abort dot.rs -o dot" -o build.yaml 2> /dev/null
grep -E '^(build|  - dot|compilers|baseline)' build.yaml
sed -i 's/400_000_000/20_000_000/' dot.rs # a run is short
"$HONE" tune -q --no-canary --evals 5 --json > out.json 2> words; echo "= $?"
python3 - <<'P'
import json
r = json.load(open("out.json"))
print(r["trials"] >= 5 if isinstance(r.get("trials"), int) else sorted(r))
P
"$HONE" explain -q --point '{"rustc.-Copt-level": "3", "rustc.-Ctarget-cpu": "native"}' > out; echo "= $?"
grep -o '^- dot::dot: ' out; grep -c '17h' out
"$HONE" explain -q --point '{"rustc.-Copt-level": "3"}' | grep -o 'the machine code is the same in [0-9]* function' | sed 's/[0-9]* function/N function/'
echo "== an odd contract"
sed 's/^parity: .*/parity: {rule: rel, tolerance: 1e-5}\nfloating_point: fast/' hone.yaml > fast.yaml
"$HONE" tune fast.yaml --evals 2; echo "= $?"
