"""hone.choose_precision, and the precision of hone.compile and hone.tune_model: the same choices as the command line makes."""
import json
import os
import subprocess
import sys

import hone
import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

HONE = os.environ.get("HONE") or os.path.join(os.environ.get("HONE_BUILD", "build"), "hone")
WIDTH, LAYERS = 64, 3
RNG = np.random.default_rng(3)


@pytest.fixture
def model(tmp_path):
    """Three products side by side, the first of which has columns that stand out; a name for a size that is not fixed."""
    nodes, kept = [], []
    for i in range(LAYERS):
        w = RNG.standard_normal((WIDTH, WIDTH)).astype("f4") / 8
        w[:, 0] *= 1 if i else 1000
        kept.append(numpy_helper.from_array(w, f"w{i}"))
        nodes.append(helper.make_node("MatMul", ["x", f"w{i}"], [f"y{i}"], name=f"m{i}"))
    nodes.append(helper.make_node("Sum", [f"y{i}" for i in range(LAYERS)], ["y"]))
    port = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", WIDTH]) for name in "xy"]
    m = helper.make_model(helper.make_graph(nodes, "m", port[:1], port[1:], kept), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(m, tmp_path / "m.onnx")
    np.savez(tmp_path / "samples.npz", x=RNG.standard_normal((12, 5, WIDTH)).astype("f4"))
    return tmp_path


def samples(folder):
    return np.load(folder / "samples.npz")["x"]


def test_int8_is_the_choice_of_the_command(model):
    chosen = hone.choose_precision(model / "m.onnx", "int8", model / "samples.npz")
    assert (chosen.kind, chosen.products, chosen.narrow, chosen.front) == ("int8", LAYERS, LAYERS, [])
    done = subprocess.run([HONE, "compile", "m.onnx", "--precision", "int8", "--data", "samples.npz", "-o", "m", "--no-winners"], cwd=model, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    assert chosen.text == (model / "m.precision").read_text()
    for data in ({"x": samples(model)}, samples(model)):
        assert hone.choose_precision(model / "m.onnx", "int8", data).text == chosen.text
    path = chosen.save(model / "own.precision")
    x = samples(model)[3]
    exact = hone.compile(model / "m.onnx", use_winners=False)(x)
    answers = [hone.compile(model / "m.onnx", precision=p, use_winners=False)(x) for p in (chosen, path, str(path))]
    assert all(np.array_equal(a, answers[0]) for a in answers) and not np.array_equal(answers[0], exact)
    assert np.abs(answers[0] - exact).max() < 0.02 * np.abs(exact).max()


def test_half_needs_no_samples(model):
    chosen = hone.choose_precision(model / "m.onnx", "bf16")
    assert chosen.narrow == LAYERS and "bf16" in chosen.text
    assert hone.choose_precision(model / "m.onnx", "bf16", symbols={"n": 5}).narrow == LAYERS


def test_mixed_with_a_metric_of_python(model):
    x, seen, stages = samples(model), [], []
    exact = hone.compile(model / "m.onnx", use_winners=False)
    exact = [exact(s) for s in x]

    def worst(outputs):
        seen.append(sorted(outputs))
        return 1 + max(float(np.abs(out["y"] - exact[i]).max()) for i, out in outputs.items())

    words = {"calibrate": "minmax", "points": 2, "threads": 1}
    chosen = hone.choose_precision(model / "m.onnx", "mixed", x, metric=worst, max_error="105%", front=model / "kept", **words,
                                   callback=lambda stage, done, total: stages.append(stage))
    assert chosen.max_error == 1.05 and chosen.products == LAYERS and not chosen.late and chosen.alone == LAYERS
    assert [0, 1, 2, 4, 5, 6, 8, 9, 10] in seen and {"samples", "products", "proof"} <= set(stages)
    points = chosen.front
    assert points[0]["narrow"] == 0 and abs(points[0]["error"] - 1) < 1e-3 and sum(p["chosen"] for p in points) == 1
    assert all(p["held_error"] >= 1 for p in points) and "narrow" in str(chosen)
    again = hone.choose_precision(model / "m.onnx", "mixed", x, metric=worst, max_error=0.5, front=model / "kept", **words)
    assert again.evaluated == 0 and again.known == chosen.evaluated and again.narrow == 0, "not even f32 is within"


@pytest.mark.parametrize("metric, error, says", [
    (lambda outputs: 1 / 0, ZeroDivisionError, "division"), (lambda outputs: float("nan"), ValueError, "nan"),
    (f"{sys.executable} -SEc 'print(\"no\")'", hone.FailedError, "one number"), ("exit 3 #", hone.FailedError, "exit code 3")])  # fmt: skip
def test_a_metric_that_fails(model, metric, error, says):
    with pytest.raises(error, match=says):
        hone.choose_precision(model / "m.onnx", "mixed", samples(model), metric=metric, calibrate="minmax", points=1)


@pytest.mark.parametrize("precision, data, options, error, says", [
    ("int4", None, {}, hone.UsageError, "'mixed', 'int8' or 'bf16'"),
    ("int8", None, {}, hone.UsageError, "give data="),
    ("mixed", np.zeros((4, 5, WIDTH), "f4"), {}, hone.UsageError, "8 samples or more"),
    ("int8", {"z": np.zeros((8, 5, WIDTH), "f4"), "zz": np.zeros(3, "f4")}, {}, hone.InputError, "no array 'x'"),
    ("int8", np.zeros((8, 5, 3), "f4"), {}, hone.InputError, r"f32\[8, 5, 3\]"),
    ("int8", np.zeros((8, 5, WIDTH), "f4"), {"max_error": "much"}, hone.UsageError, "0.01 or '1%'"),
    ("int8", np.zeros((8, 5, WIDTH), "f4"), {"colour": 1}, TypeError, "no option 'colour'"),
    ("int8", np.zeros((8, 5, WIDTH), "f4"), {"metric": len}, hone.UsageError, "goes with precision 'mixed'"),
    ("int8", "no-such.npz", {}, hone.IOFailure, "no-such.npz")])  # fmt: skip
def test_what_is_wrong_is_said(model, precision, data, options, error, says):
    with pytest.raises(error, match=says):
        hone.choose_precision(model / "m.onnx", precision, data, **options)


def test_tune_chooses_first(model):
    events = []
    tuned = hone.tune_model(model / "m.onnx", "1s", precision="mixed", data=model / "samples.npz", max_error="5%", calibrate="minmax", points=2, threads=1,
                            winners=model / "w.db", sizes={"n": 5}, callback=lambda e: events.append(e.stage))
    assert events[0] == "precision" and "profile" in events
    assert tuned.precision_file == model / "m.precision" and tuned.precision_file.read_text() == tuned.precision.text
    assert (model / "m.front").exists() and tuned.precision.products == LAYERS
    assert tuned.judged["held_out"] and tuned.judged["samples"] == 3 and tuned.judged["outputs"][0]["name"] == "y"
    held = next(p for p in tuned.precision.front if p["chosen"])["held_error"]
    assert abs(tuned.judged["outputs"][0]["rms"] - held) < 0.2 * held + 1e-6
    again = hone.tune_model(model / "m.onnx", "0.1s", precision=tuned.precision_file, threads=1, winners=model / "w.db", sizes="n=5")
    assert again.precision.kind == "file" and again.precision.text == tuned.precision.text and again.judged is None
    said = json.loads(subprocess.run([HONE, "tune", "m.onnx", "--precision", "m.precision", "--budget", "0.1s", "--threads", "1", "--winners", "w.db", "--size",
                                      "n=5", "-q", "--json"], cwd=model, capture_output=True, text=True).stdout)
    assert sorted(k["shape"] for k in said["kernels"]) == sorted(k["shape"] for k in again.kernels), "the same version"


@pytest.mark.parametrize("options, says", [
    ({"data": "samples.npz"}, "go with precision="), ({"max_error": 0.1}, "go with precision="), ({"precision": "int8"}, "give data="),
    ({"precision": "bf16", "prove_latency": True}, "goes with data="), ({"precision": "bf16", "key": "k"}, "is not signed")])  # fmt: skip
def test_options_that_do_not_go_together(model, options, says):
    with pytest.raises(hone.UsageError, match=says):
        hone.tune_model(model / "m.onnx", "1s", **options)
