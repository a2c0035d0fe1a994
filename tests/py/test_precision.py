"""`hone compile --precision int8`: a classifier of images whose last layer is fitted, chosen on samples and judged on others."""
import json
import os
import subprocess

import hone
import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper as h  # noqa: E402
from onnx import numpy_helper  # noqa: E402

HONE = os.environ.get("HONE", "hone")
CLASSES = 16


def images(n, seed):
    """Each class a smooth pattern of its own, shifted in brightness, and noise."""
    pattern = np.kron(np.random.default_rng(0).standard_normal((CLASSES, 3, 4, 4)), np.ones((4, 4)))
    rng = np.random.default_rng(seed)
    label = rng.integers(0, CLASSES, n)
    x = pattern[label] * rng.uniform(0.7, 1.3, (n, 1, 1, 1)) + 0.5 * rng.standard_normal((n, 3, 16, 16))
    return x.astype("f4"), label


def network(w):
    nodes = [h.make_node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1], name="first"), h.make_node("Relu", ["a"], ["b"]),
             h.make_node("Conv", ["b", "w2"], ["c"], pads=[1, 1, 1, 1], name="second"), h.make_node("Relu", ["c"], ["d"]),
             h.make_node("MaxPool", ["d"], ["e"], kernel_shape=[2, 2], strides=[2, 2]), h.make_node("Flatten", ["e"], ["f"])]
    out = ["f", 2048]
    if "w3" in w:
        nodes.append(h.make_node("Gemm", ["f", "w3", "b3"], ["y"], name="last"))
        out = ["y", CLASSES]
    g = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, ["n", 3, 16, 16])],
                     [h.make_tensor_value_info(out[0], T.FLOAT, ["n", out[1]])], [numpy_helper.from_array(v, k) for k, v in w.items()])
    m = h.make_model(g, opset_imports=[h.make_opsetid("", 13)])
    m.ir_version = 8
    return m


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """The folder of m.onnx, whose last layer is least squares on what the two convolutions of random weights give, and samples."""
    folder = tmp_path_factory.mktemp("precision")
    rng = np.random.default_rng(1)
    w = {"w1": rng.standard_normal((32, 3, 3, 3)).astype("f4") / 5, "w2": rng.standard_normal((32, 32, 3, 3)).astype("f4") / 17}
    w["w2"][5] *= 30  # a column that stands out
    x, label = images(400, 2)
    features = hone.compile(network(w), target="native", threads=1)(x)
    design = np.c_[features, np.ones(len(x))].astype("f8")
    best = np.linalg.solve(design.T @ design + 10 * np.eye(design.shape[1]), design.T @ np.eye(CLASSES)[label])
    w["w3"], w["b3"] = best[:-1].astype("f4"), best[-1].astype("f4")
    onnx.save(network(w), folder / "m.onnx")
    np.savez(folder / "samples.npz", x=x[:32])
    return folder


