"""A model is replaced in a running server: no request is lost, every answer is one version's, versions that do not load or fit change nothing."""

import contextlib
import http.client
import json
import os
import stat
import subprocess
import threading
import time

import pytest

deploying = pytest.importorskip("deploying")
np, run, serving = deploying.np, deploying.run, deploying.test_serve.serving
A, B = np.arange(12, dtype=np.float32).reshape(4, 3), np.arange(12, dtype=np.float32).reshape(4, 3)[::-1].copy()


@pytest.fixture(scope="module", autouse=True)
def runtime(tmp_path_factory):
    before = os.environ.get("XDG_RUNTIME_DIR")
    deploying.environment(tmp_path_factory.mktemp("runtime"))
    yield os.environ["XDG_RUNTIME_DIR"]
    os.environ.pop("XDG_RUNTIME_DIR")
    if before:
        os.environ["XDG_RUNTIME_DIR"] = before


@contextlib.contextmanager
def served(tmp_path, *more):
    want = {"a": deploying.write(tmp_path / "a.so", A), "b": deploying.write(tmp_path / "b.so", B)}
    with serving(f"m={tmp_path / 'a.so'}", *more) as s:
        yield s, {k: tuple(v.ravel().tolist()) for k, v in want.items()}


def test_no_request_is_lost_and_each_answer_is_one_version_s(tmp_path):
    with served(tmp_path) as (s, want), deploying.Clients(s.port) as clients:
        versions = {run(s, "deploy", "--list")["models"][0]["now"]["version"]: want["a"]}
        for name in "babab":
            now = run(s, "deploy", str(tmp_path / f"{name}.so"), "--of", "m", "--replace")["model"]["now"]
            assert now["path"] == str(tmp_path / f"{name}.so")
            versions[now["version"]] = want[name]
            n = len(clients.told)
            while len(clients.told) < n + 20 and not clients.failed:
                time.sleep(0.01)
    assert not clients.failed and len(versions) == 2
    assert all(versions[version] == y for version, y in clients.told) and {v for v, _ in clients.told} == set(versions)


def test_rollback_is_at_once_and_back_again(tmp_path):
    with served(tmp_path) as (s, want):
        assert "no version answered" in run(s, "rollback", "m", code=6)
        run(s, "deploy", str(tmp_path / "b.so"), "--replace")
        for name in "abab":
            model = run(s, "rollback")["model"]
            assert (model["now"]["path"], model["before"]["path"]) == tuple(str(tmp_path / f"{n}.so") for n in (name, "ba"["ba".index(name) - 1]))
            with deploying.Clients(s.port, n=1) as clients:
                while not clients.told:
                    time.sleep(0.01)
            assert {y for _, y in clients.told} == {want[name]} and not clients.failed


def test_what_does_not_load_or_fit_changes_nothing(tmp_path):
    (tmp_path / "torn.onnx").write_bytes(b"\x08\x07no model")
    deploying.write(tmp_path / "wide.so", A[:, :2].copy())
    deploying.write(tmp_path / "deep.so", np.zeros((5, 3), np.float32))
    with served(tmp_path) as (s, want), deploying.Clients(s.port, n=1) as clients:
        for name, code, text in (("torn.onnx", 3, ""), ("wide.so", 11, "its output 'y' has another type or shape"), ("deep.so", 11, "its input 'x'"),
                                 ("none.so", 4, "no such model")):  # fmt: skip
            assert text in run(s, "deploy", str(tmp_path / name), "--replace", code=code)
        assert "no model 'x' here" in run(s, "deploy", str(tmp_path / "b.so"), "--of", "x", "--replace", code=6)
        model = run(s, "deploy", "--list")["models"][0]
        assert model["now"]["path"].endswith("a.so") and model["before"] is None
    assert not clients.failed and {y for _, y in clients.told} == {want["a"]}


def test_a_file_written_over_in_place_is_another_version(tmp_path):
    with served(tmp_path) as (s, want):
        deploying.write(tmp_path / "a.so", B)
        run(s, "deploy", str(tmp_path / "a.so"), "--replace")
        with deploying.Clients(s.port, n=1) as clients:
            while not clients.told:
                time.sleep(0.01)
        assert {y for _, y in clients.told} == {want["b"]}
        assert run(s, "rollback")["model"]["now"]["version"] != clients.told[0][0]


