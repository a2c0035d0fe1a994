# The engines that scripts name: a name is never changed.
"$HONE" engines --json | python3 -c '
import json, sys
engines = json.load(sys.stdin)
print(*[e["name"] for e in engines])
print(all(set(e) == {"name", "summary", "options"} and e["summary"] for e in engines))'
"$HONE" engines | awk 'NR > 1 { print $1 }'
