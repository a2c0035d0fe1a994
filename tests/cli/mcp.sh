# The server of the Model Context Protocol, line by line (tests/py/test_mcp.py has the official client).
ask() { printf '%s\n' "$@" | "$HONE" mcp; echo "exit $?"; }
hello='{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}'
call() { printf '{"jsonrpc": "2.0", "id": %s, "method": "tools/call", "params": {"name": "%s", "arguments": %s}}' "$@"; }
echo "== the handshake, what is no message"
ask "$hello" 'not JSON' '{"jsonrpc": "2.0", "id": 1, "method": "nothing"}' '{"jsonrpc": "2.0", "id": 2, "method": "ping"}' \
    "$(call 3 tunes '{}')" "$(call 4 tune '{"evals": "many"}')" "$(call 5 tune '{"evls": 3}')" | sed 's/"instructions":"[^"]*"/"instructions":"..."/; s/"version":"[0-9.]*"/"version":"N"/'
echo "== before it"
ask '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
echo "== a call that takes a moment"
echo 'int main(void) { return 0; }' > a.c
# The input stays open until the answer is there.
answered() { for _ in $(seq 600); do grep -q '"id":1,' answers && break; sleep .1; done; }
: > answers
{ echo "$hello"; call 1 init '{"source": "a.c"}'; echo; answered; } | "$HONE" mcp > answers
tail -1 answers
rm answers
ls hone.yaml
echo "== options"
"$HONE" mcp --json < /dev/null; echo "= $?"
"$HONE" mcp --dir nowhere < /dev/null; echo "= $?"
"$HONE" mcp < /dev/null; echo "= $?"
"$HONE" mcp word; echo "= $?"
