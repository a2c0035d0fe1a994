"""What bench/gpu.sh tuner does: A/A and planted gains, the examples beside other tuners, spaces measured exhaustively.

Only Python's own library is used. Every part's result is a JSON file in the folder of results; what is there is not measured
again. All searches and proofs are hone's commands on workload files that are written here, for the device at hand.
"""

import argparse
import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
NO_DEVICE = 3
EXAMPLES = ("reduction", "softmax", "gemm", "attention", "convolution")
PLANTED = (1.02, 1.05, 1.10)
# Of the time: all of truth, all examples, both recordings. The rest is for what takes longer than it should.
SHARE = {"truth": 0.10, "examples": 0.68, "spaces": 0.15}
QUICK = "proof: {pairs: 10, pairs_most: 30, variants: 3, min_gain: 0.5 %}\n"
SPACES = {  # example: (workload, parameters), for each kind of device
    "cuda": {
        "softmax": {"BLOCK": [64, 128, 256, 512, 1024], "HONE_UNROLL_READ": [0, 4], "HONE_UNROLL_WRITE": [0, 4],
                    "HONE_LOAD_FIRST": ["plain", "nc_evict_last"]},
        "gemm": {"BM": [32, 64, 128], "BN": [32, 64, 128], "BK": [8, 16], "TM": [4, 8], "TN": [4, 8]},
    },
    "opencl": {
        "convolution": {"SIZE": [5], "TX": [8, 16, 64], "TY": [1, 4, 8], "PX": [1, 4], "STAGE": [0, 1]},
        "convolution-7": {"SIZE": [7], "TX": [8, 16, 64], "TY": [1, 4, 8], "PX": [1, 4], "STAGE": [0, 1]},
    },
}  # fmt: skip
FAILED = {"build_error": "CompilationFailedConfig", "build_timeout": "CompilationFailedConfig"}


class Failed(Exception):
    pass


def seconds(text):
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|min|h)?", text)
    if not found:
        raise SystemExit(f"TIME={text}: give a time such as 20m or 300s")
    return float(found[1]) * {"s": 1, None: 1, "m": 60, "min": 60, "h": 3600}[found[2]]


class Bench:
    def __init__(self, args):
        self.hone_path, self.out = os.path.abspath(args.hone), os.path.abspath(args.out)
        self.total_s, self.begin = seconds(args.time), time.monotonic()
        os.makedirs(os.path.join(self.out, "spaces"), exist_ok=True)

    def share_s(self, what):
        """The time of one search, proof or recording, as far as there is any left."""
        tuners = 3 if importlib.util.find_spec("kernel_tuner") else 2
        each = {"truth": SHARE["truth"] / (len(PLANTED) + 1) / len(self.devices), "space": SHARE["spaces"] / 2,
                "search": 0.6 * SHARE["examples"] / self.n_examples / tuners, "proof": 0.4 * SHARE["examples"] / self.n_examples / tuners}  # fmt: skip
        return max(5.0, min(each[what] * self.total_s, self.left_s()))

    def left_s(self):
        return self.total_s - (time.monotonic() - self.begin)

    def say(self, text):
        print(f"[{time.monotonic() - self.begin:5.0f} s] {text}", file=sys.stderr, flush=True)

    def hone(self, *command, limit_s=None):
        """Its JSON, whatever it decided; Failed when it could not."""
        try:
            done = subprocess.run([self.hone_path, *command], capture_output=True, text=True, timeout=limit_s, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"hone {command[0]} took over {limit_s:.0f} s") from None
        if not done.stdout.lstrip().startswith(("{", "[")):
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise Failed(lines[-1] if lines else f"hone {command[0]} ended with {done.returncode}")
        found = json.loads(done.stdout)
        if "error" in found:
            raise Failed(found["error"]["text"])
        return found

    def part(self, name, make):
        """The result of a part: from its file, else made; a failure is a result, too, but not kept."""
        path = os.path.join(self.out, name + ".json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                return json.load(f)
        if self.left_s() < 5:
            return {"failed": "no time left"}
        self.say(name)
        try:
            found = make()
        except (Failed, OSError, ValueError, KeyError, IndexError) as e:
            self.say(f"{name}: {e!r}")
            return {"failed": str(e).splitlines()[0][:160] if str(e) else repr(e)}
        with open(path + ".part", "w", encoding="utf-8") as f:
            json.dump(found, f)
        os.rename(path + ".part", path)
        return found

    def tune(self, workload, store, share, *more):
        limit = self.share_s(share)
        return self.hone("tune", workload, "--store", store, "--new", "-q", "--json", "-t", f"{limit:.0f}s", *more, limit_s=limit * 2 + 120)

    def prove(self, workload, point, share):
        limit = self.share_s(share)
        found = self.hone("validate", "-w", workload, "--point", json.dumps(point), "--no-controls", "-q", "--json", "-t",
                          f"{limit:.0f}s", limit_s=limit * 2 + 120)  # fmt: skip
        proof = found["proofs"][0]["proof"]
        if not proof["overall"]:
            return {"kept": False, "why": proof["why"] or proof["verdict"], "gain": None, "seconds": proof["seconds"]}
        first = proof["overall"][0]
        return {"kept": proof["kept"], "why": proof["why"], "gain": first["gain"], "baseline_s": first["baseline"]["p50"],
                "tuned_s": first["tuned"]["p50"], "pairs": proof["n_pairs"], "seconds": proof["seconds"]}  # fmt: skip


# --- the device and its compiler


def harness(bench):
    """The carried program that measures, copied out of a run."""
    path = os.path.join(bench.out, "hone-gpu-bench")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "hone.yaml"), "w", encoding="utf-8") as f:
            f.write("hone: 1\nname: harness\ncontrols: false\nrun: 'cp {gpu_bench} {src}/copy; echo cost: {A}'\nparameters: {A: [1, 2]}\n"
                    "metrics: {source: lines, names: [cost]}\nobjectives: minimize cost\nparity: none\nstages: {confine: false}\n")  # fmt: skip
        bench.hone("tune", os.path.join(folder, "hone.yaml"), "-q", "--json", "--evals", "1", limit_s=120)
        shutil.copy(os.path.join(folder, "copy"), path)
    return path


