"""hone serve: OpenAI's client unmodified, streams, tools, schemas, limits, clients that go, answers under load as alone; on a tiny model."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
openai = pytest.importorskip("openai")
test_language = pytest.importorskip("test_language")
HONE = os.path.join(os.environ.get("HONE_BUILD", "build"), "hone")
PROMPT = "A brief AB"
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"


class Server:
    """A hone serve of its own, on a free port."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([HONE, "serve", *arguments, "--port", "0", "--threads", "1", "--no-parity", "--json"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.port = json.loads(line)["port"]

    def client(self, key="none", **more):
        return openai.OpenAI(base_url=f"http://127.0.0.1:{self.port}/v1", api_key=key, max_retries=0, **more)

    def call(self, method, path, body=None, headers=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        c.request(method, path, body if body is None or isinstance(body, (bytes, str)) else json.dumps(body), headers or {})
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, text, r.headers

    def figures(self):
        """{name: sum over models} of /metrics."""
        out = {}
        for line in self.call("GET", "/metrics")[1].decode().splitlines():
            if not line.startswith("#"):
                name = line.split("{")[0]
                out[name] = out.get(name, 0) + float(line.rsplit(" ", 1)[1])
        return out

    def wait(self, name, least):
        for _ in range(600):
            if self.figures()[name] >= least:
                return
            time.sleep(0.05)
        raise AssertionError(f"{name} did not reach {least}")

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        out = self.process.communicate(timeout=60)
        return self.process.returncode, out


@contextlib.contextmanager
def serving(*arguments):
    s = Server(*arguments)
    try:
        yield s
    finally:
        s.process.kill()
        s.process.communicate()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    s = test_language.MODELS["llama"]
    path = str(tmp_path_factory.mktemp("serve") / "tiny.gguf")
    test_language.write(path, s, test_language.weights_of(s, np.random.default_rng(1)), context=4096, template=TEMPLATE)
    return path


@pytest.fixture(scope="module")
def server(path):
    with serving(path) as s:
        yield s


def prompts(n, most=60):
    rng = np.random.default_rng(7)
    return ["".join(rng.choice(list("ABab nHe"), size=int(rng.integers(1, most)))) for _ in range(n)]


def test_it_says_what_it_is(server):
    assert server.call("GET", "/health")[0] == server.call("GET", "/ready")[0] == 200
    models = list(server.client().models.list())
    assert server.call("GET", "/v1/models/ti%6Ey")[0] == 200
    assert [m.id for m in models] == ["tiny"] and server.client().models.retrieve("tiny").owned_by == "hone"
    parser = pytest.importorskip("prometheus_client.parser")
    families = {f.name: f for f in parser.text_string_to_metric_families(server.call("GET", "/metrics")[1].decode())}
    assert families["hone_serve_first_token_seconds"].type == "histogram" and families["hone_serve_requests"].type == "counter"


def test_answers_are_those_of_the_command(server, path):
    done = subprocess.run([HONE, "generate", path, "-p", PROMPT, "-n", "12", "--temperature", "0", "--threads", "1", "--no-parity", "--json"],
                          capture_output=True, text=True, check=True)
    want = json.loads(done.stdout)
    got = server.client().completions.create(model="tiny", prompt=PROMPT, max_tokens=12, temperature=0, logprobs=2)
    one = got.choices[0]
    assert (one.text, one.finish_reason) == (want["text"], "length")
    assert one.logprobs.token_logprobs == want["logprobs"]
    assert (got.usage.prompt_tokens, got.usage.completion_tokens) == (want["prompt_tokens"], 12)


def test_a_stream_is_the_answer_in_pieces(server):
    c, ask = server.client(), dict(model="tiny", messages=[{"role": "user", "content": PROMPT}], max_tokens=20, seed=3)
    whole = c.chat.completions.create(**ask, logprobs=True, top_logprobs=2)
    pieces = list(c.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}, logprobs=True, top_logprobs=2))
    assert "".join(p.choices[0].delta.content or "" for p in pieces if p.choices) == whole.choices[0].message.content
    assert pieces[0].choices[0].delta.role == "assistant" and pieces[-2].choices[0].finish_reason == whole.choices[0].finish_reason
    usage = pieces[-1].usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (whole.usage.prompt_tokens, whole.usage.completion_tokens)
    told = [t for p in pieces if p.choices and p.choices[0].logprobs for t in p.choices[0].logprobs.content]
    assert [(t.logprob, t.bytes) for t in told] == [(t.logprob, t.bytes) for t in whole.choices[0].logprobs.content]
    assert all(len(t.top_logprobs) == 2 for t in told)


