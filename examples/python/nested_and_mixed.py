#!/usr/bin/env python3
"""Nested dicts with a condition and a constraint; then a list that mixes a dict of one's own with a compiler's flags.
usage: nested_and_mixed.py [EVALUATIONS]"""
import subprocess
import sys
import tempfile
from pathlib import Path

import hone.space as ss
from hone import Search

evals = int(sys.argv[1]) if len(sys.argv) > 1 else 40

space = ss.space(
    {
        "loop": {"tile": ss.log_sampling(4, 256), "unroll": ss.ordinal([1, 2, 4, 8])},
        "pack": ss.flag(),
        "pad": ss.choice([0, 16, 64], when="pack"),
    },
    constraints=["loop.unroll <= loop.tile"],
)


def imaginary(config):
    loop = config["loop"]
    return abs(loop["tile"] - 48) + 8 / loop["unroll"] + (0 if config["pack"] and config["pad"] == 16 else 5)


best = Search(imaginary, space, max_evals=evals, seed=1).run()
print("nested:", best.score, best.config)

# The size of a program, by its own parameter and gcc's flags together.
SOURCE = "int f(int x) { int s = 0; for (int i = 0; i < N; i++) s += x * i ^ s; return s; }"


def size_b(config):
    own, flags = config
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "f.o")
        command = ["gcc", *flags, f"-DN={own['n']}", "-xc", "-c", "-", "-o", str(out)]
        subprocess.run(command, input=SOURCE, text=True, check=True, capture_output=True)
        return out.stat().st_size


mixed = [{"n": ss.ordinal([4, 16, 64])}, ss.compiler("gcc")]
best = Search(size_b, mixed, max_evals=evals, seed=1).run(num_workers=2, task_timeout=30)
print("mixed:", best.score, "bytes with", best.config[0], str(best.config[1])[:100])
