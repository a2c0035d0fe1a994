#!/usr/bin/env bash
# tests/py/wheel.t: pip wheel at the repository's root, the wheel's size, and what it installs: works without the
# repository, imports fast. TAP. Needs setuptools and wheel in the interpreter's environment or a package index.
set -u
root=${HONE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${HONE_BUILD:-$root/build}
python=$build/venv/bin/python
[ -x "$python" ] || python=$(command -v python3)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0
tell() { n=$((n + 1)); echo "$1 $n - $2"; }
is() { if "${@:2}" >"$work/out" 2>&1; then tell ok "$1"; else tell "not ok" "$1"; fi; sed "s/^#* */# /" "$work/out"; }
skip_all() { echo "1..0 # SKIP $1"; exit 0; }

"$python" -m pip --version >/dev/null 2>&1 || skip_all "pip is not installed"
isolation=()
"$python" -c 'import setuptools, wheel' 2>/dev/null && isolation=(--no-build-isolation)
mkdir "$work/source" # pip builds inside the folder it is given
(cd "$root" && cp -rp pyproject.toml setup.py README.md Makefile include skills src python tools "$work/source/")
if ! HONE_BUILD=$build "$python" -m pip wheel --quiet --disable-pip-version-check "${isolation[@]}" --no-deps -w "$work" "$work/source" \
    >"$work/log" 2>&1; then
    grep -qiE 'could not find a version|connection|network' "$work/log" && skip_all "setuptools cannot be had"
    tell "not ok" "wheel/is_built"
    sed 's/^/# /' "$work/log"
    echo "1..$n"
    exit 1
fi
wheel=$(echo "$work"/hone-*.whl)
is "wheel/is_built" test -f "$wheel"
size=$(stat -c %s "$wheel")
is "wheel/is_at_most_5_mb" test "$size" -le 5000000
echo "# $size bytes"
"$python" -m venv --system-site-packages "$work/venv"
is "wheel/installs" "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-index "$wheel"
import=(env -u PYTHONPATH -C "$work" "$work/venv/bin/python")
is "wheel/works_without_the_repository" "${import[@]}" "$root/tests/py/smoke.py"
is "wheel/has_its_types" "${import[@]}" -c 'import hone, os; f = os.path.dirname(hone.__file__); assert "venv" in f; assert {"py.typed", "_hone.pyi", "__init__.pyi"} <= set(os.listdir(f))'
fast='import subprocess, sys, time
best = min(float(subprocess.run([sys.executable, "-c", "import time; t = time.perf_counter(); import hone; print(time.perf_counter() - t)"],
                                capture_output=True, text=True, check=True).stdout) for _ in range(7))
print("#", round(best * 1000, 1), "ms")
sys.exit(best > 0.05)'
is "wheel/imports_within_50_ms" "${import[@]}" -c "$fast"
echo "1..$n"
