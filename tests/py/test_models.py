"""Models from Python: arrays of every type and layout, errors, threads, leaks, timing, files."""
import array
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import hone
import pytest

np = pytest.importorskip("numpy")

MLP = """ir 1
symbol n in 0..8
input %0 : f32[n, 4] "x"
%1 = const {value = f32[4, 3] (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)}
%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32} from "node <fc> (Gemm)"
output %2 "y"
"""
WEIGHTS = np.arange(1, 13, dtype="f4").reshape(4, 3)
NATIVE = {"f32": "float32", "f64": "float64", "f16": "float16", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
          "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool"}  # fmt: skip
SPECIAL = {"bf16": ("bfloat16", "uint16"), "f8e4m3fn": ("float8_e4m3fn", "uint8"), "f8e5m2": ("float8_e5m2", "uint8")}


@pytest.fixture(scope="module")
def ir(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "fc.ir"
    path.write_text(MLP)
    return path


@pytest.fixture(scope="module")
def model(ir):
    return hone.compile(ir, target="generic", threads=1)


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    """A model that gives every input back, one of each type."""
    types = [*NATIVE, *SPECIAL]
    lines = [f'input %{i} : {t}[n, 3] "{t}"' for i, t in enumerate(types)]
    lines += [f'output %{i} "{t}"' for i, t in enumerate(types)]
    path = tmp_path_factory.mktemp("echo") / "echo.ir"
    path.write_text("\n".join(["ir 1", "symbol n in 0..100", *lines, ""]))
    return hone.compile(path, target="generic", parity=False, threads=1)


# --- state

COUNT = """ir 1
symbol n in 0..
input %x : f32[n] "x"
input %old : f32[n] "total"
%new = add %x, %old
%y = neg %new
output %y "y"
output %new "total_next"
"""


@pytest.fixture
def count(tmp_path):
    path = tmp_path / "count.ir"
    path.write_text(COUNT)
    return hone.compile(path, target="generic", state=["total=total_next"], threads=1)


def test_state_goes_on(count):
    one = np.ones(4, "f4")
    assert [p.name for p in count.inputs] == ["x"] and [p.name for p in count.states] == ["total"]
    assert [count(one)[0] for _ in range(3)] == [-1, -2, -3]
    count.reset_state()
    assert count(np.ones(2, "f4"))[0] == -1


def test_state_is_forked_saved_and_loaded(count):
    one = np.ones(4, "f4")
    count(one)
    saved = count.save_state()
    other = count.fork()
    assert count(one)[0] == other(one)[0] == -2
    other(one)
    assert count(one)[0] == -3
    count.load_state(saved)
    assert count(one)[0] == -2
    for wrong in (saved[:-1], b"", b"x" * len(saved)):
        with pytest.raises(hone.MismatchError):
            count.load_state(wrong)
    assert count(one)[0] == -3


def test_state_is_verified_and_timed_in_steps(count):
    before = count.save_state()
    assert count.verify(sizes="n=3", steps=3, inputs=1).same
    assert count.bench(sizes="n=3", steps=2, seconds=0.001).hone.throughput > 0
    assert count.profile(sizes="n=3", steps=2, seconds=0.001).kernels
    assert count.save_state() == before


def test_state_of_another_size_is_refused(count):
    count(np.ones(4, "f4"))
    with pytest.raises(hone.InputError, match="reset it"):
        count(np.ones(3, "f4"))
    assert count(np.ones(4, "f4"))[0] == -2


def test_model_without_state_says_so(model):
    for call in (model.reset_state, model.save_state, model.fork):
        with pytest.raises(hone.UsageError, match="has no state"):
            call()
    with pytest.raises(hone.UsageError, match="give INPUT=OUTPUT"):
        hone.compile(model._source.path, state="x")


# --- arrays


def values(name):
    x = np.arange(-3, 9).reshape(4, 3)
    return (x % 2 == 0) if name == "bool" else x.astype(np.uint8).astype(name) if name.startswith("u") else x.astype(name)


def all_inputs():
    bits = {t: np.arange(12, dtype=as_int).reshape(4, 3) for t, (_, as_int) in SPECIAL.items()}
    return {**{t: values(name) for t, name in NATIVE.items()}, **bits}


def test_every_type_comes_back(echo):
    given = all_inputs()
    got = echo.run(given)
    for t, name in NATIVE.items():
        assert got[t].dtype == np.dtype(name) and np.array_equal(got[t], given[t]), t
    for t, (_, as_int) in SPECIAL.items():
        assert got[t].itemsize == np.dtype(as_int).itemsize and np.array_equal(got[t].view(as_int), given[t]), t
    assert [p.dtype for p in echo.inputs] == [*NATIVE.values(), *(name for name, _ in SPECIAL.values())]


def test_types_of_ml_dtypes(echo):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    given = all_inputs()
    for t, (name, _) in SPECIAL.items():
        given[t] = np.array([[1, 2, 0.5]], getattr(ml_dtypes, name)).repeat(4, 0)
    got = echo.run(given)
    for t, (name, _) in SPECIAL.items():
        assert got[t].dtype == np.dtype(getattr(ml_dtypes, name)) and got[t].astype("f4")[0, 2] == 0.5, t
    given["bf16"] = given["f8e5m2"]
    with pytest.raises(hone.InputError, match="'bf16' takes bfloat16, not float8_e5m2"):
        echo.run(given)


LAYOUTS = {
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "reversed": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "misaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "memoryview": lambda x: memoryview(x),
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "list": lambda x: x.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_read_as_they_are(model, layout):
    x = np.arange(20, dtype="f4").reshape(5, 4)
    given = LAYOUTS[layout](x)
    assert np.array_equal(model(given), np.asarray(given, "f4") @ WEIGHTS)


def test_other_buffers(model):
    assert np.array_equal(model(memoryview(array.array("f", range(8))).cast("B").cast("f", (2, 4))),
                          np.arange(8, dtype="f4").reshape(2, 4) @ WEIGHTS)  # fmt: skip


def test_big_endian_is_refused(model):
    with pytest.raises(hone.InputError, match="format '>f'"):
        model(np.zeros((1, 4), ">f4"))


def test_empty_and_largest_sizes(model):
    assert model(np.zeros((0, 4), "f4")).shape == (0, 3)
    for n in (8, 1, 8, 3):
        x = np.random.default_rng(n).integers(-9, 9, (n, 4)).astype("f4")
        assert np.array_equal(model(x), x @ WEIGHTS)


def test_outputs_own_their_memory(model):
    first = model(np.ones((2, 4), "f4"))
    kept = first.copy()
    second = model(np.zeros((2, 4), "f4"))
    assert np.array_equal(first, kept) and not second.any() and first.flags.writeable
    first += 1  # theirs to write
    del model
    gc.collect()
    assert np.array_equal(first, kept + 1)


def test_output_outlives_its_model(ir):
    m = hone.compile(ir, target="generic", parity=False)
    y = m(np.ones((1, 4), "f4"))
    folder = m.path.parent
    del m
    gc.collect()
    assert y.tolist() == [[22, 26, 30]] and not folder.exists()


def test_sizes_that_data_decide(tmp_path):
    """A guess that the last run's sizes hold again is wrong, more than once."""
    onnx = pytest.importorskip("onnx")
    h = onnx.helper
    graph = h.make_graph([h.make_node("NonZero", ["x"], ["y"])], "nz", [h.make_tensor_value_info("x", 1, [6])],
                         [h.make_tensor_value_info("y", 7, [1, "k"])])  # fmt: skip
    m = hone.compile(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)]), target="generic", parity=False)
    for pattern in ("110000", "000000", "111111", "010101", "111111"):
        x = np.array(list(pattern), "f4")
        assert np.array_equal(m(x), np.array(np.nonzero(x))), pattern


