#!/usr/bin/env python3
"""tests/gpu/static.t: a search by device code alone. ptxas assembles, hone reads registers, spills, instructions and occupancy; nothing
runs. Every point is tried, so the best is known. TAP; what is not installed is skipped by name."""

import json
import os

import cuda_tools as tools

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 a, .param .u64 b) .maxntid 256, 1, 1 {
 .reg .b64 %rd<8>; .reg .b32 %r<4>;
 ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
 add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3; ld.global.u32 %r2, [%rd4]; st.global.u32 [%rd5], %r2; ret;
}
.visible .entry sums(.param .u64 a, .param .u64 b) {
 .reg .b64 %rd<8>; .reg .f32 %f<100>; .reg .b32 %r<4>;
 ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
 add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
LOADS
 bar.sync 0;
SUMS
 st.global.f32 [%rd5], %f0; ret;
}
"""
WORKLOAD = """hone: 1
sources: [k.ptx]
build: "PTXAS -v -arch=sm_90 -O{LEVEL} -maxrregcount {REGS} k.ptx -o {out}"
controls: false
parameters:
  REGS: {type: choice, values: ["24", "128"], default: "128"}
  LEVEL: {type: choice, values: ["1", "3"], default: "3"}
metrics: {source: sass, kernel: sums}
objectives: OBJECTIVES
limits: LIMITS
budget: {evaluations: 8}
"""


def write(folder, ptxas, objectives, limits, regs="128"):
    loads = "\n".join(f" ld.volatile.global.f32 %f{i}, [%rd4+{1024 * i}];" for i in range(64))
    sums = "\n".join(f" fma.rn.f32 %f0, %f0, %f{i}, %f{64 - i};" for i in range(1, 64))
    with open(f"{folder}/k.ptx", "w") as f:
        f.write(PTX.replace("LOADS", loads).replace("SUMS", sums))
    text = WORKLOAD.replace("PTXAS", ptxas).replace("OBJECTIVES", objectives).replace("LIMITS", limits)
    text = text.replace('default: "128"', f'default: "{regs}"')
    with open(f"{folder}/hone.yaml", "w") as f:
        f.write(text)


def hone(folder, *words):
    return tools.run([f"{tools.BUILD}/hone", *words], cwd=folder)


def figures(ptxas, cuobjdump, folder, regs, level):
    """What ptxas and cuobjdump themselves say of `sums`."""
    out = f"{folder}/ref.cubin"
    said = tools.run([ptxas, "-v", "-arch=sm_90", f"-O{level}", "-maxrregcount", regs, f"{folder}/k.ptx", "-o", out]).stderr
    spills = said[said.index("Function properties for sums"):].splitlines()[1].split()
    usage = tools.run([cuobjdump, "-res-usage", out]).stdout
    usage = usage[usage.index("Function sums"):].splitlines()[1].split()
    return int(spills[4]) + int(spills[8]), int(usage[0].removeprefix("REG:"))


def check_one(t, ptxas, cuobjdump):
    with tools.folder() as folder:
        write(folder, ptxas, "[minimize registers, minimize spills]", "[]")
        r = hone(folder, "tune", "--quiet")
        t.ok(r.returncode == 0, "tune_without_run", r.stdout, r.stderr)
        trials = json.loads(hone(folder, "results", "--json", "--all").stdout)["trials"]
        seen = {}
        for x in trials:
            p = x["point"]
            seen[str(p["REGS"]), str(p["LEVEL"])] = tuple(x["values"][k] for k in ("sass.spills", "sass.registers"))
        want = {k: figures(ptxas, cuobjdump, folder, *k) for k in seen}
        t.ok(len(seen) == 4 and seen == want, "figures_are_those_of_the_tools", f"hone {seen}", f"tools {want}")
        t.ok(len(set(seen.values())) > 1 and any(v[0] for v in seen.values()), "the_space_has_spills", seen)


def check_limits(t, ptxas):
    """The baseline takes few registers and spills."""
    with tools.folder() as folder:
        write(folder, ptxas, "[minimize registers]", '["spills == 0", "registers <= 128"]', "24")
        r = hone(folder, "tune", "--quiet")
        best = json.loads(hone(folder, "best", "--json").stdout)
        t.ok(r.returncode == 0 and str(best.get("point", {}).get("REGS")) == "128", "spills_are_refused", r.stderr, best)
        write(folder, ptxas, "[minimize registers]", '["occupancy >= baseline"]', "128")
        r = hone(folder, "tune", "--quiet", "--new")
        best = json.loads(hone(folder, "best", "--json").stdout)
        t.ok(r.returncode == 0 and str(best.get("point", {}).get("REGS")) == "24", "more_occupancy_is_taken", best)
        proof = hone(folder, "validate", "--json", "--top", "1")
        t.ok('"kept": 1' in proof.stdout, "proof_of_figures", proof.stdout[:800], proof.stderr)
        gain = json.loads(proof.stdout)["proofs"][0]["proof"]["overall"][0]["gain"]
        t.ok(gain["lo"] == gain["hi"], "proof_is_a_comparison", gain)


def search(folder, jobs):
    """The trials of a search, as they were told."""
    r = hone(folder, "tune", "--quiet", "--new", "--jobs", str(jobs))
    trials = json.loads(hone(folder, "results", "--json", "--all").stdout)["trials"]
    searched = sorted((x for x in trials if x["phase"] == "search"), key=lambda x: x["trial"])
    return r, [((x["point"]["A"], str(x["point"]["REGS"])), x["class"], x["values"]) for x in searched]


def check_stream(t, ptxas):
    """Builds go on while others are judged; some take longer than others, some crash or hang. How many run at once changes nothing."""
    with tools.folder() as folder:
        write(folder, ptxas, "[minimize spills]", "[]")
        path = f"{folder}/hone.yaml"
        with open(path) as f:
            text = f.read()
        stalls = "case {A}.{REGS} in 3.*) kill -SEGV $$;; 5.24) sleep 60;; *[024].*) sleep 0.1;; esac; "
        text = text.replace('build: "', f'build: "{stalls}').replace("-O{LEVEL}", "-O3")
        text = text.replace('LEVEL: {type: choice, values: ["1", "3"], default: "3"}', "A: {type: int, range: [0, 5], default: 0}")
        text = text.replace("evaluations: 8", "evaluations: 20") + "stages: {build: 4 s}\n"
        with open(path, "w") as f:
            f.write(text)
        r, one = search(folder, 1)
        t.ok(r.returncode == 0 and len(one) >= 10, "stream", r.stderr, one)
        _, two = search(folder, 2)
        t.ok(one == two, "stream_is_the_same_with_two_jobs", one, two)
        bad = {(3, "24"): "build_error", (3, "128"): "build_error", (5, "24"): "build_timeout"}
        t.ok(all(c == bad.get(p, "ok") for p, c, _ in two), "stream_loses_one_trial_to_a_crash", two)
        spills = {"24": lambda n: n > 0, "128": lambda n: n == 0}
        t.ok(all(spills[p[1]](v["sass.spills"]) for p, c, v in two if c == "ok"), "stream_reads_each_code", two)


def check_explain(t, ptxas):
    """Two cubins, one alone, and a point of a workload."""
    with tools.folder() as folder:
        write(folder, ptxas, "[minimize registers]", "[]")
        for name, regs in (("few", "24"), ("many", "128")):
            tools.run([ptxas, "-arch=sm_90", "-maxrregcount", regs, f"{folder}/k.ptx", "-o", f"{folder}/{name}.cubin"])
        two = hone(folder, "explain", "--json", "many.cubin", "few.cubin")
        x = json.loads(two.stdout)
        facts = {(f["function"], f["what"]): (f["baseline"], f["tuned"]) for f in x["facts"]}
        t.ok(facts["sums", "registers"][1] == 24 and facts["sums", "spills"][0] == 0 < facts["sums", "spills"][1], "two_cubins", facts)
        t.ok("sums: " in x["sentences"][0] and "bytes spilled, none before" in x["sentences"][0], "sentences", x["sentences"])
        t.ok(x["function"] == "sums" and "STL" in x["tuned_code"] and "STL" not in x["baseline_code"], "listings", x["function"])
        t.ok("live_registers" in hone(folder, "explain", "few.cubin").stdout, "one_cubin")
        t.ok(hone(folder, "explain", "k.ptx").returncode == 0, "ptx")
        of = json.loads(hone(folder, "explain", "-q", "--json", "--point", '{"REGS": "24", "LEVEL": "3"}').stdout)
        t.ok("bytes spilled, none before" in of["sentences"][0], "point_of_a_workload", of)
        bad = hone(folder, "explain", "hone.yaml", "k.ptx")
        t.ok(bad.returncode != 0 and "'hone.yaml'" in bad.stderr, "no_device_code", bad.stderr)


def check_faults(t, ptxas):
    with tools.folder() as folder:
        write(folder, ptxas, "[minimize registers]", "[]")
        path = f"{folder}/hone.yaml"
        with open(path) as f:
            text = f.read()
        with open(path, "w") as f:
            f.write(text.replace("kernel: sums", "kernel: sum"))
        r = hone(folder, "tune", "--quiet")
        t.ok(r.returncode != 0 and "no kernel 'sum'" in r.stderr and "'sums'" in r.stderr, "kernel_that_is_not_there", r.stderr)
        with open(path, "w") as f:
            f.write(text.replace("sass, kernel", "sass, arch: sm_80, kernel"))
        r = hone(folder, "tune", "--quiet", "--new")
        t.ok(r.returncode != 0 and "sm_90, not for sm_80" in r.stderr, "wrong_architecture", r.stderr)


def main():
    t = tools.Tap("static")
    found = {p: tools.find(p) for p in ("ptxas", "cuobjdump", "nvdisasm")}
    missing = [p for p, at in found.items() if not at]
    if missing:
        t.skip("all", f"{', '.join(missing)} is not installed")
        t.done()
    os.environ["HONE_CUDA"] = os.path.dirname(os.path.dirname(found["cuobjdump"]))
    check_one(t, found["ptxas"], found["cuobjdump"])
    check_limits(t, found["ptxas"])
    check_stream(t, found["ptxas"])
    check_explain(t, found["ptxas"])
    check_faults(t, found["ptxas"])
    t.done()


main()
