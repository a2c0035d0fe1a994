#!/usr/bin/env python3
"""Lowerings against ONNX Runtime: the cases of lowering_cases.py through the importer and the interpreter. With --long only,
and only where a Python has onnx and onnxruntime: $HONE_PYTHON, else build/venv (tools/venv.sh bench). TAP."""
import json, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("HONE_ROOT", os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("HONE_BUILD", os.path.join(ROOT, "build"))
PYTHON = os.environ.get("HONE_PYTHON", os.path.join(BUILD, "venv", "bin", "python"))


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def main():
    if not os.environ.get("HONE_LONG"):
        skip("with --long only")
    try:
        subprocess.run([PYTHON, "-c", "import onnx, onnxruntime"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        skip(f"no onnxruntime for {PYTHON}; set HONE_PYTHON, or tools/venv.sh bench")
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([PYTHON, os.path.join(HERE, "lowering_cases.py"), folder], capture_output=True, text=True)
        fine = made.returncode == 0
        print(f"{'' if fine else 'not '}ok 1 - e2e/lowering_cases_are_made")
        hone = os.path.abspath(os.environ.get("HONE", os.path.join(BUILD, "asan", "hone")))
        run = subprocess.run([os.path.join(ROOT, "tools/onnx-conformance"), folder, "--json"],
                             env=dict(os.environ, HONE=hone), capture_output=True, text=True)
        bad = [c for c in json.loads(run.stdout)["cases"] if c["status"] != "passed"] if run.stdout[:1] == "{" else None
        print(f"{'' if bad == [] else 'not '}ok 2 - e2e/lowering_agrees_with_onnxruntime")
        for line in made.stderr.splitlines()[-5:] if not fine else []:
            print("#  ", line)
        for c in (bad or [])[:20]:
            print("#  ", c["status"], c["case"], c["reason"])
    print("1..2")
    return not fine or bad != []


if __name__ == "__main__":
    sys.exit(main())