# --- how a model is called


def test_by_position_name_and_dict(model):
    x = np.ones((1, 4), "f4")
    assert model(x).tolist() == model(x=x).tolist() == model({"x": x}).tolist() == model.run({"x": x})["y"].tolist()


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda m, x: m(), "input 'x' is not given; the inputs of model 'fc' are 'x'"),
        (lambda m, x: m(x, x), "2 arrays are given"),
        (lambda m, x: m(x, x=x), "input 'x' is given twice"),
        (lambda m, x: m(z=x), "there is no input 'z'; the inputs of model 'fc' are 'x'"),
        (lambda m, x: m({"x": x, 3: x}), "there is no input"),
        (lambda m, x: m(x.astype("f8")), "input 'x' takes float32, not float64: convert it"),
        (lambda m, x: m(x[0]), "input 'x' has rank 1 instead of 2"),
        (lambda m, x: m(x[:, :3]), "input 'x': dimension 1 is 3"),
        (lambda m, x: m(np.zeros((9, 4), "f4")), "input 'x': dimension 0 is 9"),
        (lambda m, x: m(np.zeros((1,) * 17, "f4")), "input 'x' has 17 dimensions|rank"),
        (lambda m, x: m(np.array(["a"])), "input 'x' takes float32"),
        (lambda m, x: m(np.zeros(2, [("a", "f4")])), "input 'x' takes float32"),
    ],
)
def test_errors_name_what_differs(model, call, text):
    x = np.ones((1, 4), "f4")
    with pytest.raises(hone.InputError, match=text.replace("(", r"\(")):
        call(model, x)
    assert model(x).tolist() == [[22, 26, 30]]


