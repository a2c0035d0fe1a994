#!/usr/bin/env bash
# bench/proof.sh — how often hone validate keeps what it should not, and finds what it should: on real processes, with
# gains, losses and tails planted in a small program, and by simulation of the decision alone.
#
# usage: bench/proof.sh
#   N=...          validations of every kind (default: 200 a/a, 100 of most others; about 25 minutes on two cores)
#   SIM=200        simulated validations a cell; 0: none
#   KINDS="a/a; gain 1 %"   only these kinds
#   LOAD=outside   make no load: something else keeps the other cores busy (the table says so), e.g. another benchmark
#                  held to its own core by taskset
#   BUILD=build    build folder
# Kinds marked "load" run with all other cores busy. Validations are kept under $BUILD/bench/proof, so that an
# interrupted run goes on where it was; remove the folder to measure again. docs/benchmarks.md says how to read the tables.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/proof.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
simulate=$OUT/proof_simulate
build_program bench/proof/simulate.c "$simulate"
header "Proof" "bench/proof.sh"
key=$(sha256sum "$HONE" bench/proof/hone.yaml bench/proof/*.c | sha256sum | cut -c1-12)
python3 bench/proof/proof.py --hone "$HONE" --simulate "$simulate" --workload bench/proof/hone.yaml \
    --out "$OUT/proof/$key" --n "${N:-}" --simulated "${SIM:-200}" --kinds "${KINDS:-}" --jobs "$JOBS" \
    ${LOAD:+--outside}
