"""What the tests of CUDA sources share: where nvcc, NVRTC and clang are, and TAP."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.environ.get("HONE_ROOT", os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")))
BUILD = os.environ.get("HONE_BUILD", os.path.join(ROOT, "build"))
HONE = next((p for p in (os.environ.get("HONE"), f"{BUILD}/hone") if p and os.access(p, os.X_OK)), None)


class Tap:
    """Lines of the Test Anything Protocol."""

    def __init__(self, prefix):
        self.prefix, self.n, self.failed = prefix, 0, 0

    def ok(self, good, name, *why):
        self.n += 1
        print(f"{'' if good else 'not '}ok {self.n} - {self.prefix}/{name}", flush=True)
        if not good:
            self.failed += 1
            for line in "\n".join(str(w) for w in why).splitlines()[:30]:
                print(f"# {line}")
        return good

    def skip(self, name, why):
        self.n += 1
        print(f"ok {self.n} # SKIP {self.prefix}/{name}: {why}", flush=True)

    def done(self):
        print(f"1..{self.n}")
        sys.exit(1 if self.failed else 0)


def find(program):
    """A program of the CUDA toolkit: in HONE_CUDA or build/cuda (tools/cuda-tools.sh), in PATH or in /usr/local/cuda."""
    own = os.path.join(os.environ.get("HONE_CUDA", f"{BUILD}/cuda"), "bin", program)
    places = [own, shutil.which(program), f"/usr/local/cuda/bin/{program}"]
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


def library(name):
    """A library of the toolkit, by the beginning of its name."""
    for folder in (os.environ.get("HONE_CUDA", f"{BUILD}/cuda"), "/usr/local/cuda"):
        for path in sorted(glob.glob(f"{folder}/lib*/{name}*")):
            if "alt" not in path and "builtins" not in path:
                return path
    return None


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def folder():
    return tempfile.TemporaryDirectory(prefix="hone-gpu-")


def on_the_shim(source, where, *flags):
    """Compiles a program of tests/gpu that runs kernels on the shim: (path, ""), ("", messages), or (None, why it cannot be)."""
    cxx = shutil.which("g++")
    if not cxx:
        return None, "g++ is not installed"
    program = os.path.join(where, source.replace(".cpp", ""))
    command = [cxx, "-std=c++20", "-O1", "-g1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-function",
               "-fsanitize=thread,bounds", "-fno-extern-tls-init", "--param", "tsan-instrument-func-entry-exit=0",
               *flags, f"-I{BUILD}/shim", f"-I{ROOT}/include", f"-I{ROOT}", "-c", f"{ROOT}/tests/gpu/{source}", "-o", f"{program}.o"]  # fmt: skip
    done = run(command)
    if not done.returncode:  # linked without the sanitizers' libraries: the shim has the functions that instrumented code calls
        done = run([cxx, f"{program}.o", f"{BUILD}/shim/hone-shim.so", "-o", program])
    return ("" if done.returncode else program), done.stderr


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)