def test_a_conversation_may_hold_any_character_that_a_model_says(server):
    c = server.client()
    ask = lambda text, **more: c.chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": "A"}, {"role": "assistant", "content": text}, {"role": "user", "content": PROMPT}],
        max_tokens=4, temperature=0, **more)
    assert ask("A\0B").usage.prompt_tokens == ask("A\1B").usage.prompt_tokens == ask("A").usage.prompt_tokens + 2
    assert c.completions.create(model="tiny", prompt="A\0B", max_tokens=1).usage.prompt_tokens == c.completions.create(model="tiny", prompt="A\1B", max_tokens=1).usage.prompt_tokens


def test_n_stop_and_several_prompts(server):
    c = server.client()
    got = c.completions.create(model="tiny", prompt=["AB AB", "e n"], n=3, max_tokens=6, temperature=0)
    assert [x.index for x in got.choices] == list(range(6))
    assert len({x.text for x in got.choices[:3]}) == len({x.text for x in got.choices[3:]}) == 1
    drawn = c.completions.create(model="tiny", prompt=PROMPT, n=3, max_tokens=10, seed=1)
    assert len({x.text for x in drawn.choices}) > 1
    long = c.completions.create(model="tiny", prompt=PROMPT, max_tokens=30, temperature=0).choices[0].text
    stop = long[8:10]
    cut = c.completions.create(model="tiny", prompt=PROMPT, max_tokens=30, temperature=0, stop=[stop]).choices[0]
    assert cut.text == long[:long.index(stop)] and cut.finish_reason == "stop"


def test_json_and_schemas(server):
    schema = {"type": "object", "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}}, "required": ["a", "b"], "additionalProperties": False}
    got = server.client().chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": "x"}], seed=2,
        response_format={"type": "json_schema", "json_schema": {"name": "s", "schema": schema}})
    answer = json.loads(got.choices[0].message.content)
    assert answer["a"] in (1, 2) and isinstance(answer["b"], bool) and got.choices[0].finish_reason == "stop"
    with pytest.raises(openai.BadRequestError, match="schema"):
        server.client().chat.completions.create(model="tiny", messages=[{"role": "user", "content": "x"}],
                                                response_format={"type": "json_schema", "json_schema": {"name": "s"}})