def run(folder, *arguments):
    done = subprocess.run([HONE, *arguments, "--threads", "1", "--no-parity"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def answers(library, x):
    return hone.load(str(library), threads=1)(x)


def test_answers_stay(fitted):
    said = json.loads(run(fitted, "compile", "m.onnx", "--precision", "int8", "--data", "samples.npz", "-o", "narrow", "--json"))["precision"]
    assert said["held_out"] and said["samples"] == 8 and said["outputs"][0]["rms"] < 0.03
    run(fitted, "compile", "m.onnx", "-o", "exact")
    x, label = images(300, 3)
    y, z = answers(fitted / "narrow.so", x), answers(fitted / "exact.so", x)
    assert (z.argmax(1) == label).mean() > 0.95, "the model itself"
    assert (y.argmax(1) == z.argmax(1)).mean() >= 0.99
    assert 1e-4 < np.sqrt(((y - z) ** 2).mean() / (z**2).mean()) < 0.03


def test_a_choice_is_kept_and_taken_again(fitted):
    run(fitted, "compile", "m.onnx", "--precision", "int8", "--data", "samples.npz", "-o", "one", "--calibrate", "percentile", "--percentile", "99.9")
    text = (fitted / "one.precision").read_text()
    assert [line.split()[-1] for line in text.splitlines() if "name:" in line] == ['"second"', '"last"'], "the first has few weights"
    assert "narrow: 2" in (fitted / "one.manifest").read_text()
    run(fitted, "compile", "m.onnx", "--precision", "one.precision", "-o", "two")
    x, _ = images(20, 4)
    assert (answers(fitted / "one.so", x) == answers(fitted / "two.so", x)).all()
    assert (fitted / "two.precision").read_text() == text
    (fitted / "edited").write_text(text.replace("int8\n    scale", "f32\n    scale"))
    run(fitted, "compile", "m.onnx", "--precision", "edited", "-o", "three")
    assert np.allclose(answers(fitted / "three.so", x), hone.compile(str(fitted / "m.onnx"), threads=1)(x), atol=1e-5)


@pytest.mark.parametrize("how", ["mse", "minmax", "percentile", "entropy"] if os.environ.get("HONE_LONG") else ["minmax", "entropy"])
def test_every_calibration(fitted, how):
    said = json.loads(run(fitted, "verify", "m.onnx", "--precision", "int8", "--data", "samples.npz", "--calibrate", how, "--json"))
    assert said["narrow"] == 2 and said["precision"]["outputs"][0]["rms"] < 0.06


def test_two_axes_more_are_refused(fitted, tmp_path):
    np.savez(tmp_path / "wrong.npz", x=np.zeros((2, 3, 16, 15), "f4"))
    np.savez(tmp_path / "name.npz", x=np.zeros((2, 3, 16, 16), "f4"), y=np.zeros(1, "f4"))
    np.savez(tmp_path / "double.npz", x=np.zeros((2, 3, 16, 16)))
    for name in ("wrong", "double"):
        done = subprocess.run([HONE, "compile", "m.onnx", "--precision", "int8", "--data", str(tmp_path / f"{name}.npz")], cwd=fitted,
                              capture_output=True, text=True)
        assert done.returncode == 3 and "the array for input 'x' is" in done.stderr


@pytest.mark.optimised
@pytest.mark.parametrize("rows", [1, 7, 40])
def test_sums_of_bytes_do_not_saturate(rows):
    """The largest products there are, of both signs, and random ones: exact on every processor."""
    rng = np.random.default_rng(rows)
    w = rng.integers(-128, 128, (512, 48)).astype("i1")
    w[:, :2], w[:, 2:4], w[1::2, 5] = -128, 127, 127
    g = h.make_graph([h.make_node("MatMulInteger", ["x", "w", "zero"], ["y"])], "g", [h.make_tensor_value_info("x", T.UINT8, [rows, 512])],
                     [h.make_tensor_value_info("y", T.INT32, [rows, 48])], [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.array(3, "u1"), "zero")])
    m = h.make_model(g, opset_imports=[h.make_opsetid("", 13)])
    m.ir_version = 8
    run_it = hone.compile(m, threads=1)
    for x in (np.full((rows, 512), 255, "u1"), np.zeros((rows, 512), "u1"), rng.integers(0, 256, (rows, 512)).astype("u1")):
        assert (run_it(x) == (x.astype("i4") - 3) @ w.astype("i4")).all()


def to_bf16(x):
    """Rounded to nearest even, as floats."""
    bits = np.ascontiguousarray(x, "f4").view("u4")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view("f4")


def has_pairs():
    """Does this processor multiply pairs of bf16?"""
    with open("/proc/cpuinfo") as f:
        return "avx512_bf16" in f.read()


def with_rates(folder, bf16, f32="1e11"):
    """An environment in which this machine was measured: multiply-adds a second, of f32 and of pairs of bf16. `cc` makes a program that says so."""
    cc = folder / "cc"
    cc.write_text("#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\n"
                  f"printf '#!/bin/sh\\necho f32_flops {f32}\\necho bf16_flops {bf16}\\n' > \"$2\"\nchmod +x \"$2\"\n")
    cc.chmod(0o755)
    env = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
    said = subprocess.run([HONE, "doctor", "--measure", "--cc", str(cc), "--json"], env=env, capture_output=True, text=True)
    assert json.loads(said.stdout)["device"]["bf16_flops"] == float(bf16), said.stderr
    return env


@pytest.mark.parametrize("target, rate", [("generic", None), ("native", None), ("native", "2e11"), ("native", "5e10"), ("x86-64-v4-vnni", "2e11")])
def test_bf16(fitted, tmp_path, target, rate):
    """Both operands are rounded once, to even where they lie between two (257, 259 …); sums are of f32: exact, as these fit. Pairs are multiplied by
    the instruction where the target has it and it is faster."""
    if rate and not has_pairs():
        pytest.skip("this processor has no AVX512_BF16")
    env = with_rates(tmp_path, rate) if rate else None
    rng = np.random.default_rng(5)
    w = {"c": rng.integers(-300, 300, (32, 16, 3, 3)).astype("f4"), "m": rng.integers(-300, 300, (641, 70)).astype("f4")}
    nodes = [h.make_node("Conv", ["a", "c"], ["y"], pads=[1, 1, 1, 1], name="conv"), h.make_node("MatMul", ["b", "m"], ["z"], name="fc")]
    info = h.make_tensor_value_info
    g = h.make_graph(nodes, "g", [info("a", T.FLOAT, [1, 16, 6, 6]), info("b", T.FLOAT, [7, 641])],
                     [info("y", T.FLOAT, [1, 32, 6, 6]), info("z", T.FLOAT, [7, 70])], [numpy_helper.from_array(v, k) for k, v in w.items()])
    m = h.make_model(g, opset_imports=[h.make_opsetid("", 13)])
    m.ir_version = 8
    onnx.save(m, tmp_path / "m.onnx")
    subprocess.run([HONE, "compile", "m.onnx", "-t", target, "--precision", "bf16", "-o", "half"], cwd=tmp_path, check=True, capture_output=True, env=env)
    assert (tmp_path / "half.precision").read_text().count("type: bf16") == 2
    manifest = (tmp_path / "half.manifest").read_text()
    assert "kind: bf16" in manifest and "differs" not in manifest
    if rate:
        by_instruction = target == "native" and rate == "2e11"
        assert manifest.count(" pairs=1") == 2 * by_instruction, manifest
        assert manifest.count(" pairs=0") == 2 * (not by_instruction), manifest
    elif target == "generic":
        assert " pairs=" not in manifest
    a, b = (np.where(rng.random(n) < 0.2, rng.integers(257, 300, n), rng.integers(-3, 4, n)).astype("f4") for n in ((1, 16, 6, 6), (7, 641)))
    got = hone.load(str(tmp_path / "half.so"), threads=1).run({"a": a, "b": b})
    assert (to_bf16(w["m"]) != w["m"]).any() and (to_bf16(b) != b).any()
    exact = to_bf16(b).astype("f8") @ to_bf16(w["m"]).astype("f8")
    assert abs(exact).max() < 2**24 and (got["z"] == exact).all()
    padded, c = np.pad(to_bf16(a)[0].astype("f8"), ((0, 0), (1, 1), (1, 1))), to_bf16(w["c"]).astype("f8")
    conv = sum(np.einsum("oc,chw->ohw", c[:, :, i, j], padded[:, i:i + 6, j:j + 6]) for i in range(3) for j in range(3))
    assert abs(conv).max() < 2**24 and (got["y"][0] == conv).all()


def test_bf16_of_a_model(fitted, tmp_path):
    run(fitted, "compile", "m.onnx", "--precision", "bf16", "-o", str(tmp_path / "half"))
    said = json.loads(run(fitted, "verify", "m.onnx", "--precision", str(tmp_path / "half.precision"), "--data", "samples.npz", "--json"))
    assert said["narrow"] == 2 and 1e-5 < said["precision"]["outputs"][0]["rms"] < 0.006
    text = (tmp_path / "half.precision").read_text()
    (tmp_path / "one").write_text(text.replace("type: bf16", "type: f32", 1))
    run(fitted, "compile", "m.onnx", "--precision", str(tmp_path / "one"), "-o", str(tmp_path / "one"))
    assert "narrow: 1" in (tmp_path / "one.manifest").read_text()


@pytest.mark.parametrize("kind", ["int8", "bf16", None])
def test_kernels_beyond_the_peak_of_the_table_are_tuned(tmp_path, kind):
    """On a machine whose multiply-adds of f32 are slow, as its table has it, products in fewer bits are faster than these could be, and so are those of
    f32 if the table is wrong. That is no reason to take them for perfect, nor for impossible."""
    rng = np.random.default_rng(3)
    g = h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"], name="fc")], "g", [h.make_tensor_value_info("x", T.FLOAT, [32, 128])],
                     [h.make_tensor_value_info("y", T.FLOAT, [32, 96])], [numpy_helper.from_array(rng.standard_normal((128, 96)).astype("f4"), "w")])
    m = h.make_model(g, opset_imports=[h.make_opsetid("", 13)])
    m.ir_version = 8
    onnx.save(m, tmp_path / "m.onnx")
    np.savez(tmp_path / "samples.npz", x=rng.standard_normal((8, 32, 128)).astype("f4"))
    options = {"int8": ["--precision", "int8", "--data", "samples.npz"], "bf16": ["--precision", "bf16"], None: []}[kind]
    for budget in ("6s", "24s", "96s"):  # on a loaded machine all of the first seconds go into compilers
        done = subprocess.run([HONE, "tune", "m.onnx", *options, "--kernels", "contract", "--budget", budget, "--threads", "1", "--winners", "w.db", "--json",
                               "-q"], cwd=tmp_path, capture_output=True, text=True, timeout=300, env=with_rates(tmp_path, "1e5", "1e5"))
        assert done.returncode == 0, done.stderr
        product = next(k for k in json.loads(done.stdout)["kernels"] if k["kind"] == "contract")
        assert product["end"] != "roofline", product
        if product["candidates"]:
            break
    assert product["candidates"] > 0, product
    assert not kind or (tmp_path / "m.precision").read_text().count(f"type: {kind}") == 1


def test_a_choice_of_other_weights_is_refused(fitted, tmp_path):
    run(fitted, "compile", "m.onnx", "--precision", "int8", "--data", "samples.npz", "-o", str(tmp_path / "one"))
    m = onnx.load(fitted / "m.onnx")
    for t in m.graph.initializer:
        if t.name == "w2":
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t) * np.float32(1.5), "w2"))
    onnx.save(m, tmp_path / "other.onnx")
    done = subprocess.run([HONE, "compile", "other.onnx", "--precision", "one.precision", "-o", "two"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 11 and "'second' has other weights" in done.stderr, done.stderr
