"""Conditions of ONNX models whose branches do not fit each other: what sizes decide is decided, what follows decides the rest, and
where both branches fit, a library has two versions. Expected values are numpy's."""
import hone
import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper as h  # noqa: E402

ONE = h.make_tensor("one", T.INT64, [1], [1])
AT2 = h.make_tensor("at2", T.INT64, [1], [2])
AT0 = h.make_tensor("at0", T.INT64, [1], [0])


def graph(name, nodes, outputs):
    return h.make_graph(nodes, name, [], [h.make_empty_tensor_value_info(o) for o in outputs])


def squeeze(of, axis, result="t"):
    return graph("squeezed", [h.make_node("Squeeze", [of, axis], [result])], [result])


def keep(of, result="e"):
    return graph("kept", [h.make_node("Identity", [of], [result])], [result])


def is_one(of, at="at2", to="cond"):
    return [h.make_node("Shape", [of], [f"{to}_shape"]), h.make_node("Gather", [f"{to}_shape", at], [f"{to}_size"]),
            h.make_node("Equal", [f"{to}_size", "one"], [to])]


def model(nodes, inputs, outputs, constants=()):
    def info(name, kind, shape):
        return h.make_tensor_value_info(name, kind, shape) if shape is not None else h.make_empty_tensor_value_info(name)
    g = h.make_graph(nodes, "g", [info(*i) for i in inputs], [info(*o) for o in outputs], [ONE, AT2, AT0, *constants])
    m = h.make_model(g, opset_imports=[h.make_opsetid("", 16)])
    m.ir_version = 8
    return m


def build(m, **options):
    return hone.compile(m, target="generic", threads=1, reference=True, **options)


def branch(cond="cond", yes=None, no=None, to="y", name="choose"):
    return h.make_node("If", [cond], [to] if isinstance(to, str) else to, name=name, then_branch=yes or squeeze("x", "at2"),
                       else_branch=no or keep("x"))


WEIGHT = h.make_tensor("w", T.FLOAT, [3, 4], np.arange(12) / 8)
X = ("x", T.FLOAT, ["b", 3, "n"])


