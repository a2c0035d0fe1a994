#!/usr/bin/env python3
"""Evaluations on a Ray cluster (https://docs.ray.io): the one that is running (`ray start --head`), else one on this machine.
usage: ray_cluster.py [EVALUATIONS]"""
import os
import sys

try:
    import ray
except ImportError:
    sys.exit("skipped: Ray is not installed (pip install 'hone[ray]')")

import hone.space as ss
from hone import Search
from hone.workers.on_ray import RayWorker

if not os.environ.get("RAY_ADDRESS"):
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)


def objective(config):
    return (config["x"] - 12) ** 2 + os.getpid() * 0  # runs on some node


evals = int(sys.argv[1]) if len(sys.argv) > 1 else 40
worker = RayWorker(num_cpus=1)  # num_gpus=1 where an evaluation needs one
print(Search(objective, {"x": ss.range(0, 50)}, max_evals=evals, seed=1).run(num_workers=2, worker=worker))
ray.shutdown()
