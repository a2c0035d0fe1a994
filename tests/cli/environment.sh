# The environment of runs as controls: searched, proven, reduced, written as variables. The cost is what the script says.
cat > cost.sh <<'S'
c=8
case "$GLIBC_TUNABLES" in *arena_max=2*) c=$((c / 2));; esac
case "$GLIBC_TUNABLES" in *top_pad=*) c=$((c / 2));; esac
echo "cost: $c"
S
w() { printf 'name: ev\nsources: cost.sh\nrun: sh cost.sh\ncontrols: false\nobjectives: minimize cost\nbudget: {evaluations: 40}\nproof: {pairs: 10, pairs_most: 20, variants: 3}\n'; printf '%s\n' "$@"; }
w "environment: [malloc]" > hone.yaml
"$HONE" space print hone.yaml | grep -E 'arena_max|top_pad'
"$HONE" tune -q --no-canary --seed 1 > /dev/null; echo "= $?"
"$HONE" best --json | grep -E '^  "speedup"|TUNABLES' | grep -o -E '"speedup": 4|arena_max=2|top_pad=[0-9]*' | sed 's/d=.*/d=N/'
"$HONE" validate > /dev/null 2>&1; echo "= $?"
"$HONE" minimize 2> /dev/null | grep -E '^(controls|env)' | sed -E 's/ [0-9]+ -> 2.*/ … -> 2/; s/ +/ /g; s/(top_pad) [0-9]+/\1 N/'
grep -E '^#   env|env\.|TUNABLES: ' ev.hone | sed -E 's/(top_pad[=:] ?)[0-9]+/\1N/'
"$HONE" check ev.hone > /dev/null; echo "= $?"
echo "== what is wrong"
for e in "environment: maybe" "environment: [malloc, mallok]" "environment: {malloc: true}"; do w "$e" > bad.yaml; "$HONE" space print bad.yaml; done
w "environment: true" "measure: {on: 'ssh://nowhere/tmp'}" > far.yaml; "$HONE" space print far.yaml
w "environment: false" > none.yaml; "$HONE" space count none.yaml --json | grep '"parameters"'
