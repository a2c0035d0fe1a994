"""What the tests of deployments share: versions of a small model, clients that ask all the time, the commands."""

import atexit
import concurrent.futures
import functools
import http.client
import json
import os
import shutil
import subprocess
import tempfile
import threading

import pytest

np = pytest.importorskip("numpy")
test_serve = pytest.importorskip("test_serve")
HONE = test_serve.HONE
X = np.arange(8, dtype=np.float32).reshape(2, 4)


@functools.lru_cache(maxsize=None)
def compiled(folder, content, shape):
    path = os.path.join(folder, f"{hash((content, shape)) & 0xffffffff:x}")
    save(path + ".onnx", np.frombuffer(content, np.float32).reshape(shape))
    subprocess.run([HONE, "compile", path + ".onnx", "-o", path + ".so", "--threads", "1", "--no-parity"], check=True, capture_output=True)
    return path


@functools.lru_cache(maxsize=None)
def folder():
    made = tempfile.mkdtemp(prefix="hone-deploying-")
    atexit.register(shutil.rmtree, made, True)
    return made


def write(path, weights):
    """y = x W as a library, where the path ends so, else as ONNX; returns what it answers for X."""
    if str(path).endswith(".so"):
        made = compiled(folder(), weights.astype(np.float32).tobytes(), weights.shape)
        shutil.copy(made + ".so", str(path) + ".new")
        os.replace(str(path) + ".new", path)
        if os.path.exists(made + ".weights"):
            shutil.copy(made + ".weights", str(path)[:-3] + ".weights")
    else:
        save(path, weights)
    return X @ weights if len(weights) == 4 else None


def save(path, weights):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto as T, helper as h

    x, y = h.make_tensor_value_info("x", T.FLOAT, ["batch", len(weights)]), h.make_tensor_value_info("y", T.FLOAT, ["batch", weights.shape[1]])
    graph = h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [onnx.numpy_helper.from_array(weights, "w")])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)]), str(path))


def run(server, *arguments, code=0):
    """A command on the server's admin socket; its JSON, or what it said where it fails."""
    done = subprocess.run([HONE, *arguments, "--port", str(server.port), "--json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout) if code == 0 else done.stderr


class Clients:
    """Some that ask a model of tensors again and again, over connections that stay open, until they are stopped."""

    def __init__(self, port, name="m", n=3):
        self.port, self.body, self.path = port, json.dumps({"inputs": [{"name": "x", "shape": [2, 4], "datatype": "FP32", "data": X.tolist()}]}), f"/v2/models/{name}/infer"
        self.told, self.failed, self.over = [], [], threading.Event()
        self.pool = concurrent.futures.ThreadPoolExecutor(n)
        self.work = [self.pool.submit(self.ask) for _ in range(n)]

    def ask(self):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.over.is_set():
            c.request("POST", self.path, self.body)
            r = c.getresponse()
            told = json.loads(r.read())
            if r.status == 200:
                self.told.append((told["model_version"], tuple(told["outputs"][0]["data"])))
            else:
                self.failed.append((r.status, told))
        c.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        for w in self.work:
            w.result(60)


def environment(folder):
    """Servers and commands have their sockets and their cache there."""
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
