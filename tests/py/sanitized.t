#!/usr/bin/env bash
# tests/py/sanitized.t: the extension with AddressSanitizer and UndefinedBehaviorSanitizer under the tests that reach into it. TAP.
# Runs where build/asan/python is (make check-long builds it).
set -u
root=${HONE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${HONE_BUILD:-$root/build}
skip_all() { echo "1..0 # SKIP $1"; exit 0; }

[ -n "${HONE_LONG:-}" ] || skip_all "long: make check-long"
ls "$build"/asan/python/hone/_hone.*.so >/dev/null 2>&1 || skip_all "no sanitized extension in $build/asan/python"
asan=$("${CC:-gcc}" -print-file-name=libasan.so) ubsan=$("${CC:-gcc}" -print-file-name=libubsan.so)
[ -f "$asan" ] || skip_all "${CC:-gcc} has no libasan.so"
[ $# -gt 0 ] || set -- "$root"/tests/py/test_{space,search,results,models,winners,compilers,language_model,triton}.py
# Leaks are looked for once, by python.t: programs that the tests start, such as compilers, have their own.
ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1}:allocator_may_return_null=1:leak_check_at_exit=0" \
UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
LD_PRELOAD="$asan $ubsan" PYTHONMALLOC=malloc HONE_PACKAGE=$build/asan/python \
    exec "$root/tests/py/python.t" "$@"
