# Spaces from files: print, count, validate, diff, and what is wrong with them.
t() { echo "\$ hone $*"; "$HONE" "$@"; echo "= $?"; }
cat > a.yaml <<'Y'
hone-space: 1
name: tiles
parameters:
  m: {type: ordinal, values: [8, 16, 32], default: 16}
  n: {type: int, range: [1, 10], default: 4}
  unroll: {type: flag, default: off, optional: true}
  isa: {type: choice, values: [sse, avx2, avx512], default: avx2}
  wide: {type: int, range: [1, 4], default: 1, when: isa == 'avx512'}
constraints:
  - m * n <= 128
Y
sed -e 's/\[1, 10\]/[1, 12]/' -e '/unroll/d' -e 's/128/256/' a.yaml > b.yaml
echo '  new: {type: float, range: [0, 1], default: 0.5}' > line; sed -i '/isa:/r line' b.yaml
t space print a.yaml
"$HONE" space a.yaml > printed.yaml; "$HONE" space print printed.yaml | cmp - printed.yaml && echo "round trip"
t space count a.yaml
t space a.yaml count
t space validate a.yaml
t space diff a.yaml a.yaml
t space diff a.yaml b.yaml
for words in "print a.yaml" "count a.yaml" "validate a.yaml" "diff a.yaml b.yaml" "count b.yaml"; do
    # shellcheck disable=SC2086
    "$HONE" space $words --json > out.json; echo "$words: $?"
    python3 -c 'import json; d = json.load(open("out.json")); print("  ", *sorted(d))'
done
"$HONE" space count b.yaml
"$HONE" space count a.yaml --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["points"], d["exact"])'
sed 's/m \* n <= 128/m * n <= 2/' a.yaml > none.yaml
t space validate none.yaml
sed 's/avx512.]/avx512]/; s/type: flag/type: falg/' a.yaml > slip.yaml
t space validate slip.yaml
sed 's/128/m128/' a.yaml > unknown.yaml
t space count unknown.yaml
