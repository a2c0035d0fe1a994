#!/usr/bin/env python3
"""Compilers for GPUs as targets: drafts of workloads, searches by figures of machine code with each of them, files of compiler
controls. TAP; what is not installed is skipped by name."""

import contextlib
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from cuda_tools import BUILD, ROOT, Tap, find, folder  # noqa: E402

HONE = os.environ.get("HONE", f"{BUILD}/hone")
tap = Tap("targets")


def hone(*words, cwd):
    return subprocess.run([HONE, *words], capture_output=True, text=True, cwd=cwd, stdin=subprocess.DEVNULL)


def draft(where, source):
    """A workload as `hone init` writes it, for few evaluations."""
    done = hone("init", source, cwd=where)
    path = os.path.join(where, "hone.yaml")
    if not tap.ok(done.returncode == 0 and os.path.exists(path), f"init_{source}", done.stderr):
        return None
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return text.replace("evaluations: 200", "evaluations: 8")


def tune(where, text, name):
    with open(os.path.join(where, "hone.yaml"), "w", encoding="utf-8") as f:
        f.write(text)
    done = hone("tune", "-q", "--seed", "1", cwd=where)
    tap.ok(done.returncode == 0 and "trials    8" in done.stdout, f"{name}_is_tuned", done.stdout[-800:], done.stderr[-800:])
    return done.stdout


def with_sources(where):
    for k in ("softmax.cu", "matmul.cu", "mixed.cu", "mixed.cl"):
        shutil.copy(f"{ROOT}/tests/data/gpu/{k}", where)


TEXTURE = """extern "C" __global__ void look(cudaTextureObject_t t, float *out) { out[threadIdx.x] = tex1Dfetch<float>(t, (int)threadIdx.x); }
"""
BROKEN = "extern \"C\" __global__ void f(float *x) { x[0] = nothing; }\n"
OPTIONS = ([], ["-Xptxas=-O1"], ["-use_fast_math", "-maxrregcount=32"], ["-rdc=true"], ["-lineinfo"])


def by_itself(library, path, options):
    """What NVRTC makes of a file when it is asked directly; None: it refuses."""
    import ctypes

    lib = ctypes.CDLL(library)
    with open(path, "rb") as f:
        text = f.read()
    p, n = ctypes.c_void_p(), ctypes.c_size_t()
    words = ["--gpu-architecture=sm_90", "-I.", *[w.replace("-Xptxas=", "--ptxas-options=") for w in options]]
    array = (ctypes.c_char_p * len(words))(*[w.encode() for w in words])
    lib.nvrtcCreateProgram(ctypes.byref(p), text, path.encode(), 0, None, None)
    if lib.nvrtcCompileProgram(p, len(words), array):
        return None
    lib.nvrtcGetCUBINSize(p, ctypes.byref(n))
    code = ctypes.create_string_buffer(n.value)
    lib.nvrtcGetCUBIN(p, code)
    lib.nvrtcDestroyProgram(ctypes.byref(p))
    return code.raw


def nvrtc_is_whole(where, path):
    """hone-nvrtc leaves out what a source does not need: the code is what NVRTC alone makes of it."""
    driver = glob.glob(f"{os.environ['HONE_CACHE']}/gpu-cc/*/hone-nvrtc")
    if not tap.ok(len(driver) == 1, "nvrtc_driver_is_written", driver):
        return
    same = []
    for k in ("softmax.cu", "matmul.cu", "mixed.cu"):
        for options in OPTIONS:
            subprocess.run([driver[0], "-arch=sm_90", *options, k, "-o", "brief"], cwd=where, check=True)
            with open(f"{where}/brief", "rb") as f, contextlib.chdir(where):
                same.append((k, options, f.read() == by_itself(path, k, options)))
    tap.ok(all(x[2] for x in same), "nvrtc_gives_the_same_code", same)
    for name, text in (("texture", TEXTURE), ("broken", BROKEN)):
        with open(f"{where}/{name}.cu", "w", encoding="utf-8") as f:
            f.write(text)
    done = subprocess.run([driver[0], "-arch=sm_90", "texture.cu", "-o", "texture"], cwd=where, capture_output=True, text=True)
    tap.ok(done.returncode == 0 and not done.stderr and os.path.getsize(f"{where}/texture"), "nvrtc_knows_textures", done.stderr)
    done = subprocess.run([driver[0], "-arch=sm_90", "broken.cu", "-o", "broken"], cwd=where, capture_output=True, text=True)
    tap.ok(done.returncode == 1 and done.stderr.count('"nothing" is undefined') == 1, "nvrtc_says_what_is_wrong_once", done.stderr)


