#!/usr/bin/env bash
# tests/py/versions.t: the extension builds and works on every Python from 3.9 on that is installed with its headers; in the
# short run on the oldest and the newest of them. TAP.
set -u
root=${HONE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${HONE_BUILD:-$root/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0
tell() { n=$((n + 1)); echo "$1 $n - $2"; }

facts='import os, sys, sysconfig
good = sys.version_info >= (3, 9) and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
print("%d.%d" % sys.version_info[:2], sys.implementation.name, os.path.realpath(sys.executable)) if good else None'

declare -A seen
for minor in 9 10 11 12 13 14 15; do
    for command in "python3.$minor" "$HOME"/.pyenv/versions/3."$minor".*/bin/python3 "/usr/bin/python3.$minor"; do
        command -v "$command" >/dev/null 2>&1 || continue
        read -r version implementation path < <("$command" -c "$facts" 2>/dev/null) || continue
        [ "$implementation" = cpython ] && [ -z "${seen[$version]:-}" ] || continue
        seen[$version]=$path
    done
done
mapfile -t versions < <(printf '%s\n' "${!seen[@]}" | sort -V)
if [ -z "${HONE_LONG:-}" ] && [ ${#versions[@]} -gt 2 ]; then versions=("${versions[0]}" "${versions[-1]}"); fi
for version in "${versions[@]}"; do
    path=${seen[$version]}
    if ! make -s -C "$root" BUILD="$build" CFLAGS="-O0 -g" PYTHON="$path" python >"$work/log" 2>&1; then
        tell "not ok" "python $version builds the extension"
        sed 's/^/# /' "$work/log"
        continue
    fi
    mkdir -p "$work/$version"
    if (cd "$work/$version" && PYTHONPATH=$build/python PYTHONMALLOC=debug PYTHONDONTWRITEBYTECODE=1 \
        timeout 300 "$path" "$root/tests/py/smoke.py") >"$work/log" 2>&1; then
        tell ok "python $version works"
    else
        tell "not ok" "python $version works"
        sed 's/^/# /' "$work/log"
    fi
done
if [ "$n" -eq 0 ]; then echo "1..0 # SKIP no Python from 3.9 on is installed with its headers"; else echo "1..$n"; fi
