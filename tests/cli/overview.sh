# The overview, hone's own options, and that every command explains itself.
"$HONE"
echo "== as help and -h print it"
"$HONE" > a; "$HONE" help > b; "$HONE" -h > c; cmp a b && cmp a c && echo same
"$HONE" --version | sed 's/[0-9][0-9.]*/N/'
"$HONE" --version --json | python3 -m json.tool > /dev/null && echo version is JSON
"$HONE" help engines
echo "== every command"
"$HONE" help --json > all.json
for name in $(python3 -c 'import json; print(*[c["name"] for c in json.load(open("all.json"))])'); do
    "$HONE" help "$name" > a && "$HONE" "$name" --help > b && "$HONE" "$name" -h > c && cmp a b && cmp a c
    "$HONE" help "$name" --json | python3 -m json.tool > /dev/null || echo "$name: help is no JSON"
    awk -v n="$name" 'length($0) > 100 { print n ": a line of " length($0) " columns" }' a
    grep -q "usage: hone $name" a || echo "$name: no usage line"
done
