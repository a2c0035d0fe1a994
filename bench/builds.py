"""Times what two builds of hone compile and search, in turns. See bench/builds.sh."""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np


class Build:
    """One program `hone` with a cache and a data folder of its own, so that neither sees what the other left."""

    def __init__(self, name, program, out):
        self.name, self.program = name, str(Path(program).resolve())
        self.folder = out / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.env = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data"), "XDG_CACHE_HOME": str(self.folder / "cache")}

    def __call__(self, *words):
        done = subprocess.run([self.program, *map(str, words)], env=self.env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{self.name}: hone {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    def library(self, model):
        library = self.folder / f"{model.stem}.so"
        if not library.exists() or library.stat().st_mtime < Path(self.program).stat().st_mtime:
            self("compile", model, "-o", library.with_suffix(""), "--no-winners")
        return library


def interval(ratios):
    """Median and the bootstrap's 95 % interval of it."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(2000))
    return statistics.median(ratios), medians[50], medians[1949]


def turns(builds, rounds, measure):
    """Ratios after / before of `measure`, one a round, each round in random order; and all values by build."""
    order = random.Random(2)
    values = {b.name: [] for b in builds}
    for _ in range(rounds):
        for build in order.sample(builds, len(builds)):
            values[build.name].append(measure(build))
    return [a / b for a, b in zip(values["after"], values["before"])], values


def p50(build, library, threads, time):
    said = json.loads(build("bench", library, "--threads", threads, "--time", time, "--json"))["results"][0]
    return said["p50_s"] if "p50_s" in said else said["p50_ms"] / 1e3


def compare(builds, args, what, model, threads):
    libraries = {b.name: b.library(model) for b in builds}
    ratios, values = turns(builds, args.rounds, lambda b: p50(b, libraries[b.name], threads, args.time))
    middle, low, high = interval(ratios)
    before, after = (1e3 * statistics.median(values[n]) for n in ("before", "after"))
    print(f"| {what} | {threads} | {before:.4g} | {after:.4g} | {middle:.3f} ({low:.3f} .. {high:.3f}) |", flush=True)
    return middle


def product(path, m, n, k):
    import onnx
    from onnx import helper, numpy_helper
    draw = np.random.default_rng(1)
    weights = draw.standard_normal((k, n), dtype=np.float32)
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
                              [helper.make_tensor_value_info("x", kind, [m, k])],
                              [helper.make_tensor_value_info("y", kind, [m, n])], [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def timed(builds, args, out):
    print("| what | threads | before, ms | after, ms | after / before |\n|---|---|---|---|---|")
    middles = []
    for name in args.models.split():
        model = out / f"{name}.onnx"
        if not model.exists():
            builds[0]("gen", name, model)
        middles += [compare(builds, args, name, model, t) for t in args.threads.split()]
    for shape in args.shapes.split():
        model = out / f"product-{shape}.onnx"
        if not model.exists():
            product(model, *map(int, shape.split("x")))
        middles.append(compare(builds, args, f"product {shape}", model, 1))
    if middles:
        print(f"\nmedian ratio {statistics.median(middles):.3f}, worst {max(middles):.3f}, best {min(middles):.3f}\n")


def searched(builds, args):
    spaces = args.spaces.split()
    if not spaces:
        return
    print("| recorded space | before: score after 200 | after | the same |\n|---|---|---|---|")
    for space in spaces:
        found = {b.name: json.loads(b("replay", space, "--seeds", args.seeds, "--curve", "--json")) for b in builds}
        score = {name: f["fraction_of_best"]["200"] for name, f in found.items()}
        same = found["before"]["curve"] == found["after"]["curve"]
        print(f"| {Path(space).name} | {score['before']:.4f} | {score['after']:.4f} | {'every step' if same else 'no'} |", flush=True)
    print()


def rated(builds, args, out):
    if not args.rate:
        return
    model = out / "product-128x768x768.onnx"
    if not model.exists():
        product(model, 128, 768, 768)

    def rate(build):
        words = ("tune", model, "--new", "--exhaust", "--winners", build.folder / "rate.db", "--budget", args.rate, "--json")
        return json.loads(build(*words))["candidates_per_s"]
    ratios, values = turns(builds, max(3, args.rounds // 2), rate)
    middle, low, high = interval(ratios)
    print(f"tuning a product of 128x768x768, candidates per second: before {statistics.median(values['before']):.1f}, "
          f"after {statistics.median(values['after']):.1f}, after / before {middle:.3f} ({low:.3f} .. {high:.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("after", "before", "out", "time", "threads", "models", "shapes", "spaces", "rate"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("rounds", "seeds"):
        parser.add_argument(f"--{name}", type=int, required=True)
    args = parser.parse_args()
    out = Path(args.out)
    builds = [Build("before", args.before, out), Build("after", args.after, out)]
    timed(builds, args, out)
    searched(builds, args)
    rated(builds, args, out)


if __name__ == "__main__":
    sys.exit(main())
