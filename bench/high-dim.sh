#!/usr/bin/env bash
# bench/high-dim.sh — search over all of gcc's portable controls, judged without noise: bytes of the object, and
# instructions of the run (callgrind), of three C files; against OpenTuner and a BOCA-like tuner.
#
# usage: bench/high-dim.sh
#   SEEDS=3 EVALS=300           runs per file, objective and engine; evaluations per run
#   FIRST=0                     the first of these seeds
#   COUNT=programs              what an evaluation is: a program that the search has not seen, or a failure (known objects
#                               cost no measurement; a search ends at 4 compilations each), or compilations: every one
#   ENGINES=auto,evolve,...     engines to run (default: auto,ridge,forest,lfbo,evolve,random,boca,opentuner)
#   OBJECTIVES=size             what to count (default: size,instructions)
#   FILES="a.c b.c"             programs to tune (default: bench/high-dim/*.c)
#   HONE_CC=gcc                 the compiler to tune
#   JOBS=N BUILD=build          processes at a time; build folder
# Results are kept under $BUILD/bench/high-dim, so that an interrupted run goes on where it was; remove the folder to
# measure again. docs/benchmarks.md says how to read the tables.
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/high-dim.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
command -v valgrind >/dev/null || { echo "valgrind is missing: run make deps" >&2; exit 1; }
cc=${HONE_CC:-gcc}
python=$(peers_python)
serve=$OUT/high_dim_serve
build_program bench/high_dim_serve.c "$serve"

header "High dimension" "${FIRST:+FIRST=$FIRST }${COUNT:+COUNT=$COUNT }SEEDS=${SEEDS:-3} EVALS=${EVALS:-300} bench/high-dim.sh"
echo "- controls: $(echo params | "$serve" "$cc" | "$python" -c 'import json, sys
print(len(json.load(sys.stdin)["params"]))') of $cc"
key() { sha256sum "$@" | sha256sum | cut -c1-12; }
ours=$(key "$HONE" bench/high_dim.py)
peers=$(key bench/high_dim.py bench/peers/boca.py bench/peers/opentuner_peer.py)
# shellcheck disable=SC2086
"$python" bench/high_dim.py --cc "$cc" --serve "$serve" --out "$OUT/high-dim/hone-$ours" \
    --out-peers "$OUT/high-dim/peers-$peers" --cache "$OUT/high-dim/cache" \
    --objectives "${OBJECTIVES:-size,instructions}" --first "${FIRST:-0}" --count "${COUNT:-programs}" --seeds "${SEEDS:-3}" --evals "${EVALS:-300}" --jobs "$JOBS" \
    --engines "${ENGINES:-auto,ridge,forest,lfbo,evolve,random,boca,opentuner}" ${FILES:-bench/high-dim/*.c}
