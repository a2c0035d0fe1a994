#!/usr/bin/env python3
"""The GPU harness and its ready program: on a driver that is played (tests/helper/fake/cuda.c), so that every fault and the order
of calls can be seen without a GPU, and for real on PoCL, where OpenCL is installed."""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

ROOT = os.environ.get("HONE_ROOT", os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")))
BUILD = os.environ.get("HONE_BUILD", os.path.join(ROOT, "build"))
HONE = os.environ.get("HONE", os.path.join(BUILD, "asan/hone"))
PROGRAM = os.path.join(os.path.dirname(HONE), "hone-gpu-bench")
WARN = "-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror".split()
QUICK = ["--hone-samples", "3", "--hone-min-time", "1ms", "--hone-warmup", "0"]

SCALE = """# y = 2 x
parameter n 4096
parameter threads 256
parameter bytes 0
buffer x in f32 n
buffer y out f32 n
launch KERNEL
  grid n/threads
  block threads
  shared bytes
  pass x y n:i32
"""
PTX = "// a module of the driver that is played\n.version 8.0\n// scale behind before far trap silent spoil hang shared narrow\n"
BLUR_CL = """
__kernel void blur(__global const float *x, __global float *y, int w, int h) {
    int i = get_global_id(0), j = get_global_id(1);
    float s = 0;
    for (int k = 0; k < WORK; k++, s = k < WORK ? 0 : s)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) s += x[clamp(j + dy, 0, h - 1) * w + clamp(i + dx, 0, w - 1)];
    y[j * w + i] = s / 9;
}
__kernel void behind(__global const float *x, __global float *y, int w, int h) { y[w * h + get_global_id(0)] = 1; }
__kernel void silent(__global const float *x, __global float *y, int w, int h) {}
__kernel void hang(__global const float *x, __global volatile float *y, int w, int h) { while (y[0] != 12345.f) {} }
__kernel void large(__global const float *x, __global float *y, int w, int h, __local float *t) { y[0] = t[0]; }
"""
BLUR = """parameter w 64
parameter h 32
parameter BX 8
parameter WORK 1
buffer x in f32 w*h uniform 0 1
buffer y out f32 w*h
options -DBX={BX} -DWORK={WORK}
launch KERNEL
  grid w/BX h
  block BX
  pass x y w:i32 h:i32
"""

count = 0
failed = 0
folder = tempfile.mkdtemp(prefix="hone-gpu-bench-")


def check(condition, name, detail=""):
    global count, failed
    count += 1
    failed += not condition
    print(f"{'' if condition else 'not '}ok {count} - {name}", flush=True)
    if not condition and detail != "":
        print("\n".join("# " + line for line in str(detail).splitlines()))
        print(f"{name}: {str(detail)[:2000]}", file=sys.stderr)  # prove shows no comments


def path(name):
    return os.path.join(folder, name)


def write(name, text):
    with open(path(name), "w") as f:
        f.write(text)
    return name


def run(*args, play="", program=PROGRAM, fake=True, **variables):
    """(status, lines of JSON, stderr, calls of the driver)"""
    for name in ("log", "out"):
        if os.path.exists(path(name)):
            os.unlink(path(name))
    env = dict(os.environ, HONE_BENCH_OUT="out", HONE_FAKE_LOG="log", HONE_FAKE=play, **variables)
    if fake:
        env["LD_LIBRARY_PATH"] = path("fake")
    r = subprocess.run([program, *args], cwd=folder, env=env, capture_output=True, text=True, timeout=60)
    lines = [json.loads(x) for x in open(path("out"))] if os.path.exists(path("out")) else []
    log = open(path("log")).read().split("\n") if os.path.exists(path("log")) else []
    return r.returncode, lines, r.stderr, log


def metric(lines, name):
    return next((x for x in lines if x.get("metric") == name), {})


def fault(lines):
    return next((x for x in lines if "fault" in x), {"fault": "", "detail": ""})


def build():
    os.mkdir(path("fake"))
    fake = os.path.join(ROOT, "tests/helper/fake/cuda.c")
    subprocess.run(["gcc", *WARN, "-fPIC", "-shared", "-O1", fake, "-o", path("fake/libcuda.so.1")], check=True)
    os.symlink("libcuda.so.1", path("fake/libnvidia-ml.so.1"))
    sources = [os.path.join(ROOT, "src/bench", x) for d in ("", "program")
               for x in sorted(os.path.join(d, f) for f in os.listdir(os.path.join(ROOT, "src/bench", d)) if f.endswith(".c"))]
    subprocess.run(["gcc", *WARN, "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I" + ROOT + "/include",
                    *sources, "-ldl", "-lm", "-o", path("checked")], check=True)
    for kernel in "scale behind before far trap silent spoil hang shared narrow missing".split():
        write(kernel + ".kernel", SCALE.replace("KERNEL", kernel))
    write("k.ptx", PTX)


# --- on the driver that is played ---------------------------------------------------------------------------------------


def timing():
    status, lines, errors, log = run("scale.kernel", "k.ptx", *QUICK, program=path("checked"))
    device = next((x for x in lines if "device" in x), {})
    check(status == 0, "gpu/runs", errors)
    check([device.get(k) for k in ("device", "api", "arch", "driver", "version")] ==
          ["Fake GPU", "cuda", "sm_90", "580.65.06", "CUDA 13.0"], "gpu/device_is_named", device)
    latency = metric(lines, "latency")
    check(all(abs(x - 10e-6) < 1e-10 for x in latency.get("samples", [0])), "gpu/rotation_goes_beyond_the_cache", latency)
    check(latency.get("sets") == 65 and latency.get("dropped") == 0, "gpu/sets_are_counted", latency)
    check(abs(metric(lines, "latency_cycles").get("p50", 0) - 19800) < 1, "gpu/cycles")
    check(metric(lines, "latency_clock").get("samples") == [1980] * 3, "gpu/clock_of_each_sample")
    check("all memory is free" in log, "gpu/all_memory_is_freed")
    begin = [i for i, x in enumerate(log) if x == "cuEventRecord"][::2]
    end = [i for i, x in enumerate(log) if x == "cuEventRecord"][1::2]
    check(begin and all(set(log[a + 1:b]) == {"cuGraphLaunch"} for a, b in zip(begin, end)), "gpu/only_replays_between_events")
    check(all(log[a - 1] == "cuGraphLaunch" for a in begin), "gpu/a_replay_hides_the_launch_gap")
    check(all("nvmlDeviceGetClockInfo" in log[b + 1:b + 2] and log[b + 2] == "cuEventSynchronize" for b in end),
          "gpu/the_clock_is_read_while_the_kernel_runs")

    status, lines, errors, log = run("scale.kernel", "k.ptx", *QUICK, "--hone-warm", program=path("checked"))
    check(all(abs(x - 4e-6) < 1e-10 for x in metric(lines, "latency").get("samples", [0])), "gpu/warm", lines)
    status, lines, errors, log = run("scale.kernel", "k.ptx", *QUICK, "--hone-cold", program=path("checked"))
    latency = metric(lines, "latency")
    check(latency.get("cold") and all(abs(x - 10e-6) < 1e-10 for x in latency["samples"]), "gpu/cold", latency)
    captured = [x.split()[1] for x in log if x.startswith("captured ") and x != "captured cuStreamEndCapture"]
    check(captured and captured == ["cuMemsetD8Async", "cuEventRecordWithFlags", "cuLaunchKernel",
                                         "cuEventRecordWithFlags"] * (len(captured) // 4), "gpu/the_flush_is_outside_the_events", captured[:9])
    status, lines, errors, log = run("scale.kernel", "k.ptx", *QUICK, "--hone-energy", "50ms", program=path("checked"))
    check(abs(metric(lines, "latency_energy").get("p50", 0) - 1e-3) < 1e-9, "gpu/energy_of_a_call", lines)


def outputs():
    status, lines, errors, log = run("scale.kernel", "k.ptx", "--hone-once", "--hone-data=d1")
    run("scale.kernel", "k.ptx", *QUICK, "--hone-data=d2")
    check(status == 0 and open(path("d1"), "rb").read() == open(path("d2"), "rb").read(), "gpu/timing_does_not_change_outputs")
    check(os.path.getsize(path("d1")) > 16384 and not any("metric" in x for x in lines), "gpu/once_measures_nothing")
    for name, values, words in (("zeros", "constant 0", "one value only"), ("same", "constant 3", "13 % faster"),
                                ("meant", "constant 0 anyway", ""), ("normal", "normal", ""), ("bounds", "uniform -1 n", "")):
        write("fill.kernel", SCALE.replace("KERNEL", "scale").replace("in f32 n", "in f32 n " + values))
        status, lines, errors, log = run("fill.kernel", "k.ptx", *QUICK, program=path("checked"))
        check((status == 2 and words in errors) if words else status == 0, "gpu/data_" + name, errors)


FAULTS = (
    ("behind", "", "memory_fault", "12 bytes behind the end of buffer 'y', from byte 16384"),
    ("before", "", "memory_fault", "8 bytes before the start of buffer 'y'"),
    ("spoil", "", "memory_fault", "changed buffer 'x', which is an input only"),
    ("far", "", "memory_fault", "CUDA error 700"),
    ("trap", "", "device_fault", "CUDA error 719"),
    ("silent", "", "run_crash", "wrote nothing to output 'y'"),
    ("shared", "", "launch_refused", "asks for 102024 bytes of shared memory a block (1024 of them fixed), and Fake GPU has 101376"),
    ("narrow", "", "launch_refused", "256 threads a block, and can have 128"),
    ("missing", "", "launch_refused", "looking for kernel 'missing': CUDA error 500"),
    ("scale", "no_device", "no_device", "no CUDA-capable device"),
    ("scale", "old", "no_device", "it offers CUDA 10.2, and 11.4 is needed"),
    ("scale", "slow", "throttled", "990 of 1980 MHz (reasons 0x40)"),
    ("scale", "broken_clock", "device_fault", "clock stood still"),
)


def faults():
    for kernel, play, cls, words in FAULTS:
        status, lines, errors, log = run(kernel + ".kernel", "k.ptx", *QUICK, "bytes=101000" if kernel == "shared" else "bytes=0",
                                         play=play, program=path("checked"))
        said = fault(lines)
        check(status == 1 and said["fault"] == cls and words in said["detail"], f"gpu/fault_{kernel}{play and '_' + play}",
              f"{status} {said} {errors}")
    status, lines, errors, log = run("scale.kernel", "k.ptx", "--hone-once", fake=False)
    check(fault(lines)["fault"] == "no_device" and "libcuda.so.1 cannot be opened" in fault(lines)["detail"], "gpu/fault_no_driver", lines)
    status, lines, errors, log = run("scale.kernel", "k.ptx", "--hone-once", HONE_GPU_DEVICE="cuda:3")
    check(fault(lines)["detail"] == "there is no device 'cuda:3', only 1", "gpu/fault_no_such_device", lines)
    status, lines, errors, log = run("scale.kernel", "k.ptx", *QUICK, play="recovers")
    check(status == 0 and metric(lines, "latency").get("dropped", 0) > 0 and metric(lines, "latency_clock")["min"] == 1980,
          "gpu/slow_samples_are_dropped", lines)
    status, lines, errors, log = run("scale.kernel", "k.ptx", *QUICK, "--hone-energy", "10ms", play="no_energy")
    check(status == 1 and metric(lines, "latency_energy").get("error") == "the device has no counter of energy", "gpu/no_energy", lines)
    for what, passed, words in (("few", "x y", "kernel 'scale' has 3 parameters, and 2 are passed"),
                                ("many", "x y n:i32 n:i32", "kernel 'scale' has 3 parameters, and 4 are passed"),
                                ("wide", "x y n:i64", "kernel 'scale': parameter 3 has 4 bytes, and 8 are passed")):
        write("passes.kernel", SCALE.replace("KERNEL", "scale").replace("x y n:i32", passed))
        status, lines, errors, log = run("passes.kernel", "k.ptx", "--hone-once", program=path("checked"))
        check(status == 1 and fault(lines)["fault"] == "launch_refused" and words in fault(lines)["detail"],
              "gpu/fault_arguments_" + what, (lines, errors))
        # a driver before CUDA 12.4 does not say what a kernel takes; it reads nothing that is not there
        status, lines, errors, log = run("passes.kernel", "k.ptx", "--hone-once", program=path("checked"), play="no_parameters")
        check(status in (0, 1) and "Sanitizer" not in errors, "gpu/older_driver_arguments_" + what, (status, errors))
    write("bad.ptx", PTX + "// broken\n")
    status, lines, errors, log = run("scale.kernel", "bad.ptx", "--hone-once")
    check(fault(lines)["fault"] == "launch_refused" and "line 3: fatal: broken" in fault(lines)["detail"], "gpu/fault_ptx", lines)


BAD = (
    ("no launch", "parameter n 1\n", ":1: there is no launch"),
    ("word", "bufer x in f32 1\n", ":1: 'bufer' is not known"),
    ("type", "buffer x in f23 1\n", ":1: 'f23' is no type"),
    ("use", "buffer x inn f32 1\n", ":1: 'inn' is no use of a buffer"),
    ("count", "buffer x in f32 0\n", ":1: '0' is 0; expected 1"),
    ("half", "parameter n 0.5\nbuffer x in f32 n\n", ":2: 'n': the value is no whole number"),
    ("name", "buffer x in f32 m*2\n", ":1: 'm*2': there is no parameter m"),
    ("zero", "buffer x in f32 1/0\n", ":1: '1/0': division by zero"),
    ("open", "buffer x in f32 (1\n", ":1: '(1': expected )"),
    ("function", "buffer x in f32 log(1,2)\n", ":1: 'log(1,2)': there is no function log"),
    ("twice", "buffer x in f32 1\nbuffer x in f32 1\n", ":2: buffer 'x' is given twice"),
    ("values", "buffer x in f32 4 random\n", ":1: 'random' is no way to fill a buffer"),
    ("output values", "buffer x out f32 4 normal\n", ":1: an output's values are not given"),
    ("outside", "grid 4\n", ":1: 'grid' belongs below a line 'launch KERNEL'"),
    ("late", "launch k\nbuffer x in f32 4\n", ":2: 'buffer' stands before the first launch"),
    ("pass", "launch k\npass y\n", ":2: 'y' is no buffer named above; a number is written with its type, such as y:i32"),
    ("no pass", "launch k\n", ":1: launch 'k' has no line 'pass'"),
    ("dims", "launch k\ngrid 1 2 3 4\n", ":2: 'grid' takes one to three expressions"),
    ("depth", "buffer x in f32 " + "(" * 200 + "\n", "nested too deeply"),
    ("caches", "caches hot\n", ":1: caches cannot be 'hot'"),
)


def descriptions():
    for name, text, words in BAD:
        write("bad.kernel", text)
        status, lines, errors, log = run("bad.kernel", "k.ptx", program=path("checked"))
        check(status == 2 and "bad.kernel" in errors and words in errors, "gpu/description_" + name.replace(" ", "_"), errors)
    seed = int(os.environ.get("HONE_SEED", "0")) or random.randrange(1, 1 << 30)
    draw = random.Random(seed)
    good = SCALE.replace("KERNEL", "scale").replace("n\n", "cdiv(n*4,2)-max(n,3)%7\n", 1)
    odd = []
    for _ in range(40):
        text = list(good)
        for _ in range(draw.randrange(1, 6)):
            at = draw.randrange(len(text))
            text[at:at + draw.randrange(3)] = draw.choice(["", "(", ")", ",", "\n", " ", ":", "9", "-", "%", "x", "launch ", "\x80"])
        write("bad.kernel", "".join(text).replace("99", "9"))
        status, lines, errors, log = run("bad.kernel", "k.ptx", "--hone-once", program=path("checked"))
        odd += [(status, errors)] if status not in (0, 1, 2) or "Sanitizer" in errors or "runtime error" in errors else []
    check(not odd, f"gpu/damaged_descriptions (seed {seed})", odd[:1])
    status, lines, errors, log = run("scale.kernel", "k.ptx", "m=3", "--hone-once")
    check(status == 2 and "unknown argument 'm=3'" in errors, "gpu/unknown_argument", errors)
    r = subprocess.run([PROGRAM, "scale.kernel", "k.ptx", "--hone-help"], cwd=folder, capture_output=True, text=True)
    check(r.returncode == 0 and "threads=256" in r.stdout and "--hone-energy" in r.stdout, "gpu/help_needs_no_device", r.stderr)
    r = subprocess.run(["objdump", "-T", PROGRAM], capture_output=True, text=True)
    versions = {tuple(map(int, w.strip("()").removeprefix("GLIBC_").split("."))) for w in r.stdout.split() if w.strip("()").startswith("GLIBC_")}
    check(versions and max(versions) <= (2, 17), "gpu/program_runs_with_old_glibc", versions)


def header():
    """The example of the header's comment, as users compile it."""
    text = open(os.path.join(ROOT, "include/hone/bench_gpu.h")).read()
    program = text[text.index("#include <hone/bench_gpu.h>"):text.index(" * The ready program")]
    program = "\n".join(x.removeprefix(" *").removeprefix("     ") for x in program.split("\n"))
    write("example.c", program)
    os.symlink("k.ptx", path("scale.cubin"))
    r = subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I" + ROOT + "/include", "example.c",
                        os.path.join(BUILD, "libhonebench.a"), "-ldl", "-lm", "-o", "example"], cwd=folder, capture_output=True, text=True)
    check(r.returncode == 0, "gpu/example_of_the_header_compiles", r.stderr)
    if r.returncode:
        return
    status, lines, errors, log = run("n=65536", *QUICK, program=path("example"))
    check(status == 0 and metric(lines, "latency").get("n") == 3, "gpu/example_of_the_header_runs", errors)


SEARCH = """name: faults
sources: [k.ptx, {files}]
controls: false
run: "{{gpu_bench}} {{KERNEL}}.kernel k.ptx bytes=101000"
parameters:
  KERNEL: {{type: choice, values: [{kernels}], default: scale}}
measure: {{min_time: 1 ms, device: cuda}}
parity: exact
stages: {{run: 6 s}}
budget: {{evaluations: 20}}
engine: random
"""
WANT = {"scale": "ok", "behind": "memory_fault", "before": "memory_fault", "spoil": "memory_fault", "far": "memory_fault",
        "trap": "device_fault", "silent": "run_crash", "shared": "launch_refused", "narrow": "launch_refused",
        "missing": "launch_refused", "hang": "run_timeout"}


def records():
    """Each fault has a class of its own in the record, costs one trial, and the search goes on."""
    text = SEARCH.format(files=", ".join(k + ".kernel" for k in WANT), kernels=", ".join(WANT))
    write("faults.yaml", text)
    env = dict(os.environ, LD_LIBRARY_PATH=path("fake"), HONE_BENCH_SAMPLES="3", HONE_BENCH_WARMUP="0")
    r = subprocess.run([HONE, "tune", "faults.yaml"], cwd=folder, env=env, capture_output=True, text=True, timeout=170)
    check(r.returncode == 0, "gpu/search_ends", r.stdout + r.stderr)
    if r.returncode:
        return
    db = sqlite3.connect("file:" + path(".hone/hone.db") + "?mode=ro", uri=True)
    got = {json.loads(p)["KERNEL"]: c for p, c in db.execute("select point, class from trial where phase in ('search', 'baseline')")}
    check(got == WANT, "gpu/each_fault_has_its_class", got)
    machine = db.execute("select machine from session").fetchone()[0]
    check("; Fake GPU, sm_90, driver 580.65.06, CUDA 13.0" in machine, "gpu/device_and_driver_are_recorded", machine)
    beside = {m for (m,) in db.execute("select metric from series")}
    check({"latency", "latency_clock", "latency_throttle"} <= beside, "gpu/clocks_are_recorded", beside)
    write("old.yaml", text.replace("device: cuda", "device: cuda9"))
    r = subprocess.run([HONE, "tune", "old.yaml"], cwd=folder, env=env, capture_output=True, text=True, timeout=60)
    check(r.returncode == 3 and "device 'cuda9' is not known" in r.stderr, "gpu/workload_names_a_device", r.stderr)
    r = subprocess.run([HONE, "tune", "faults.yaml", "--new"], cwd=folder, env=dict(env, HONE_FAKE="old"), capture_output=True, text=True, timeout=60)
    check(r.returncode == 10 and "no_device" in r.stderr and "11.4 is needed" in r.stderr, "gpu/baseline_without_driver", r.stderr)


# --- for real, on PoCL ----------------------------------------------------------------------------------------------------


def opencl():
    names = ("runs", "data", "behind", "silent", "large", "build", "classes", "endless", "tuned", "proven", "other_device")
    r = subprocess.run([PROGRAM, "--devices", "opencl"], capture_output=True, text=True)
    if not r.stdout.startswith("opencl\t"):
        for name in names:
            check(True, f"opencl/{name} # SKIP no OpenCL device: install pocl-opencl-icd and ocl-icd-libopencl1")
        return
    write("blur.cl", BLUR_CL)
    for kernel in ("blur", "behind", "silent", "hang"):
        write(kernel + "_cl.kernel", BLUR.replace("KERNEL", kernel))
    write("large_cl.kernel", BLUR.replace("KERNEL", "large").replace("h:i32", "h:i32 local:1<<29".replace("1<<29", "536870912")))
    status, lines, errors, log = run("blur_cl.kernel", "blur.cl", *QUICK, fake=False)
    check(status == 0 and metric(lines, "latency").get("p50", 0) > 0 and metric(lines, "latency")["api"] == "opencl", "opencl/runs", errors)
    run("blur_cl.kernel", "blur.cl", "--hone-once", "--hone-data=c1", fake=False)
    run("blur_cl.kernel", "blur.cl", "BX=32", *QUICK, "--hone-cold", "--hone-data=c2", fake=False)
    check(open(path("c1"), "rb").read() == open(path("c2"), "rb").read(), "opencl/data")
    for kernel, cls in (("behind", "memory_fault"), ("silent", "run_crash"), ("large", "launch_refused")):
        status, lines, errors, log = run(kernel + "_cl.kernel", "blur.cl", *QUICK, fake=False)
        check(status == 1 and fault(lines)["fault"] == cls, "opencl/" + kernel, errors)
    write("bad.cl", "__kernel void blur(__global float *x) { x[0] = undeclared; }\n")
    status, lines, errors, log = run("blur_cl.kernel", "bad.cl", *QUICK, fake=False)
    check(fault(lines)["fault"] == "launch_refused" and "undeclared" in fault(lines)["detail"], "opencl/build", errors)
    write("pocl.yaml", """name: pocl
sources: [blur.cl, blur_cl.kernel, hang_cl.kernel, behind_cl.kernel]
controls: false
run: "{gpu_bench} {KERNEL}_cl.kernel blur.cl"
parameters:
  KERNEL: {type: choice, values: [blur, behind, hang], default: blur}
measure: {min_time: 1 ms}
parity: {rule: rel, tolerance: 1e-6}
stages: {run: 120 s, cpu: 6 s}
budget: {evaluations: 3}
engine: random
""")
    env = dict(os.environ, HONE_BENCH_SAMPLES="3", HONE_BENCH_WARMUP="0")
    r = subprocess.run([HONE, "tune", "pocl.yaml", "--new"], cwd=folder, env=env, capture_output=True, text=True, timeout=170)
    db = sqlite3.connect("file:" + path(".hone/hone.db") + "?mode=ro", uri=True)
    rows = db.execute("select point, class from trial t join session s on t.session = s.id where s.workload = 'pocl' and phase in ('search', 'baseline')")
    got = {json.loads(p)["KERNEL"]: c for p, c in rows}
    detail = f"{r.returncode} {got} {r.stderr[-1500:]} {r.stdout[-500:]}"
    check(got.get("blur") == "ok" and got.get("behind") == "memory_fault", "opencl/classes", detail)
    # How a kernel that never ends is stopped is up to the machine: by its limit of processor time or, on a busy one, of time.
    check(got.get("hang") not in (None, "ok", "wrong_result"), "opencl/endless", detail)

    write("gain.yaml", """name: gain
sources: [blur.cl, blur_cl.kernel]
controls: false
run: "{gpu_bench} blur_cl.kernel blur.cl {input} WORK={WORK}"
parameters:
  WORK: {type: choice, values: [2, 12], default: 12}
inputs: [w=256]
measure: {min_time: 1 ms, device: opencl}
parity: {rule: rel, tolerance: 1e-6}
proof: {min_gain: 5 %, pairs: 10, pairs_most: 16, variants: 3}
budget: {evaluations: 2, time: 90 s}
engine: random
""")
    r = subprocess.run([HONE, "tune", "gain.yaml", "--new", "--json"], cwd=folder, env=env, capture_output=True, text=True, timeout=170)
    check(r.returncode == 0 and '"WORK":2' in r.stdout.replace(" ", ""), "opencl/tuned", r.stdout + r.stderr)
    if os.environ.get("HONE_LONG"):  # a proof asks nothing of a device that the search has not
        r = subprocess.run([HONE, "validate", "-w", "gain.yaml", "-n", "1"], cwd=folder, env=env, capture_output=True, text=True, timeout=170)
        # On a busy machine a launch of some microseconds may well spread by more than the proof admits.
        check((r.returncode == 0 and "kept" in r.stdout) or "the spread of" in r.stdout, "opencl/proven", f"{r.returncode} {r.stdout} {r.stderr}")
    else:
        check(True, "opencl/proven # SKIP many runs: make check-long")
    write("gain.yaml", open(path("gain.yaml")).read().replace("device: opencl", "device: 'opencl:7'"))
    r = subprocess.run([HONE, "tune", "gain.yaml", "--new"], cwd=folder, env=env, capture_output=True, text=True, timeout=170)
    check(r.returncode == 10 and "no_device" in r.stderr and "opencl:7" in r.stderr, "opencl/other_device", r.stdout + r.stderr)


def main():
    try:
        build()
        for part in (timing, outputs, faults, descriptions, header, records, opencl):
            part()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"1..{count}")
    sys.exit(failed > 0)


main()
