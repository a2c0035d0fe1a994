#!/usr/bin/env python3
"""The text of a graph reads back and prints the same, as imported and after every pass, for the models of ../shared/onnx.

TAP. About 60 models with two passes each (the passes take turns); with HONE_LONG all models and all passes. The ASan
build also verifies the graph and checks the round trip after each pass by itself (src/pass/driver.c). Models that hone
refuses are counted, not failed: what must be supported is checked by tools/onnx-conformance.
"""
import concurrent.futures, os, subprocess, sys, tarfile, tempfile

ROOT = os.environ.get("HONE_ROOT", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
HONE = os.environ.get("HONE", os.path.join(ROOT, "build", "asan", "hone"))
BACK = os.path.join(os.environ.get("HONE_BUILD", os.path.join(ROOT, "build")), "hone")  # without sanitizers
SHARED = os.environ.get("HONE_SHARED", "")
LONG = bool(os.environ.get("HONE_LONG"))
CASES = os.path.join(SHARED, "onnx", "backend-tests-1.22.tar.xz")
SAMPLE, PASSES_EACH, REFUSED = 60, 2, 14


def hone(*args, program=HONE):
    done = subprocess.run([program, "ir", *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace").strip()


def read(path):
    with open(path, "rb") as f:
        return f.read()


def check(model, passes, folder):
    """None: good; else what is wrong. "refused" when hone does not support the model."""
    for after in [None, *passes, "--all"]:
        once, twice = os.path.join(folder, "once.ir"), os.path.join(folder, "twice.ir")
        wanted = ["--all"] if after == "--all" else ["--after=" + after] if after else []
        rc, _, text = hone(model, *wanted, "-o", once)
        if rc == REFUSED and not after:
            return "refused"
        if rc:
            return f"hone ir {' '.join(wanted)}: exit {rc}: {text[-300:]}"
        rc, _, text = hone(once, "-o", twice, program=HONE if LONG else BACK)
        if rc:
            return f"after {after}: does not read back: {text[-300:]}"
        if read(once) != read(twice):
            return f"after {after}: prints differently when read back"
    return None


def check_numbered(job):
    number, model, names = job
    passes = names if LONG else [names[(number + k) % len(names)] for k in range(PASSES_EACH)]
    with tempfile.TemporaryDirectory() as folder:
        return model, check(model, passes, folder)


def unpack(folder):
    """The models alone; in order of their names."""
    with tarfile.open(CASES, "r:xz") as tar:
        members = [m for m in tar if m.name.endswith("/model.onnx")]
        if not LONG:
            members = sorted(members, key=lambda m: m.name)[:: max(1, len(members) // SAMPLE)]
        for m in members:
            path = os.path.join(folder, m.name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(tar.extractfile(m).read())
        return [os.path.join(folder, m.name) for m in members]


def main():
    if not SHARED or not os.path.exists(CASES):
        print("1..0 # SKIP needs ../shared/onnx")
        return 0
    rc, names, text = hone("--list")
    names = [line.split()[0] for line in names.splitlines()[1:]]
    if rc or len(names) < 2:
        print(f"1..1\nnot ok 1 - hone ir --list\n# {text}")
        return 1
    failed = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        jobs = [(i, model, names) for i, model in enumerate(unpack(folder))]
        print(f"1..{len(jobs) + 1}", flush=True)
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
            for i, (model, wrong) in enumerate(pool.map(check_numbered, jobs), 1):
                name = os.path.basename(os.path.dirname(model))
                refused += wrong == "refused"
                bad = wrong is not None and wrong != "refused"
                failed += bad
                print(f"{'not ok' if bad else 'ok'} {i} - ir_roundtrip/{name}" + (" # SKIP refused" if wrong == "refused" else ""))
                if bad:
                    print("#   " + wrong.replace("\n", "\n#   "))
    few = refused * 4 < len(jobs)
    print(f"{'ok' if few else 'not ok'} {len(jobs) + 1} - ir_roundtrip/few_are_refused")
    print(f"# {len(jobs)} models, {refused} refused, {failed} failed")
    return 1 if failed or not few else 0


if __name__ == "__main__":
    sys.exit(main())
