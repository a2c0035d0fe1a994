#!/usr/bin/env python3
"""Two objectives and a limit: the trade-off between time and memory of an imaginary blocked loop.
usage: multiple_objectives.py [EVALUATIONS]"""
import sys

import hone.space as ss
from hone import Search


def cost(config):
    tile, threads = config["tile"], config["threads"]
    seconds = 100 / threads + 40 / tile + 0.02 * tile * threads
    memory_mb = tile * tile * threads / 64
    watts = 20 + 12 * threads
    return {"seconds": seconds, "memory_mb": memory_mb, "watts": watts}


search = Search(
    cost,
    {"tile": ss.ordinal([4, 8, 16, 32, 64, 128]), "threads": ss.range(1, 16)},
    num_objectives=2,
    objectives=["seconds", "memory_mb"],
    directions=["min", "min"],
    constraints=["watts <= 150"],
    max_evals=int(sys.argv[1]) if len(sys.argv) > 1 else 60,
    seed=1,
)
results = search.start()
for trial in sorted(results.pareto_front(), key=lambda t: t.values):
    seconds, memory = trial.values
    print(f"{seconds:7.2f} s  {memory:8.1f} MB  {trial.config}")
assert all(trial.config["threads"] <= 10 for trial in results.pareto_front())
