#!/usr/bin/env bash
# tools/lint.sh [STEP…]: everything about the sources that can be checked without running them; all steps by default.
# A step that fails does not stop the others. docs/style.md has the rules that the steps enforce.
set -u
cd "$(dirname "$0")/.."
build=${BUILD:-build}/lint
jobs=${JOBS:-$(nproc)}
mkdir -p "$build"

sources() { find include src cli python tests examples bench -name '*.[ch]' -type f 2>/dev/null | LC_ALL=C sort; }
shells() {
    find .ci tools tests examples bench -type f 2>/dev/null | LC_ALL=C sort | while read -r f; do
        case $f in *.sh) echo "$f" ;; *.[ch] | *.py | *.md | *.expected) ;; *) head -c 64 "$f" | tr -d '\0' | grep -qE '^#!.*\b(ba)?sh\b' && echo "$f" ;; esac
    done
}
pythons() {
    find setup.py tools python tests examples bench -type f 2>/dev/null | LC_ALL=C sort | while read -r f; do
        case $f in *.py) echo "$f" ;; *.t) head -c 64 "$f" | grep -q '^#!.*python' && echo "$f" ;; esac
    done
}

step_format() { sources | xargs clang-format --dry-run -Werror; }
step_includes() { python3 tools/lint_includes.py; }
step_lengths() { python3 tools/lint_lengths.py; }
step_api() { python3 tools/lint_api.py; }
step_calls() { python3 tools/lint_calls.py; }
step_names() { python3 tools/lint_names.py; }
step_families() { python3 tools/lint_families.py; }
step_plugs() { python3 tools/lint_plugs.py; }
step_docs() { python3 tools/lint_docs.py && python3 tools/picture.py --check && python3 tools/rooms.py; }
step_shell() {
    local f rc=0
    while read -r f; do bash -n "$f" || rc=1; done < <(shells)
    return $rc
}
step_python() {
    # shellcheck disable=SC2046
    python3 -c 'import ast, sys
for f in sys.argv[1:]: ast.parse(open(f, encoding="utf-8").read(), f)' $(pythons)
}
# Each public header compiles alone, in C and in C++.
step_headers() {
    local h rc=0 packages
    read -ra packages <<< "$(pkg-config --cflags libpq)"
    for h in include/hone/*.h; do
        gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only -x c "$h" || rc=1
        echo "#include <hone/${h##*/}>" | clang-19 -std=c++11 -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ - || rc=1
    done
    for h in src/*/*.h src/*/*/*.h; do
        ! head -1 "$h" | grep -q 'Text carried into artifacts\|Carried as text' || continue # compiled by the tests, inside what carries it
        gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-function -Werror -Iinclude -Isrc "${packages[@]}" -fsyntax-only -x c "$h" || rc=1
    done
    return $rc
}
# Two compilers, warnings are errors; gcc with optimisation, since some of its warnings come from there.
step_gcc() { make -s -k -j"$jobs" BUILD="$build/gcc" CC=gcc CFLAGS="-O2 -g" WERROR=-Werror all && tests_compile gcc; }
step_clang() { make -s -k -j"$jobs" BUILD="$build/clang" CC=clang-19 CFLAGS="-O0" WERROR=-Werror objects && tests_compile clang-19; }
tests_compile() {
    local flags
    read -ra flags <<< "$(make -s CFLAGS= WERROR=-Werror print-cflags)"
    find tests -name '*.c' | LC_ALL=C sort | xargs -P "$jobs" -n 8 "$1" "${flags[@]}" -Itests/unit -fsyntax-only
}
# The extension of the Python package; warnings of Python's own headers do not count.
step_extension() {
    local include flags cc rc=0
    include=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
    [ -f "$include/Python.h" ] || { echo "no Python.h: install python3-dev"; return 1; }
    read -ra flags <<< "$(make -s CFLAGS= WERROR=-Werror print-cflags)"
    for cc in gcc clang-19; do
        printf '%s\n' python/src/*.c | xargs -P "$jobs" -n 4 "$cc" "${flags[@]/-Wpedantic/-Wall}" -isystem "$include" -fsyntax-only || rc=1
    done
    return $rc
}
step_symbols() { step_gcc >/dev/null 2>&1; python3 tools/lint_symbols.py "$build/gcc"; }
step_rooms() {
    make -s -k -j"$jobs" BUILD="$build/gcc" CC=gcc CFLAGS="-O2 -g" WERROR=-Werror objects && python3 tools/lint_rooms.py "$build/gcc"
}
step_man() {
    local pages=()
    mapfile -t pages < <(find "$build/gcc/man" -name '*.[1-9]' 2>/dev/null)
    [ ${#pages[@]} -gt 0 ] || { echo "no man pages were built"; return 1; }
    mandoc -T lint -W warning "${pages[@]}"
}

steps=(format includes api calls lengths headers names families plugs docs shell python gcc rooms man clang extension symbols)
[ $# -eq 0 ] || steps=("$@")
failed=()
for s in "${steps[@]}"; do
    if "step_$s"; then echo "lint: $s ok"; else
        echo "lint: $s FAILED"
        failed+=("$s")
    fi
done
[ ${#failed[@]} -eq 0 ] || { echo "lint: failed: ${failed[*]}"; exit 1; }
echo "lint: all ok"
