"""`hone compile --precision mixed`: a chain of layers, two of which must not be narrow, and the user's own metric."""
import json
import os
import re
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper as h  # noqa: E402
from onnx import numpy_helper  # noqa: E402

HONE = os.environ.get("HONE", "hone")
WIDTH, LAYERS, SENSITIVE = 64, 6, ("l2", "l4")


def save(path, scale=1.0):
    """Layers beside each other, summed. What the sensitive ones read has one element in 64 that is a thousand times as large and
    meets weights of 0: its range leaves the others three steps of a byte."""
    rng = np.random.default_rng(0)
    nodes, weights, last = [], [], None
    for i in range(LAYERS):
        name = f"l{i}"
        w = scale * rng.standard_normal((WIDTH, WIDTH)).astype("f4")
        gain = np.ones(WIDTH, "f4")
        if name in SENSITIVE:
            gain[5], w[5] = 1000, 0
        weights += [numpy_helper.from_array(w, f"w{i}"), numpy_helper.from_array(gain, f"g{i}")]
        nodes += [h.make_node("Mul", ["x", f"g{i}"], [f"m{i}"]), h.make_node("MatMul", [f"m{i}", f"w{i}"], [f"y{i}"], name=name)]
        if last:
            nodes.append(h.make_node("Add", [last, f"y{i}"], [f"s{i}"]))
        last = f"s{i}" if last else f"y{i}"
    g = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, [8, WIDTH])], [h.make_tensor_value_info(last, T.FLOAT, [8, WIDTH])], weights)
    m = h.make_model(g, opset_imports=[h.make_opsetid("", 13)])
    m.ir_version = 8
    onnx.save(m, path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    save(folder / "m.onnx")
    np.savez(folder / "samples.npz", x=np.random.default_rng(1).standard_normal((16, 8, WIDTH)).astype("f4"))
    return folder


def call(folder, *arguments):
    fixed = ("--precision", "mixed", "--data", "samples.npz", "--calibrate", "minmax", "--no-smooth", "--threads", "1", "--no-parity")
    if "--points" not in arguments:
        fixed += ("--points", "12")
    return subprocess.run([HONE, "compile", "m.onnx", *fixed, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)


def run(folder, *arguments):
    done = call(folder, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def narrow_in(folder, name):
    products, text = {}, (folder / f"{name}.precision").read_text()
    for line in text.splitlines():
        key, _, value = line.strip().lstrip("- ").partition(": ")
        if key == "name":
            product = value.strip('"')
        elif key == "type":
            products[product] = value == "int8"
    assert 'kind: "mixed"' in text
    return products


def test_sensitive_layers_stay(folder):
    said = run(folder, "-o", "a", "--max-error", "5%", "--prove-latency")
    front, points = said["front"], said["front"]["points"]
    assert front["max_error"] == 0.05 and front["samples"] == 12 and front["held_out"] == 4 and front["known"] == 0
    assert len(points) >= 6 and points[0]["narrow"] == 0 and points[0]["error"] == 0
    assert [p["error"] for p in points] == sorted(p["error"] for p in points)
    chosen = next(p for p in points if p["chosen"])
    assert set(SENSITIVE) <= set(chosen["f32"]) and chosen["proven"] and chosen["held_bound"] <= 0.05
    time = said["precision"]["latency"]
    assert 0 < time["low"] <= time["ratio"] <= time["high"] and time["pairs"] >= 24
    assert points[-1]["error"] > 0.05 and not points[-1]["proven"], "all in bytes"
    assert {k for k, narrow in narrow_in(folder, "a").items() if not narrow} == set(chosen["f32"])
    assert abs(said["precision"]["outputs"][0]["rms"] - chosen["held_error"]) < 0.2 * chosen["held_error"] + 1e-6


def test_points_are_known_again(folder, tmp_path):
    (tmp_path / "samples.npz").write_bytes((folder / "samples.npz").read_bytes())
    save(tmp_path / "m.onnx")
    first = run(tmp_path, "-o", "a", "--front", "kept")["front"]
    with open(tmp_path / "kept", "a") as f:
        f.write("  - {ranges: minmax, narr")  # as if it had been killed
    again = run(tmp_path, "-o", "b", "--front", "kept")["front"]
    assert again["evaluated"] == 0 and again["known"] == first["evaluated"] and again["points"] == first["points"]
    assert (tmp_path / "kept").read_text().endswith("}\n")
    save(tmp_path / "m.onnx", 0.5)
    other = call(tmp_path, "--front", "kept", "-o", "c")
    assert other.returncode == 11 and "points of another model" in other.stderr
    refused = subprocess.run([HONE, "compile", "m.onnx", "--precision", "b.precision", "-o", "d"], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 11 and "has other weights" in refused.stderr


def tune(folder, *arguments):
    fixed = ("--precision", "mixed", "--data", "samples.npz", "--calibrate", "minmax", "--no-smooth", "--points", "12", "--threads", "1", "--budget", "4s",
             "--winners", "winners.db", "--json", "-q")
    done = subprocess.run([HONE, "tune", "m.onnx", *fixed, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def tune_file(folder, name, *arguments):
    done = subprocess.run([HONE, "tune", "m.onnx", "--precision", name, "--threads", "1", "--winners", "winners.db", "--json", "-q", *arguments], cwd=folder,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_tune_chooses_then_tunes_what_was_chosen(tmp_path):
    """The same search: points that `hone compile` evaluated beside the model are known. The kernels are those of the version that was chosen."""
    save(tmp_path / "m.onnx")
    np.savez(tmp_path / "samples.npz", x=np.random.default_rng(1).standard_normal((16, 8, WIDTH)).astype("f4"))
    made = run(tmp_path, "-o", "m", "--max-error", "5%", "--no-winners")["front"]
    said = tune(tmp_path, "--max-error", "5%")
    front, chosen = said["front"], next(p for p in said["front"]["points"] if p["chosen"])
    assert front["evaluated"] == 0 and 0 < front["known"] <= made["evaluated"] and front["held_out"] == 4
    assert said["precision_file"] == "m.precision" and said["products"] == LAYERS and said["narrow"] == chosen["narrow"]
    assert {k for k, narrow in narrow_in(tmp_path, "m").items() if not narrow} == set(chosen["f32"]) >= set(SENSITIVE)
    assert said["sample_sizes"] is None and said["precision"]["held_out"] and said["precision"]["samples"] == 4
    assert abs(said["precision"]["outputs"][0]["rms"] - chosen["held_error"]) < 0.2 * chosen["held_error"] + 1e-6
    (tmp_path / "half").write_text((tmp_path / "m.precision").read_text().replace("type: f32", "type: int8"))
    all_narrow = tune_file(tmp_path, "half", "--budget", "2s")
    assert all_narrow["precision_file"] == "half" and all_narrow["narrow"] == LAYERS and "front" not in all_narrow and "precision" not in all_narrow
    compiled = subprocess.run([HONE, "compile", "m.onnx", "--precision", "half", "--threads", "1", "--no-winners", "--no-parity", "-o", "all"], cwd=tmp_path,
                              capture_output=True)
    assert compiled.returncode == 0
    schedules = re.findall(r'schedule: "(.*)"', (tmp_path / "all.manifest").read_text())
    assert len(schedules) == len(all_narrow["kernels"]) and all(k["winner"] or k["schedule"] in schedules for k in all_narrow["kernels"])


def test_a_budget_ends_the_choice(tmp_path):
    """When it is over at once: f32, all in bytes and four more points by one way to take ranges; the same call then knows these."""
    save(tmp_path / "m.onnx")
    np.savez(tmp_path / "samples.npz", x=np.random.default_rng(1).standard_normal((16, 8, WIDTH)).astype("f4"))
    words = ("tune", "m.onnx", "--precision", "mixed", "--data", "samples.npz", "--threads", "1", "--winners", "winners.db", "--budget", "0.2s", "-q")
    done = subprocess.run([HONE, *words], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and f"0 of {LAYERS} products alone, 1 of 4 ways" in done.stdout and "time " in done.stdout, done.stderr + done.stdout
    whole = subprocess.run([HONE, "compile", *words[1:6], "--points", "4", "--no-winners", "-o", "m", "--json"], cwd=tmp_path, capture_output=True, text=True)
    front = json.loads(whole.stdout)["front"]
    assert not front["late"] and front["alone"] == LAYERS and front["known"] >= 2


def test_tune_is_measured_at_the_sizes_of_the_samples(tmp_path):
    save(tmp_path / "m.onnx")
    m = onnx.load(tmp_path / "m.onnx")
    for port in (*m.graph.input, *m.graph.output):
        port.type.tensor_type.shape.dim[0].dim_param = "rows"
    onnx.save(m, tmp_path / "m.onnx")
    np.savez(tmp_path / "samples.npz", x=np.random.default_rng(1).standard_normal((16, 5, WIDTH)).astype("f4"))
    said = tune(tmp_path, "--max-error", "0", "-o", "other")
    assert said["sample_sizes"] == "rows=5" and said["precision_file"] == "other.precision" and said["narrow"] == 0
    assert (tmp_path / "other.front").exists() and not (tmp_path / "m.precision").exists()
    def known(*size):  # without time for more; what was measured at other sizes is not known
        return sum(k["candidates"] for k in tune_file(tmp_path, "other.precision", "--budget", "0.1s", *size)["kernels"])
    for budget in ("16s", "64s"):  # a loaded machine measures nothing in the first seconds
        if not known("--size", "rows=5"):
            tune_file(tmp_path, "other.precision", "--budget", budget, "--size", "rows=5")
    assert known("--size", "rows=5") > 0 and known("--size", "rows=7") == 0


METRIC = """import array, pathlib, sys, zipfile
exact = array.array("f", open("exact", "rb").read())
worst, n = 0, %d
for f in pathlib.Path(sys.argv[1]).glob("*.npz"):
    z = zipfile.ZipFile(f)
    y = array.array("f", z.read(z.namelist()[0])[-4 * n:])
    at = int(f.stem) * n
    worst = max(worst, *(abs(a - b) for a, b in zip(y, exact[at:at + n])))
print("some words first")
print(1 + worst)
""" % (8 * WIDTH)


def test_own_metric(folder):
    (folder / "metric.py").write_text(METRIC)
    m = onnx.load(folder / "m.onnx")
    w = {t.name: numpy_helper.to_array(t) for t in m.graph.initializer}
    x = np.load(folder / "samples.npz")["x"]
    (folder / "exact").write_bytes(sum((x * w[f"g{i}"]) @ w[f"w{i}"] for i in range(LAYERS)).astype("f4").tobytes())
    front = run(folder, "-o", "own", "--points", "3", "--metric", f"{sys.executable} -SE metric.py")["front"]
    f32 = front["points"][0]
    assert 1 <= f32["error"] < 1.001 and abs(front["max_error"] - 1.01 * f32["error"]) < 1e-9
    assert front["points"][-1]["error"] > 2 and not front["points"][-1]["proven"]
    tight = run(folder, "-o", "own", "--points", "3", "--metric", f"{sys.executable} -SE metric.py", "--max-error", "0.5")["front"]
    assert tight["evaluated"] == 0 and next(p for p in tight["points"] if p["chosen"])["narrow"] == 0, "not even f32 is within"


FAILS = [("exit 3 #", "ended with exit code 3"), ("echo nan #", "gives nan")]
MORE_FAILS = [("echo no number #", "is 'no number'"), ("true", "is ''"), ("kill -9 $$ #", "ended by signal 9")]


@pytest.mark.parametrize("command, says", [*FAILS, *(MORE_FAILS if os.environ.get("HONE_LONG") else [])])
def test_a_metric_that_fails(folder, command, says):
    done = call(folder, "--metric", command, "-o", "fails")
    assert done.returncode == 1 and says in done.stderr and "the metric" in done.stderr, done.stderr
    assert not (folder / "fails.so").exists()


def test_a_metric_that_does_not_end(folder, tmp_path):
    """What it started ends with it, also what left its session."""
    started = tmp_path / "started"
    command = f"setsid sh -c 'echo $$ > {started}; exec sleep 1000' & sleep 1000 #"
    done = call(folder, "--metric", command, "--metric-limit", "2s", "-o", "fails")
    assert done.returncode == 15 and "ran for more than 2 s" in done.stderr and "--metric-limit" in done.stderr, done.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
