#!/usr/bin/env bash
# bench/rollback.sh — whole deployments through a server on loopback, with planted regressions: how many are rolled back,
# promoted or held, and how long that takes. The model is small and runs for some 0.2 ms.
#
# usage: bench/rollback.sh [FAULT...]     equal better slower wrong crash; all of them unless named
#   RUNS=100 deployments of each; SHARE=5%; CLIENTS=4; WORK=40000; MOST_S=300 a deployment; BUILD=build; MACHINE=text
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case ${1:-} in -h | --help) usage bench/rollback.sh ;; esac
need_hone
header "Planted regressions in whole deployments" "RUNS=${RUNS:-100} SHARE=${SHARE:-5%} CLIENTS=${CLIENTS:-4} bench/rollback.sh"
echo
python3 bench/rollback.py "$HONE" "$OUT" "$@"
