"""Static search over the controls of CUDA kernels: hone's engines and OpenTuner on the same workloads; see bench/static-search.sh.

A search is one JSON file: the gain (instructions of the default over those of the best legal candidate) after every evaluation.
hone searches by `hone tune`. OpenTuner is asked and told: its candidates are built with the flags that hone would write, and
judged by the same figures, read here from cuobjdump; for each search of hone that reading must agree with hone's.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(HERE, "peers"))

MARKS = (10, 25, 50, 100)
THREADS = {"stencil": 128, "scan": 128, "transpose": 256, "histogram": 256}  # of a block; others 128
LOADS = "[plain, ca, cg, cs, lu, cv, nc, evict_first, evict_last, no_allocate, nc_evict_last, l2_128b]"
STORES = "[plain, wb, cg, cs, wt, evict_first, no_allocate]"
BLAME = 1e6  # what OpenTuner is told beside the instructions of a candidate that breaks a limit


def names_in(text, macro):
    return sorted(set(re.findall(rf"{macro}\((\w+)", text)))


def workload(kernel, args, text):
    rows = ["HONE_BOUNDS: {type: choice, values: [0, 1]}", "HONE_MIN_BLOCKS: {type: ordinal, values: [0, 1, 2, 4, 6, 8]}",
            "HONE_NAME_PREFIX: {type: choice, values: [none, cutlass_]}", "HONE_ADD_RESTRICT: {type: choice, values: [0, 1]}"]  # fmt: skip
    plain = dict(re.findall(r"#define HONE_UNROLL_(\w+) (\w+)", text))
    for n in names_in(text, "HONE_UNROLL"):
        rows.append(f"HONE_UNROLL_{n}: {{type: choice, values: [0, 1, 2, 4, 8, full], default: {plain.get(n, 0)}}}")
    rows += [f"HONE_LOAD_{n}: {{type: choice, values: {LOADS}}}" for n in names_in(text, "HONE_LOAD")]
    rows += [f"HONE_STORE_{n}: {{type: choice, values: {STORES}}}" for n in names_in(text, "HONE_STORE")]
    verbose = "-Xptxas=-v -cubin " if args.compiler == "nvcc" else ""
    return f"""hone: 1
