#!/usr/bin/env python3
"""A model: compiled, run on arrays, timed, verified, saved and loaded. usage: model.py [MODEL.onnx]"""
import sys

import numpy as np

import hone

path = sys.argv[1] if len(sys.argv) > 1 else hone.generate("mlp", "mlp.onnx", dynamic=True)
m = hone.compile(path, progress=lambda stage, done, total: print(f"\r\033[K{stage} {done}/{total}", end="", file=sys.stderr))
print(file=sys.stderr)
print(m)

inputs = m.random_inputs(seed=1)
outputs = m.run(inputs)
print({name: (y.shape, str(y.dtype)) for name, y in outputs.items()})

print(m.bench(inputs, seconds=0.5))
print(m.profile(inputs, seconds=0.5, threads=1))
print(m.verify())

loaded = hone.load(m.save("out/model.so"))
for name, y in loaded.run(inputs).items():
    assert np.array_equal(y, outputs[name])
