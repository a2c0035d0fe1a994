#!/usr/bin/env python3
"""Operator cases and networks on devices: OpenCL's first device and CUDA C on the shim. A sample; with HONE_LONG all of them. None is
wrong, and of what passes nearly all has every kernel on the device. Planted: programs with a kernel or a copy on the host are told. TAP."""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.environ.get("HONE_ROOT", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get("HONE_BUILD", os.path.join(ROOT, "build"))
HONE = os.path.join(BUILD, "hone")  # without sanitizers: what is tried is the devices' code
LONG = bool(os.environ.get("HONE_LONG"))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import device_steps  # noqa: E402

FLOOR = 1400 / 1511  # of the cases with all kernels on the device
EVERY = 1 if LONG else 400
NETWORKS = [] if LONG else ["mlp"]
n = failed = 0

PROGRAM = """kernel 0 "k0" "map" device 1
kernel 1 "k1" "row" device 1
%1 = f32[4] host input 0 "x"
%2 = f32[4] device 1 arena 0
%3 = f32[4] device 1 arena 1
%4 = f32[4] host arena 0 or output 0
%5 = i64[] host arena 1
%6 = i64[] device 1 arena 2
output 0 "y" = %4
steps {
    copy %2 = %1
    launch 0 (%2) -> (%3, %6) work 1 cost 1 scratch 0
    copy %5 = %6
    read s = %5[0]
    launch 1 (%3) -> (%2) work 1 cost 1 scratch 0
    copy %4 = %2
}
"""


def ok(good, name, text=""):
    global n, failed
    n += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {n} - e2e/device_cases_{name}", flush=True)
    for line in str(text).splitlines()[-30:] if not good else []:
        print("#   " + line)


def counted():
    found = device_steps.count(PROGRAM)
    ok((found["kernels"], found["on_host"], found["launches"], found["to_device"], found["to_host"], found["reads"], found["between"]) ==
       (2, [], 2, 1, 2, 1, []), "sizes_may_be_read", found)
    found = device_steps.count(PROGRAM.replace('"row" device 1', '"row"'))
    ok(found["on_host"] == ["row"], "a_kernel_on_the_host_is_told", found)
    found = device_steps.count(PROGRAM.replace("    read s = %5[0]\n", "    copy %7 = %5\n"))
    ok(found["between"] == ["copy %5 = %6"], "a_copy_between_launches_is_told", found)


def cases(place):
    folder = os.path.join(BUILD, "onnx-cases")
    if not os.path.isdir(os.path.join(folder, "node")):
        return ok(True, f"{place} # SKIP no cases: tests/e2e/conformance.t unpacks ../shared/onnx")
    done = subprocess.run([os.path.join(ROOT, "tools/onnx-conformance"), os.path.join(folder, "node"), "--place", place, "--every", str(EVERY),
                           "--json", "--timeout", "300", "--jobs", "1"], env=dict(os.environ, HONE=HONE), capture_output=True, text=True)
    ok(done.stdout[:1] == "{", f"{place}_runs", done.stderr)
    if done.stdout[:1] != "{":
        return
    found = json.loads(done.stdout)
    bad = [c for c in found["cases"] if c["status"] not in ("passed", "refused")]
    ok(not bad, f"{place}_nothing_wrong", "\n".join(f"{c['status']} {c['case']}: {c['reason']}" for c in bad))
    ok(found["on_device"] >= FLOOR * len(found["cases"]) - 1, f"{place}_on_the_device", f"{found['on_device']} of {len(found['cases'])}")
    print(f"# {place}: {found['on_device']} of {len(found['cases'])} cases with all kernels on the device, {found['statuses']}")


def networks(place):
    done = subprocess.run([os.path.join(ROOT, "tools/device-networks"), "--place", place, *NETWORKS], env=dict(os.environ, HONE=HONE),
                          capture_output=True, text=True)
    ok(done.returncode == 0, f"{place}_networks", done.stdout + done.stderr)


def resumed(folder, env):
    # Kept results again, behind a network that does not exist, beside a torch that does not import: neither stops the rest.
    os.makedirs(os.path.join(folder, "broken", "torch"))
    with open(os.path.join(folder, "broken", "torch", "__init__.py"), "w", encoding="utf-8") as f:
        f.write("raise RuntimeError('this torch is broken')\n")
    done = subprocess.run([os.path.join(ROOT, "bench/gpu.sh"), "models"], capture_output=True, text=True,
                          env=dict(env, MODELS="nonesuch:2 mlp:2", JSON="1", PYTHONPATH=os.path.join(folder, "broken")))
    found = json.loads(done.stdout) if done.stdout[:1] == "{" else {"rows": []}
    rows = found["rows"]
    ok(done.returncode == 1 and len(rows) == 2 and not rows[0]["right"] and "nonesuch" in (rows[0]["why"] or "") and rows[1]["right"] and
       rows[1]["hone"]["p50_s"] > 0 and "this torch is broken" in found["left_out"]["torch"], "gpu_sh_models_goes_on", done.stdout + done.stderr)
    done = subprocess.run([os.path.join(ROOT, "bench/gpu.sh"), "models"], env=dict(env, OUT=folder + "/late", TIME="6s"), capture_output=True, text=True, timeout=100)
    ok("no time left" in done.stdout or "yes (" in done.stdout, "gpu_sh_models_keeps_its_time", done.stdout + done.stderr)


def bench():
    """The script for machines with a GPU, on OpenCL's first device in a small setting."""
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, HONE=HONE, PYTHON="python3", OUT=folder, PLACE="opencl", MODELS="mlp:2", MEASURE="0.05")
        done = subprocess.run([os.path.join(ROOT, "bench/gpu.sh"), "models"], env=env, capture_output=True, text=True)
        ok(done.returncode == 0 and "| mlp | 2 | yes (" in done.stdout, "gpu_sh_models", done.stdout + done.stderr)
        if LONG:
            resumed(folder, env)
        done = subprocess.run([os.path.join(ROOT, "bench/gpu.sh"), "models"], env=dict(env, PLACE="cuda:9"), capture_output=True, text=True)
        ok(done.returncode == 3 and "no device" in done.stderr, "gpu_sh_models_without_a_device", done.stdout + done.stderr)


def main():
    counted()
    here = subprocess.run([HONE, "devices", "--json"], capture_output=True, text=True)
    places = [d["place"] for d in json.loads(here.stdout)["devices"]] if here.returncode == 0 else []
    for place in ("opencl", "shim"):
        if place == "opencl" and not any(p.startswith("opencl") for p in places):
            ok(True, "opencl # SKIP no OpenCL device: install pocl-opencl-icd and ocl-icd-libopencl1")
            continue
        cases(place)
        if place == "opencl":
            bench()
        if place == "opencl" or LONG:
            networks(place)
    print(f"1..{n}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
