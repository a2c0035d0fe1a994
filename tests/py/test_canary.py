"""hone deploy: versions on trial beside the one that answers: equal ones are promoted, planted faults are rolled back, and no client sees one; kill -9."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import sqlite3
import subprocess
import threading
import time

import pytest

deploying = pytest.importorskip("deploying")
np, run, HONE = deploying.np, deploying.run, deploying.HONE
test_serve = deploying.test_serve
ROOT = os.environ.get("HONE_ROOT", os.path.realpath(os.path.join(os.path.dirname(__file__), "../..")))
X, Y = [0.5] * 16, [2.0] * 16
# No test depends on times: a margin of ten times, and few runs.
QUICK = ("--margin", "1", "--pairs", "10", "--runs", "80", "--elements", "500")


@pytest.fixture(scope="module", autouse=True)
def runtime(tmp_path_factory):
    before = {k: os.environ.get(k) for k in ("XDG_RUNTIME_DIR", "XDG_DATA_HOME")}
    for k in before:
        os.environ[k] = str(tmp_path_factory.mktemp("run"))
    yield
    for k, v in before.items():
        os.environ.pop(k)
        if v:
            os.environ[k] = v


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """{name: path} of a model, equal to it but for a planted fault."""
    folder, made = tmp_path_factory.mktemp("versions"), {}
    faults = {"now": [], "equal": [], "wrong": ["-DWRONG_IN=1000"], "crash": ["-DCRASH_IN=50"], "fails": ["-DFAIL_IN=4"], "boom": ["-DCREATE_CRASH=1"],
              "hangs": ["-DHANG_IN=50"]}  # fmt: skip
    for tag, (name, flags) in enumerate(faults.items()):
        made[name] = str(folder / f"{name}.so")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"-I{ROOT}/include", f"-DTAG={tag}", "-DWORK=2000", *flags,
                        f"{ROOT}/tests/helper/fake/faulty_model.c", "-o", made[name]], check=True)  # fmt: skip
    return made


class Clients(deploying.Clients):
    """Ask for 2 x + 1 all the time; `wrong` has answers that are not that."""

    def __init__(self, port, n=3):
        self.port, self.path, self.body = port, "/v2/models/m/infer", json.dumps({"inputs": [{"name": "x", "shape": [1, 16], "datatype": "FP32", "data": X}]})
        self.told, self.failed, self.over = [], [], threading.Event()
        self.pool = concurrent.futures.ThreadPoolExecutor(n)
        self.work = [self.pool.submit(self.ask) for _ in range(n)]

    def by(self, version):
        return [y for v, y in self.told if v == version]


@contextlib.contextmanager
def served(path, *more):
    with test_serve.serving(f"m={path}", *more) as s:
        yield s


def state(s):
    model = run(s, "deploy", "--list")["models"][0]
    return model["now"], model["deployment"]


def test_an_equal_version_is_promoted_and_a_restart_keeps_it(versions, tmp_path):
    base = tmp_path / "base.so"
    base.write_bytes(open(versions["now"], "rb").read())
    store = ("--store", str(tmp_path / "store.db"))
    with served(base, *store) as s, Clients(s.port) as clients:
        old = state(s)[0]["version"]
        end = run(s, "deploy", versions["equal"], "--share", "30%", "--wait", *QUICK)
        new = state(s)[0]["version"]
        assert end["state"] == "promoted" and end["evidence"]["runs_next"] >= 80 and new != old and "promoted" in end["text"]
        n = len(clients.told)
        while len(clients.told) < n + 20:
            time.sleep(0.01)
        n, metrics = len(clients.told), s.figures()  # the clients go on asking
    assert not clients.failed and {v for v, _ in clients.told} == {old, new} and {tuple(Y)} == {y for _, y in clients.told}
    assert metrics["hone_serve_requests_total"] >= n
    with served(base, *store) as s:
        assert state(s)[0]["version"] == new
        assert run(s, "rollback")["model"]["now"]["version"] == old
    with served(base, *store) as s:
        assert state(s)[0]["version"] == old


def test_a_file_that_was_changed_answers_in_place_of_what_was_promoted(versions, tmp_path):
    base, store = tmp_path / "base.so", ("--store", str(tmp_path / "store.db"))
    base.write_bytes(open(versions["now"], "rb").read())
    with served(base, *store) as s:
        run(s, "deploy", versions["equal"], "--replace")
    with served(base, *store) as s:
        assert state(s)[0]["path"] == versions["equal"]
    os.replace(tmp_path / "base.so", tmp_path / "old.so")
    base.write_bytes(open(versions["fails"], "rb").read())
    with served(base, *store) as s:
        assert state(s)[0]["path"] == str(base)


@pytest.mark.parametrize("fault,why,told", [("wrong", "wrong", "out of tolerance"), ("crash", "crashes", "crashed"), ("fails", "fails", "fail")])
@pytest.mark.parametrize("mode", [("--share", "30%"), ("--shadow",)], ids=["share", "shadow"])
def test_a_fault_is_rolled_back_and_no_client_sees_it(versions, tmp_path, fault, why, told, mode):
    with served(versions["now"], "--store", str(tmp_path / "store.db")) as s, Clients(s.port) as clients:
        old = state(s)[0]["version"]
        text = run(s, "deploy", versions[fault], "--wait", *mode, "--margin", "1", code=17)
        assert told in text, text
        now, under_way = state(s)
        assert now["version"] == old and under_way is None
        end = run(s, "deploy", "--history")["deployments"][0]
        assert (end["state"], end["why"]) == ("rolled_back", why)
    assert not clients.failed
    if mode == ("--shadow",):
        assert {v for v, _ in clients.told} == {old}
    assert all(y == tuple(Y) for y in clients.by(old))
    if fault != "wrong":
        assert {y for _, y in clients.told} == {tuple(Y)}


def test_what_cannot_be_tried(versions, tmp_path):
    (tmp_path / "torn.so").write_bytes(b"torn")
    deploying.write(tmp_path / "other.so", np.ones((4, 3), np.float32))
    with served(versions["now"], "--store", str(tmp_path / "store.db")) as s, Clients(s.port, 1) as clients:
        for path, code, text in ((tmp_path / "torn.so", 3, "cannot load"), (tmp_path / "other.so", 11, "its input"), (versions["boom"], 1, "ended while the new one was opened"),
                                 (versions["now"], 3, "")):  # fmt: skip
            assert text in run(s, "deploy", str(path), code=code)
            assert state(s)[1] is None
        for wrong in (("--share", "0%"), ("--share", "80%"), ("--share", "much"), ("--shadow", "--replace"), ("--margin", "x")):
            run(s, "deploy", versions["equal"], *wrong, code=2)
        states = [d["state"] for d in run(s, "deploy", "--history")["deployments"]]
        assert states and set(states) == {"rolled_back"}
    assert not clients.failed


def test_requests_that_neither_can_answer_are_no_fault_of_next(versions, tmp_path):
    bad = json.dumps({"inputs": [{"name": "x", "shape": [1, 15], "datatype": "FP32", "data": X[:15]}]})
    with served(versions["now"], "--store", str(tmp_path / "store.db")) as s, Clients(s.port) as clients, concurrent.futures.ThreadPoolExecutor(1) as pool:
        work = pool.submit(run, s, "deploy", versions["equal"], "--share", "50%", "--wait", *QUICK)
        n = 0
        while not work.done():
            assert s.call("POST", "/v2/models/m/infer", bad)[0] in (400, 500)
            n += 1
        assert work.result()["state"] == "promoted" and work.result()["evidence"]["failures_next"] == 0 and n
    assert not clients.failed


def test_rollback_by_hand(versions, tmp_path):
    with served(versions["now"], "--store", str(tmp_path / "store.db")) as s, Clients(s.port, 1) as clients:
        began = run(s, "deploy", versions["equal"], "--share", "50%")
        assert began["deployment"]["state"] == "running"
        assert "is under way" in run(s, "deploy", versions["equal"], code=13) and "is under way" in run(s, "deploy", versions["equal"], "--replace", code=13)
        told = json.loads(s.call("GET", "/status")[1])["deployments"]
        assert [d["id"] for d in told] == [began["deployment"]["id"]] and "hone_serve_deployment_runs" in s.call("GET", "/metrics")[1].decode()
        back = run(s, "rollback", "m")
        assert back["ended"]["id"] == began["deployment"]["id"] and state(s)[1] is None
        new, n = began["deployment"]["version"], len(clients.told)
        while len(clients.told) < n + 30:
            time.sleep(0.01)
        assert new not in {v for v, _ in clients.told[n + 10 :]}
        assert run(s, "deploy", versions["equal"], "--wait", *QUICK)["state"] == "promoted" and state(s)[0]["version"] == new
        assert run(s, "rollback", "m")["model"]["now"]["version"] == back["model"]["now"]["version"]
    assert not clients.failed


@pytest.mark.skipif(not os.environ.get("HONE_LONG"), reason="waits for hangs: with HONE_LONG")
def test_a_version_that_hangs_is_rolled_back(versions, tmp_path):
    with served(versions["now"], "--store", str(tmp_path / "store.db")) as s, Clients(s.port) as clients:
        run(s, "deploy", versions["hangs"], "--wait", "--share", "30%", "--margin", "1", code=17)
    assert not clients.failed and {y for _, y in clients.told} == {tuple(Y)}


def test_kill_9_at_any_moment(versions, tmp_path):
    draw, store = random.Random(5), tmp_path / "store.db"
    base = tmp_path / "base.so"
    base.write_bytes(open(versions["now"], "rb").read())
    equal = tmp_path / "equal.so"
    equal.write_bytes(open(versions["equal"], "rb").read())
    seen = set()
    for i in range(50 if os.environ.get("HONE_LONG") else 3):
        with served(base, "--store", str(store)) as s, Clients(s.port, 2) as clients:
            now, under_way = state(s)
            seen.add((os.path.basename(now["path"]), bool(under_way)))
            while not clients.told:
                time.sleep(0.01)
            assert {y for _, y in clients.told} == {tuple(Y)}
            if not under_way:
                if now["path"] != str(base):
                    run(s, "rollback")
                subprocess.Popen([HONE, "deploy", str(equal), "--port", str(s.port), *QUICK], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(draw.random() * 1.5)
            s.process.kill()
            s.process.wait()
            clients.over.set()
            with contextlib.suppress(OSError, http.client.HTTPException):
                clients.work[0].result(60)
            clients.work = []
        with contextlib.closing(sqlite3.connect(store)) as db:
            assert db.execute("pragma integrity_check").fetchone() == ("ok",)
    assert all(name in ("base.so", "equal.so") for name, _ in seen)


@contextlib.contextmanager
def small_disk(folder):
    """A file system of 8 MiB; gives a function that fills it, and one that makes room again."""
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    filler = folder / "filler"

    def fill():
        with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as f:
            while f.write(bytes(4096)):
                pass

    try:
        yield fill, filler.unlink
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_under_the_store(versions, tmp_path):
    """A deployment cannot begin; a rollback is acted on, and written when it can be; a promotion waits. No client notices."""
    def wait_for(ready):
        end = time.monotonic() + 60
        while not ready() and time.monotonic() < end:
            time.sleep(0.1)
        return ready()

    def last(s):
        return run(s, "deploy", "--history")["deployments"][0]["state"]

    with small_disk(tmp_path / "small") as (fill, empty), served(versions["now"], "--store", str(tmp_path / "small/store.db")) as s:
        with Clients(s.port) as clients:
            old = state(s)[0]["version"]
            fill()
            assert "full" in run(s, "deploy", versions["wrong"], *QUICK, code=12)
            empty()
            run(s, "deploy", versions["wrong"], "--shadow", *QUICK)
            fill()
            assert wait_for(lambda: not state(s)[1]) and state(s)[0]["version"] == old
            empty()
            assert wait_for(lambda: last(s) == "rolled_back")
            run(s, "deploy", versions["equal"], "--share", "30%", *QUICK[:2], "--pairs", "100", "--runs", "800", "--elements", "500")
            fill()
            n = len(clients.told)
            assert wait_for(lambda: len(clients.told) > n + 100)
            empty()
            assert wait_for(lambda: last(s) == "promoted") and state(s)[0]["version"] != old
        assert not clients.failed and {tuple(y) for _, y in clients.told} == {tuple(Y)}


def test_language_models(tmp_path):
    t = test_serve.test_language
    pytest.importorskip("gguf")
    shape = t.MODELS["llama"]
    for name, seed, more in (("now", 1, {"template": test_serve.TEMPLATE}), ("equal", 1, {}), ("other", 2, {})):
        t.write(str(tmp_path / f"{name}.gguf"), shape, t.weights_of(shape, np.random.default_rng(seed)), context=4096, **more)
    ask = {"model": "m", "prompt": "A brief AB", "max_tokens": 12, "temperature": 0, "logprobs": 1}
    over, told = threading.Event(), []

    def stream(s):
        c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
        while not over.is_set():
            c.request("POST", "/v1/completions", json.dumps({**ask, "stream": True}))
            lines = [json.loads(line[6:]) for line in c.getresponse().read().decode().split("\n\n") if line.startswith("data: {")]
            told.append(("".join(x["choices"][0]["text"] for x in lines), tuple(p for x in lines for p in (x["choices"][0]["logprobs"] or {}).get("token_logprobs", []))))
        c.close()

    with test_serve.serving(f"m={tmp_path / 'now.gguf'}", "--store", str(tmp_path / "store.db")) as s, concurrent.futures.ThreadPoolExecutor(2) as pool:
        alone = json.loads(s.call("POST", "/v1/completions", ask)[1])["choices"][0]
        work = [pool.submit(stream, s) for _ in range(2)]
        try:
            if os.environ.get("HONE_LONG"):  # it takes another compilation
                assert "out of tolerance" in run(s, "deploy", str(tmp_path / "other.gguf"), "--shadow", "--wait", "--margin", "1", code=17)
            end = run(s, "deploy", str(tmp_path / "equal.gguf"), "--share", "50%", "--wait", "--margin", "1", "--pairs", "10", "--runs", "30", "--elements", "100")
            assert end["state"] == "promoted"
        finally:
            over.set()
        for w in work:
            w.result(60)
    assert {text for text, _ in told} == {alone["text"]} and {p for _, p in told} == {tuple(alone["logprobs"]["token_logprobs"])}