def test_facts(model):
    (x,), (y,) = model.inputs, model.outputs
    assert (x.name, x.dtype, x.shape, x.low, x.high) == ("x", "float32", ("n", 4), (0, 4), (8, 4))
    assert y.shape == ("n", 3) and model.target == "generic" and model.result["text"]
    assert model.weights_b == 48 or model.weights_b == 64
    assert "fc" in repr(model) and "<table>" in model._repr_html_()
    assert 'model: "fc"' in model.manifest
    assert any("<fc>" in k["source"] for k in model.kernels)


# --- threads, signals, leaks


def test_threads_share_a_model(model):
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            x = rng.integers(-9, 9, (int(rng.integers(0, 9)), 4)).astype("f4")
            if not np.array_equal(model(x), x @ WEIGHTS):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


class Ring(Exception):
    pass


def test_a_signal_ends_a_long_call(model):
    def ring(*_):
        raise Ring

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Ring):
            model.bench(seconds=60, sizes={"n": 1}, threads=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def resident_kib():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def references():
    gc.collect()
    return sys.gettotalrefcount() if hasattr(sys, "gettotalrefcount") else len(gc.get_objects())


def test_sizes_that_there_are_not(model):
    for sizes, text in (({"q": 3}, "no input of model 'fc' has a size 'q'"), ("n=x", "'n=x' is no size"), ("n", "'n' is no size"),
                        ({"n": 9}, "cannot be 9"), ({"n": -1}, "cannot be -1")):  # fmt: skip
        with pytest.raises(hone.UsageError, match=text):
            model.random_inputs(sizes)


@pytest.mark.parametrize("call, error, text", [
    (lambda m, x: m(None), hone.InputError, "input 'x' is not given"),
    (lambda m, x: m([["a"] * 4]), hone.InputError, "input 'x' takes float32: could not convert"),
    (lambda m, x: m([[1, 2], [3]]), hone.InputError, "input 'x' takes float32: .*inhomogeneous"),
    (lambda m, x: m.run([x]), TypeError, "a dict of names to arrays, not list"),
    (lambda m, x: m.bench(seconds=0), hone.UsageError, "'seconds' is a number above 0"),
    (lambda m, x: m.bench(threads=-1), hone.UsageError, "'threads' is a whole number from 0"),
    (lambda m, x: m.verify(inputs=0), hone.UsageError, "'inputs' is a whole number from 1"),
    (lambda m, x: hone.compile(m._source.path, jobs=-1), OverflowError, "option 'jobs' of hone.compile.. cannot be -1"),
    (lambda m, x: hone.compile(m._source.path, relaxed="no"), TypeError, "option 'relaxed' .* cannot be 'no': expected a bool"),
    (lambda m, x: hone.compile(m._source.path, threads=-1), hone.UsageError, "'threads' is a whole number from 0, not -1"),
    (lambda m, x: hone.load(m.path, threads=2.5), hone.UsageError, "'threads' is a whole number"),
])
def test_mistakes_are_named(model, call, error, text):
    with pytest.raises(error, match=text):
        call(model, np.ones((1, 4), "f4"))


def test_sizes_in_other_words(ir):
    options = {"target": "generic", "parity": False, "threads": 1}
    assert hone.model._symbols({"n": [1, 4], "m": (2, 3), "k": 5}) == ("n=1:4", "m=2:3", "k=5")
    with pytest.raises(hone.UsageError, match="says its sizes itself"):
        hone.compile(ir, symbols={"n": 4}, **options)
    for special in ("n=4", {"n": 4}, [{"n": 4}]):
        m = hone.compile(ir, specialize=special, **options)
        assert m._source.specialize == ("n=4",) and m(np.ones((4, 4), "f4")).shape == (4, 3)


def emptied(folder, seconds=10):
    end = time.monotonic() + seconds
    while any(folder.iterdir()) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(folder.iterdir())


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "del m", "sys.exit()", "os._exit(0)"])
def test_the_temporary_folder_ends_with_the_process(ir, tmp_path, end):
    code = ("import hone, os, sys\n"
            f"m = hone.compile({str(ir)!r}, target='generic')\n"
            "assert len(os.listdir(os.environ['TMPDIR'])) == 1\n"
            "if not os.fork(): sys.exit()\n"  # a fork that ends as any program does takes nothing with it
            "os.wait()\n"
            "assert os.path.exists(m.path)\n"
            f"{end}\n")  # fmt: skip
    subprocess.run([sys.executable, "-c", code], env=dict(os.environ, TMPDIR=str(tmp_path)), timeout=60)
    assert emptied(tmp_path)