TOOL = {"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"enum": ["A", "B"]}}, "required": ["city"], "additionalProperties": False}}}


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_is_called(server, stream):
    got = server.client().chat.completions.create(model="tiny", messages=[{"role": "user", "content": "x"}], tools=[TOOL], seed=4,
                                                  tool_choice={"type": "function", "function": {"name": "weather"}}, stream=stream)
    if stream:
        pieces = list(got)
        calls = [t for p in pieces for t in p.choices[0].delta.tool_calls or []]
        end = pieces[-1].choices[0].finish_reason
    else:
        calls, end = got.choices[0].message.tool_calls, got.choices[0].finish_reason
    assert [c.function.name for c in calls] == ["weather"] and end == "tool_calls"
    assert json.loads(calls[0].function.arguments)["city"] in ("A", "B")


def test_calls_of_several_choices_have_ids_of_their_own(server):
    got = server.client().chat.completions.create(model="tiny", messages=[{"role": "user", "content": "x"}], tools=[TOOL], seed=4, n=3,
                                                  tool_choice={"type": "function", "function": {"name": "weather"}})
    assert len({c.message.tool_calls[0].id for c in got.choices}) == 3


def test_tokens_and_back(server):
    tokens = json.loads(server.call("POST", "/tokenize", {"text": PROMPT})[1])["tokens"]
    assert json.loads(server.call("POST", "/detokenize", {"tokens": tokens})[1]) == {"text": PROMPT}
    c = server.client()
    assert (c.completions.create(model="tiny", prompt=tokens, max_tokens=4, temperature=0).choices[0].text
            != "" and server.call("POST", "/detokenize", {"tokens": [-1]})[0] == 400)


BAD = [
    ("POST", "/v1/completions", {"prompt": "a", "best_of": 3}, 400, "'best_of' is not offered"),
    ("GET", "/v1/models/none", None, 404, "no model 'none'"),
    ("POST", "/v1/models/tiny", {}, 404, "no such call"),
    ("GET", "/v1/%00models", None, 404, "no such call"),
    ("POST", "/v1/completions", b"{", 400, "no JSON object"),
    ("POST", "/v1/completions", b"[]", 400, "no JSON object"),
    ("POST", "/v1/completions", b"", 400, "empty"),
    ("POST", "/v1/completions", b"[" * 100000, 400, "no JSON object"),
    ("POST", "/v1/completions", b'{"prompt": "\xff"}', 400, "no JSON object"),
    ("POST", "/v1/completions", {"model": "tiny"}, 400, "'prompt' is missing"),
    ("POST", "/v1/completions", {"prompt": [1, 99999999]}, 400, "no token"),
    ("POST", "/v1/completions", {"prompt": "a", "temperature": "hot"}, 400, "'temperature'"),
    ("POST", "/v1/completions", {"prompt": "a", "n": 0}, 400, "'n'"),
    ("POST", "/v1/completions", {"prompt": "a", "max_tokens": -1}, 400, "'max_tokens'"),
    ("POST", "/v1/completions", {"prompt": "A" * 20000, "max_tokens": 1}, 400, "context"),
    ("POST", "/v1/completions", {"prompt": "a", "grammar": "root ::= ("}, 400, "grammar"),
    ("POST", "/v1/completions", {"prompt": "a", "model": "other"}, 404, "no model 'other'"),
    ("POST", "/v1/chat/completions", {"messages": [{"content": "x"}]}, 400, "'role'"),
    ("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "text alone"),
    ("GET", "/v1/completions", None, 405, "POST"),
    ("GET", "/nowhere", None, 404, "no such call"),
]


@pytest.mark.parametrize("method,path_,body,status,text", BAD)
def test_bad_requests_are_told_why(server, method, path_, body, status, text):
    got, told, _ = server.call(method, path_, body)
    assert got == status and text in json.loads(told)["error"]["message"]


def test_answers_under_load_are_those_alone(server):
    c, ask = server.client(), dict(model="tiny", max_tokens=16, temperature=0, logprobs=1)
    some = prompts(40, 300)

    def one(p):
        got = c.completions.create(prompt=p, **ask).choices[0]
        return got.text, got.logprobs.token_logprobs

    alone = [one(p) for p in some]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert list(pool.map(one, some)) == alone
    steps = server.figures()
    assert steps["hone_serve_batch_size_sum"] > 1.2 * steps["hone_serve_batch_size_count"]


def test_little_memory_pauses_answers_and_changes_none(path):
    with serving(path, "--context", "256", "--cached-tokens", "256") as s:
        c, some = s.client(), prompts(8, 100)

        def one(p):
            return c.completions.create(model="tiny", prompt=p, max_tokens=100, temperature=0).choices[0].text

        alone = [one(p) for p in some]
        for _ in range(20):  # on a busy machine the clients may come too far apart to meet
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                assert list(pool.map(one, some)) == alone
            if s.figures()["hone_serve_preemptions_total"]:
                break
        assert s.figures()["hone_serve_preemptions_total"] > 0


def test_the_rest_behind_the_last_full_block_is_found(path):
    """45 tokens are a block of 32 and 13 of the next, which nobody fills."""
    rng = np.random.default_rng(3)
    with serving(path) as s:
        known = json.loads(s.call("POST", "/tokenize", {"text": "ABab nHe" * 20})[1])["tokens"]
        prompt = [int(t) for t in rng.choice(known, size=45)]

        def ask(tokens):
            got = json.loads(s.call("POST", "/v1/completions", {"prompt": tokens, "max_tokens": 5, "temperature": 0, "logprobs": 1, "ignore_eos": True})[1])
            return got["choices"], got["usage"]["prompt_tokens_details"]["cached_tokens"]

        once, none = ask(prompt)
        again, found = ask(prompt)
        _, longer = ask(prompt + [int(t) for t in rng.choice(known, size=9)])
        other, _ = ask([prompt[0]] + prompt[2:])
    assert (none, found) == (0, 44) and longer >= 45 and once == again != other


def test_what_was_computed_before_is_found_to_the_token(path):
    text = "AB AB nH e" * 9  # several blocks, and a part of one
    asks = [text + end for end in ("AAAAAAAA", "BBBBBBBB", "AAAABBBB", "")]
    def all_of(s, prompts):
        out = [json.loads(s.call("POST", "/v1/completions", {"prompt": p, "max_tokens": 40, "ignore_eos": True, "temperature": 0, "logprobs": 2})[1]) for p in prompts]
        return [o["choices"] for o in out], [o["usage"]["prompt_tokens_details"]["cached_tokens"] for o in out], out[0]["usage"]["prompt_tokens"]
    with serving(path) as s:
        once, found, n = all_of(s, asks)
        again, found_again, _ = all_of(s, asks)
    assert found[0] == 0 and n - 9 <= found[1] < found[2] < n - 1 and found_again[0] == n - 1
    assert again == once
    alone = []
    for p in asks:
        with serving(path, "--kept-tokens", "1") as s:
            alone += all_of(s, [p])[0]
    assert alone == once


def test_a_client_that_goes_ends_its_answer(server):
    before = server.figures()["hone_serve_cancelled_total"]
    for body in ({"prompt": "A", "max_tokens": 4000, "ignore_eos": True}, {"prompt": "A", "max_tokens": 4000, "ignore_eos": True, "stream": True},
                 {"prompt": "AB n" * 900, "max_tokens": 1000, "ignore_eos": True}):
        text = json.dumps(body)
        with socket.create_connection(("127.0.0.1", server.port)) as c:
            c.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
            time.sleep(0.05)
    server.wait("hone_serve_cancelled_total", before + 3)


def test_a_deadline_and_a_full_queue(path):
    with serving(path, "--at-once", "1", "--max-queue", "2") as s:
        c = s.client()
        long = dict(model="tiny", prompt="A", max_tokens=4000, temperature=0, extra_body={"ignore_eos": True})
        with pytest.raises(openai.APIStatusError, match="deadline") as late:
            c.completions.create(**{**long, "extra_body": {"ignore_eos": True, "deadline_ms": 20}})
        assert late.value.status_code == 504
        streams = [c.completions.create(**long, stream=True)]
        next(iter(streams[0]))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            more = [pool.submit(c.completions.create, **{**long, "max_tokens": 5}) for _ in range(2)]
            s.wait("hone_serve_waiting", 2)
            with pytest.raises(openai.RateLimitError) as full:
                c.completions.create(**long)
            assert full.value.response.headers["retry-after"]
            streams[0].close()
            assert all(m.result().choices for m in more)


def test_keys_and_their_limits(path, tmp_path):
    keys, log = tmp_path / "keys", tmp_path / "log"
    keys.write_text("# who may\nsecret-key-1 alice 1\nsecret-key-2\n")
    with serving(path, "--api-key-file", str(keys), "--log", str(log)) as s:
        with pytest.raises(openai.AuthenticationError):
            s.client("secret-key-3").models.list()
        assert s.call("GET", "/v2/health/live")[:2] == (200, b'{"live":true}')
        assert s.call("GET", "/v2/health/ready")[:2] == (200, b'{"ready":true}') and s.call("GET", "/v2")[0] == 401
        assert s.call("GET", "/ready")[0] == 200 and s.call("GET", "/metrics")[0] == 401
        stream = s.client("secret-key-1").completions.create(model="tiny", prompt="A", max_tokens=4000, stream=True, extra_body={"ignore_eos": True})
        next(iter(stream))
        with pytest.raises(openai.RateLimitError, match="alice"):
            s.client("secret-key-1").completions.create(model="tiny", prompt="A")
        assert s.client("secret-key-2").completions.create(model="tiny", prompt="A").choices
        stream.close()
        lines = [json.loads(x) for x in log.read_text().splitlines()]
        assert {"alice", "key-3"} <= {x.get("key") for x in lines} and "secret-key-1" not in log.read_text()
    keys.write_text("short\n")
    done = subprocess.run([HONE, "serve", path, "--port", "0", "--api-key-file", str(keys)], capture_output=True, text=True)
    assert done.returncode == 3 and f"{keys}:1:1: a key of 5 characters" in done.stderr


def test_slow_clients_are_ended_and_hurt_nobody(path):
    with serving(path, "--read-timeout", "1s") as s:
        with socket.create_connection(("127.0.0.1", s.port)) as slow, socket.create_connection(("127.0.0.1", s.port)) as idle:
            slow.settimeout(0.2)
            begin, ended = time.monotonic(), False
            while not ended and time.monotonic() - begin < 20:
                try:
                    slow.sendall(b"G")
                    ended = slow.recv(1) == b""
                except TimeoutError:
                    assert s.call("GET", "/health")[0] == 200
                except OSError:
                    ended = True
            assert ended
            idle.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert idle.recv(12) == b"HTTP/1.1 200"


def test_bytes_that_are_no_http(server):
    rng = np.random.default_rng(5)
    begin = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 30\r\n\r\n" + b'{"prompt": "A", "max_tokens":1}'
    for _ in range(200):
        data = bytearray(begin)
        for _ in range(int(rng.integers(1, 6))):
            data[int(rng.integers(0, len(data)))] = int(rng.integers(0, 256))
        with socket.create_connection(("127.0.0.1", server.port)) as c:
            c.sendall(bytes(data[:int(rng.integers(1, len(data) + 1))]))
    status, _, _ = server.call("POST", "/v1/completions", {"prompt": "A", "max_tokens": 1})
    assert status == 200


def test_embeddings(path):
    import hone
    texts = ["A brief AB", "something else", "A" * 90]
    with hone.LanguageModel(path, threads=1, parity=False) as m:
        want = [m.embed(t) for t in texts]
        last, token = m.embed(texts[0], pooling="last"), m.tokenize(texts[0], frame=True)
    with serving(path) as s:
        c = s.client()
        got = c.embeddings.create(model="tiny", input=texts)  # the client asks for base64
        assert [d.index for d in got.data] == [0, 1, 2] and got.usage.prompt_tokens == got.usage.total_tokens > 90
        assert all((np.array(d.embedding, np.float32) == x).all() for d, x in zip(got.data, want))
        one = c.embeddings.create(model="tiny", input=token, encoding_format="float").data[0].embedding
        assert (np.array(one, np.float32) == want[0]).all()
        some = c.embeddings.create(model="tiny", input=texts[0], dimensions=5, encoding_format="float").data[0].embedding
        assert np.abs(np.array(some) - want[0][:5] / np.linalg.norm(want[0][:5])).max() < 1e-6
        one = c.embeddings.create(model="tiny", input=[token], encoding_format="float", extra_body={"pooling": "last"}).data[0].embedding
        assert (np.array(one, np.float32) == last).all()
        # beside answers, which stay the same
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            ask = {"model": "tiny", "prompt": PROMPT, "max_tokens": 60, "temperature": 0}
            alone = c.completions.create(**ask).choices[0].text
            answers = [pool.submit(c.completions.create, **ask) for _ in range(4)]
            vectors = [pool.submit(c.embeddings.create, model="tiny", input=texts) for _ in range(8)]
            assert {a.result().choices[0].text for a in answers} == {alone}
            assert all((np.array(d.embedding, np.float32) == x).all() for v in vectors for d, x in zip(v.result().data, want))
        for body, text in (({}, "'input' is missing"), ({"input": ""}, "'input' is empty"), ({"input": []}, "'input' is empty"), ({"input": 3}, "'input' is not"),
                           ({"input": [70000]}, "no token"), ({"input": "A", "dimensions": 0}, "from 1 to 32"),
                           ({"input": "A", "encoding_format": "int8"}, "encoding_format"), ({"input": "A" * 200000}, "too many for a context")):
            status, told, _ = s.call("POST", "/v1/embeddings", {"model": "tiny", **body})
            assert status == 400 and text in json.loads(told)["error"]["message"], told
        assert s.figures()["hone_serve_prompt_tokens_total"] > 0


def test_sigterm_waits_for_answers(path):
    with serving(path) as s:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(s.client().completions.create, model="tiny", prompt="A", max_tokens=1500, extra_body={"ignore_eos": True})
            s.wait("hone_serve_running", 1)
            code, _ = s.end()
            assert answer.result().usage.completion_tokens == 1500 and code == 0


def test_sigterm_waits_until_replies_are_out(path):
    body = json.dumps({"model": "tiny", "messages": [{"role": "user", "content": "A"}], "max_tokens": 1500, "ignore_eos": True,
                       "logprobs": True, "top_logprobs": 20}).encode()
    with serving(path) as s, socket.socket() as c:
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.connect(("127.0.0.1", s.port))
        c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        s.wait("hone_serve_running", 1)
        s.process.send_signal(signal.SIGTERM)
        assert c.recv(1, socket.MSG_PEEK)  # the reply begins to come
        time.sleep(0.5)
        reply = http.client.HTTPResponse(c)
        reply.begin()
        assert len(json.loads(reply.read())["choices"][0]["logprobs"]["content"]) == 1500
        assert s.process.wait(60) == 0


def test_what_cannot_be_served(path, tmp_path):
    for arguments, code, text in ((["/nowhere.gguf"], 4, "no such model"), ([path, path], 2, "two models are named 'tiny'"),
                                  ([path, "--host", "203.0.113.7"], 4, "cannot listen")):
        done = subprocess.run([HONE, "serve", *arguments, "--port", "0"], capture_output=True, text=True, timeout=60)
        assert (done.returncode, text in done.stderr) == (code, True), done.stderr


# --- models of tensors ---


@pytest.fixture(scope="module")
def tensors(tmp_path_factory, path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto as T, helper as h
    x, w = h.make_tensor_value_info("x", T.FLOAT, ["batch", 4]), np.arange(12, dtype=np.float32).reshape(4, 3)
    index, graph = h.make_tensor_value_info("index", T.INT64, ["batch"]), [
        h.make_node("MatMul", ["x", "w"], ["xw"]), h.make_node("Gather", ["table", "index"], ["row"]), h.make_node("Add", ["xw", "row"], ["y"])]
    table = np.arange(15, dtype=np.float32).reshape(5, 3)
    model = h.make_model(h.make_graph(graph, "g", [x, index], [h.make_tensor_value_info("y", T.FLOAT, ["batch", 3])],
                                      [onnx.numpy_helper.from_array(w, "w"), onnx.numpy_helper.from_array(table, "table")]),
                         opset_imports=[h.make_opsetid("", 17)])
    file = str(tmp_path_factory.mktemp("tensors") / "linear.onnx")
    onnx.save(model, file)
    with serving(file, "talk=" + path, "--batch-delay", "30ms") as s:
        yield s, lambda a, i: a @ w + table[i]


def test_tritonclient(tensors):
    client = pytest.importorskip("tritonclient.http")
    server, want = tensors
    c = client.InferenceServerClient(f"127.0.0.1:{server.port}")
    assert c.is_server_live() and c.is_server_ready() and c.is_model_ready("linear")
    about = c.get_model_metadata("linear")
    assert about["inputs"][0] == {"name": "x", "datatype": "FP32", "shape": [-1, 4]}
    a, i = np.arange(8, dtype=np.float32).reshape(2, 4), np.array([1, 4])
    for binary in (True, False):
        given = [client.InferInput("x", a.shape, "FP32"), client.InferInput("index", i.shape, "INT64")]
        given[0].set_data_from_numpy(a, binary_data=binary)
        given[1].set_data_from_numpy(i, binary_data=binary)
        got = c.infer("linear", given, outputs=[client.InferRequestedOutput("y", binary_data=binary)], request_id="7")
        assert np.array_equal(got.as_numpy("y"), want(a, i)) and got.get_response()["id"] == "7"
        assert np.array_equal(c.infer("linear", given).as_numpy("y"), want(a, i))
    config = c.get_model_config("linear")
    assert config["input"] == [{"name": "x", "data_type": "TYPE_FP32", "dims": [4]}, {"name": "index", "data_type": "TYPE_INT64", "dims": []}]
    assert config["max_batch_size"] == 32 and config["dynamic_batching"] == {"max_queue_delay_microseconds": 30000}
    [stats] = c.get_inference_statistics("linear")["model_stats"]
    assert (stats["inference_count"], stats["execution_count"], stats["inference_stats"]["fail"]["count"]) == (4, 4, 0)
    assert stats["inference_stats"]["success"]["count"] == 4 and stats["inference_stats"]["success"]["ns"] > 0
    assert [x["name"] for x in c.get_inference_statistics()["model_stats"]] == ["linear", "talk"]
    assert [(x["name"], x["state"]) for x in c.get_model_repository_index()] == [("linear", "READY"), ("talk", "READY")]
    with pytest.raises(client.InferenceServerException, match="there is no such model or call"):
        c.get_model_config("other")
    with pytest.raises(client.InferenceServerException, match="Content-Encoding 'gzip' is not read"):
        c.infer("linear", given, request_compression_algorithm="gzip")
    assert np.array_equal(c.infer("linear", given, response_compression_algorithm="gzip").as_numpy("y"), want(a, i))
    with pytest.raises(client.InferenceServerException, match="'classification' is not offered"):
        c.infer("linear", given, outputs=[client.InferRequestedOutput("y", class_count=2)])
    bad = client.InferInput("x", [2, 5], "FP32")
    bad.set_data_from_numpy(np.zeros((2, 5), np.float32))
    with pytest.raises(client.InferenceServerException, match="missing"):
        c.infer("linear", [bad])
    c.close()


def infer(server, a, i):
    body = {"inputs": [{"name": "x", "shape": list(a.shape), "datatype": "FP32", "data": a.tolist()},
                       {"name": "index", "shape": [len(i)], "datatype": "INT64", "data": [int(k) for k in i]}]}
    status, text, _ = server.call("POST", "/v2/models/linear/infer", body)
    return status, json.loads(text)


def test_requests_share_runs_and_one_s_bad_index_is_its_own(tensors):
    server, want = tensors
    rng = np.random.default_rng(3)
    asked = [(rng.integers(-4, 5, (int(n), 4)).astype(np.float32), rng.integers(0, 5, int(n))) for n in rng.integers(1, 4, 24)]
    asked[7] = (asked[7][0], np.full(len(asked[7][1]), 99))
    before = server.figures()
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        got = list(pool.map(lambda q: infer(server, *q), asked))
    for k, ((a, i), (status, told)) in enumerate(zip(asked, got)):
        if k == 7:
            assert status >= 400 and "out of range" in told["error"]
        else:
            y = told["outputs"][0]
            assert status == 200 and np.array_equal(np.array(y["data"]).reshape(y["shape"]), want(a, i))
    after = server.figures()
    assert after["hone_serve_steps_total"] - before["hone_serve_steps_total"] < len(asked)


@pytest.mark.parametrize("change,text", [
    (lambda b: b.pop("inputs"), "'x' is missing"),
    (lambda b: b["inputs"][0].update(shape=[1, -4]), "no list of sizes"),
    (lambda b: b["inputs"][0].update(shape=[1 << 30, 1 << 30, 1 << 30]), "no list of sizes"),
    (lambda b: b["inputs"][0].update(datatype="INT8"), "not FP32"),
    (lambda b: b["inputs"][0].update(data=[1, 2, 3]), "not 4 numbers"),
    (lambda b: b["inputs"][0].update(data=[1, 2, 3, "x"]), "not 4 numbers"),
    (lambda b: b["inputs"][0].update(parameters={"binary_data_size": 16}), "0 are there"),
    (lambda b: b["inputs"][0].update(name="z"), "no input 'z'"),
    (lambda b: b.update(outputs=[{"name": "z"}]), "no output 'z'"),
])
def test_bad_tensors_are_told_why(tensors, change, text):
    body = {"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]},
                       {"name": "index", "shape": [1], "datatype": "INT64", "data": [0]}]}
    change(body)
    status, told, _ = tensors[0].call("POST", "/v2/models/linear/infer", body)
    assert status == 400 and text in json.loads(told)["error"]


def test_a_number_that_json_cannot_have_is_refused(tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto as T, helper as h
    model = h.make_model(h.make_graph([h.make_node("Cast", ["x"], ["y"], to=T.UINT64)], "g", [h.make_tensor_value_info("x", T.INT64, [2])],
                                      [h.make_tensor_value_info("y", T.UINT64, [2])]), opset_imports=[h.make_opsetid("", 17)])
    onnx.save(model, str(tmp_path / "cast.onnx"))
    with serving(str(tmp_path / "cast.onnx")) as s:
        def ask(values, **more):
            x = {"name": "x", "datatype": "INT64", "shape": [2], "data": values}
            return s.call("POST", "/v2/models/cast/infer", {"inputs": [x], **more})
        assert json.loads(ask([1, 2])[1])["outputs"][0]["data"] == [1, 2]
        status, text, _ = ask([1, -1])  # 2^64 - 1
        assert status == 400 and b"ask for binary data" in text
        status, data, head = ask([1, -1], parameters={"binary_data_output": True})
        assert status == 200 and np.frombuffer(data[int(head["Inference-Header-Content-Length"]):], np.uint64).tolist() == [1, 2**64 - 1]


def test_two_models_in_one_server(tensors):
    server, _ = tensors
    assert server.client().completions.create(model="talk", prompt="A", max_tokens=2).usage.completion_tokens == 2
    assert server.call("POST", "/v1/completions", {"model": "linear", "prompt": "A"})[0] == 400
    assert server.call("POST", "/v2/models/talk/infer", {"inputs": []})[0] == 400
    assert server.call("POST", "/v2/models/none/infer", {"inputs": []})[0] == 404


# --- hone load ---


def load(*arguments):
    done = subprocess.run([HONE, "load", *arguments, "--json"], capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout or "null"), done.stderr


@pytest.mark.parametrize("how", [["--clients", "4"], ["--per-minute", "60000"], ["--per-minute", "60000", "--burst", "4"]])
def test_load_counts_what_the_server_counts(server, how):
    before = server.figures()
    code, told, why = load(f"http://127.0.0.1:{server.port}", *how, "--requests", "8", "--rounds", "2", "--tokens", "6", "--prompt", "5")
    assert code == 0, why
    one = told["servers"][0]
    assert (one["requests"], one["failed"], one["tokens"]) == (16, 0, 96)
    assert 0 < one["first_s"]["p50"] <= one["first_s"]["p95"] <= one["whole_s"]["p99"] and told["ratio"][1] is None
    after = server.figures()
    assert after["hone_serve_answer_tokens_total"] - before["hone_serve_answer_tokens_total"] == 3 * 8 * 6


def test_load_on_two_servers_and_on_none(server):
    url = f"http://127.0.0.1:{server.port}"
    code, told, _ = load(url, "--against", url, "--requests", "4", "--rounds", "2", "--tokens", "4", "--prompt", "5")
    assert code == 0 and len(told["servers"]) == 2 and told["ratio"][0] <= told["ratio"][1] <= told["ratio"][2]
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        code, _, why = load(f"http://127.0.0.1:{s.getsockname()[1]}", "--requests", "2")
        assert code == 4 and "nobody answers" in why
    code, _, why = load(url, "--model", "other", "--requests", "2")
    assert code == 1 and "with 404" in why
    assert load("here:80")[0] == 2
