# The command lists the new engine where its row stands.
"$HONE" engines --json | python3 -c '
import json, sys
print(*[e["name"] for e in json.load(sys.stdin)])' | diff - <(head -1 "$PLUG_TREE/tests/cli/engines.expected")