def test_figures_of_each_version(tmp_path):
    parser = pytest.importorskip("prometheus_client.parser")
    with served(tmp_path) as (s, want):
        for name in (None, "b", "a"):
            if name:
                run(s, "deploy", str(tmp_path / f"{name}.so"), "--replace")
            with deploying.Clients(s.port, n=1) as clients:
                while len(clients.told) < 3:
                    time.sleep(0.01)
        families = {f.name: f for f in parser.text_string_to_metric_families(s.call("GET", "/metrics")[1].decode())}
        counts = {x.labels["version"]: x.value for x in families["hone_serve_requests"].samples if x.labels.get("code") == "200" and x.labels["model"] == "m"}
        assert len(counts) == 2 and all(n >= 3 for n in counts.values())
        assert len(families["hone_serve_model_info"].samples) == 2


def test_an_answer_under_way_ends_with_the_version_that_it_began_with(tmp_path):
    t = deploying.test_serve.test_language
    pytest.importorskip("gguf")
    for name, more in (("one", {"template": deploying.test_serve.TEMPLATE}), ("two", {})):  # the same kernels as in test_serve.py
        shape = t.MODELS["llama"]
        t.write(str(tmp_path / f"{name}.gguf"), shape, t.weights_of(shape, np.random.default_rng(1)), context=4096, **more)
    ask = {"model": "m", "prompt": "A brief AB", "max_tokens": 1500, "temperature": 0, "ignore_eos": True}
    with serving(f"m={tmp_path / 'one.gguf'}") as s:
        alone = json.loads(s.call("POST", "/v1/completions", ask)[1])["choices"][0]["text"]
        got, begun = {}, threading.Event()
        c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=120)

        def stream():
            c.request("POST", "/v1/completions", json.dumps({**ask, "stream": True}))
            r = c.getresponse()  # its first piece is there
            begun.set()
            lines = [line[6:] for line in r.read().decode().split("\n\n") if line.startswith("data: {")]
            got["text"] = "".join(json.loads(line)["choices"][0]["text"] for line in lines)
            got["version"] = {json.loads(line)["system_fingerprint"] for line in lines}

        thread = threading.Thread(target=stream)
        thread.start()
        assert begun.wait(60)
        model = run(s, "deploy", str(tmp_path / "two.gguf"), "--replace")["model"]
        run(s, "deploy", str(tmp_path / "one.gguf"), "--replace")  # the first version is closed while it answers, once it has
        other = json.loads(s.call("POST", "/v1/completions", {**ask, "max_tokens": 20})[1])
        thread.join()
        c.close()
        assert got["text"] == alone and got["version"] == {model["before"]["version"]} and other["choices"][0]["text"] == alone[: len(other["choices"][0]["text"])]


def test_the_socket_is_its_owner_s_and_one_server_s(tmp_path, runtime):
    deploying.write(tmp_path / "a.so", A)
    path = str(tmp_path / ("long" * 25) / ("name" * 20)) + ".sock"  # longer than an address may be
    with serving(str(tmp_path / "a.so"), "--admin", path) as s:
        mode = os.stat(path).st_mode
        assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600
        assert run(s, "deploy", "--list", "--admin", path)["models"][0]["name"] == "a"
        assert s.end()[0] == 0 and not os.path.exists(path)
    assert "no server answers" in run(s, "deploy", "--list", code=6)
    with serving(str(tmp_path / "a.so")) as s:
        usual = f"{runtime}/hone/serve-{s.port}.sock"
        assert os.path.exists(usual)
        other = subprocess.run([deploying.HONE, "serve", str(tmp_path / "a.so"), "--port", "0", "--admin", usual], capture_output=True, text=True)
        assert other.returncode == 13 and "another server has the admin socket" in other.stderr
        s.process.kill()
        s.process.wait()
        with serving(str(tmp_path / "a.so"), "--admin", usual) as again:  # what a killed server left
            assert run(again, "deploy", "--list", "--admin", usual)["models"]
    with serving(str(tmp_path / "a.so"), "--no-admin") as s:
        assert not os.path.exists(f"{runtime}/hone/serve-{s.port}.sock")


def test_drain_by_an_admin_call(tmp_path, runtime):
    deploying.write(tmp_path / "a.so", A)
    with serving(str(tmp_path / "a.so")) as s:
        import socket

        c = socket.socket(socket.AF_UNIX)
        c.connect(f"{runtime}/hone/serve-{s.port}.sock")
        c.sendall(b"POST /drain HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
        assert c.recv(100).startswith(b"HTTP/1.0 200") or c.recv(100)
        assert s.process.wait(60) == 0
