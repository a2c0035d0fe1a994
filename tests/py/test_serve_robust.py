"""hone serve when things go wrong: memory of keys and values that is full, models that cannot be loaded or whose file changes, clients that
hold on to connections. On loopback alone."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import resource
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
openai = pytest.importorskip("openai")
import test_language  # noqa: E402
import test_serve  # noqa: E402
from test_serve import serving  # noqa: E402

LONG = bool(os.environ.get("HONE_LONG"))
pytestmark = pytest.mark.optimised  # thousands of tokens


def write_model(path, seed=1):
    s = test_language.MODELS["llama"]
    test_language.write(path, s, test_language.weights_of(s, np.random.default_rng(seed)), context=4096, template=test_serve.TEMPLATE)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_model(str(tmp_path_factory.mktemp("robust") / "tiny.gguf"))


def test_embeddings_wait_for_memory_that_answers_have(path):
    with serving(path, "--context", "256", "--cached-tokens", "256") as s:
        c, texts = s.client(), ["A" * 200, "B" * 230, "e n" * 70]

        def vectors(_):
            return [d.embedding for d in c.embeddings.create(model="tiny", input=texts).data]

        def answer(p):
            return c.completions.create(model="tiny", prompt=p, max_tokens=90, temperature=0, extra_body={"ignore_eos": True}).choices[0].text

        some = test_serve.prompts(3, 90)
        want, alone = vectors(0), [answer(p) for p in some]
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            answers, embedded = [pool.submit(answer, p) for p in some], [pool.submit(vectors, i) for i in range(2)]
            assert [a.result() for a in answers] == alone
            assert all(e.result() == want for e in embedded)
        before = s.figures()["hone_serve_preemptions_total"]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answers = [pool.submit(answer, "A" * 160) for _ in range(60)]  # one behind the other
            for _ in range(20):  # embeddings that come between two of them have the blocks for themselves
                assert vectors(0) == want
                if s.figures()["hone_serve_preemptions_total"] > before:  # it waited for the blocks that an answer had
                    break
            else:
                raise AssertionError("no embedding waited")
            for a in answers:
                a.cancel()


def test_one_model_that_cannot_be_loaded(path, tmp_path):
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + bytes(60))
    with serving(str(bad), path, "gone=/nowhere.onnx") as s:
        assert s.client().completions.create(model="tiny", prompt="A", max_tokens=2).choices
        assert [m.id for m in s.client().models.list()] == ["tiny"]
        status, text, _ = s.call("GET", "/ready")
        told = json.loads(text)
        assert (status, told["status"], sorted(told["models"])) == (503, "degraded", ["bad", "gone"])
        assert str(bad) in told["models"]["bad"] and "no such model" in told["models"]["gone"]
        assert s.call("GET", "/v2/health/ready")[0] == 503 and s.call("GET", "/health")[0] == 200
        for call, name in (("/v1/completions", "bad"), ("/v2/models/gone/infer", "gone")):
            status, text, _ = s.call("POST", call, {"model": name, "prompt": "A"})
            assert status == 503 and told["models"][name] in json.dumps(json.loads(text)["error"])
        states = {m["name"]: m["state"] for m in json.loads(s.call("GET", "/status")[1])["models"]}
        assert states == {"bad": "failed", "gone": "failed", "tiny": "ready"}
        code, (_, said) = s.end()
        assert code == 0 and "the model 'bad' is not served" in said and "the model 'gone' is not served" in said
    for arguments in ([str(bad), "/nowhere.onnx"], [path, str(bad), "--require-all"]):
        done = subprocess.run([test_serve.HONE, "serve", *arguments, "--port", "0", "--threads", "1", "--no-parity"], capture_output=True, text=True, timeout=60)
        assert done.returncode in (4, 14) and "ready" not in done.stderr and "the model 'bad' is not served: " in done.stderr


def test_status(path):
    with serving(path, "--max-queue", "77") as s:
        s.client().completions.create(model="tiny", prompt="A", max_tokens=40, extra_body={"ignore_eos": True})
        told = json.loads(s.call("GET", "/status")[1])
        assert (told["status"], told["queue"], told["max_queue"], told["deployments"]) == ("ready", 0, 77, [])
        one, = told["models"]
        assert (one["name"], one["kind"], one["state"], one["answer_tokens"], one["requests"]) == ("tiny", "language", "ready", 40, {"200": 1})
        assert one["first_s"]["n"] == one["whole_s"]["n"] == 1 and one["between_s"]["n"] == 39
        assert 0 < one["between_s"]["p50"] <= one["between_s"]["p95"] <= one["between_s"]["p99"] <= one["whole_s"]["p50"]
        assert one["version"] == json.loads(s.call("GET", "/v1/models")[1])["data"][0]["version"]
        for _ in range(100):  # a rate is of whole seconds
            if json.loads(s.call("GET", "/status")[1])["models"][0]["tokens_per_s"] > 0:
                break
            time.sleep(0.05)
        else:
            raise AssertionError("no rate")


def test_sockets_whose_numbers_come_again(path):
    body = json.dumps({"text": "A" * 200000}).encode()
    with serving(path) as s:
        for _ in range(10):  # the server ends a connection; the next one has its number, and sends much
            with socket.create_connection(("127.0.0.1", s.port), timeout=60) as c:
                c.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                while c.recv(1000):
                    pass
            assert s.call("POST", "/tokenize", body)[0] == 200
            with socket.create_connection(("127.0.0.1", s.port), timeout=60) as c:
                c.sendall(b"no HTTP\r\n\r\n")
                while c.recv(1000):
                    pass
            assert s.call("POST", "/tokenize", body)[0] == 200


def test_weights_that_are_cut_under_a_server(path, tmp_path):
    one = write_model(str(tmp_path / "own.gguf"), 71)  # a model that no other test has: its weights are cut
    with serving("whole=" + path, "cut=" + one) as s:
        def ask(model, **more):
            return s.client().completions.create(model=model, prompt="A", max_tokens=3000, temperature=0, extra_body={"ignore_eos": True}, **more)

        def state():
            return {m["name"]: m["state"] for m in json.loads(s.call("GET", "/status")[1])["models"]}

        with open(f"/proc/{s.process.pid}/maps") as f:
            weights = {line.split()[-1] for line in f if line.strip().endswith(".weights")}
        _, own = sorted(weights, key=os.path.getmtime)  # as they were compiled
        alone = ask("whole").choices[0].text
        stream = iter(ask("cut", stream=True))
        next(stream)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            beside = pool.submit(ask, "whole")
            os.truncate(own, 0)
            with pytest.raises(openai.APIError, match="weights .* were cut or changed"):
                for _ in stream:
                    pass
            assert beside.result().choices[0].text == alone  # nobody else is hurt
        assert state() == {"cut": "damaged", "whole": "ready"}
        status, text, _ = s.call("GET", "/ready")
        assert status == 503 and "were cut or changed" in json.loads(text)["models"]["cut"]
        with pytest.raises(openai.InternalServerError, match="were cut") as refused:
            ask("cut")
        assert refused.value.status_code == 503 and s.call("GET", "/health")[0] == 200
        code, (_, said) = s.end()
        assert code == 0 and said.count("is not served") == 1
        shutil.rmtree(os.path.dirname(own))


def connect(s):
    return socket.create_connection(("127.0.0.1", s.port), timeout=60)


def memory(s):
    with open(f"/proc/{s.process.pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_idle_connections(path):
    """5,000 with HONE_LONG: others are answered, and so are those when they ask."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    n = min(5000 if LONG else 400, hard - 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with serving(path) as s, contextlib.ExitStack() as all_of_them:
            idle = [all_of_them.enter_context(connect(s)) for _ in range(n)]
            assert s.client().completions.create(model="tiny", prompt="A", max_tokens=3).choices
            for c in idle[:: max(1, n // 50)]:
                c.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                assert c.recv(12) == b"HTTP/1.1 200"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_more_connections_than_descriptors(path):
    if not shutil.which("prlimit"):
        pytest.skip("needs prlimit")
    most, (soft, hard) = 256, resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        command = ["prlimit", f"--nofile={most}:{most}", test_serve.HONE]
        with limited(command, path) as s, contextlib.ExitStack() as all_of_them:
            stream = iter(s.client().completions.create(model="tiny", prompt="A", max_tokens=1000, stream=True, extra_body={"ignore_eos": True}))
            next(stream)
            held = [all_of_them.enter_context(connect(s)) for _ in range(most - 20)]
            asking = [all_of_them.enter_context(connect(s)) for _ in range(20)]
            for c in asking:
                with contextlib.suppress(ConnectionError):
                    c.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            refused = 0
            for c in asking:
                told = c.recv(1000)
                refused += told.startswith(b"HTTP/1.1 503") and b"no room for more connections" in told
            assert refused == 20
            assert sum(1 for _ in stream) > 0  # nothing that was under way is lost
            held[0].sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert held[0].recv(12) == b"HTTP/1.1 200"
            all_of_them.close()
            for _ in range(200):
                if s.call("GET", "/health")[0] == 200:
                    break
                time.sleep(0.05)
            assert s.call("POST", "/v1/completions", {"prompt": "A", "max_tokens": 1})[0] == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def limited(command, path):
    """A server whose program runs behind `command`."""
    own = test_serve.HONE
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "hone")
        with open(script, "w") as f:
            f.write("#!/bin/sh\nexec " + " ".join(command) + ' "$@"\n')
        os.chmod(script, 0o755)
        test_serve.HONE = script
        try:
            with serving(path) as s:
                test_serve.HONE = own
                yield s
        finally:
            test_serve.HONE = own


def test_many_short_requests_take_no_memory(path):
    """100,000 with HONE_LONG."""
    n = 100000 if LONG else 2000
    body = json.dumps({"prompt": "A", "max_tokens": 1}).encode()
    with serving(path) as s:
        def some(k):
            c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
            for _ in range(k):
                c.request("POST", "/v1/completions", body)
                r = c.getresponse()
                assert r.status == 200 and r.read()
            c.close()

        some(500)
        before = memory(s)
        some(n)
        assert memory(s) - before < max(2 << 20, n * 64), memory(s) - before


def test_a_client_that_never_reads_its_stream(path):
    with serving(path) as s, connect(s) as c:
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        body = json.dumps({"prompt": "A", "max_tokens": 3900, "stream": True, "logprobs": 20, "ignore_eos": True, "n": 16}).encode()
        c.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        s.wait("hone_serve_cancelled_total", 1)  # it is cut off, and nobody computes for it any more
        assert s.client().completions.create(model="tiny", prompt="A", max_tokens=3).choices


def test_a_full_disk_under_the_log(path):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    with serving(path, "--log", "/dev/full") as s:
        for _ in range(3):
            assert s.client().completions.create(model="tiny", prompt="A", max_tokens=3).choices
        assert s.end()[0] == 0
