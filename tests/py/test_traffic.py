"""What a server is asked for is counted by sizes and times, kept, shown, and tuned for; contents are not."""

import json
import os
import subprocess

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
test_serve = pytest.importorskip("test_serve")
from test_serve import HONE, PROMPT, path, serving  # noqa: E402,F401: path is a fixture


@pytest.fixture(scope="module")
def tensors(tmp_path_factory):
    from onnx import TensorProto as T, helper as h
    w = onnx.numpy_helper.from_array(np.ones((16, 8), np.float32), "w")
    ends = [h.make_tensor_value_info(name, T.FLOAT, ["batch", "seq", n]) for name, n in (("x", 16), ("y", 8))]
    model = h.make_model(h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"])], "g", ends[:1], ends[1:], [w]), opset_imports=[h.make_opsetid("", 17)])
    file = str(tmp_path_factory.mktemp("traffic") / "linear.onnx")
    onnx.save(model, file)
    return file


def infer(server, batch, seq):
    body = {"inputs": [{"name": "x", "shape": [batch, seq, 16], "datatype": "FP32", "data": [7.25] * (batch * seq * 16)}]}
    status, text, _ = server.call("POST", f"/v2/models/linear/infer", body)
    assert status == 200 and json.loads(text)["outputs"][0]["shape"] == [batch, seq, 8]


def traffic(model, store):
    done = subprocess.run([HONE, "traffic", model, "--store", str(store), "--json"], capture_output=True, text=True)
    return {(r["kind"], r["size"]): r for r in json.loads(done.stdout)} if not done.returncode else done.stderr


def test_runs_by_the_sizes_of_their_inputs(tensors, tmp_path):
    store = tmp_path / "s.db"
    for _ in range(2):  # counts of two servers add up
        with serving(tensors, "--store", str(store)) as s:
            for batch, seq in ((1, 4), (1, 4), (3, 5)):
                infer(s, batch, seq)
            assert s.call("POST", "/v2/models/linear/infer", {"inputs": []})[0] == 400  # no run
            assert s.end()[0] == 0
    rows = traffic(tensors, store)
    assert {k: round(r["count"], 2) for k, r in rows.items()} == {("run", "batch=1,seq=4"): 4, ("run", "batch=3,seq=5"): 2}
    assert all(0 < r["time_s"] < 5 for r in rows.values())
    assert b"7.25" not in store.read_bytes()


def test_joined_requests_count_as_one_run_of_all_rows(tensors, tmp_path):
    store = tmp_path / "s.db"
    with serving(tensors, "--store", str(store), "--batch-delay", "400ms") as s:
        import concurrent.futures
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: infer(s, 2, 4), range(4)))
        assert s.end()[0] == 0
    rows = traffic(tensors, store)
    total = sum(int(k[1].split(",")[0].split("=")[1]) * r["count"] for k, r in rows.items())
    assert round(total) == 8 and all(k[1].endswith(",seq=4") for k in rows)


def test_steps_prompts_and_answers_of_a_language_model(path, tmp_path):  # noqa: F811
    store = tmp_path / "s.db"
    with serving("talk=" + path, "--store", str(store)) as s:
        n = len(json.loads(s.call("POST", "/tokenize", {"text": PROMPT})[1])["tokens"])
        for _ in range(3):
            assert s.call("POST", "/v1/completions", {"prompt": PROMPT, "max_tokens": 6, "temperature": 0, "ignore_eos": True})[0] == 200
        assert s.end()[0] == 0
    rows = traffic(path, store)
    assert round(sum(r["count"] for k, r in rows.items() if k[0] == "prompt")) == 3
    assert round(rows["answer", "6"]["count"]) == 3 and rows["answer", "6"]["time_s"] == 0
    assert round(rows["decode", "1"]["count"]) >= 15 and rows["decode", "1"]["time_s"] > 0
    prefills = [int(k[1]) for k in rows if k[0] == "prefill"]
    assert prefills and max(prefills) <= 2 * n
    assert PROMPT.encode() not in store.read_bytes()


def test_nothing_is_counted_where_it_is_not_wanted(tensors, tmp_path):
    store = tmp_path / "s.db"
    with serving(tensors, "--store", str(store), "--no-traffic") as s:
        infer(s, 1, 1)
        assert s.end()[0] == 0
    assert not store.exists()


def test_a_store_that_cannot_be_written_hurts_nobody(tensors, tmp_path):
    (tmp_path / "file").write_text("")
    with serving(tensors, "--store", str(tmp_path / "file" / "s.db")) as s:
        infer(s, 1, 1)
        assert s.end()[0] == 0


def test_tune_for_it_fixes_hot_sizes(tensors, tmp_path):
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps([{"kind": "run", "size": "batch=2,seq=32", "count": 5, "time_s": 9}, {"kind": "run", "size": "batch=1,seq=1", "count": 5, "time_s": 1}]))
    env = dict(os.environ, XDG_DATA_HOME=str(tmp_path / "data"))
    done = subprocess.run([HONE, "tune", tensors, "--from-traffic", "--traffic", str(rows), "--budget", "2s", "--threads", "1", "-q", "--json"],
                          capture_output=True, text=True, env=env, check=True)
    r = json.loads(done.stdout)
    assert r["specialize"] == "batch=2,seq=32;batch=1,seq=1" and [p["share"] for p in r["parts"]] == [0.9, 0.1]
    assert [p["result"]["kernels"][0]["shape"] for p in r["parts"]] == ["f32[2, 32, 8]", "f32[1, 1, 8]"]
    made = subprocess.run([HONE, "compile", tensors, "-o", str(tmp_path / "m"), "--specialize", r["specialize"], "--json"], capture_output=True, text=True, env=env, check=True)
    assert json.loads(made.stdout)["kernels"] >= 1
    manifest = (tmp_path / "m.manifest").read_text()
    assert "batch=2" in manifest and "batch=1" in manifest
