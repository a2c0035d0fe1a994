#!/usr/bin/env bash
# tests/fuzz/run.sh SECONDS [NAME…]: libFuzzer on every tests/fuzz/fuzz_NAME.c, or on those named, two at a time.
#
# Starts from tests/fuzz/corpus/NAME and goes on from what earlier runs left in $BUILD/fuzz/corpus/NAME. A dictionary
# tests/fuzz/NAME.dict is used where there is one. Findings are kept in $BUILD/fuzz/findings; any finding fails the run.
# To add one to the corpus: fix it, give it a telling name, copy it to tests/fuzz/corpus/NAME.
set -eu
cd "$(dirname "$0")/../.."
[[ ${1:-} =~ ^[0-9]+$ ]] || { echo "usage: tests/fuzz/run.sh SECONDS [NAME...]" >&2; exit 2; }
seconds=$1
shift
build=${BUILD:-build}/fuzz
cc=${FUZZ_CC:-clang-19}
san=-fsanitize=address,undefined
flags=(-O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
export ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export LC_ALL=C.UTF-8

names=("$@")
[ $# -gt 0 ] || for f in tests/fuzz/fuzz_*.c; do
    f=${f##*/fuzz_}
    names+=("${f%.c}")
done
mkdir -p "$build/findings"

make -s -j "${JOBS:-$(nproc)}" BUILD="$build" CC="$cc" CFLAGS="${flags[*]} $san -fsanitize=fuzzer-no-link" lib
read -ra packages <<< "$(pkg-config --cflags --libs yaml-0.1 jansson sqlite3 libsodium liblzma libprotobuf-c libpcre2-8 libutf8proc libevent_core libevent_extra libevent_openssl libssl libcrypto) $(pkg-config --cflags libpq)"
for n in "${names[@]}"; do
    "$cc" -std=c11 -D_GNU_SOURCE -Iinclude -Isrc "${flags[@]}" $san -fsanitize=fuzzer "tests/fuzz/fuzz_$n.c" \
        -o "$build/fuzz_$n" "$build/libhone.a" "${packages[@]}" -lm -lpthread
done

fuzz_one() {
    local n=$1 kept=$build/corpus/$1 extra=()
    mkdir -p "$kept"
    cp -n "tests/fuzz/corpus/$n"/* "$kept/" 2>/dev/null || true
    [ ! -f "tests/fuzz/$n.dict" ] || extra+=(-dict="tests/fuzz/$n.dict")
    nice -n 10 "$build/fuzz_$n" -max_total_time="$seconds" -max_len=16384 -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$build/findings/$n-" "${extra[@]}" "$kept" >"$build/$n.log" 2>&1 </dev/null
}
running=0
for n in "${names[@]}"; do
    rm -f "$build/findings/$n"-* "$build/$n.rc"
    { rc=0; fuzz_one "$n" || rc=$?; echo $rc >"$build/$n.rc"; } &
    running=$((running + 1))
    [ $running -lt 2 ] || { wait -n; running=$((running - 1)); }
done
wait

failed=0
printf '%-14s %12s %10s %10s %9s\n' target runs coverage corpus findings
for n in "${names[@]}"; do
    log=$build/$n.log
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cov=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    kept=$(find "$build/corpus/$n" -type f | wc -l)
    found=$(find "$build/findings" -name "$n-*" | wc -l)
    rc=$(cat "$build/$n.rc")
    [ "$rc" = 0 ] && [ "$found" = 0 ] || failed=1
    printf '%-14s %12s %10s %10s %9s\n' "$n" "${runs:--}" "${cov:--}" "$kept" "$found"
    [ "$rc" = 0 ] || { echo "--- $n ended with $rc; the end of $log:"; grep -vE '^#[0-9]+|^stat::' "$log" | tail -40; }
done
[ $failed = 0 ] || echo "findings are in $build/findings; run one again: $build/fuzz_NAME FILE"
exit $failed
