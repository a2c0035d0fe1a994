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
light='import sys
before = set(sys.modules)
import hone
more = {name.partition(".")[0] for name in set(sys.modules) - before} - {"hone"}
heavy = more & {"numpy", "onnx", "matplotlib", "asyncio", "multiprocessing", "concurrent", "subprocess", "sqlite3", "json", "logging", "socket", "urllib", "ctypes", "inspect"}
print("# imports", *sorted(more))
sys.exit(f"import hone imports {sorted(heavy)}" if heavy or len(more) > 40 else 0)'
is "wheel/imports_little" "${import[@]}" -c "$light" # 20 to 30 ms; what it imports says it without a clock
echo "1..$n"
