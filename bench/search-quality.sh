#!/usr/bin/env bash
# bench/search-quality.sh — how good hone's engines are on recorded spaces, beside Optuna, pymoo and Kernel Tuner.
#
# usage: bench/search-quality.sh
#   SPACES="a.tsv.xz ..."  recorded spaces (default: the nine of ../shared/spaces); missing ones are skipped by name
#   SEEDS=50 EVALS=200     runs per engine and space; evaluations per run
#   OURS=auto,random       hone's engines (default: all; `random` is needed for the score against random)
#   PEERS=pymoo-ga,...     others (default: all; none: only hone's)
#   JOBS=N BUILD=build     processes at a time; build folder
# Results are kept as JSON in $BUILD/bench/search-quality, so that an interrupted run goes on where it was; remove the
# folder to measure again. docs/benchmarks.md says how to read the tables.
set -eu
command="bench/search-quality.sh"
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/search-quality.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
python=python3
[ "${PEERS:-}" = none ] || python=$(peers_python)

nine="convolution-A100 convolution-A4000 convolution-MI250X dedispersion-A100 dedispersion-MI250X gemm-RTX2080Ti
gemm-RTX3090 pnpoly-RTX2080Ti pnpoly-RTX3090"
found=()
for space in ${SPACES:-$(printf "../shared/spaces/%s.tsv.xz\n" $nine)}; do
    if [ -r "$space" ]; then found+=("$space"); else echo "skipped: '$space' is not there" >&2; fi
done
[ ${#found[@]} -gt 0 ] || { echo "no recorded space to judge on; set SPACES" >&2; exit 1; }

header "Search quality" "SEEDS=${SEEDS:-50} EVALS=${EVALS:-200} $command"
echo "- spaces: $(basename -a "${found[@]}" | sed 's/\..*//' | paste -sd' ')"
# The recordings' fingerprint is part of the path: results of other recordings are never mixed in.
key=$(cat "${found[@]}" | sha256sum | cut -c1-12)
"$python" bench/search_quality.py --hone "$HONE" --out "$OUT/search-quality/$key" --seeds "${SEEDS:-50}" \
    --evals "${EVALS:-200}" --jobs "$JOBS" --ours "${OURS:-}" --peers "${PEERS:-}" "${found[@]}"
