#!/usr/bin/env bash
# bench/minimize.sh — hone minimize: on planted winners, and on winners of real searches.
#
# usage: bench/minimize.sh [planted] [kernels]     (default: both)
#   planted: how often exactly the controls that matter are found, and in how many measurements; no timing, any machine
#            will do. RUNS=1000 per row.
#   kernels: tunes each example, reduces the winner, proves what is left: controls before -> after, gain kept. Needs an
#            idle machine; tens of minutes a kernel. KERNELS="softmax gemm …" (default: the five examples), EVALS=150,
#            SEED=1, TIME=15m for each reduction and each proof, KEEP=90% of the gain (default: what its interval says), CPU=N
#            FROM=build/bench/real-gains MODE=any-strict: takes the newest proven session of bench/real-gains.sh
#            instead of tuning again
#   BUILD=build
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
case ${1:-} in -h | --help) usage bench/minimize.sh ;; esac
need_hone
[ $# -gt 0 ] || set -- planted kernels

planted() {
    build_program bench/minimize.c "$OUT/minimize-planted"
    header "Reduction of planted winners" "RUNS=${RUNS:-1000} bench/minimize.sh planted"
    echo
    "$OUT/minimize-planted" "${RUNS:-1000}"
}

# Folder of a workload that has a session: tuned here, in a folder of its own, or by bench/real-gains.sh.
session_of() {
    local dir=$OUT/minimize-$1
    if [ -n "${FROM:-}" ]; then
        find "$FROM" -maxdepth 1 -type d -name "$1-${MODE:-any-strict}-*" -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-
        return
    fi
    rm -rf "$dir"
    mkdir -p "$dir"
    cp "examples/$1/"* "$dir/"
    "$hone" tune "$dir/hone.yaml" --evals "${EVALS:-150}" --seed "${SEED:-1}" --json -q >"$dir/tune.json"
    echo "$dir"
}

kernel() {
    local dir json=$OUT/minimize-$1.json
    dir=$(session_of "$1")
    if [ -z "$dir" ]; then
        echo "| $1 | no session of mode ${MODE:-any-strict} in '$FROM' |"
        return
    fi
    "$hone" minimize -w "$dir/hone.yaml" --seed "${SEED:-1}" --time "${TIME:-15m}" --json -q ${CPU:+--cpu "$CPU"} ${KEEP:+--keep "$KEEP"} \
        -o "$OUT/minimize-$1.hone" >"$json" || true # 17: the proof kept nothing
    python3 - "$1" "$json" <<'P'
import json, sys
name, path = sys.argv[1:]
r = json.load(open(path))
if "error" in r:
    print(f"| {name} | {r['error']['text']} |")
    sys.exit()
def gain(g):
    return "-" if g["mid"] is None else f"{g['mid']:.3f} ({g['lo']:.3f} to {g['hi']:.3f})"
proof = r["proof"] or {}
first = (proof.get("overall") or [{}])[0].get("gain")
proven = "-" if not first else f"{first[1]:.3f} ({first[0]:.3f} to {first[2]:.3f})" if isinstance(first, list) else gain(first)
kept = "kept" if proof.get("kept") else proof.get("why", "nothing to prove")
shares = ", ".join(f"{s['name']}={s['value']} {s['gain']['mid']:.3f}" for s in r["shares"] if s["gain"]["mid"])
before = r["gain_before"]["mid"]
share = "-" if not r["after"] or not before or before <= 1 else f"{100 * (r['gain_after']['mid'] - 1) / (before - 1):.0f} %"
print(f"| {name} | {r['before']} -> {r['after']} | {gain(r['gain_before'])} | {gain(r['gain_after'])} | {share} | {proven} | {kept} | "
      f"{r['measurements']} | {shares} |")
P
}

kernels() {
    local name
    hone=$(readlink -f "$HONE")
    header "Reduction of winners on the examples" "EVALS=${EVALS:-150} SEED=${SEED:-1} TIME=${TIME:-15m} ${KEEP:+KEEP=$KEEP }bench/minimize.sh kernels"
    echo
    echo "| kernel | controls | gain before | after | gain kept | proven | verdict | measurements | shares |"
    echo "|---|---|---|---|---|---|---|---|---|"
    for name in ${KERNELS:-softmax rmsnorm dot_i8 gemm interp}; do kernel "$name"; done
}

mkdir -p "$OUT"
for part; do
    case $part in
    planted) planted ;;
    kernels) kernels ;;
    *) echo "bench/minimize.sh: no part '$part'; known: planted kernels" >&2; exit 2 ;;
    esac
done
