"""Tunes and validates workloads in several modes; see bench/real-gains.sh."""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time

import yaml

REJECTED = 17  # exit status of `hone validate`: E_REJECTED
COMPILERS = {"gcc": ["gcc"], "any": ["gcc", "clang-19"]}
CONTRACTS = {"strict": "strict", "relaxed": "fast"}


def exact(workload):
    """A workload whose outputs must be the same to the last bit has no relaxed class."""
    parity = workload.get("parity", "exact")
    return parity == "exact" or (isinstance(parity, dict) and parity.get("rule") == "exact")


def source_of(args, kernel):
    return os.path.join(args.work, "source", "zstd") if kernel == "zstd" else os.path.join("examples", kernel)


def prepare(args, kernel, mode):
    """The workload of a mode in a folder of its own; None where the mode does not apply."""
    compilers, contract = mode.split("-")
    folder = os.path.join(args.work, f"{kernel}-{mode}-{args.evals}-{args.seed}")
    shutil.copytree(source_of(args, kernel), folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".hone", "*.hone"))
    path = os.path.join(folder, "hone.yaml")
    with open(path, encoding="utf-8") as f:
        workload = yaml.safe_load(f)
    if contract == "relaxed" and exact(workload):
        return None
    flags = workload["baseline"]["flags"] if isinstance(workload["baseline"], dict) else workload["baseline"]
    workload["compilers"] = COMPILERS[compilers]
    workload["baseline"] = {"flags": flags, "floating_point": "strict"}
    workload["floating_point"] = CONTRACTS[contract]
    workload["objectives"] = workload["objectives"][:1] if isinstance(workload["objectives"], list) else workload["objectives"]
    with open(path, "w", encoding="utf-8") as f:
        yaml.safe_dump(workload, f, sort_keys=False)
    return folder


def ask(args, command, folder, name, accept=(0,), quiet=True):
    """One command's JSON, kept in FOLDER/NAME.json; None: it failed, and the reason was said."""
    path = os.path.join(folder, name + ".json")
    if not os.path.exists(path):
        done = subprocess.run([args.hone, *command, "--json", *["-q"] * quiet], capture_output=True, text=True)
        for line in done.stderr.splitlines():
            if "warning" in line and not quiet:
                print(f"{os.path.basename(folder)}: {line}", file=sys.stderr)
        if done.returncode not in accept:
            print(f"{folder}: hone {' '.join(command)}: {done.stderr.strip()[-600:]}", file=sys.stderr)
            return None
        with open(path + ".part", "w", encoding="utf-8") as f:
            f.write(done.stdout)
        os.rename(path + ".part", path)
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def measure(args, kernel, mode):
    folder = prepare(args, kernel, mode)
    if folder is None:
        return "exact"
    where = os.path.join(folder, "hone.yaml")
    began = time.monotonic()
    tuned = ask(args, ["tune", where, "--new", "--evals", str(args.evals), "--seed", str(args.seed)], folder, "tune")
    if tuned is None:
        return None
    command = ["validate", "--workload", where, "--seed", str(args.seed), "--top", args.top, "--time", args.time, "--out", os.path.join(folder, kernel + ".hone")]
    proof = ask(args, command, folder, "validate", (0, REJECTED))
    print(f"{kernel} {mode}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return None if proof is None else summary(tuned, proof)


def summary(tuned, proof):
    """The best one kept, else the first candidate and why it was not; what is shipped without a proof is the baseline."""
    rows = proof["proofs"]
    best = max((r for r in rows if r["proof"]["kept"]), key=lambda r: gain_of(r)["mid"], default=None)
    shown = best or (rows[0] if rows else None)
    out = {"claimed": (tuned.get("speedup") or 1), "kept": best is not None, "why": "nothing to prove", "gain": None}
    if shown:
        out.update(gain=gain_of(shown), why=shown["proof"].get("why", ""), pairs=shown["proof"].get("n_pairs"))
    out["shipped"] = out["gain"]["mid"] if best else 1.0
    out["winner"] = "clang" if best and "clang" in (shown["proof"].get("argv") or "").split()[0] else "gcc"
    return out


def gain_of(row):
    """The interval in the first objective; None where nothing was measured."""
    g = row["proof"]["overall"][0]["gain"] if row["proof"].get("overall") else None
    return g if g and g.get("mid") is not None else None


def geomean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values))


def interval(values):
    """A t interval of the geometric mean over kernels."""
    if len(values) < 2:
        return math.nan, math.nan
    from scipy.stats import t

    logs = [math.log(v) for v in values]
    half = t.ppf(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    mid = statistics.fmean(logs)
    return math.exp(mid - half), math.exp(mid + half)


def table(mode, results):
    print(f"\n### {mode}\n\n| kernel | claimed | proven | 95 % interval | pairs | verdict |\n|---|---|---|---|---|---|")
    claimed, shipped = [], []
    for kernel, r in results:
        if r == "exact":
            print(f"| {kernel} | - | - | - | - | left out: exact parity admits no relaxation |")
            continue
        if r is None:
            print(f"| {kernel} | failed | - | - | - | - |")
            continue
        claimed.append(max(1, r["claimed"]))
        shipped.append(r["shipped"])
        g = r["gain"]
        between = f"{g['mid']:.3f} | {g['lo']:.3f} .. {g['hi']:.3f}" if g else "- | -"
        verdict = f"kept ({r['winner']})" if r["kept"] else f"rejected: {r['why']}"
        print(f"| {kernel} | {r['claimed']:.3f} | {between} | {r.get('pairs') or '-'} | {verdict} |")
    if not shipped:
        return
    lo, hi = interval(shipped)
    print(
        f"\nOver {len(shipped)} kernels, what is not kept counting as 1: claimed geometric mean {geomean(claimed):.3f},"
        f" median {statistics.median(claimed):.3f}; proven geometric mean {geomean(shipped):.3f}"
        f" (t interval over kernels {lo:.3f} .. {hi:.3f}), median {statistics.median(shipped):.3f}."
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--hone")
    p.add_argument("--work")
    p.add_argument("--evals", type=int)
    p.add_argument("--seed", type=int)
    p.add_argument("--modes")
    p.add_argument("--top")
    p.add_argument("--time")
    p.add_argument("kernels", nargs="+")
    args = p.parse_args()
    failed = False
    for mode in args.modes.split():
        results = [(kernel, measure(args, kernel, mode)) for kernel in args.kernels]
        table(mode, results)
        sys.stdout.flush()
        failed |= any(r is None for _, r in results)
    return failed


if __name__ == "__main__":
    sys.exit(main())
