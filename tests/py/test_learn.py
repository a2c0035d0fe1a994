"""`hone serve --learn`: a server that is idle tunes for what it was asked, and puts what it made on trial; requests stop it."""

import json
import os
import shutil
import sqlite3
import subprocess
import time

import pytest

deploying = pytest.importorskip("deploying")
pytest.importorskip("onnx")
np, run, serving = deploying.np, deploying.run, deploying.test_serve.serving
WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture(scope="module", autouse=True)
def runtime(tmp_path_factory):
    before = {k: os.environ.get(k) for k in ("XDG_RUNTIME_DIR", "XDG_DATA_HOME")}
    deploying.environment(tmp_path_factory.mktemp("runtime"))
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))
    yield
    for k, v in before.items():
        os.environ.pop(k)
        if v:
            os.environ[k] = v


@pytest.fixture()
def asked(tmp_path):
    """A model whose store says that it was run 80 times with a batch of two."""
    model, store = str(tmp_path / "m.onnx"), str(tmp_path / "s.db")
    deploying.write(model, WEIGHTS)
    with serving(f"m={model}", "--store", store) as s, deploying.Clients(s.port, n=1) as clients:
        while len(clients.told) < 80:
            time.sleep(0.01)
        clients.__exit__()
        assert s.end()[0] == 0
    return model, store


def learning(asked, *more, budget="3s"):
    return serving(f"m={asked[0]}", "--store", asked[1], "--learn", "--learn-budget", budget, *more)


def events(store):
    with sqlite3.connect(store) as db:
        tables = [t for (t,) in db.execute("select name from sqlite_master where type = 'table'")]
        name = next(t for t in tables if t.endswith("event"))
        return [(kind, text) for kind, text in db.execute(f"select kind, text from {name} order by rowid") if kind.startswith("learn")]


def wait_for(ready, seconds=100):
    end = time.time() + seconds
    while not ready() and time.time() < end:
        time.sleep(0.2)
    return ready()


def test_what_an_idle_server_made_goes_on_trial(asked):
    with learning(asked, "--learn-idle", "1s") as s:
        assert wait_for(lambda: any(kind == "learned" for kind, _ in events(asked[1])))
        told = events(asked[1])
        assert told[0][0] == "learn" and "first batch=2" in told[0][1]
        (model,) = run(s, "deploy", "--list")["models"]
        assert "is on trial as deployment" in told[-1][1] and model["deployment"], (told, model)
        assert model["now"]["path"] == asked[0]
        with deploying.Clients(s.port, n=1) as clients:
            assert wait_for(lambda: len(clients.told) > 20)
        assert not clients.failed
        assert {y for _, y in clients.told} == {tuple((deploying.X @ WEIGHTS).ravel().tolist())}
        code, said = s.end()[:2]
        assert code == 0, said
    before = events(asked[1])
    with learning(asked, "--learn-idle", "1s"):  # not again within a day
        time.sleep(3)
    assert events(asked[1]) == before


def test_a_server_that_is_asked_learns_nothing(asked):
    with learning(asked, "--learn-idle", "2s") as s, deploying.Clients(s.port, n=1) as clients:
        time.sleep(4)
        clients.__exit__()
        assert clients.told and not clients.failed and not events(asked[1])


def test_it_needs_the_socket_for_admin_calls(asked):
    done = subprocess.run([deploying.HONE, "serve", asked[0], "--learn", "--no-admin", "--port", "0"], capture_output=True, text=True, timeout=60)
    assert done.returncode and "leave out --no-admin" in done.stderr


@pytest.fixture()
def talked(tmp_path):
    """A language model whose store says how it was asked, and that an earlier server proved winners, which no version has yet."""
    pytest.importorskip("gguf")
    t = deploying.test_serve.test_language
    model, store = str(tmp_path / "talk.gguf"), str(tmp_path / "s.db")
    t.write(model, t.MODELS["llama"], t.weights_of(t.MODELS["llama"], np.random.default_rng(3)), context=512)
    with serving(f"m={model}", "--store", store) as s:
        for _ in range(3):
            said = completion(s)
        assert s.end()[0] == 0
    return model, store, said


def completion(server):
    status, text, _ = server.call("POST", "/v1/completions", {"prompt": "A brief AB", "max_tokens": 40, "temperature": 0, "ignore_eos": True})
    assert status == 200
    return json.loads(text)["choices"][0]["text"]


def prove(store, base):
    with sqlite3.connect(store) as db:
        (name,) = [t for (t,) in db.execute("select name from sqlite_master where type = 'table'") if t.endswith("event")]
        columns = [row[1] for row in db.execute(f"pragma table_info({name})")]
        values = {"base": base, "kind": "learn-winners", "text": "1 kernels have new winners", "at_s": time.time(), "body": "", "deployment": 0}
        used = [c for c in columns if c in values]
        db.execute(f"insert into {name} ({', '.join(used)}) values ({', '.join('?' * len(used))})", [values[c] for c in used])


def libraries():
    """What was compiled of language models."""
    return [name for name in os.listdir(os.path.join(os.environ["XDG_CACHE_HOME"], "hone", "language")) if len(name) == 32]


@pytest.mark.skipif(not os.environ.get("HONE_LONG"), reason="a language model is compiled several times: make check-long")
def test_a_language_model_learns_too(talked, tmp_path):
    """What was proven before a request came is compiled now, and goes on trial beside the same file as it was."""
    model, store, said = talked
    prove(store, model)
    with learning(talked, "--learn-idle", "1s", budget="1s") as s:
        assert wait_for(lambda: any(kind == "learned" for kind, _ in events(store)))
        told = events(store)
        assert "first tokens=1,past=" in told[1][1] and "steps" in told[1][1], told
        assert any("compiling a version with the winners" in text for _, text in told)
        assert "is on trial as deployment" in told[-1][1], told
        (m,) = run(s, "deploy", "--list")["models"]
        assert m["kind"] == "language" and m["now"]["path"] == model and m["deployment"]
        for _ in range(4):  # both versions give the same answer
            assert completion(s) == said
        history = run(s, "deploy", "--history")
        assert [(e["kind"], e["text"]) for e in history["events"]] == told and history["events"][0]["model"] == "m"
        (trial,) = history["deployments"]
        assert os.path.realpath(os.path.join(trial["next"], "model")) == os.path.realpath(model)
        made, n = os.path.join(str(tmp_path), "kept"), len(libraries())
        shutil.copytree(trial["next"], made, symlinks=True)
        assert run(s, "rollback", "m")["model"]["now"]["path"] == model and completion(s) == said
        # nothing can go back to it any more: it goes, with its library; the file that it leads to stays
        assert wait_for(lambda: os.listdir(tmp_path / "learned") == []), os.listdir(tmp_path / "learned")
        assert len(libraries()) == n - 1 and os.path.getsize(model) > 0
        assert run(s, "deploy", made, "--replace")["model"]["now"]["path"] == made and completion(s) == said
        assert s.end()[0] == 0
    os.rename(model, model + ".moved")
    done = subprocess.run([deploying.HONE, "generate", made, "-p", "A"], capture_output=True, text=True, timeout=60)
    assert done.returncode and "cannot open the model that" in done.stderr, done.stderr