def ptx():
    nvcc = find("nvcc")
    if not find("ptxas") or not nvcc or not find("cuobjdump"):
        return tap.skip("ptxas", "no ptxas, nvcc or cuobjdump")
    with folder() as where:
        with_sources(where)
        subprocess.run([nvcc, "-arch=sm_80", "-ptx", "matmul.cu", "-o", "matmul.ptx"], cwd=where, check=True)
        text = draft(where, "matmul.ptx")
        if not text:
            return
        tap.ok("compilers: [ptxas]" in text and "minimize instructions" in text, "ptx_is_for_ptxas", text)
        tap.ok("/ptxas" in tune(where, text, "ptx"), "ptx_winner_is_a_command_of_ptxas")
        os.mkdir(os.path.join(where, "acf"))  # no such files are public: what is none is refused by ptxas, one trial each
        with open(os.path.join(where, "acf/none.bin"), "w", encoding="utf-8") as f:
            f.write("no file of controls")
        with open(os.path.join(where, "hone.yaml"), "w", encoding="utf-8") as f:
            f.write(text.replace("baseline:", "controls: {files: acf}\nbaseline:"))
        space = hone("space", "print", "ptxas", cwd=where)
        takes = "--apply-controls" in subprocess.run([find("ptxas"), "--help"], capture_output=True, text=True).stdout
        tap.ok(space.returncode == 0 and "apply-controls" not in space.stdout, "no_files_no_control_for_them", space.stderr)
        if takes:
            done = hone("tune", "-q", "--new", "--evals", "16", cwd=where)
            tap.ok(done.returncode == 0 and "build_error" in done.stdout, "files_are_tried", done.stdout, done.stderr)
        else:
            tap.skip("files_are_tried", "this ptxas has no --apply-controls")


def cuda():
    if not find("cuobjdump"):
        return tap.skip("cuda", "no cuobjdump")
    found = hone("targets", cwd=ROOT).stdout
    names = [n for n in ("nvrtc", "nvcc", "clang-cuda") if f"\n{n} " in found]
    tap.ok(bool(names) or not find("nvcc"), "targets_are_listed", found)
    if "nvrtc" not in names:
        return tap.skip("nvrtc", "no libnvrtc")
    with folder() as where:
        with_sources(where)
        text = draft(where, "matmul.cu")
        if text:
            tap.ok("compilers: [nvcc]" in text and "-cubin" in text, "cu_is_for_nvcc", text)
            text = text.replace("compilers: [nvcc]", "compilers: [nvrtc]").replace("-cubin", "-cubin -DHONE_TEST=1")
            tap.ok("/hone-nvrtc" in tune(where, text, "cu"), "cu_winner_is_a_command_of_the_carried_driver")
        path = next(line.split()[-1] for line in hone("targets", "nvrtc", cwd=where).stdout.splitlines() if line.startswith("path"))
        tap.ok("libnvrtc" in path, "identity_is_the_library", path)
        nvrtc_is_whole(where, path)


def opencl():
    if "opencl" not in hone("targets", cwd=ROOT).stdout:
        return tap.skip("opencl", "no device of OpenCL")
    with folder() as where:
        with_sources(where)
        text = draft(where, "mixed.cl")
        tap.ok(text and "{gpu_bench} mixed.kernel {out}" in text and "compilers: [opencl]" in text, "cl_is_run_by_the_harness", text)
        with open(os.path.join(where, "bad.cl"), "w", encoding="utf-8") as f:
            f.write("kernel void broken(global float *x) { x[0] = nothing; }\n")
        with open(os.path.join(where, "hone.yaml"), "w", encoding="utf-8") as f:
            f.write('build: "{cc} {flags} bad.cl -o {out}"\ncompilers: [opencl]\nbaseline: -O3\nobjectives: [minimize file_size]\n')
        done = hone("tune", "-q", cwd=where)
        tap.ok(done.returncode != 0 and "nothing" in done.stderr, "log_of_a_broken_program_is_shown", done.stderr)


ptx()
cuda()
opencl()
tap.done()
