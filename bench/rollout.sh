#!/usr/bin/env bash
# bench/rollout.sh — deployments on trial (hone/rollout.h), played with noise as servers have it: how often the verdict is
# right, and how many pairs and runs it took. Nothing is timed: any machine will do.
#
# usage: bench/rollout.sh
#   RUNS=100 deployments a row; BUILD=build
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case ${1:-} in -h | --help) usage bench/rollout.sh ;; esac
need_hone
build_program bench/rollout.c "$OUT/rollout"
header "Deployments on trial" "RUNS=${RUNS:-100} bench/rollout.sh"
echo
"$OUT/rollout" "${RUNS:-100}"
