#!/usr/bin/env python3
"""One objective: the smallest value of a function of three parameters. usage: single_objective.py [EVALUATIONS]"""
import sys

import hone.space as ss
from hone import Search, SearchConfiguration


def objective(config):
    penalty = 5 if config.get("extra") == "slow" else 0  # absent half of the time: knockout_prob
    return config["x"] ** 2 + config["y"] + penalty


search = Search(
    objective_function=objective,
    search_space={
        "x": ss.range(start=1.0, end=20.0, step=0.5),
        "y": ss.choice([1, 2, 3]),
        "extra": ss.literal("slow", knockout_prob=0.5),
    },
    search_config=SearchConfiguration(max_evals=int(sys.argv[1]) if len(sys.argv) > 1 else 480, pool_size=32, seed=1),
)
results = search.start()
best = results.get_best_result()
print(f"{len(results)} evaluations, best {best.score} at {best.config}")
