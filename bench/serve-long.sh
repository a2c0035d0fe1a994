#!/usr/bin/env bash
# bench/serve-long.sh — a server for a long time: memory over idle connections and over many short requests, kill -9 at
# random moments of deployments, fuzzing of what it reads. For correctness and leaks, not for times. Any failure ends it.
#
# usage: bench/serve-long.sh [PART...]     idle requests kills fuzz; all of them unless named
#   CONNECTIONS=5000; REQUESTS=100000; FUZZ_S=3600 a target; BUILD=build
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case ${1:-} in -h | --help) usage bench/serve-long.sh ;; esac
need_hone
export BUILD
[ $# -gt 0 ] || set -- idle requests kills fuzz
header "A server for a long time" "bench/serve-long.sh $*"
echo
for part in "$@"; do
    case $part in
    idle) "$BUILD/venv/bin/python" bench/serve_long.py "$HONE" idle "${CONNECTIONS:-5000}" ;;
    requests) "$BUILD/venv/bin/python" bench/serve_long.py "$HONE" requests "${REQUESTS:-100000}" ;;
    kills)
        HONE_LONG=1 tests/py/python.t tests/py/test_canary.py::test_kill_9_at_any_moment | grep '^ok'
        echo "kill -9 at 50 moments of deployments: each time the store was whole and a right version answered"
        ;;
    fuzz) BUILD=$BUILD tests/fuzz/run.sh "${FUZZ_S:-3600}" serve_text serve_infer serve_calls serve_wire ;;
    *) usage bench/serve-long.sh 2 >&2 ;;
    esac
done
