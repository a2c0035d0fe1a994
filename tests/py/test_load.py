"""hone load against a server whose delays are known: figures, intervals, traces, plans, servers that fail."""

import http.server
import json
import os
import shutil
import subprocess
import threading
import time

import pytest

HONE = os.path.join(os.environ.get("HONE_BUILD", "build"), "hone")
WAIT_S = 0.02


class Stub(http.server.BaseHTTPRequestHandler):
    """Streams max_tokens tokens with WAIT_S before each; every `fail`th request is answered 500."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.seen.append((time.monotonic(), len(body["prompt"].split()), body["max_tokens"], body["prompt"]))
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
            bad = self.server.fail and len(self.server.seen) % self.server.fail == 0
        self.send_response(500 if bad else 200)
        self.end_headers()
        for _ in range(0 if bad else body["max_tokens"]):
            time.sleep(WAIT_S)
            self.wfile.write(b'data: {"choices": [{"text": "a "}]}\n\n')
        usage = {"prompt_tokens": len(body["prompt"].split()), "completion_tokens": body["max_tokens"]}
        with self.server.lock:
            self.server.now -= 1
        if not bad:
            self.wfile.write(b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\ndata: [DONE]\n\n")


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


@pytest.fixture
def stub():
    s = Server(("127.0.0.1", 0), Stub)
    s.seen, s.lock, s.fail, s.now, s.most = [], threading.Lock(), 0, 0, 0
    s.url = f"http://127.0.0.1:{s.server_port}"
    threading.Thread(target=s.serve_forever, daemon=True).start()
    yield s
    s.shutdown()
    s.server_close()


def load(*arguments):
    done = subprocess.run([HONE, "load", *map(str, arguments), "--json"], capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout or "null"), done.stderr


def test_times_are_at_least_the_delays(stub):
    code, told, why = load(stub.url, "--single", "-n", 8, "--rounds", 2, "--tokens", 3)
    assert code == 0, why
    one = told["servers"][0]
    assert one["first_s"]["p50"] >= WAIT_S and one["between_s"]["p50"] >= 0.5 * WAIT_S and one["whole_s"]["p50"] >= 3 * WAIT_S
    assert one["first_s"]["p50"] < one["whole_s"]["p50"] and stub.most == 1
    assert len(one["rounds"]) == 2 and all(0 < r <= 1 / WAIT_S for r in one["rounds"])
    for times in (one["first_s"], one["between_s"], one["whole_s"]):
        lo, mid, hi = times["p50_range"]
        assert times["quantiles"][0] <= lo <= mid == times["p50"] == times["quantiles"][50] <= hi <= times["quantiles"][100]
        assert times["quantiles"] == sorted(times["quantiles"]) and len(times["quantiles"]) == 101
    assert one["whole_s"]["p99_range"][2] is None  # 16 values have no upper end for it


def test_ranks_of_the_interval(stub):
    """The median of 20 values lies between the 6th and the 15th with 95.9 %: the narrowest with 2.5 % or less beyond each end."""
    one = load(stub.url, "--clients", 20, "-n", 20, "--rounds", 1, "--tokens", 1)[1]["servers"][0]["whole_s"]
    at = one["p50_range"]
    # of 20 values, value k (from 0) is the percentile 100 k / 19, between its whole neighbours
    q = one["quantiles"]
    assert q[26] <= at[0] <= q[27] and q[73] <= at[2] <= q[74]


def test_failures_are_counted_and_do_not_count_as_times(stub):
    stub.fail = 4
    code, told, why = load(stub.url, "--clients", 1, "-n", 8, "--rounds", 2, "--tokens", 2)
    one = told["servers"][0]
    assert code == 0 and (one["requests"], one["failed"], one["tokens"]) == (16, 4, 24), why
    stub.fail = 1
    code, _, why = load(stub.url, "-n", 2)
    assert code == 1 and "with 500" in why


def test_prompts_follow_from_the_seed(stub):
    assert load(stub.url, "-n", 3, "--rounds", 1, "--tokens", 1, "--seed", 5)[0] == 0
    first = [p for *_, p in stub.seen]
    stub.seen.clear()
    assert load(stub.url, "-n", 3, "--rounds", 1, "--tokens", 1, "--seed", 5)[0] == 0
    assert [p for *_, p in stub.seen] == first and len(set(first)) == 6


def test_a_trace_is_sent_in_its_order_at_its_times(stub, tmp_path):
    rows = [(10.3, 7, 1), (10.0, 5, 2), (10.15, 6, 3)]
    trace = tmp_path / "trace"
    trace.write_text("".join(json.dumps({"time": t, "prompt_tokens": p, "answer_tokens": a}) + "\n\n" for t, p, a in rows))
    saved = tmp_path / "saved"
    code, told, why = load(stub.url, "--trace", trace, "--save-trace", saved)
    assert code == 0 and told["servers"][0]["requests"] == 3, why
    round_1 = stub.seen[3:]
    assert [x[1:3] for x in round_1] == [(5, 2), (6, 3), (7, 1)]
    begin = round_1[0][0]
    for (at, *_), due in zip(round_1, (0, 0.15, 0.3)):
        assert at - begin > due - 0.1  # none comes early; how late is up to the machine
    again = [json.loads(x) for x in saved.read_text().splitlines()]
    assert [(x["prompt_tokens"], x["answer_tokens"]) for x in again] == [(5, 2), (6, 3), (7, 1)]
    assert [x["time"] for x in again] == pytest.approx([0, 0.15, 0.3], abs=1e-5)
    assert load(stub.url, "--trace", saved, "-n", 2, "--rounds", 2)[1]["servers"][0]["requests"] == 4


def test_the_log_of_a_server_is_a_trace(stub, tmp_path):
    log = tmp_path / "log"
    log.write_text('{"time": 105.0, "path": "/v1/completions", "whole_s": 5.0, "prompt_tokens": 4, "answer_tokens": 2}\n'
                   '{"time": 101.0, "path": "/ready", "whole_s": 0.1, "prompt_tokens": 0, "answer_tokens": 0}\n'
                   '{"time": 100.2, "path": "/v1/completions", "whole_s": 0.1, "prompt_tokens": 3, "answer_tokens": 1}\n')
    assert load(stub.url, "--trace", log)[0] == 0
    assert [x[1:3] for x in stub.seen[2:]] == [(4, 2), (3, 1)]


@pytest.mark.parametrize("text,why", [("", "no request in it"), ("\n{}\n", ":2: no request"), ("{", ":1: no request"), ("[1]", ":1: no request"),
                                      ('{"time": 1, "prompt_tokens": 0, "answer_tokens": 1}', ":1: no request"),
                                      ('{"time": "x", "prompt_tokens": 1, "answer_tokens": 1}', ":1: no request")])
def test_what_is_no_trace(stub, tmp_path, text, why):
    (tmp_path / "trace").write_text(text)
    code, _, told = load(stub.url, "--trace", tmp_path / "trace")
    assert code != 0 and why in told and not stub.seen


@pytest.mark.parametrize("plan,why", [(["--single", "--clients", 2], "two plans"), (["--burst", 2], "needs --per-minute"),
                                      (["--trace", "/nowhere"], "/nowhere"), (["--trace", "/dev/null", "--tokens", 2], "leave out")])
def test_plans_that_exclude_each_other(stub, plan, why):
    code, _, told = load(stub.url, *plan)
    assert code != 0 and why in told and not stub.seen


def test_a_page_draws_both_servers(stub, tmp_path):
    page = tmp_path / "load.html"
    code, told, why = load(stub.url, "--against", stub.url, "-n", 4, "--rounds", 2, "--tokens", 2, "--report", page)
    assert code == 0, why
    html = page.read_text()
    assert json.loads(html.split('type="application/json"')[1].split(">", 1)[1].split("</script>")[0]) == told
    browser = shutil.which("chromium")
    if not browser:
        pytest.skip("no chromium")
    shown = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path}/profile",
                            "--virtual-time-budget=5000", "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=60).stdout
    assert 'data-pictures="4"' in shown and "First / second" in shown and "Whole answer</td>" in shown


GRAPH = """ir 1
symbol n in 1..64
symbol k in 1..64
input %0 : f32[n, k] "x"
input %1 : i64[n] "i"
%2 = exp %0
%3 = neg %1
output %2 "y"
output %3 "j"
"""


@pytest.fixture(scope="module")
def tensors(tmp_path_factory):
    """A model of two inputs, served twice: each request alone, and runs shared."""
    import hone

    folder = tmp_path_factory.mktemp("infer")
    (folder / "m.ir").write_text(GRAPH)
    m = hone.compile(folder / "m.ir", output=folder / "m", parity=False)
    alone, shared = (hone.Server(f"m={m.path}", threads=1, log=str(folder / name), batch_delay_s=delay) for name, delay in (("a", 0.0), ("b", 0.002)))
    with alone, shared:
        yield alone, shared, folder


def test_a_model_of_tensors(tensors):
    alone, shared, folder = tensors
    code, told, why = load(alone.url, "--infer", "m", "--sizes", "3,5", "--clients", 4, "-n", 12, "--rounds", 2, "--against", shared.url)
    assert code == 0, why
    for one in told["servers"]:
        assert (one["requests"], one["failed"]) == (24, 0) and "first_s" not in one and "tokens" not in one
        assert one["requests_per_s"][0] <= one["requests_per_s"][1] <= one["requests_per_s"][2] and 0 < one["whole_s"]["p50"] <= one["whole_s"]["p95"]
    assert told["ratio"][1] > 0
    rows = [json.loads(x) for x in (folder / "a").read_text().splitlines()]
    assert len([r for r in rows if r["path"].endswith("/infer") and r["status"] == 200]) == 36  # the round that warms up, too


def test_a_model_of_tensors_at_a_rate_and_as_a_page(tensors, tmp_path):
    code, told, why = load(tensors[0].url, "--infer", "m", "--per-minute", 6000, "--burst", 4, "-n", 8, "--rounds", 1, "--report", tmp_path / "r.html")
    assert code == 0 and told["servers"][0]["failed"] == 0, why
    assert "requests_per_s" in (tmp_path / "r.html").read_text()


def test_models_of_tensors_that_cannot_be_asked(tensors, stub):
    url = tensors[0].url
    for words, code, text in ((["--infer", "none"], 1, "answers /v2/models/none with 404"), (["--infer", "m", "--sizes", "0"], 2, "sizes are"),
                              (["--infer", "m", "--sizes", "2,x"], 2, "sizes are"), (["--sizes", "2"], 2, "name it"),
                              (["--infer", "m", "--sizes", "100"], 1, "answers /v2/models/m/infer with 400"),
                              (["--infer", "m", "--sizes", "100000,100000"], 15, "more than 1024 MiB"),
                              (["--infer", "m", "--prompt", 3], 2, "has no prompts")):  # fmt: skip
        got = load(url, *words, "-n", 1, "--rounds", 1)
        assert got[0] == code and text in got[2], (words, got)
    got = load("http://127.0.0.1:1", "--infer", "m")
    assert got[0] == 4 and "nobody answers" in got[2]
