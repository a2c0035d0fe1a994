#!/usr/bin/env bash
# tests/run.sh [--long] [PATTERN]: runs the tests that `make check` built, all in one prove.
#
# PATTERN (a shell pattern, anywhere in the path) selects programs: tests/run.sh unit/base; `cli/NAME` selects cases of
# the command line. The environment that tests may rely on is described in docs/testing.md.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
long=
pattern=
for arg; do
    case $arg in
    --long) long=1 ;;
    -*) echo "usage: tests/run.sh [--long] [PATTERN]" >&2; exit 2 ;;
    *) pattern=$arg ;;
    esac
done

build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
asan=$build/asan
tmp=$(mktemp -d "${TMPDIR:-/tmp}/hone-tests.XXXXXX")
trap 'chmod -R u+w "$tmp" 2>/dev/null; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

export HONE_ROOT=$root HONE_BUILD=$build HONE=$asan/hone
export TMPDIR=$tmp XDG_CACHE_HOME=$tmp/cache XDG_DATA_HOME=$tmp/data HONE_CACHE=$tmp/cache/hone
export LC_ALL=C.UTF-8 TZ=UTC
mkdir -p "$HONE_CACHE"
# Tests about what a model computes, not about its machine code, compile it without optimisation; OpenCL by PoCL, too.
if [ -n "$long" ]; then
    export HONE_LONG=1
else
    export HONE_QUICK_CC=$root/tests/helper/quick/cc HONE_QUICK_KEPT=$tmp/kept POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable
    mkdir "$HONE_QUICK_KEPT"
fi
[ ! -d "$root/../shared" ] || export HONE_SHARED=$root/../shared
if [ -z "${HONE_CUDA:-}" ] && [ -d "$build/cuda" ]; then export HONE_CUDA=$build/cuda; fi
unset MAKEFLAGS MFLAGS MAKELEVEL HONE_BENCH_OUT HONE_WINNERS 2>/dev/null || true

# Leaks are looked for where the kernel lets LeakSanitizer stop its own threads (it needs ptrace).
leaks() {
    local probe=$asan/tests/unit/base/test_hash # a quick one
    [ -x "$probe" ] || return 0
    ! ASAN_OPTIONS=detect_leaks=1 "$probe" 2>&1 </dev/null | grep -q 'LeakSanitizer has encountered a fatal error'
}
if leaks; then leak=1; else leak=0; fi
# Strict checks of strings read a text to its end for every number in it, which takes a fifth of some tests.
# What was freed is kept from use up to 64 MiB, not 256, without --long: pages that are touched once are a third of the system's time.
export ASAN_OPTIONS=detect_leaks=$leak:allocator_may_return_null=1:detect_stack_use_after_return=1:strict_string_checks=${long:-0}:handle_sigill=1
[ -n "$long" ] || ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=64:malloc_context_size=12:detect_odr_violation=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 # where it is built with texts (SAN in the Makefile)

programs=()
declare -A taken=()
wanted() {
    case $pattern in
    '') ;;
    cli/*) [[ $1 == */tests/cli/run.t ]] ;;
    *) [[ $1 == *$pattern* ]] ;;
    esac
}
# A program that was not added before; in PARTS processes, each of which runs its share (PROGRAM K/PARTS).
add_one() {
    local path=$1 parts=${2:-1} k
    [ -f "$path" ] && [ -x "$path" ] && [[ $path != *.d ]] && [ -z "${taken[$path]:-}" ] && wanted "$path" || return 0
    taken[$path]=1
    if [ "$parts" -eq 1 ]; then programs+=("${path#"$root"/}"); return; fi
    for ((k = 0; k < parts; k++)); do
        printf '#!/bin/sh\nexec "%s" %d/%d\n' "$path" "$k" "$parts" >"$tmp/${path##*/}-$k"
        chmod +x "$tmp/${path##*/}-$k"
        programs+=("$tmp/${path##*/}-$k")
    done
}
add() { local path; for path; do add_one "$path"; done; }
case $pattern in cli/*) export HONE_CASE=${pattern#cli/} ;; esac
# The slow ones first, so that the workers end together.
while read -r path parts; do
    case $path in '' | '#'*) ;; *.t) add_one "$root/tests/$path" "$parts" ;; *) add_one "$asan/tests/$path" "$parts" ;; esac
done <"$root/tests/slow.txt"
add "$root"/tests/*/*.t
add "$asan"/tests/unit/*/test_* "$asan"/tests/prop/*/test_* "$asan"/tests/fuzz/fuzz_*_replay
if [ ${#programs[@]} -eq 0 ]; then
    echo "tests/run.sh: nothing to run${pattern:+ matches '$pattern'}; build the tests with make check" >&2
    exit 1
fi
# Three at a time keep two cores busy: some tests wait for processes, machines that are away and time limits.
# What each program says is kept, so that a failure is explained at the end, where a log that was cut still shows it.
if [ -n "$long" ]; then limit_s=14400; else limit_s=2700; fi
export HONE_TEST_SAID=$tmp/said HONE_TEST_LIMIT=${HONE_TEST_LIMIT:-$limit_s}
mkdir "$HONE_TEST_SAID"
status=0
prove --exec "$root/tests/helper/keep.sh" --timer -j "${JOBS:-3}" "${programs[@]}" </dev/null || status=$?
# Processes of this run that still run: named, and ended, so that nothing waits for them.
for left in $(grep -lsz "^HONE_TEST_SAID=$HONE_TEST_SAID\$" /proc/[0-9]*/environ); do
    left=${left#/proc/}
    left=${left%/environ}
    [ "$left" != $$ ] && command=$(cat "/proc/$left/cmdline" 2>/dev/null | tr '\0' ' ') && [ -n "$command" ] || continue
    echo "Left behind by a test, and ended: ${command:0:160}"
    kill -KILL "$left" 2>/dev/null || true
done
# Seconds of processor time and of wall time of each program, for who wants to make the tests shorter.
[ ! -s "$HONE_TEST_SAID.cpu" ] || awk '{ printf "%8.1f %8.1f  %s\n", $1 + $2, $3, $4 }' "$HONE_TEST_SAID.cpu" | sort -rn >"$build/tests.cpu"
if [ "$status" -ne 0 ]; then
    echo "What failed:"
    for said in "$HONE_TEST_SAID"/*; do
        awk -v name="${said##*/}" '/^not ok/ { left = 6; print name ": " substr($0, 1, 200); next }
            /^#/ && left-- > 0 { print "    " substr($0, 1, 400); next } { left = 0 }' "$said"
    done | head -n 24
fi
exit "$status"