def devices(bench):
    """The first device of each kind that the harness sees: {"cuda": name, "opencl": name}."""
    seen, wanted = {}, os.environ.get("HONE_GPU_DEVICE", "")
    text = subprocess.run([harness(bench), "--devices"], capture_output=True, text=True, timeout=120, check=False).stdout
    for line in text.splitlines():
        kind, *words = line.split("\t")
        if kind == "none":
            bench.say(": ".join(words))
        elif kind not in seen and (not wanted or wanted in (kind, f"{kind}:{words[0]}")):
            seen[kind] = ", ".join(w for w in words[1:] if w)
    if "cuda" in seen:
        bench.compiler, bench.arch = compiler(bench), arch(bench)
        if not bench.compiler:
            bench.say("neither nvcc nor NVRTC is here: nothing can be built for CUDA (tools/cuda-tools.sh installs them)")
            del seen["cuda"]
    return seen


def compiler(bench):
    """nvcc or nvrtc, as hone finds them, with what their builds need; None without."""
    for name in ("nvcc", "nvrtc"):
        try:
            bench.hone("targets", name, "--json", limit_s=300)
        except Failed:
            continue
        return name
    return None


def arch(bench):
    """sm_NN of the device: nvidia-smi where it is, else what ARCH says, else sm_90."""
    if os.environ.get("ARCH"):
        return os.environ["ARCH"]
    smi = shutil.which("nvidia-smi")
    if smi:
        done = subprocess.run([smi, "--query-gpu=compute_cap", "--format=csv,noheader"], capture_output=True, text=True, check=False)
        if re.match(r"\d+\.\d", done.stdout):
            return "sm_" + done.stdout.split()[0].replace(".", "")
    bench.say("nvidia-smi does not say what the device is: sm_90 is taken; set ARCH otherwise")
    return "sm_90"


def build_command(bench, source, flags=""):
    how = "" if bench.compiler != "nvcc" else "-ptx " if bench.arch.startswith("compute_") else "-cubin "
    return f"{{cc}} {{flags}} {{defines}} {flags}-I{ROOT}/include -arch={bench.arch} {how}{source} -o {{out}}"


# --- A/A and planted gains