@pytest.mark.parametrize("stage", ["passes", "kernels", "parity"])
def test_ctrl_c_ends_a_compilation(ir, tmp_path, monkeypatch, stage):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    own = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started the tests with `&`
    told = []

    def ring(at, done, total):
        told.append(at)
        if at == stage:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)  # until the main thread has seen it

    try:
        with pytest.raises(KeyboardInterrupt):
            hone.compile(ir, target="generic", use_cache=False, progress=ring)
    finally:
        signal.signal(signal.SIGINT, own)
    assert told[-1] == stage and told.count(stage) == 1 and list(tmp_path.iterdir()) == []


def bad_call(model):
    for call in (lambda: model(), lambda: model(z=1), lambda: model([[1, 2]]), lambda: model(np.zeros((1, 4)))):
        with pytest.raises(hone.InputError):
            call()


@pytest.mark.parametrize("what", ["good", "strided", "bad", "facts", "load"])
def test_no_leak(model, tmp_path, what):
    x = np.ones((8, 4), "f4")
    calls = {
        "good": lambda: model(x),
        "strided": lambda: model(np.ones((4, 8), "f4").T),
        "bad": lambda: bad_call(model),
        "facts": lambda: (model._program.facts(), model.random_inputs({"n": 8}), repr(model)),
        "load": lambda: hone.load(model.path, 1)(x),
    }
    n = 20 if what == "load" else 300
    for _ in range(n):
        calls[what]()
    before, kib = references(), resident_kib()
    for _ in range(n):
        calls[what]()
    assert references() - before < 40
    assert "HONE_PRELOADED" in os.environ or resident_kib() - kib < 2048
    kept = {name: sys.getrefcount(p) for name, p in (("x", x), ("model", model))}
    calls[what]()
    assert kept == {name: sys.getrefcount(p) for name, p in (("x", x), ("model", model))}


# --- judging


def test_bench(model):
    b = model.bench(seconds=0.02, threads=1, sizes={"n": 2})
    assert b.hone.n >= 20 and len(b.hone.times) == b.hone.n and b.peer is None and np.isnan(b.ratio)
    assert 0 < b.hone.low_s <= b.p50_s <= b.hone.high_s and b.p50_s <= b.hone.p99_s
    assert "hone" in str(b) and "<table>" in b._repr_html_()
    assert model.bench({"x": np.ones((3, 4), "f4")}, seconds=0.01, pattern="single").hone.n >= 20
    with pytest.raises(hone.UsageError, match="'never'"):
        model.bench(pattern="never")
    with pytest.raises(hone.UsageError, match="there is no peer"):
        model.bench(against="itself")
    with pytest.raises(hone.UsageError, match="cannot be 9"):
        model.bench(sizes="n=9")


