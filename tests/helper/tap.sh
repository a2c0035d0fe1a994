# tests/helper/tap.sh: test points of a shell test, to be sourced. The test has set `tap`, the front of each
# name, and `tap_log`, a file of its own; it ends with: echo "1..$n"; exit $failed
# shellcheck shell=bash
n=0
failed=0
ok() { # ok NAME COMMAND…: one line; the command's output is shown when it fails
    local name=$1
    shift
    n=$((n + 1))
    if "$@" >"$tap_log" 2>&1; then echo "ok $n - $tap$name"; else
        echo "not ok $n - $tap$name"
        sed 's/^/# /' "$tap_log"
        failed=1
    fi
}
