#!/usr/bin/env python3
"""Nothing decides on memory that was never set: the release build compiles models for several targets under valgrind, which AddressSanitizer
does not replace here. A schedule that depends on what the stack held is right all the same, so no other test sees it. TAP; with HONE_LONG
networks, else one small model for one target."""
import os, shutil, signal, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("HONE_BUILD", os.path.join(HERE, "../../build")))
HONE = os.path.join(BUILD, "hone")
SHORT = [("mlp", [], "x86-64-v3")]
LONG = [(name, how, target) for name, how in (("mobilenet_v2", []), ("resnet50", []), ("minilm_l6", ["--dynamic"])) for target in ("x86-64-v3", "x86-64-v4", "generic", "opencl")]
UNSET = 9  # exit status of valgrind where it found something


def compile_one(folder, name, how, target):
    model = os.path.join(folder, name + ".onnx")
    if not os.path.exists(model):
        subprocess.run([HONE, "gen", name, model, *how], check=True, capture_output=True)
    command = ["valgrind", "-q", f"--error-exitcode={UNSET}", "--undef-value-errors=yes", HONE, "compile", model, "-o", os.path.join(folder, "out")]
    command += ["--emit", "c", "--target", target, "--relaxed", "--no-winners", "--no-cache", "--no-parity"]
    return subprocess.run(command, capture_output=True, text=True)


def main():
    cases = SHORT + (LONG if os.environ.get("HONE_LONG") else [])
    if not shutil.which("valgrind"):
        print("1..0 # SKIP valgrind is missing: apt-get install valgrind")
        return 0
    print(f"1..{len(cases)}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for k, (name, how, target) in enumerate(cases, 1):
            done = compile_one(folder, name, how, target)
            if done.returncode in (-signal.SIGILL, 128 + signal.SIGILL):
                print(f"ok {k} - unset/{name}_{target} # SKIP valgrind does not know an instruction of this machine's libraries")
                continue
            failed += done.returncode != 0
            print(f"{'not ' if done.returncode else ''}ok {k} - unset/{name}_{target}", flush=True)
            for line in (done.stderr if done.returncode else "").splitlines()[:30]:
                print("#   " + line)
    return failed > 0


sys.exit(main())