def test_profile(model):
    p = model.profile(seconds=0.01, threads=1, sizes={"n": 4})
    assert p.runs >= 20 and p.threads == 1 and abs(sum(r["share"] for r in p.kernels) - 1) < 1e-9
    assert any(r["flops"] == 2 * 4 * 4 * 3 for r in p.calls)
    assert "&lt;fc&gt;" in p._repr_html_() and "<fc>" in str(p)


def test_verify(model, ir, tmp_path):
    v = model.verify(sizes={"n": 5}, inputs=2)
    assert v and v.against == "the interpreter" and v.outputs[0]["name"] == "y" and "y" in str(v)
    assert v.outputs[0]["through"] is None and v.outputs[0]["tolerance"] == 0
    other = tmp_path / "other.ir"
    other.write_text(MLP.replace("(1, 2,", "(1.5, 2,"))
    wrong = model.verify(model=other)
    assert not wrong and wrong.outputs[0]["n_wrong"] > 0
    with pytest.raises(hone.UsageError, match="is not known"):
        hone.load(model.path).verify()


def test_against_onnxruntime(tmp_path):
    pytest.importorskip("onnxruntime")
    path = hone.generate("mlp", tmp_path / "mlp.onnx")
    m = hone.compile(path, parity=False, threads=1)
    assert m.verify("onnxruntime", inputs=1)
    b = m.bench(seconds=0.02, threads=1, against="onnxruntime")
    assert b.peer.n >= 20 and b.peer.name.startswith("onnxruntime") and b.ratio > 0
    assert "HONE_PYTHON" in os.environ or True


# --- files


def test_save_and_load(model, tmp_path):
    x = np.ones((1, 4), "f4")
    so = model.save(tmp_path / "deep" / "there.so")
    assert {p.name for p in so.parent.iterdir()} >= {"there.so", "there.h", "there.manifest"}
    loaded = hone.load(so)
    assert loaded(x).tolist() == [[22, 26, 30]] and loaded.name == "fc" and loaded.manifest == model.manifest
    with pytest.raises(hone.UsageError, match="must end in .so"):
        model.save(tmp_path / "x.dll")
    with pytest.raises(hone.InputError, match="cannot load"):
        hone.load(tmp_path / "nothing.so")


def test_a_library_written_over_one_that_is_loaded(ir, tmp_path):
    x, so = np.ones((1, 4), "f4"), tmp_path / "m"
    first = hone.compile(ir, output=so, target="generic", parity=False)
    other = tmp_path / "other.ir"
    other.write_text(MLP.replace("(1, 2,", "(2, 2,"))
    second = hone.compile(other, output=so, target="generic", parity=False)
    assert first(x)[0, 0] == 22 and second(x)[0, 0] == 23 and hone.load(second.path)(x)[0, 0] == 23
    assert second.path == tmp_path / "m.so"


def test_compile_from_bytes(tmp_path):
    data = hone.generate("mlp", tmp_path / "mlp.onnx").read_bytes()
    m = hone.compile(data, parity=False)
    assert m(np.zeros((1, 784), "f4")).shape == (1, 10)
    assert m.profile(seconds=0.01).runs >= 20


def test_symbols(tmp_path):
    path = hone.generate("mlp", tmp_path / "mlp.onnx", dynamic=True)
    assert hone.compile(path, parity=False).inputs[0].shape == ("batch", 784)
    assert hone.compile(path, symbols={"batch": 4}, parity=False).inputs[0].shape == (4, 784)
    bounded = hone.compile(path, symbols={"batch": (2, 6)}, parity=False)
    assert (bounded.inputs[0].low[0], bounded.inputs[0].high[0]) == (2, 6) and bounded.arena_b
    with pytest.raises(hone.UsageError, match="did you mean 'batch'"):
        hone.compile(path, symbols={"bach": 4})


def test_specialize(ir):
    m = hone.compile(ir, specialize=["n=2", "n=5"], target="generic", parity=False, threads=1)
    for n in (2, 3, 5, 2):
        x = np.arange(4 * n, dtype="f4").reshape(n, 4)
        assert np.array_equal(m(x), x @ WEIGHTS)
    with pytest.raises(hone.UsageError, match="'k'|k"):
        hone.compile(ir, specialize=["k=2"], target="generic")


