# The overview, hone's own options, and that every command explains itself.
"$HONE"
echo "== as help and -h print it"
"$HONE" > a; "$HONE" help > b; "$HONE" -h > c; cmp a b && cmp a c && echo same
"$HONE" --version | sed 's/[0-9][0-9.]*/N/'
"$HONE" --version --json | python3 -m json.tool > /dev/null && echo version is JSON
"$HONE" help engines
echo "== every command"
plain=${HONE_BUILD:-$ROOT/build}/hone # the same text without sanitizers, which take a tenth of a second to start
"$HONE" help --json > all.json
for name in $(python3 -c 'import json; print(*[c["name"] for c in json.load(open("all.json"))])'); do
    "$HONE" help "$name" > a && "$plain" "$name" --help > b && "$plain" "$name" -h > c && cmp a b && cmp a c
    "$plain" help "$name" --json | python3 -m json.tool > /dev/null || echo "$name: help is no JSON"
    awk -v n="$name" 'length($0) > 100 { print n ": a line of " length($0) " columns" }' a
    grep -q "usage: hone $name" a || echo "$name: no usage line"
done
