#!/usr/bin/env python3
"""tests/gpu/kernels.t: the CUDA examples, the kernels of bench/static-search.sh and those of tests/gpu/kernels: right on the shim in every order, and compiled by nvcc
without a warning and without spills: the examples for sm_90, with HONE_LONG all for sm_80 and sm_90. With HONE_LONG each barrier of
theirs is left out once: a case must fail. TAP."""

import glob
import os
import re

import cuda_tools as tools

PROGRAMS = ("example_cases", "kernel_cases", "async_cases")
SOURCES = sorted(glob.glob(f"{tools.ROOT}/examples/gpu/*/*.cu") + glob.glob(f"{tools.ROOT}/bench/gpu/kernels/*.cu"))
ASYNC = sorted(glob.glob(f"{tools.ROOT}/tests/gpu/kernels/*.cu"))
LONG = bool(os.environ.get("HONE_LONG"))


def run_cases(tap, where):
    for name in PROGRAMS:
        program, said = tools.on_the_shim(f"{name}.cpp", where)
        if program is None:
            tools.skip_all(said)
        if not tap.ok(program, f"{name}_compiles_without_warnings", said):
            continue
        done = tools.run([program])
        for line in done.stdout.splitlines():
            found = re.match(r"(not )?ok \d+ - (.*)", line)
            if found:
                tap.ok(not found[1], found[2], done.stdout, done.stderr)
        tap.ok(done.returncode == 0, f"{name}_ends_well", done.stderr)


def compile_all(tap):
    nvcc = tools.find("nvcc")
    if not nvcc:
        return tap.skip("nvcc", "nvcc is not installed")
    for source in SOURCES + ASYNC:
        name = os.path.basename(source)[:-3]
        archs = ("sm_90",) if source in ASYNC else ("sm_80", "sm_90") if LONG else ("sm_90",) if "examples" in source else ()
        for arch in archs:
            done = tools.run([nvcc, f"-arch={arch}", "-Werror=all-warnings", "-Xptxas", "-v,--warning-as-error", f"-I{tools.ROOT}/include", "-cubin",
                              source, "-o", "/dev/null"])  # fmt: skip
            spilled = re.search(r"[1-9]\d* bytes (stack frame|spill)", done.stderr)
            tap.ok(done.returncode == 0 and not spilled, f"nvcc_{name}_{arch}", done.stderr)


def without_barriers(tap, where):
    """Every barrier is needed: without it some order gives something else."""
    for source in SOURCES:
        with open(source, encoding="utf-8") as f:
            text = f.read()
        places = [m.start() for m in re.finditer(r"__syncthreads\(\);", text)]
        inside = os.path.relpath(source, tools.ROOT)
        for n, place in enumerate(places):
            tree = os.path.join(where, f"{os.path.basename(source)}-{n}")
            os.makedirs(os.path.join(tree, os.path.dirname(inside)))
            with open(os.path.join(tree, inside), "w", encoding="utf-8") as f:
                f.write(text[:place] + ";" + text[place + len("__syncthreads();"):])
            program, said = tools.on_the_shim(f"{PROGRAMS['bench' in inside]}.cpp", where, f"-I{tree}")
            done = tools.run([program]) if program else None
            tap.ok(done and done.returncode, f"barrier_{n}_of_{os.path.basename(source)}_is_needed", said, done and done.stdout)


def main():
    tap = tools.Tap("gpu/kernels")
    with tools.folder() as where:
        run_cases(tap, where)
        compile_all(tap)
        if LONG:
            without_barriers(tap, where)
    tap.done()


main()