def test_compile_to_c(ir, tmp_path):
    c = hone.compile_to_c(ir, tmp_path / "fc.c", parity=False)
    assert c == tmp_path / "fc.c" and "hone_model" in c.read_text() and c.with_suffix(".h").exists()


def test_compile_errors(ir, tmp_path):
    with pytest.raises(hone.IOFailure, match="nope.onnx"):
        hone.compile(tmp_path / "nope.onnx")
    with pytest.raises(hone.UsageError, match="z80"):
        hone.compile(ir, target="z80")
    with pytest.raises(hone.ToolError, match="no-such-cc"):
        hone.compile(ir, compiler="no-such-cc", use_cache=False)
    with pytest.raises(hone.InputError):
        hone.compile(b"no model at all")
    with pytest.raises(TypeError):
        hone.compile(ir, speed=11)
    with pytest.raises(TypeError):
        hone.compile(17)


def test_what_is_refused_is_listed(tmp_path):
    onnx = pytest.importorskip("onnx")
    h = onnx.helper
    nodes = [h.make_node("NoSuchThing", ["x"], ["a"]), h.make_node("NorThis", ["a"], ["y"])]
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1])], [h.make_tensor_value_info("y", 1, [1])])
    with pytest.raises(hone.UnsupportedError) as caught:
        hone.compile(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)]))
    assert "NoSuchThing" in str(caught.value) and "NorThis" in str(caught.value)
    assert caught.value.id == "E_UNSUPPORTED" and caught.value.exit_code == 14


def test_progress(ir):
    seen = []
    hone.compile(ir, target="generic", use_cache=False, progress=lambda *at: seen.append(at))
    assert seen and all(isinstance(stage, str) and 0 <= done <= total for stage, done, total in seen)

    def fail(*_):
        raise Ring("from the callback")

    with pytest.raises(Ring, match="from the callback"):
        hone.compile(ir, target="generic", use_cache=False, progress=fail)


def test_options_are_those_of_the_table():
    import inspect

    from hone import _hone

    signature = inspect.signature(hone.compile).parameters
    for name, kind, standard, doc in _hone.compile_options:
        assert repr(signature[name].default) == standard, name
        assert f"{name}: {doc}" in hone.compile.__doc__
    known = {row[0] for row in _hone.compile_options}
    assert set(signature) - known == {"model", "output", "symbols", "specialize", "state", "data", "progress"}


def test_inspect(tmp_path):
    found = hone.inspect(hone.generate("mlp", tmp_path / "mlp.onnx"))
    assert found["inputs"][0]["name"] == "x" and any(o["name"] == "Gemm" for o in found["operators"])


def test_torch(tmp_path):
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
    x = torch.randn(3, 4)
    torch.onnx.export(net, (x,), str(tmp_path / "net.onnx"), input_names=["x"], output_names=["y"])
    y = hone.compile(tmp_path / "net.onnx")(x)
    assert np.allclose(y, net(x).detach().numpy(), atol=1e-5)


def test_a_tolerance_for_convolutions(tmp_path):
    """A convolution that may round more does; one that may not does not."""
    w = np.random.default_rng(1).normal(0, 0.1, (32, 32, 3, 3)).astype("f4")
    (tmp_path / "conv.ir").write_text(
        'ir 1\ninput %0 : f32[1, 32, 40, 40] "x"\n%1 = const {value = f32[32, 32, 3, 3] (' + ", ".join(float(v).hex() for v in w.flat) +
        ')}\n%2 = conv %0, %1 {dtype = f32, low = [1, 1], high = [1, 1], stride = [1, 1], dilation = [1, 1], inflate = [1, 1], groups = 1}\noutput %2 "y"\n')
    x = np.random.default_rng(2).normal(size=(1, 32, 40, 40)).astype("f4")
    y = [hone.compile(tmp_path / "conv.ir", threads=1, use_winners=False, tolerance=t)(x) for t in (0, 1e-9, 1e-3)]
    assert (y[0] == y[1]).all() and 0 < np.abs(y[2] - y[0]).max() <= 1e-3 * np.sqrt((y[0] ** 2).mean())
    with pytest.raises(hone.UsageError, match="tolerance"):
        hone.compile(tmp_path / "conv.ir", tolerance=float("nan"))