def planted_workload(folder, api, kernel, parameters, bench, defaults=None):
    for name in os.listdir(f"{HERE}/gpu/planted"):
        shutil.copy(f"{HERE}/gpu/planted/{name}", folder)
    small = " n=65536" if os.environ.get("SMALL", "1" if api == "opencl" and "CUDA" not in bench.devices.get(api, "") else "") else ""
    words = " ".join(f"{p}={{{p}}}" for p in parameters)
    if kernel:
        build = "controls: false\n"
    else:
        build = f'build: "{build_command(bench, "planted.cu")}"\ncompilers: [{bench.compiler}]\n'
    rows = "".join(f"  {p}: {{type: choice, values: {v}, default: {(defaults or {}).get(p, v[0])}}}\n" for p, v in parameters.items())
    path = os.path.join(folder, "hone.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"hone: 1\nname: planted\nsources: [planted.cu, planted.cl, planted.kernel]\n{build}"
                f'run: "{{gpu_bench}} planted.kernel {kernel or "{out}"} {words}{small}"\nparameters:\n{rows}'
                f"objectives: minimize median(latency)\nparity: none\nbudget: {{evaluations: 2}}\n{QUICK}")  # fmt: skip
    return path


def truth(bench, api):
    """The same program on both sides, and programs that do known extra work."""
    kernel = "planted.cl" if api == "opencl" else None
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for gain in (1.0, *PLANTED):
            slow = round(1000 * gain)
            if slow == 1000:
                path, point = planted_workload(folder, api, kernel, {"side": [0, 1]}, bench), {"side": "1"}
            else:
                path, point = planted_workload(folder, api, kernel, {"steps": [1000, slow]}, bench, {"steps": slow}), {"steps": "1000"}
            try:
                out.append({"planted": gain, **bench.prove(path, point, "truth")})
            except Failed as e:
                out.append({"planted": gain, "failed": str(e), "kept": False})
    if all("failed" in r for r in out):
        raise Failed(out[0]["failed"])
    return {"rows": out}


# --- the examples


def kind_of(name):
    return "opencl" if os.path.exists(f"{ROOT}/examples/gpu/{name}/{name}.cl") else "cuda"