def some(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("f4")


def test_what_follows_decides():
    """A product takes rank 2 alone: the size is 1, and other runs are refused."""
    m = build(model([*is_one("x"), branch(), h.make_node("Gemm", ["y", "w"], ["z"])], [X], [("z", T.FLOAT, ["b", 4])], [WEIGHT]))
    x = some(2, 3, 1)
    assert np.allclose(m(x), x[:, :, 0] @ (np.arange(12, dtype="f4") / 8).reshape(3, 4))
    with pytest.raises(hone.Error, match="n"):
        m(some(2, 3, 5))


def test_the_other_branch():
    """A convolution takes rank 3: without the squeeze, for all sizes but 1 that the condition leaves."""
    kernel = h.make_tensor("k", T.FLOAT, [2, 3, 1], np.arange(6) / 4)
    m = build(model([*is_one("x"), branch(), h.make_node("Conv", ["y", "k"], ["z"])], [X], [("z", T.FLOAT, ["b", 2, "n"])], [kernel]))
    x = some(2, 3, 5)
    assert np.allclose(m(x), np.einsum("oc,bcn->bon", np.arange(6, dtype="f4").reshape(2, 3) / 4, x), atol=1e-5)
    with pytest.raises(hone.Error, match="else_branch_of_choose"):
        m(some(2, 3, 1))


def test_two_versions():
    """A sum over all takes both ranks: which nodes run is decided by each run."""
    nodes = [*is_one("x"), branch(), h.make_node("Softmax", ["y"], ["s"], axis=-1), h.make_node("Mul", ["s", "y"], ["p"]),
             h.make_node("ReduceSum", ["p"], ["z"], keepdims=0)]
    m = build(model(nodes, [X], [("z", T.FLOAT, [])]))
    for x in (some(2, 3, 1), some(2, 3, 4)):
        y = x[:, :, 0] if x.shape[2] == 1 else x
        e = np.exp(y - y.max(-1, keepdims=True))
        assert np.allclose(m(x), (e / e.sum(-1, keepdims=True) * y).sum(), atol=1e-5)


def test_declared_rank_decides():
    """Relu takes both ranks, and the output is declared with one."""
    nodes = [*is_one("x"), branch(), h.make_node("Relu", ["y"], ["z"])]
    x = some(2, 3, 1)
    assert np.array_equal(build(model(nodes, [X], [("z", T.FLOAT, ["b", 3])]))(x), np.maximum(x[:, :, 0], 0))
    with pytest.raises(hone.UnsupportedError, match="choose.*--symbol"):
        build(model(nodes, [X], [("z", T.FLOAT, None)]))


def test_a_size_that_is_bounded_decides():
    nodes = [*is_one("x"), branch(), h.make_node("Relu", ["y"], ["z"])]
    m = build(model(nodes, [X], [("z", T.FLOAT, None)]), symbols={"n": (2, 8)})
    x = some(2, 3, 4)
    assert np.array_equal(m(x), np.maximum(x, 0))


def test_condition_of_several_sizes():
    """not (n != 1) and b == 1, through casts."""
    nodes = [*is_one("x"), h.make_node("Not", ["cond"], ["other"]), *is_one("x", "at0", "first"), h.make_node("Not", ["other"], ["is"]),
             h.make_node("And", ["is", "first"], ["both"]), h.make_node("Cast", ["both"], ["i"], to=T.INT32),
             h.make_node("Cast", ["i"], ["c"], to=T.BOOL), branch("c", graph("g", [h.make_node("Reshape", ["x", "three"], ["t"])], ["t"])),
             h.make_node("Concat", ["y", "tail"], ["z"], axis=0)]
    constants = [h.make_tensor("three", T.INT64, [1], [3]), h.make_tensor("tail", T.FLOAT, [2], [7, 8])]
    m = build(model(nodes, [X], [("z", T.FLOAT, [5])], constants))
    x = some(1, 3, 1)
    assert np.array_equal(m(x), [*x.ravel(), 7, 8])
    for shape in ((2, 3, 1), (1, 3, 2)):
        with pytest.raises(hone.Error):
            m(some(*shape))


def sequence(name, parts):
    nodes = [h.make_node(op, ["x"], [f"{name}{i}"]) for i, op in enumerate(parts)]
    return graph(name, [*nodes, h.make_node("SequenceConstruct", [f"{name}{i}" for i in range(len(parts))], [name])], [name])


def test_sequences_of_one_length():
    """Both branches give two tensors; a value of the run decides."""
    nodes = [branch("flag", sequence("p", ["Relu", "Neg"]), sequence("q", ["Abs", "Sqrt"])),
             h.make_node("ConcatFromSequence", ["y"], ["z"], axis=0)]
    m = build(model(nodes, [("x", T.FLOAT, ["n"]), ("flag", T.BOOL, [])], [("z", T.FLOAT, ["m"])]))
    x = np.abs(some(4)) + 1
    assert np.allclose(m.run({"x": x, "flag": np.array(True)})["z"], [*x, *-x])
    assert np.allclose(m.run({"x": x, "flag": np.array(False)})["z"], [*x, *np.sqrt(x)], rtol=1e-6)


def test_sequence_that_is_never_taken():
    """A sequence in one branch, a tensor in the other: what follows is an addition."""
    nodes = [*is_one("x", "at0"), branch("cond", sequence("p", ["Relu", "Neg"])), h.make_node("Add", ["y", "x"], ["z"])]
    m = build(model(nodes, [("x", T.FLOAT, ["n"])], [("z", T.FLOAT, ["n"])]))
    assert np.array_equal(m(np.arange(3, dtype="f4")), [0, 2, 4])


def test_guards_of_branches():
    """Each branch of a condition that data decide has a size of its own that must be 1: only that of the branch taken counts."""
    def side(name, axis):
        return graph(name, [*is_one("x", axis, f"c{name}"), branch(f"c{name}", squeeze("x", axis, f"t{name}"), keep("x", f"e{name}"),
                                                                   f"y{name}", f"choose_{name}"),
                            h.make_node("Einsum", [f"y{name}"], [f"z{name}"], equation="ij->ji")], [f"z{name}"])

    m = build(model([branch("flag", side("p", "at2"), side("q", "at0"), "z")], [X, ("flag", T.BOOL, [])], [("z", T.FLOAT, ["i", "j"])]))
    x = some(2, 3, 1)
    assert np.array_equal(m.run({"x": x, "flag": np.array(True)})["z"], x[:, :, 0].T)
    with pytest.raises(hone.Error, match="then_branch_of_choose_q"):
        m.run({"x": x, "flag": np.array(False)})
    x = some(1, 3, 5)
    assert np.array_equal(m.run({"x": x, "flag": np.array(False)})["z"], x[0].T)
    with pytest.raises(hone.Error, match="then_branch_of_choose_p"):
        m.run({"x": x, "flag": np.array(True)})


def test_value_of_the_run_and_ranks():
    """A flag decides the rank, and what follows takes both."""
    nodes = [branch("flag", graph("g", [h.make_node("Flatten", ["x"], ["t"])], ["t"])), h.make_node("Exp", ["y"], ["e2"]),
             h.make_node("ReduceMax", ["e2"], ["z"], keepdims=0)]
    m = build(model(nodes, [X, ("flag", T.BOOL, [])], [("z", T.FLOAT, [])]))
    x = some(2, 3, 4)
    for flag in (False, True):
        assert np.allclose(m.run({"x": x, "flag": np.array(flag)})["z"], np.exp(x.max()), rtol=1e-6)


def test_in_a_function():
    f = h.make_function("here", "drop", ["x"], ["r"], [
        h.make_node("Constant", [], ["one"], value_ints=[1]), h.make_node("Constant", [], ["at2"], value_ints=[2]), *is_one("x"), branch(),
        h.make_node("Exp", ["y"], ["f"]), h.make_node("ReduceSum", ["f"], ["r"], keepdims=0)], [h.make_opsetid("", 16)])
    m = model([h.make_node("drop", ["x"], ["z0"], domain="here"), h.make_node("Neg", ["z0"], ["z"])], [X], [("z", T.FLOAT, [])])
    m.functions.append(f)
    m.opset_import.append(h.make_opsetid("here", 1))
    built = build(m)
    for x in (some(2, 3, 1), some(2, 3, 4)):
        assert np.allclose(built(x), -np.exp(x).sum(), rtol=1e-5)


def test_neither_branch():
    """All that stands against both is said, and operators that nobody knows behind the condition, too."""
    nodes = [*is_one("x"), branch(), h.make_node("Nonsense", ["y"], ["n1"]), h.make_node("Relu", ["x"], ["z"])]
    m = model(nodes, [X], [("z", T.FLOAT, None)])
    m.graph.output.append(h.make_empty_tensor_value_info("n1"))
    with pytest.raises(hone.UnsupportedError, match="Nonsense"):
        build(m)


def test_many_conditions():
    """Ten squeezes, each of which what follows decides."""
    nodes, at = [], "x"
    for i in range(10):
        nodes += [*is_one(at, "at2", f"c{i}"), branch(f"c{i}", squeeze(at, "at2", f"t{i}"), keep(at, f"e{i}"), f"y{i}", f"if{i}"),
                  h.make_node("Einsum", [f"y{i}"], [f"f{i}"], equation="ij->ij"), h.make_node("Unsqueeze", [f"f{i}", "at2"], [f"u{i}"])]
        at = f"u{i}"
    m = build(model([*nodes, h.make_node("Neg", [at], ["z"])], [X], [("z", T.FLOAT, ["b", 3, 1])]))
    x = some(2, 3, 1)
    assert np.array_equal(m(x), -x)


def test_unknown_sizes_are_not_one():
    """Some exporters call every size that they do not know "?" or "None"."""
    m = build(model([h.make_node("Relu", ["x"], ["z"])], [("x", T.FLOAT, ["?", 2, "?", "None"])], [("z", T.FLOAT, ["?", 2, "?", "None"])]))
    assert m(some(3, 2, 4, 5)).shape == (3, 2, 4, 5)
