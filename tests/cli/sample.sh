# Points are legal, the same for the same seed, different for another, and JSON when asked for.
cat > a.yaml <<'Y'
hone-space: 1
parameters:
  m: {type: ordinal, values: [8, 16, 32], default: 16}
  n: {type: int, range: [1, 10], default: 4}
  isa: {type: choice, values: [sse, avx2, avx512], default: avx2}
  wide: {type: int, range: [1, 4], default: 1, when: isa == 'avx512'}
constraints:
  - m * n <= 128
Y
"$HONE" sample a.yaml -n 200 > one; "$HONE" sample a.yaml -n 200 > two; "$HONE" sample a.yaml -n 200 --seed 1 > three
cmp one two && echo "same seed, same points"; cmp -s one three || echo "other seed, other points"
"$HONE" sample a.yaml -n 300 --json > out.json; echo "exit $?"
python3 - <<'P'
import json
points = json.load(open("out.json"))
print(len(points), all(p["m"] * p["n"] <= 128 for p in points), all(("wide" in p) == (p["isa"] == "avx512") for p in points))
lines = [dict(w.split("=") for w in line.split()) for line in open("one")]
print(len(lines), all(set(p) >= {"m", "n", "isa"} for p in lines))
P
"$HONE" sample a.yaml | wc -l
"$HONE" sample a.yaml --initial -n 2 | wc -l
sed 's/m \* n <= 128/m * n <= 2/' a.yaml > none.yaml
"$HONE" sample none.yaml > /dev/null; echo "= $?"
"$HONE" sample none.yaml --json 2> /dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["error"]["id"])'