def example_workload(bench, name, folder):
    """The example's timed workload for this device, in a folder; None when it cannot run here."""
    source = f"{ROOT}/examples/gpu/{name}"
    opencl = kind_of(name) == "opencl"
    if kind_of(name) not in bench.devices:
        return None
    for file in os.listdir(source):
        shutil.copy(os.path.join(source, file), folder)
    with open(os.path.join(source, "hone.yaml" if opencl else "timed.yaml"), encoding="utf-8") as f:
        text = f.read()
    text = text.replace("-I{src}/../../../include", f"-I{ROOT}/include").replace("-arch=sm_90", f"-arch={getattr(bench, 'arch', '')}")
    if getattr(bench, "arch", "").startswith("compute_"):
        text = text.replace(" -cubin ", " -ptx ")
    if not opencl and bench.compiler == "nvrtc":
        text = text.replace("compilers: [nvcc]", "compilers: [nvrtc]").replace(" -cubin", "").replace("baseline: -Xptxas=-O3\n", "")
    path = os.path.join(folder, "workload.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text + QUICK)
    return path


def search(bench, name, engine):
    """One search of hone and the proof of its best."""
    with tempfile.TemporaryDirectory() as folder:
        path = example_workload(bench, name, folder)
        if path is None:
            raise Failed("no device for it")
        found = bench.tune(path, os.path.join(folder, ".hone"), "search", "--engine", engine, "--evals", "100000")
        proof = bench.prove(path, found["point"], "proof") if found["point"] else {}
        return {"trials": found["trials"], "claimed": found["speedup"], "point": found["point"], "classes": found["classes"],
                "search_s": found["elapsed_s"], **{"kept": False, "gain": None, **proof}}  # fmt: skip


def kernel_tuner(bench, name):
    """Kernel Tuner's best point by its own tuner and timer, proven by hone."""
    if importlib.util.find_spec("kernel_tuner") is None:
        raise Failed("kernel_tuner cannot be imported")
    with tempfile.TemporaryDirectory() as folder:
        path = example_workload(bench, name, folder)
        if path is None:
            raise Failed("no device for it")
        limit = bench.share_s("search")
        done = subprocess.run([sys.executable, f"{HERE}/gpu/peer_kernel_tuner.py", name, folder, f"{ROOT}/include", str(limit)],
                              capture_output=True, text=True, timeout=limit * 2 + 120, check=False)  # fmt: skip
        if done.returncode:
            raise Failed(f"kernel_tuner: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
        found = json.loads(done.stdout.splitlines()[-1])
        proof = bench.prove(path, found["point"], "proof")
        return {**found, **proof}


def triton(bench, name):
    """The time of a Triton kernel of the same shapes with Triton's own autotuner."""
    if importlib.util.find_spec("triton") is None or importlib.util.find_spec("torch") is None:
        raise Failed("triton and torch cannot be imported")
    if name not in ("softmax", "gemm"):
        raise Failed("no Triton kernel for it here")
    limit = bench.share_s("search")
    done = subprocess.run([sys.executable, f"{HERE}/gpu/peer_triton.py", name], capture_output=True, text=True, timeout=limit * 2 + 120, check=False)
    if done.returncode:
        raise Failed(f"triton: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


# --- spaces


def space(bench, api, label, parameters):
    """Every point of a small space, measured: hone's random engine draws none twice."""
    name = label.split("-")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = example_workload(bench, name, folder)
        if path is None:
            raise Failed("no device for it")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        rows = "".join(f"  {p}: {{type: ordinal, values: {v}, default: {v[0]}}}\n" if isinstance(v[0], int) and len(v) > 1 else
                       f"  {p}: {{type: choice, values: {v}, default: {v[0]}}}\n" for p, v in parameters.items())  # fmt: skip
        text = re.sub(r"parameters:\n(  .*\n)+", f"parameters:\n{rows}", text)
        # Constraints and parameters of the run that are fixed here take their plain values.
        text = re.sub(r"constraints:\n(  - .*\n)+|constraints: .*\n", "", text)
        if "controls:" not in text:
            text += "controls: false\n"
        gone = set(re.findall(r"(\w+)=\{\1\}", text)) - set(parameters)
        for p in gone:
            text = text.replace(f"{p}={{{p}}}", "")
        text = text.replace(" {flags}", "") if "controls: false" in text else text
        if "SIZE" in parameters:
            text = text.replace(f"{name}.cl ", f"{name}.cl SIZE={{SIZE}} ")
        text = re.sub(r"objectives: .*", 'objectives: ["minimize mean(latency)", "minimize p16(latency)", "minimize p84(latency)"]', text)
        text = re.sub(r"parity: .*", "parity: none", text)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        n = math.prod(len(v) for v in parameters.values())
        store = os.path.join(folder, ".hone")
        found = bench.tune(path, store, "space", "--engine", "random", "--evals", str(n + 1))
        trials = bench.hone("results", "--store", store, "--all", "--json")["trials"]
    seen = {}
    for t in trials:
        if t["phase"] in ("baseline", "search"):
            seen.setdefault(tuple(str(t["point"].get(p, v[0])) for p, v in parameters.items()), t)
    partial = "-partial" if len(seen) < n else ""  # for replay what is missing would break a constraint
    file = os.path.join(bench.out, "spaces", f"{label}{partial}-{bench.devices[api].split(',')[0].replace(' ', '_').replace('/', '_')}.tsv")
    with open(file, "w", encoding="utf-8") as f:
        f.write(f"# kernel={name} device={bench.devices[api]} problem={re.search('args: ([^},]*)', text)[1].strip()} objective=time unit=ms\n")
        f.write("# values " + " ".join(f"{p}={'|'.join(map(str, v))}" for p, v in parameters.items()) + "\n")
        f.write("\t".join(parameters) + "\ttime_ms\tsd_ms\tcompile_ms\tstatus\n")
        for point, t in sorted(seen.items()):
            if t["class"] == "ok":
                mean, low, high = (t["values"][f"{q}(latency)"] for q in ("mean", "p16", "p84"))
                cells = [f"{mean * 1e3:.6g}", f"{max(high - low, 0) / 2 * 1e3:.3g}", f"{t['build_s'] * 1e3:.1f}" if t["build_s"] else "-", "ok"]
            else:
                cells = ["-", "-", "-", FAILED.get(t["class"], "RuntimeFailedConfig")]
            f.write("\t".join([*point, *cells]) + "\n")
    return {"file": file, "points": n, "measured": len(seen), "ok": sum(t["class"] == "ok" for t in seen.values()), "why": found["reason"]}


# --- the tables


def gain_text(row):
    if row.get("failed"):
        return row["failed"]
    if not row.get("gain") or row["gain"]["mid"] is None:
        return f"not kept: {'the default is the best' if row.get('why') in (None, 'same') else row['why']}"[:60]
    g = row["gain"]
    return f"{g['mid']:.3f} ({g['lo']:.3f} to {g['hi']:.3f})" + ("" if row["kept"] else ", not kept")


def show_truth(api, found):
    print(f"\n### A/A and planted gains ({api})\n")
    if found.get("failed"):
        print(f"failed: {found['failed']}")
        return
    print("| planted | found, 95 % interval | kept | pairs |\n|---|---|---|---|")
    for r in found["rows"]:
        print(f"| {r['planted']:.2f} | {gain_text(r)} | {'yes' if r['kept'] else 'no'} | {r.get('pairs', '-')} |")


def show_examples(rows):
    print("\n### The examples: proven gain over the default\n")
    print("| example | hone | trials | random search | trials | Kernel Tuner | Triton, ms | hone's best, ms |\n|---|---|---|---|---|---|---|---|")
    for name, r in rows.items():
        cells = [gain_text(r["auto"]), str(r["auto"].get("trials", "-")), gain_text(r["random"]), str(r["random"].get("trials", "-"))]
        cells.append(gain_text(r["kernel_tuner"]))
        cells.append(f"{r['triton']['best_s'] * 1e3:.4f}" if "best_s" in r["triton"] else r["triton"]["failed"])
        cells.append(f"{r['auto']['tuned_s'] * 1e3:.4f}" if r["auto"].get("tuned_s") else "-")
        print(f"| {name} | " + " | ".join(cells) + " |")


def show_spaces(rows):
    print("\n### Spaces\n\n| space | points | measured | ok | file |\n|---|---|---|---|---|")
    for name, r in rows.items():
        print(f"| {name} | failed: {r['failed']} |" if r.get("failed") else
              f"| {name} | {r['points']} | {r['measured']} | {r['ok']} | {os.path.relpath(r['file'], ROOT)} |")  # fmt: skip


def main():
    p = argparse.ArgumentParser()
    for name in ("hone", "out", "time", "only"):
        p.add_argument(f"--{name}", required=True)
    args = p.parse_args()
    unknown = set(args.only.split()) - {"truth", "examples", "spaces"}
    if unknown:
        raise SystemExit(f"ONLY: no part '{min(unknown)}'; there are truth, examples and spaces")
    bench = Bench(args)
    bench.devices = devices(bench)
    bench.n_examples = max(1, sum(kind_of(n) in bench.devices for n in EXAMPLES))
    if not bench.devices:
        print("no GPU: neither a CUDA nor an OpenCL device answers (above is why); nothing was measured", file=sys.stderr)
        sys.exit(NO_DEVICE)
    print("## GPU tuner\n")
    print(f"- command: `TIME={args.time} bench/gpu.sh tuner`")
    for api, text in bench.devices.items():
        print(f"- {api}: {text}" + (f", {bench.compiler} for {bench.arch}" if api == "cuda" else ""))
    if "truth" in args.only:
        for api in bench.devices:
            show_truth(api, bench.part(f"truth-{api}", lambda api=api: truth(bench, api)))
    if "examples" in args.only:
        rows = {}
        for name in EXAMPLES:
            if kind_of(name) not in bench.devices:
                print(f"\n{name}: skipped, it needs a device for {kind_of(name).replace('cuda', 'CUDA').replace('opencl', 'OpenCL')}")
                continue
            rows[name] = {engine: bench.part(f"{name}-{engine}", lambda n=name, e=engine: search(bench, n, e)) for engine in ("auto", "random")}
            rows[name]["kernel_tuner"] = bench.part(f"{name}-kernel_tuner", lambda n=name: kernel_tuner(bench, n))
            rows[name]["triton"] = bench.part(f"{name}-triton", lambda n=name: triton(bench, n))
        show_examples(rows)
    if "spaces" in args.only:
        api = "cuda" if "cuda" in bench.devices else "opencl"
        show_spaces({label: bench.part(f"space-{label}", lambda a=api, n=label, v=values: space(bench, a, n, v)) for label, values in SPACES[api].items()})
    print(f"\nTook {time.monotonic() - bench.begin:.0f} s.")


main()
