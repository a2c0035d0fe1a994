#!/usr/bin/env python3
"""Makes each addition of tests/plugs/ in a copy of the tree, builds what it touches, and runs its checks. TAP."""
import functools, os, re, subprocess, sys, tempfile

ROOT = os.environ.get("HONE_ROOT", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.path.join(os.environ.get("HONE_BUILD", os.path.join(ROOT, "build")), "asan")
sys.path.insert(0, os.path.join(ROOT, "tools"))
import lint_plugs  # noqa: E402

n = failed = 0


def ok(good, name, text=""):
    global n, failed
    n += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {n} - {name}", *["#   " + line for line in ([] if good else text.splitlines())], sep="\n", flush=True)
    return good


def run(command, cwd, **more):
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", env={**os.environ, **more})
    return done.returncode == 0, done.stdout


@functools.lru_cache(None)
def sanitizers():
    """Flags of the sanitized build, of its compiler and of its linker."""
    return subprocess.run(["make", "-s", "print-san"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def make(top, *goals):
    san, link = sanitizers()
    return run(["make", "-j2", "BUILD=build/asan", f"CFLAGS={san}", f"PROGRAM_LDFLAGS={link}", *goals], top)


def copy_build(top):
    """Objects, and lists of what each is made from: make rebuilds what the addition touches."""
    to = os.path.join(top, "build", "asan")
    os.makedirs(to)
    for name in ("obj", "gen", "include", "shim", "libhonebench.a", "hone-gpu-bench"):
        subprocess.run(["cp", "-a", os.path.join(BUILD, name), to], check=True)
    here = os.path.relpath(BUILD, ROOT)
    for path in lint_plugs.walk(to, ["obj"]) if here != "build/asan" else []:
        if path.endswith(".d"):
            with open(os.path.join(to, path), encoding="utf-8") as f:
                text = f.read()
            with open(os.path.join(to, path), "w", encoding="utf-8") as f:
                f.write(text.replace(BUILD + "/", "build/asan/").replace(here + "/", "build/asan/"))


def try_plug(plug, top):
    changed = lint_plugs.overlay(plug, top)
    copy_build(top)
    tests = plug.head["test"] + [f"tests/plugs/{plug.name}/check"] * os.path.isfile(os.path.join(plug.folder, "check.c"))
    good, out = make(top, "build/asan/hone", *[f"build/asan/{t}" for t in tests])
    if not ok(good and "warning:" not in out, f"{plug.name}/is_built ({len(changed)} files)", out[-3000:]):
        return
    ran = 0
    env = {"HONE_ROOT": ROOT, "HONE": os.path.join(top, "build/asan/hone"), "PLUG_TREE": top}
    engine = re.fullmatch(r"src/engine/(\w+)\.c", plug.one("own"))
    if engine:
        env["HONE_ENGINE"] = engine[1]  # test_contract itself tries the others
    if "HONE_QUICK_CC" in os.environ:
        env["PATH"] = os.path.dirname(os.environ["HONE_QUICK_CC"]) + os.pathsep + os.environ["PATH"]
    for test in tests:
        ran += 1
        good, out = run([os.path.join(top, "build/asan", test)], ROOT, **env)
        ok(good and "not ok" not in out, f"{plug.name}/{os.path.basename(test)}", out[-3000:])
    if os.path.isfile(os.path.join(plug.folder, "check.sh")):
        ran += 1
        work = os.path.join(top, "work")
        os.makedirs(work)
        ok(*(lambda got: (got[0], f"{plug.name}/check.sh", got[1][-3000:]))(
            run(["bash", "-euo", "pipefail", os.path.join(plug.folder, "check.sh")], work, **env)))
    ok(ran, f"{plug.name}/is_run", "no check.c, check.sh or 'test:' runs what is added")


for plug in lint_plugs.plugs(ROOT):
    if not plug.head["add"] and not plug.edits:
        continue  # the tree has it
    with tempfile.TemporaryDirectory(prefix="hone-plug-") as top:
        try_plug(plug, top)
ok(n, "plugs/some", "no addition in tests/plugs")
print(f"1..{n}")
sys.exit(failed != 0)