name: {kernel}
sources: [{kernel}.cu]
build: "{{cc}} {{flags}} {{defines}} -I{ROOT}/include -arch={args.arch} {verbose}{kernel}.cu -o {{out}}"
compilers: [{args.compiler}]
parameters:
""" + "".join(f"  {r}\n" for r in rows) + f"""metrics: {{source: sass, threads: {THREADS.get(kernel, 128)}}}
objectives: minimize instructions
limits: ["spills == 0", "stack <= baseline", "occupancy >= baseline"]
budget: {{evaluations: {args.evals}}}
"""  # fmt: skip


def hone(args, *command):
    done = subprocess.run([args.hone, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"hone {' '.join(command)}: {done.stderr.strip()[-400:]}")
    return done.stdout


def prepare(args, kernel, folder):
    """The workload in a folder of its own; its file."""
    shutil.copy(f"{ROOT}/bench/gpu/kernels/{kernel}.cu", folder)
    with open(f"{ROOT}/bench/gpu/kernels/{kernel}.cu", encoding="utf-8") as f:
        text = workload(kernel, args, f.read())
    path = os.path.join(folder, "hone.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


class Judge:
    """Builds a point and reads what it became: registers, stack, shared memory, instructions, occupancy."""

    def __init__(self, args, kernel, cc):
        self.cc = cc
        places = (os.environ.get("HONE_CUDA"), os.path.join(os.path.dirname(args.hone), "cuda"), "/usr/local/cuda")
        tools = [f"{p}/bin/cuobjdump" for p in places if p] + [shutil.which("cuobjdump") or ""]
        self.cuobjdump = next(p for p in tools if os.path.exists(p))
        self.source, self.args, self.threads = f"{ROOT}/bench/gpu/kernels/{kernel}.cu", args, THREADS.get(kernel, 128)
        self.known = {}

    def flags(self, point):
        out = []
        for name, value in point.items():
            name = name.removeprefix(f"{self.args.compiler}.")
            if name.startswith("HONE_"):
                out.append(f"-D{name}={value}")
            elif name == "-Xptxas=-O" and str(value).startswith("all-"):  # as src/target/nvidia.c spells levels
                out.append(f"-Ofc={value[4:]}")
            elif name == "-Xptxas=-O":
                out.append(f"-Xptxas=-Ofc={value}" if str(value).startswith("m") else f"-Xptxas=-O{value}")
            elif name.startswith("-"):
                out.append(name if value is True or value == "on" else f"{name}={value}")
        return out

    def __call__(self, point):
        flags = self.flags(point)
        key = " ".join(sorted(flags))
        if key not in self.known:
            with tempfile.TemporaryDirectory() as folder:
                self.known[key] = self.build(flags, os.path.join(folder, "x.cubin"))
        return self.known[key]

    def build(self, flags, out):
        how = ["-Xptxas=-v", "-cubin"] if self.args.compiler == "nvcc" else []
        done = subprocess.run([self.cc, *flags, f"-I{ROOT}/include", f"-arch={self.args.arch}", *how, self.source, "-o", out],
                              capture_output=True, text=True, check=False)  # fmt: skip
        if done.returncode or not os.path.exists(out):
            return None
        spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill", done.stdout + done.stderr))
        usage = subprocess.run([self.cuobjdump, "-res-usage", out], capture_output=True, text=True, check=True)
        numbers = dict(re.findall(r"(REG|STACK|SHARED|LOCAL):(\d+)", usage.stdout + usage.stderr))
        text = subprocess.run([self.cuobjdump, "-sass", out], capture_output=True, text=True, check=True).stdout
        code = re.findall(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?);", text, re.M)
        while code and code[-1].strip() == "NOP":
            code.pop()
        if not spilled and self.args.compiler != "nvcc":
            spilled = sum(1 for c in code if re.search(r"\b(LDL|STL)\b", c))
        return {"instructions": len(code), "spills": spilled, "stack": int(numbers["STACK"]),
                "occupancy": self.occupancy(int(numbers["REG"]), int(numbers["SHARED"]))}  # fmt: skip

    def occupancy(self, registers, shared):
        """Of sm_80 and sm_90 (docs/gpu-metrics.md); cuobjdump counts the reserved KiB of sm_90 in shared memory."""
        warps = (self.threads + 31) // 32
        by_registers = 65536 // 4 // (-(-registers * 32 // 256) * 256) * 4 // warps if registers else 32
        reserved = 0 if self.args.arch == "sm_90" and shared else 1024
        room = {"sm_80": 164, "sm_90": 228}[self.args.arch] * 1024
        by_shared = room // (-(-(shared + reserved) // 128) * 128) if shared else 32
        return min(64 // warps, 32, by_registers, by_shared) * warps / 64


def legal(seen, base):
    return seen and not seen["spills"] and seen["stack"] <= base["stack"] and seen["occupancy"] >= base["occupancy"] - 1e-9


def search_opentuner(args, kernel, seed, folder):
    from opentuner_peer import OpenTuner

    path = prepare(args, kernel, folder)
    params = json.loads(hone(args, "space", "print", path, "--json"))["parameters"]
    params = [p for p in params if p["kind"] not in ("literal", "space")]
    baseline = json.loads(hone(args, "tune", path, "--evals", "1", "--jobs", "1", "-q", "--json"))
    judge = Judge(args, kernel, baseline["argv"].split()[0])
    base = judge({p["name"]: p["default"] for p in params if p["default"] is not None})
    tuner, best, curve = OpenTuner(params, seed, args.evals), base["instructions"], []
    while len(curve) < args.evals:
        asked = tuner.ask()
        if asked is None:
            break
        seen = judge(tuner.point(asked))
        if legal(seen, base):
            best = min(best, seen["instructions"])
        tuner.tell(asked, None if seen is None else seen["instructions"] + (0 if legal(seen, base) else BLAME))
        curve.append(base["instructions"] / best)
    tuner.close()
    return {"curve": curve, "baseline": base["instructions"], "best": best}


def search_hone(args, engine, kernel, seed, folder):
    path = prepare(args, kernel, folder)
    found = json.loads(hone(args, "tune", path, "--engine", engine, "--seed", str(seed), "--evals", str(args.evals), "--jobs", "1", "-q", "--json"))
    trials = json.loads(hone(args, "results", "--store", os.path.join(folder, ".hone"), "--all", "--json"))["trials"]
    base = next(t for t in trials if t["phase"] == "baseline")["values"]
    what = next(k for k in base if "instructions" in k)
    best, curve, point = base[what], [], None
    for t in trials:
        if t["phase"] != "search":
            continue
        if t["class"] == "ok" and t["feasible"] and t["values"][what] < best:
            best, point = t["values"][what], t["point"]
        curve.append(base[what] / best)
    if point:  # what is read here must be what hone read
        judge = Judge(args, kernel, found["argv"].split()[0])
        seen = judge(point)
        if not seen or seen["instructions"] != best or not legal(seen, {"stack": 1 << 30, "occupancy": 0}):
            raise RuntimeError(f"{kernel}: hone says {best} instructions, built anew it is {seen}: {' '.join(judge.flags(point))}")
    return {"curve": curve[: args.evals], "baseline": base[what], "best": best, "point": point}


def one(args, tuner, kernel, seed):
    """The result of one search, from its file or by searching; None when it failed."""
    with open(f"{ROOT}/bench/gpu/kernels/{kernel}.cu", "rb") as f:
        key = hashlib.sha256(f.read() + args.identity.encode()).hexdigest()[:10]
    file = os.path.join(args.out, f"{kernel}-{key}-{tuner}-{args.compiler}-{args.arch}-{args.evals}-{seed}.json")
    if not os.path.exists(file):
        try:
            with tempfile.TemporaryDirectory(prefix="hone-static-") as folder:
                if tuner == "opentuner":  # a process of its own: OpenTuner draws from the process's random numbers
                    again = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--one", f"{kernel},{seed},{folder}"]
                    done = subprocess.run(again, capture_output=True, text=True, check=False, cwd=folder)  # it writes a log there
                    if done.returncode:
                        raise RuntimeError(done.stderr.strip()[-400:])
                    found = json.loads(done.stdout.splitlines()[-1])
                else:
                    found = search_hone(args, tuner, kernel, seed, folder)
        except (RuntimeError, ValueError, KeyError, StopIteration) as e:
            print(f"{tuner} on {kernel}, seed {seed}: failed: {e!r}", file=sys.stderr)
            return None
        with open(file + ".part", "w", encoding="utf-8") as f:
            json.dump(found, f)
        os.rename(file + ".part", file)
    with open(file, encoding="utf-8") as f:
        return json.load(f)


def gain_at(found, n):
    curve = found["curve"]
    return curve[min(n, len(curve)) - 1] if curve else 1.0


def interval(by_kernel, n_draws=2000):
    """95 % interval of the median over kernels, by drawing kernels and, of each, searches anew."""
    r, medians = random.Random(1), []
    for _ in range(n_draws):
        drawn = [r.choice(by_kernel) for _ in by_kernel]
        medians.append(statistics.median(statistics.mean(r.choice(k) for _ in k) for k in drawn))
    medians.sort()
    return medians[int(0.025 * n_draws)], medians[int(0.975 * n_draws) - 1]


def tables(args, results):
    print(f"- compiler: {args.identity.split(' ', 1)[1]} for {args.arch}\n")
    marks = [m for m in MARKS if m < args.evals] + [args.evals]
    print("| tuner | " + " | ".join(f"after {m}" for m in marks) + f" | 95 % interval after {args.evals} |\n|---|" + "---|" * (len(marks) + 1))
    for tuner in args.tuners.split():
        by_kernel = [[r for s in range(args.seeds) if (r := results.get((tuner, k, s)))] for k in args.kernels]
        by_kernel = [k for k in by_kernel if k]
        if not by_kernel:
            print(f"| {tuner} | failed |")
            continue
        cells = [statistics.median(statistics.mean(gain_at(r, m) for r in k) for k in by_kernel) for m in marks]
        low, high = interval([[gain_at(r, args.evals) for r in k] for k in by_kernel])
        print(f"| {tuner} | " + " | ".join(f"{c:.3f}" for c in cells) + f" | {low:.3f} to {high:.3f} |")
    print("\nMedian over the kernels of the default's instructions over the best legal candidate's (mean of the searches).\n")
    print("| kernel | default | " + " | ".join(args.tuners.split()) + " |\n|---|---|" + "---|" * len(args.tuners.split()))
    for k in args.kernels:
        found = {t: [r for s in range(args.seeds) if (r := results.get((t, k, s)))] for t in args.tuners.split()}
        base = {r["baseline"] for rows in found.values() for r in rows}
        cells = [f"{statistics.mean(r['best'] for r in rows):.0f}" if rows else "failed" for rows in found.values()]
        print(f"| {k} | {' / '.join(f'{b:.0f}' for b in sorted(base))} | " + " | ".join(cells) + " |")


def parse():
    p = argparse.ArgumentParser()
    for name in ("hone", "out", "tuners", "compiler", "arch"):
        p.add_argument(f"--{name}", required=True)
    for name in ("evals", "seeds", "jobs"):
        p.add_argument(f"--{name}", type=int, required=True)
    p.add_argument("--one", help="KERNEL,SEED,FOLDER: one search of OpenTuner, printed")
    p.add_argument("kernels", nargs="+")
    args = p.parse_args()
    args.hone, args.out = os.path.abspath(args.hone), os.path.abspath(args.out)
    for k in args.kernels:
        if not os.path.exists(f"{ROOT}/bench/gpu/kernels/{k}.cu"):
            p.error(f"no kernel '{k}' in bench/gpu/kernels")
    return args


def main():
    args = parse()
    if args.one:
        kernel, seed, folder = args.one.split(",", 2)
        print(json.dumps(search_opentuner(args, kernel, int(seed), folder)))
        return
    os.makedirs(args.out, exist_ok=True)
    found = hone(args, "targets", args.compiler, "--json")
    args.identity = hashlib.sha256(open(args.hone, "rb").read()).hexdigest()[:8] + " " + ", ".join(
        str(v) for k, v in sorted((json.loads(found) if isinstance(json.loads(found), dict) else json.loads(found)[0]).items()) if k in ("version", "hash"))  # fmt: skip
    jobs = [(t, k, s) for s in range(args.seeds) for k in args.kernels for t in args.tuners.split()]
    results = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(one, args, *job): job for job in jobs}
        for n, future in enumerate(concurrent.futures.as_completed(futures), 1):
            results[futures[future]] = future.result()
            print(f"{n}/{len(jobs)} {' '.join(map(str, futures[future]))}", file=sys.stderr, flush=True)
    tables(args, results)


main()
