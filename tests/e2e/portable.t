#!/usr/bin/env python3
"""The portable hone (make portable): no dynamic program, and at work in a root that holds no library at all. TAP."""
import os, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("HONE_BUILD", os.path.join(HERE, "../../build"))
HONE = os.path.join(BUILD, "portable", "hone")
WORKLOAD = """run: "sleep 0.0{N}"
controls: false
parameters: {N: {type: int, range: [1, 2], default: 2}}
parity: none
budget: {evaluations: 2}
"""
count = failed = 0


def check(good, name, why=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - portable/{name}", flush=True)
    for line in str(why).splitlines()[:40] if not good else []:
        print("#   " + line)


def skip(name, why):
    global count
    count += 1
    print(f"ok {count} - portable/{name} # SKIP {why}")


def is_dynamic(path):
    """Has the program an interpreter (PT_INTERP)?"""
    return "INTERP" in subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout


def make_root(top, busybox):
    """A root with hone, a static shell, /dev/null, and nothing else."""
    for folder in ("bin", "dev", "tmp", "work"):
        os.makedirs(os.path.join(top, folder))
    shutil.copy(HONE, os.path.join(top, "bin/hone"))
    shutil.copy(busybox, os.path.join(top, "bin/busybox"))
    for word in ("sh", "sleep", "rm"):
        os.symlink("busybox", os.path.join(top, "bin", word))
    open(os.path.join(top, "dev/null"), "w").close()
    with open(os.path.join(top, "work/hone.yaml"), "w") as f:
        f.write(WORKLOAD)


def inside(top, command):
    env = {"PATH": "/bin:/sbin:/usr/sbin:/usr/bin", "HOME": "/work", "TERM": "dumb"}
    return subprocess.run([shutil.which("unshare"), "-r", shutil.which("chroot", path=os.environ["PATH"] + ":/usr/sbin:/sbin"), top, "/bin/sh", "-c", "cd /work; " + command], env=env,
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


def works_without_libraries(top):
    run = inside(top, "hone --version")
    check(run.returncode == 0 and run.stdout.startswith("hone "), "version", run.stdout + run.stderr)
    run = inside(top, "hone doctor --seconds 0.05")
    lines = run.stdout.splitlines()
    check(any(x.startswith("ok ") for x in lines) and "compiler" in run.stdout, "doctor", run.stdout + run.stderr)
    run = inside(top, "hone tune && hone best")
    check(run.returncode == 0 and "N=1" in run.stdout, "tunes_a_command_without_a_compiler", run.stdout + run.stderr)
    run = inside(top, "hone run model.so")
    check(run.returncode != 0 and "hone: " in run.stderr, "run_without_model_is_an_error", run.stderr)
    open(os.path.join(top, "work/x.npz"), "w").close()
    open(os.path.join(top, "work/model.so"), "w").close()
    run = inside(top, "hone run ./model.so")
    check(run.returncode != 0 and "plain `make`" in run.stderr, "says_that_it_loads_no_models", run.stderr)


def main():
    if not os.path.exists(HONE):
        print("1..0 # SKIP needs make portable")
        return 0
    check(not is_dynamic(HONE), "is_static")
    check(is_dynamic(sys.executable), "a_dynamic_program_is_seen")
    check(os.path.exists(os.path.join(BUILD, "portable/lib/libhonebench.a")) and
          os.path.exists(os.path.join(BUILD, "portable/include/hone/bench.h")), "brings_the_harness")
    busybox = shutil.which("busybox")
    may = subprocess.run(["unshare", "-r", "true"], capture_output=True).returncode == 0
    if not busybox or is_dynamic(busybox) or not may:
        skip("without_libraries", "needs busybox-static and user namespaces")
    else:
        with tempfile.TemporaryDirectory(prefix="portable-") as top:
            make_root(top, busybox)
            works_without_libraries(top)
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
