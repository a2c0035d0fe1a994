#!/usr/bin/env python3
"""tests/gpu/benches.t: bench/gpu.sh tuner and bench/static-search.sh end to end, small: without a device; with HONE_LONG on PoCL, on a driver
that is played and by NVRTC, the examples' workloads, and recorded spaces read back by hone replay. TAP."""

import glob
import json
import os
import re

import cuda_tools as tools

LONG = bool(os.environ.get("HONE_LONG"))
GPU = f"{tools.ROOT}/bench/gpu.sh"
RELEASE = next((p for p in (f"{tools.BUILD}/hone", tools.HONE) if p and os.access(p, os.X_OK)), None)


def bench(where, *command, **variables):
    env = dict(os.environ, HONE=RELEASE, OUT=where, **variables)
    return tools.run(command, env=env, cwd=tools.ROOT)


def test_usage(tap, where):
    done = bench(where, GPU)
    tap.ok(done.returncode == 2 and "usage" in done.stderr, "gpu_without_a_part", done.stderr)
    done = bench(where, GPU, "tuner", ONLY="truth everything")
    tap.ok(done.returncode == 1 and "no part 'everything'" in done.stderr, "gpu_unknown_part", done.stderr)
    done = bench(where, GPU, "tuner", TIME="soon")
    tap.ok(done.returncode == 1 and "TIME=soon" in done.stderr, "gpu_unknown_time", done.stderr)
    done = bench(where, GPU, "tuner", HONE_GPU_DEVICE="cuda:77")
    tap.ok(done.returncode == 3 and "no GPU" in done.stderr and not done.stdout, "gpu_without_a_device", done.stdout, done.stderr)


def opencl_here(where):
    done = tools.run([f"{where}/gpu/hone-gpu-bench", "--devices"])
    return "\nopencl\t" in "\n" + done.stdout


def test_opencl(tap, where):
    if not opencl_here(where):
        return tap.skip("opencl", "no OpenCL device (pocl-opencl-icd)")
    done = bench(where, GPU, "tuner", HONE_GPU_DEVICE="opencl", TIME="900s", HONE_BENCH_SAMPLES="3", HONE_BENCH_MIN_TIME="1ms", HONE_BENCH_WARMUP="0")
    tap.ok(done.returncode == 0 and "## GPU tuner" in done.stdout, "opencl_ends", done.stdout, done.stderr)
    tap.ok(len(re.findall(r"^\| 1\.\d\d \| \d\.\d+ \(", done.stdout, re.M)) == 4, "opencl_truth_has_four_rows", done.stdout)
    tap.ok(re.search(r"^\| convolution \| (\d|not kept)", done.stdout, re.M), "opencl_convolution_is_tuned", done.stdout)
    spaces = glob.glob(f"{where}/gpu/spaces/*.tsv")
    tap.ok(len(spaces) == 2, "opencl_spaces_are_recorded", done.stdout, done.stderr)
    for space in spaces:
        said = tools.run([RELEASE, "replay", space, "--engine", "random", "--evals", "10", "--seeds", "3", "--json"])
        tap.ok(said.returncode == 0 and json.loads(said.stdout)["fraction_of_best"], f"replay_reads_{os.path.basename(space)[:13]}", said.stderr)
    again = bench(where, GPU, "tuner", HONE_GPU_DEVICE="opencl", TIME="900s", ONLY="truth")
    tap.ok(again.returncode == 0 and "truth-opencl" not in again.stderr, "opencl_is_not_measured_again", again.stderr)
    return None


def test_cuda(tap, where):
    """On the driver that is played: A/A and gains that follow from the driver's own clock."""
    if not tools.find("nvcc"):
        return tap.skip("cuda", "nvcc is not installed")
    fake = f"{where}/fake"
    os.mkdir(fake)
    source = f"{tools.ROOT}/tests/helper/fake/cuda.c"
    tools.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-fPIC", "-shared", "-O1", source, "-o", f"{fake}/libcuda.so.1"], check=True)
    os.symlink("libcuda.so.1", f"{fake}/libnvidia-ml.so.1")
    done = bench(f"{where}/cuda", GPU, "tuner", LD_LIBRARY_PATH=fake, HONE_GPU_DEVICE="cuda", ARCH="compute_90", TIME="200s", ONLY="truth",
                 SMALL="1", HONE_BENCH_SAMPLES="3", HONE_BENCH_WARMUP="0")  # fmt: skip
    rows = re.findall(r"^\| (1\.\d\d) \| (\d\.\d+) \(", done.stdout, re.M)
    tap.ok("Fake GPU" in done.stdout and len(rows) == 4, "cuda_truth_has_four_rows", done.stdout, done.stderr)
    tap.ok(rows and all(abs(float(found) - float(planted)) < 0.015 for planted, found in rows), "cuda_planted_gains_are_found", done.stdout)
    return None


def test_examples(tap, where):
    """The static workloads are searched, the timed ones are read."""
    if not tools.find("nvcc") or not tools.find("cuobjdump"):
        return tap.skip("examples", "nvcc or cuobjdump is not installed")
    for path in sorted(glob.glob(f"{tools.ROOT}/examples/gpu/*/timed.yaml")):
        name = os.path.basename(os.path.dirname(path))
        done = tools.run([RELEASE, "space", "count", path])
        tap.ok(done.returncode == 0, f"{name}_timed_is_read", done.stderr)
        done = tools.run([RELEASE, "tune", path.replace("timed", "hone"), "--store", f"{where}/{name}", "--evals", "4", "-q", "--json"])
        tap.ok(done.returncode == 0 and json.loads(done.stdout)["speedup"] >= 1, f"{name}_static_is_searched", done.stdout, done.stderr)
    return None


def test_static(tap, where):
    if not tools.library("libnvrtc.so") or not tools.find("cuobjdump"):
        return tap.skip("static_search", "NVRTC or cuobjdump is not installed")
    done = bench(where, f"{tools.ROOT}/bench/static-search.sh", "spmv", CC="nvrtc", EVALS="12", SEEDS="1", TUNERS="auto random", JOBS="1")
    tap.ok(done.returncode == 0 and "failed" not in done.stdout + done.stderr, "static_search_ends", done.stdout, done.stderr)
    gains = [float(g) for g in re.findall(r"^\| (?:auto|random) \|.* (\d\.\d+) \|", done.stdout, re.M)]
    tap.ok(len(gains) == 2 and min(gains) >= 1, "static_search_gains", done.stdout)
    again = bench(where, f"{tools.ROOT}/bench/static-search.sh", "spmv", CC="nvrtc", EVALS="12", SEEDS="1", TUNERS="auto random", JOBS="1")
    tail = [re.sub(r".*?- compiler: ", "", d.stdout, count=1, flags=re.S) for d in (done, again)]
    tap.ok(tail[0] == tail[1] and tail[0], "static_search_is_resumed", again.stdout)
    return None


def main():
    tap = tools.Tap("gpu/benches")
    if not RELEASE:
        tools.skip_all("hone is not built")
    with tools.folder() as where:
        test_usage(tap, where)
        if LONG:
            test_opencl(tap, where)
            test_cuda(tap, where)
            test_examples(tap, where)
            test_static(tap, where)
    tap.done()


main()
