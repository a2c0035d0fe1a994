"""hone serve when things go wrong: memory of keys and values that is full, models that cannot be loaded or whose file changes, clients that
hold on to connections. On loopback alone."""

import concurrent.futures
import json
import os
import shutil
import socket
import subprocess
import time

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
openai = pytest.importorskip("openai")
import test_language  # noqa: E402
import test_serve  # noqa: E402
from test_serve import serving  # noqa: E402

LONG = bool(os.environ.get("HONE_LONG"))


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
