#!/usr/bin/env python3
"""A model on a cluster of Ray Serve: two replicas behind one address. The cluster is the one that is running (`ray start --head`), else one on this
machine. usage: serve_ray.py [MODEL]   a GGUF file, an ONNX file, a library of `hone compile`; none: a small network with random weights"""
import json
import math
import os
import sys
import tempfile
import urllib.request

import hone

try:
    import ray
    import ray.serve
except ImportError:
    sys.exit("skipped: Ray Serve is not installed (pip install 'hone[serve]')")

PORT = 8123


def ask(url, body=None):
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


if not os.environ.get("RAY_ADDRESS"):
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

with tempfile.TemporaryDirectory() as folder:
    model = sys.argv[1] if len(sys.argv) > 1 else hone.generate("mlp", os.path.join(folder, "mlp.onnx"), dynamic=True)
    service = hone.serve_ray(model, replicas=2, num_cpus=0.5, threads=1, port=PORT)
    print(service.url, service.status())
    name = ask(service.url + "/v1/models")["data"][0]["id"]
    if str(model).endswith(".gguf"):
        print(ask(service.url + "/v1/completions", {"model": name, "prompt": "The sky is", "max_tokens": 8, "temperature": 0})["choices"][0]["text"])
    else:
        inputs = ask(f"{service.url}/v2/models/{name}")["inputs"]
        shapes = [[1 if d < 0 else d for d in x["shape"]] for x in inputs]
        body = {"inputs": [{"name": x["name"], "datatype": x["datatype"], "shape": s, "data": [0] * math.prod(s)} for x, s in zip(inputs, shapes)]}
        print(ask(f"{service.url}/v2/models/{name}/infer", body)["outputs"][0]["shape"])
    print(sum(service.status()["replicas"].values()), "replicas answer")
    service.delete()
ray.serve.shutdown()
ray.shutdown()
