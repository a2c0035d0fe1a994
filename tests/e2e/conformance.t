#!/usr/bin/env python3
"""The ONNX project's own backend cases through the importer and the interpreter: none is wrong, fails or crashes, and not
fewer pass than FLOOR says; what does not pass is refused. TAP. The cases: ../shared/onnx/*.tar.xz, unpacked into the build
folder, else those inside the Python package onnx in build/venv."""
import glob, json, os, subprocess, sys, tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("HONE_ROOT", os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("HONE_BUILD", os.path.join(ROOT, "build"))
SHARED = os.environ.get("HONE_SHARED", os.path.join(ROOT, "../shared"))
# Share of the cases that pass, in each group of cases: checked in, raised when more do.
FLOOR = {"node": 0.96, "light": 1.0, "simple": 0.6, "pytorch-operator": 1.0, "pytorch-converted": 1.0}
count = failed = 0


def check(fine, name, detail=""):
    global count, failed
    count += 1
    failed += not fine
    print(f"{'' if fine else 'not '}ok {count} - e2e/conformance_{name}", flush=True)
    for line in detail.splitlines() if not fine else []:
        print("#  ", line)


def cases():
    """The folder that holds node/, light/ ..., or None."""
    for archive in sorted(glob.glob(os.path.join(SHARED, "onnx", "*.tar.xz"))):
        to = os.path.join(BUILD, "onnx-cases")
        if not os.path.isdir(os.path.join(to, "node")):
            part = to + ".part"
            with tarfile.open(archive) as tar:
                tar.extractall(part, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
            os.rename(part, to)
        return to
    found = glob.glob(os.path.join(BUILD, "venv/lib/python3*/site-packages/onnx/backend/test/data"))
    return found[0] if found else None


def run(group, folder, hone):
    sample = ["--every", "4"] if group == "light" and not os.environ.get("HONE_LONG") else []  # whole networks
    done = subprocess.run([os.path.join(ROOT, "tools/onnx-conformance"), folder, "--json", "--timeout", "300", *sample],
                          env=dict(os.environ, HONE=hone), capture_output=True, text=True)
    check(done.stdout[:1] == "{", f"{group}_runs", done.stderr)
    if done.stdout[:1] != "{":
        return
    result = json.loads(done.stdout)
    bad = [c for c in result["cases"] if c["status"] not in ("passed", "refused")]
    check(not bad, f"{group}_nothing_wrong", "\n".join(f"{c['status']} {c['case']}: {c['reason']}" for c in bad[:20]))
    share = result["passed"] / len(result["cases"])
    check(share >= FLOOR[group], f"{group}_passes_as_much_as_before", f"{result['passed']} of {len(result['cases'])}")
    silent = [c["case"] for c in result["cases"] if c["status"] == "refused" and "cannot be compiled: " not in c["reason"]]
    check(not silent, f"{group}_refusals_say_why", "\n".join(silent[:20]))


def main():
    folder = cases()
    if not folder:
        print("1..0 # SKIP no cases: neither ../shared/onnx nor the package onnx in build/venv (tools/venv.sh tests)")
        return 0
    own = os.path.abspath(os.environ.get("HONE", os.path.join(BUILD, "asan", "hone")))
    fast = os.path.join(BUILD, "hone")  # real networks, without sanitizers: they are slow in the interpreter
    for group in FLOOR:
        if os.path.isdir(os.path.join(folder, group)):
            run(group, os.path.join(folder, group), fast if group == "light" and os.access(fast, os.X_OK) else own)
    print(f"1..{count}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
