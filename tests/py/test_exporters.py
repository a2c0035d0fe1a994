"""Graphs as exporters write them: scikit-learn's converter itself where it is installed, and by hand what tf2onnx and torch's older
exporter make. Expected values are numpy's, or those of scikit-learn."""
import os
import warnings

import hone
import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper as h  # noqa: E402
from onnx import numpy_helper  # noqa: E402


def model(nodes, inputs, outputs, constants=(), opset=13):
    made = [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()]
    info = [[h.make_tensor_value_info(*x) for x in xs] for xs in (inputs, outputs)]
    m = h.make_model(h.make_graph(nodes, "g", *info, made), opset_imports=[h.make_opsetid("", opset)])
    m.ir_version = 8
    return m


def build(m):
    return hone.compile(m, target="generic", threads=1, reference=True)


def some(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("f4")


def test_tf2onnx_layouts():
    """NHWC in and out, a transpose on each side of a convolution, and the shape of a Flatten computed from Shape."""
    w = some(4, 3, 1, 1)
    nodes = [h.make_node("Transpose", ["x"], ["a"], perm=[0, 3, 1, 2]), h.make_node("Conv", ["a", "w"], ["b"], kernel_shape=[1, 1]),
             h.make_node("Transpose", ["b"], ["c"], perm=[0, 2, 3, 1]), h.make_node("Shape", ["c"], ["s"]),
             h.make_node("Cast", ["s"], ["si"], to=T.INT32), h.make_node("Slice", ["si", "zero", "one", "zero"], ["n"]),
             h.make_node("Concat", ["n", "rest"], ["ri"], axis=0), h.make_node("Cast", ["ri"], ["r"], to=T.INT64),
             h.make_node("Reshape", ["c", "r"], ["z"])]
    m = build(model(nodes, [("x", T.FLOAT, ["unk__1", 5, 6, 3])], [("z", T.FLOAT, ["unk__2", 120])],
                    {"w": w, "zero": np.array([0]), "one": np.array([1]), "rest": np.array([-1], "i4")}))
    x = some(2, 5, 6, 3)
    assert np.allclose(m(x), (x @ w[:, :, 0, 0].T).reshape(2, -1), atol=1e-5)


def test_tf2onnx_loop():
    """A while loop over steps: a state, a counter that the body compares itself, the step gathered from the input."""
    body = h.make_graph([
        h.make_node("Gather", ["x", "i"], ["xt"], axis=0), h.make_node("MatMul", ["state", "w"], ["sw"]), h.make_node("Add", ["sw", "xt"], ["a"]),
        h.make_node("Tanh", ["a"], ["next"]), h.make_node("Add", ["i", "one"], ["i1"]), h.make_node("Less", ["i1", "n"], ["go"]),
        h.make_node("Identity", ["next"], ["each"])], "body",
        [h.make_tensor_value_info("k", T.INT64, []), h.make_tensor_value_info("c", T.BOOL, []), h.make_tensor_value_info("i", T.INT64, []),
         h.make_tensor_value_info("state", T.FLOAT, ["b", 4])],
        [h.make_tensor_value_info("go", T.BOOL, []), h.make_tensor_value_info("i1", T.INT64, []), h.make_tensor_value_info("next", T.FLOAT, ["b", 4]),
         h.make_tensor_value_info("each", T.FLOAT, ["b", 4])])
    nodes = [h.make_node("Shape", ["x"], ["s"]), h.make_node("Gather", ["s", "zero"], ["n"]), h.make_node("Less", ["zero", "n"], ["first"]),
             h.make_node("Loop", ["", "first", "zero", "h0"], ["", "last", "all"], body=body)]
    w = some(4, 4) / 2
    m = build(model(nodes, [("x", T.FLOAT, ["t", "b", 4]), ("h0", T.FLOAT, ["b", 4])], [("last", T.FLOAT, ["b", 4]), ("all", T.FLOAT, ["t", "b", 4])],
                    {"w": w, "zero": np.array(0), "one": np.array(1)}))
    x, state, states = some(5, 2, 4), np.zeros((2, 4), "f4"), []
    for step in x:
        state = np.tanh(state @ w + step)
        states.append(state)
    out = m.run({"x": x, "h0": np.zeros((2, 4), "f4")})
    assert np.allclose(out["last"], state, atol=1e-5) and np.allclose(out["all"], states, atol=1e-5)


def test_torch_view_of_sizes():
    """x.view(x.size(0), x.size(1), heads, -1).transpose(1, 2): Shape, Gather, Unsqueeze, Concat, Reshape."""
    nodes = []
    for i in (0, 1):
        nodes += [h.make_node("Shape", ["x"], [f"s{i}"]), h.make_node("Gather", [f"s{i}", f"at{i}"], [f"n{i}"], axis=0),
                  h.make_node("Unsqueeze", [f"n{i}", "front"], [f"u{i}"])]
    nodes += [h.make_node("Concat", ["u0", "u1", "heads", "minus"], ["to"], axis=0), h.make_node("Reshape", ["x", "to"], ["v"]),
              h.make_node("Transpose", ["v"], ["z"], perm=[0, 2, 1, 3])]
    m = build(model(nodes, [("x", T.FLOAT, ["batch", "seq", 8])], [("z", T.FLOAT, ["batch", 2, "seq", 4])],
                    {"at0": np.array(0), "at1": np.array(1), "front": np.array([0]), "heads": np.array([2]), "minus": np.array([-1])}))
    x = some(3, 5, 8)
    assert np.array_equal(m(x), x.reshape(3, 5, 2, 4).transpose(0, 2, 1, 3))


def test_torch_list_of_parts():
    """torch.stack([a, b, c]) and chunks of a tensor as sequences."""
    nodes = [h.make_node("SplitToSequence", ["x", "two"], ["parts"], axis=1), h.make_node("SequenceAt", ["parts", "at"], ["second"]),
             h.make_node("Relu", ["second"], ["r"]), h.make_node("Neg", ["second"], ["n"]), h.make_node("SequenceConstruct", ["r", "n"], ["list"]),
             h.make_node("ConcatFromSequence", ["list"], ["z"], axis=0, new_axis=1)]
    m = build(model(nodes, [("x", T.FLOAT, ["b", 6])], [("z", T.FLOAT, [2, "b", 2])], {"two": np.array(2), "at": np.array(1)}))
    x = some(3, 6)
    assert np.array_equal(m(x), np.stack([np.maximum(x[:, 2:4], 0), -x[:, 2:4]]))


# --- scikit-learn

def fitted():
    from sklearn import ensemble, linear_model, neural_network, pipeline, preprocessing, svm
    rng = np.random.default_rng(1)
    x = rng.standard_normal((60, 5)).astype("f4")
    y, t = (x[:, 0] + x[:, 1] ** 2 > 0.5).astype(int), x @ np.arange(5)
    scaled = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
    return x, [scaled.fit(x, y), ensemble.RandomForestClassifier(7, random_state=1).fit(x, y),
               ensemble.GradientBoostingRegressor(n_estimators=9, random_state=1).fit(x, t), svm.SVC().fit(x, y), svm.SVR().fit(x, t),
               neural_network.MLPClassifier((6,), max_iter=30, random_state=1).fit(x, y), linear_model.Ridge().fit(x, t)]


@pytest.mark.skipif(not os.environ.get("HONE_LONG"), reason="seven models are trained, converted and compiled: with HONE_LONG")
def test_skl2onnx():
    pytest.importorskip("sklearn")
    convert = pytest.importorskip("skl2onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x, estimators = fitted()
        for e in estimators:
            plain = {"options": {id(e): {"zipmap": False}}} if hasattr(e, "classes_") else {}
            m = convert.to_onnx(e, x[:1], target_opset=15, **plain)
            out = list(build(m.SerializeToString()).run({m.graph.input[0].name: x}).values())
            want = e.predict(x)
            got = np.ravel(out[0])
            assert np.mean(np.isclose(got, want, atol=1e-3, rtol=1e-3)) > 0.98, type(e).__name__


def test_labels_as_text_are_refused_by_name():
    """ZipMap, the default of skl2onnx, makes a list of maps."""
    nodes = [h.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1])]
    m = h.make_model(h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, ["b", 2])], [h.make_empty_tensor_value_info("z")]),
                     opset_imports=[h.make_opsetid("", 13), h.make_opsetid("ai.onnx.ml", 1)])
    m.ir_version = 8
    with pytest.raises(hone.UnsupportedError, match="ZipMap.*convert with options="):
        build(m)
