"""hone.LanguageModel: tokens, answers whole and in pieces, numbers as NumPy, batches, stopping, errors; on a tiny model with random weights."""

import ctypes
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import hone
import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
test_language = pytest.importorskip("test_language")
HONE = os.path.join(os.environ.get("HONE_BUILD", "build"), "hone")
PROMPT, CONTEXT = "A brief AB", 256
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    s = test_language.MODELS["llama"]
    path = str(tmp_path_factory.mktemp("lm") / "tiny.gguf")
    test_language.write(path, s, test_language.weights_of(s, np.random.default_rng(1)), context=CONTEXT)
    return path


@pytest.fixture(scope="module")
def talker(path):
    """The same model with a chat template: another file, which drafts for the first."""
    s, other = test_language.MODELS["llama"], path.replace("tiny", "talker")
    test_language.write(other, s, test_language.weights_of(s, np.random.default_rng(1)), context=600, template=TEMPLATE)
    with hone.LanguageModel(other, threads=1, parity=False) as model:
        yield model


@pytest.fixture(scope="module")
def m(path):
    with hone.LanguageModel(path, threads=1, parity=False) as model:
        yield model
    assert model.closed


def test_tokens_and_back(m):
    tokens = m.tokenize(PROMPT)
    assert len(tokens) == len(PROMPT) - 1 and all(type(x) is int for x in tokens)  # "AB" is one token
    assert m.detokenize(tokens) == PROMPT
    assert m.detokenize(np.array(tokens)) == PROMPT
    assert m.detokenize(m.tokenize("ü€")[:1]) == "\ufffd"
    assert (m.vocabulary, m.context) == (test_language.VOCABULARY, CONTEXT)


def test_an_answer_is_that_of_the_command(m, path):
    a = m.generate(PROMPT, max_tokens=12, temperature=0)
    done = subprocess.run([HONE, "generate", path, "-p", PROMPT, "-n", "12", "--temperature", "0", "--threads", "1", "--no-parity", "--json"],
                          capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert (a.text, a.tokens, a.logprobs, a.end) == (told["text"], told["tokens"], told["logprobs"], told["end"])
    assert str(a) == a.text and a.prompt_tokens == len(m.tokenize(PROMPT)) and a.first_token_s > 0
    assert a == m.generate(tokens=m.tokenize(PROMPT), max_tokens=12, temperature=0)._replace(
        prompt_s=a.prompt_s, first_token_s=a.first_token_s, generate_s=a.generate_s)


@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma2"])
def test_a_vector_stands_for_a_text(tmp_path, name):
    s, r = test_language.MODELS[name], np.random.default_rng(8)
    path, w = str(tmp_path / "vectors.gguf"), test_language.weights_of(s, r)
    test_language.write(path, s, w, context=s.context)
    w = {k: v.astype(np.float64) for k, v in w.items()}
    with hone.LanguageModel(path, threads=1, parity=False, exact=True) as m:
        for n in (1, 7, 33, 100):
            token = r.integers(0, m.vocabulary, n)
            states = test_language.states_of(s, w, token)
            for pooling, want in (("mean", states.mean(0)), ("last", states[-1])):
                got = m.embed(token, pooling=pooling)
                assert got.dtype == np.float32 and np.abs(got - want / np.linalg.norm(want)).max() < 1e-4
        assert (m.embed(PROMPT) == m.embed(m.tokenize(PROMPT, frame=True))).all()
        for bad, text in (([], "no tokens"), (np.zeros(m.context + 1, int), "too many for a context")):
            with pytest.raises(hone.Error, match=text):
                m.embed(bad)
        with pytest.raises(hone.UsageError, match="'mean' or 'last'"):
            m.embed([1], pooling="max")


def test_pieces_are_the_answer(m):
    whole = m.generate(PROMPT, max_tokens=20, seed=5)
    stream = m.generate(PROMPT, max_tokens=20, seed=5, stream=True)
    with pytest.raises(hone.UsageError):
        stream.answer
    pieces = list(stream)
    assert len(pieces) > 1 and "".join(pieces) == whole.text == stream.answer.text
    assert stream.answer.tokens == whole.tokens
    assert list(stream) == []


def test_a_stream_that_is_left_stops_the_model(m):
    stream = m.generate(PROMPT, max_tokens=100, ignore_end=True, stream=True)
    assert len(list(itertools.islice(stream, 2))) == 2
    stream.close()
    assert m.generate(PROMPT, max_tokens=3, temperature=0).tokens == m.generate(PROMPT, max_tokens=3, temperature=0).tokens
    with m.generate(PROMPT, max_tokens=100, ignore_end=True, stream=True) as again:
        next(again)
    with pytest.raises(hone.UsageError):  # it was raised by the model's thread
        list(m.generate(tokens=[m.vocabulary + 7], stream=True))


def test_batches_are_the_answers_one_by_one(m):
    prompts = ["A", "brief", "AB AB"]
    alone = [m.generate(p, max_tokens=5, temperature=0).tokens for p in prompts]
    assert [a.tokens for a in m.generate(prompts, max_tokens=5, temperature=0)] == alone
    assert [a.tokens for a in m.generate(tokens=[m.tokenize(p) for p in prompts], max_tokens=5, temperature=0)] == alone
    with pytest.raises(hone.UsageError, match="one prompt"):
        m.generate(prompts, stream=True)


def test_stop_texts_end_an_answer(m):
    text = m.generate(PROMPT, max_tokens=20, temperature=0, ignore_end=True).text
    stop = next(c for c in text if c != "\ufffd")
    a = m.generate(PROMPT, max_tokens=20, temperature=0, ignore_end=True, stop=["no such text", stop])
    assert a.end == "stop" and a.text == text[: text.index(stop)]
    assert m.generate(PROMPT, max_tokens=20, temperature=0, ignore_end=True, stop=stop)[:2] == a[:2]


def test_grammars_and_beams(m):
    a = m.generate(PROMPT, grammar='root ::= "A" "B"* "A"', max_tokens=20, seed=3)
    assert re.fullmatch("AB*A?", a.text) and a.end in ("grammar", "length", "eos")
    assert json.loads(m.generate(PROMPT, json_schema=json.dumps({"enum": [True, "no"]}), max_tokens=20).text) in (True, "no")
    b = m.generate(PROMPT, beams=3, max_tokens=6)
    assert sum(b.logprobs) >= sum(m.generate(PROMPT, temperature=0, max_tokens=6).logprobs) - 1e-9
    assert m.generate(PROMPT, lookup=4, temperature=0, max_tokens=12).tokens == m.generate(PROMPT, temperature=0, max_tokens=12).tokens
    with pytest.raises(hone.InputError):
        m.generate(PROMPT, grammar="root ::= (")


def test_logits_are_the_papers_and_fit_the_log_probabilities(path):
    with hone.LanguageModel(path, threads=1, parity=False, cache="f32") as m:
        check_logits(m)


def check_logits(m):
    s, token = test_language.MODELS["llama"], m.tokenize("A text of some tokens, twice. " * 2)
    logits = m.logits(token)
    want = test_language.logits_of(s, test_language.weights_of(s, np.random.default_rng(1)), np.array(token))
    assert logits.dtype == np.float32 and logits.shape == (len(token), m.vocabulary)
    assert np.abs(logits - want).max() < 1e-2  # keys and values are f16
    assert np.allclose(m.logits(token, last=True), logits[-1], atol=1e-5)
    log = logits - np.log(np.exp(logits.astype(np.float64)).sum(1, keepdims=True))
    score = m.score(token)
    assert np.allclose(score, log[np.arange(len(token) - 1), token[1:]], atol=1e-5)
    assert m.perplexity(token) == pytest.approx(np.exp(-score.mean()))
    halves = np.concatenate([m.score(token[:30]), m.score(token[30:])])
    assert m.perplexity(token, window=30) == pytest.approx(np.exp(-halves.mean()))


def test_batches_of_several_kinds_go_in_one_step(m):
    rows = [{"prompt": "A", "max_tokens": 3}, "brief", {"tokens": m.tokenize("AB"), "seed": 3, "stop": "q"}] + [f"no {i}" for i in range(20)]
    found = m.generate(rows, max_tokens=6, seed=2, top_logprobs=2)
    assert [len(a.tokens) for a in found[:2]] == [3, 6]
    for row, a in zip(rows, found):
        one = {"prompt": row} if isinstance(row, str) else row
        alone = m.generate(**{"max_tokens": 6, "seed": 2, "top_logprobs": 2, **one})
        assert (a.tokens, a.logprobs, a.top_logprobs, a.end) == (alone.tokens, alone.logprobs, alone.top_logprobs, alone.end)
    with pytest.raises(hone.LimitError):
        m.generate(tokens=[[1], [1] * 600], max_tokens=2)
    good, bad = m.generate(tokens=[[1], [1] * 600], max_tokens=2, return_exceptions=True)
    assert len(good.tokens) == 2 and isinstance(bad, hone.LimitError)
    assert m.generate([]) == []
    with pytest.raises(hone.UsageError, match="one of them"):
        m.generate([{"prompt": "a", "tokens": [1]}])


def test_bias_alternatives_and_beams(m):
    a = m.generate(PROMPT, max_tokens=4, temperature=0, top_logprobs=3)
    assert [len(x) for x in a.top_logprobs] == [3] * 4
    assert [(x[0].token, x[0].logprob) for x in a.top_logprobs] == list(zip(a.tokens, a.logprobs))
    never = m.generate(PROMPT, max_tokens=4, temperature=0, logit_bias={a.tokens[0]: float("-inf")})
    assert a.tokens[0] not in never.tokens and never.tokens[0] == a.top_logprobs[0][1].token
    assert m.generate(PROMPT, max_tokens=4, logit_bias={7: 1e9}).tokens == [7] * 4
    for wrong, kind in (({-1: 1}, OverflowError), ({"x": 1}, TypeError), ({1: "x"}, TypeError)):
        with pytest.raises(kind):
            m.generate(PROMPT, logit_bias=wrong)
    b = m.generate(PROMPT, beams=3, max_tokens=6)
    assert len(b.beams) == 3 and b.beams[0].tokens == b.tokens and b.beams[0].score >= b.beams[1].score >= b.beams[2].score
    assert b.beams[0].score == pytest.approx(sum(b.logprobs) / len(b.tokens))


def test_drafts_and_lookup_change_nothing(m, talker, path):
    want = m.generate("ABABAB", max_tokens=16, seed=4, ignore_end=True)
    same = m.generate("ABABAB", max_tokens=16, seed=4, ignore_end=True, draft=talker, draft_tokens=3, always_guess=True)
    assert same.tokens == want.tokens and same.guessed_tokens >= same.guessed_right > 0
    want, looked = (m.generate("AB", max_tokens=16, seed=4, ignore_end=True, logit_bias={7: 8}, lookup=n, always_guess=True) for n in (0, 3))
    assert looked.tokens == want.tokens and want.guessed_tokens == 0 and looked.guessed_tokens > 0
    found, threads = [], []
    for a, b in ((m, talker), (talker, m)):  # each other's draft, at the same time
        threads.append(threading.Thread(target=lambda a=a, b=b: found.append(a.generate("AB", max_tokens=5, temperature=0, draft=b).tokens)))
        threads[-1].start()
    for t in threads:
        t.join()
    assert found[0] == found[1] == m.generate("AB", max_tokens=5, temperature=0).tokens
    with pytest.raises(hone.UsageError, match="own draft"):
        m.generate("a", draft=m)
    with pytest.raises(TypeError, match="hone.LanguageModel"):
        m.generate("a", draft=path)


def test_sessions(m, tmp_path):
    tokens = m.tokenize("A text of some tokens, twice. " * 2)
    whole = m.logits(tokens)
    with m.session() as s:
        assert np.array_equal(s.feed(tokens[:30], last=None), whole[:30]) and len(s) == 30
        fork = s.fork()
        assert np.array_equal(s.feed(tokens[30:], last=2), whole[-2:])
        a, b = m.feed([(fork, tokens[30:40]), (s, "AB")])
        assert np.array_equal(a, whole[39:40]) and a.shape == b.shape == (1, m.vocabulary)
        assert fork.tokens == tokens[:40] and s.tokens == tokens + m.tokenize("AB")
        s.truncate(30)
        s.save(tmp_path / "s", "of forty")
        assert m.session(tokens).feed([5]).shape == (1, m.vocabulary)  # freed as nobody has it
        with m.load_session(tmp_path / "s") as again:
            assert again.note == "of forty" and again.tokens == tokens[:30]
            assert np.array_equal(again.feed(tokens[30:]), whole[-1:])
        assert "closed" in repr(again) and "30 tokens" in repr(s)
        for wrong in (lambda: s.truncate(99), lambda: s.truncate(-1), lambda: s.feed([]), lambda: s.feed([m.vocabulary + 9]),
                      lambda: m.feed([(s, [1]), (s, [2])]), lambda: again.feed([1]), lambda: again.save(tmp_path / "t")):
            with pytest.raises(hone.UsageError):
                wrong()
        with pytest.raises(hone.LimitError):
            s.feed([1] * CONTEXT)
        with pytest.raises(hone.LimitError):
            m.feed([(fork, [1]), (s, [1] * CONTEXT)])
        assert s.tokens == tokens[:30] and fork.tokens == tokens[:40]
    with pytest.raises(hone.IOFailure):
        m.load_session(tmp_path / "none")
    saved = (tmp_path / "s").read_bytes()
    (tmp_path / "s").write_bytes(saved[: len(saved) // 2])
    with pytest.raises(hone.InputError):
        m.load_session(tmp_path / "s")


def test_long_feeds_and_sessions_of_other_models(m, talker):
    tokens = [i % 200 for i in range(250)]
    with hone.LanguageModel(talker.path, threads=1, parity=False, context=600, cached_tokens=2000) as wide:
        s, t = wide.session(), wide.session()
        a, b = wide.feed([(s, tokens * 2), (t, tokens + [7])], last=300)  # more than a step each
        assert a.shape[0] == 300 and b.shape[0] == 251
        assert np.array_equal(a[-1], wide.logits(tokens * 2, last=True)) and np.array_equal(b[:200], wide.logits(tokens)[:200])
        with pytest.raises(hone.UsageError, match="no session of this model"):
            m.feed([(s, [1])])
        s.truncate(0)
        t.truncate(250)
        before = t.tokens
        with pytest.raises(hone.LimitError):
            wide.feed([(s, [1] * 300), (t, [1] * 400)])  # the second call of it fails
        assert len(s) == 0 and t.tokens == before
    assert s.closed
    for call in (lambda: s.tokens, lambda: s.feed([1]), s.fork):
        with pytest.raises(hone.UsageError, match="closed"):
            call()


def test_a_session_that_goes_in_a_callback(m):
    """Its model is in use then, by the call that waits for the callback."""
    held = [m.session([1, 2, 3])]
    stream = m.generate(PROMPT, max_tokens=5, ignore_end=True, stream=True)
    next(stream)
    held.clear()
    list(stream)
    sessions = [m.session([i]) for i in range(3)]
    threads = [threading.Thread(target=lambda: m.generate(PROMPT, max_tokens=20, ignore_end=True)), threading.Thread(target=sessions.clear)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert m.session([4]).tokens == [4]


def test_conversations(talker, m, tmp_path):
    c = talker.conversation("be brief")
    first = c.say("AB", max_tokens=4, temperature=0)
    assert first.tokens == m.generate("[system]be brief[user]AB[assistant]", max_tokens=4, temperature=0).tokens
    assert [x["role"] for x in c.messages] == ["system", "user", "assistant"] and c.messages[2]["content"] == first.text
    other = c.fork()
    stream = c.say("more", stream=True, max_tokens=4, temperature=0)
    with pytest.raises(hone.UsageError):
        stream.answer
    assert len(c.messages) == 3 and "".join(stream) == c.messages[4]["content"] and len(other.messages) == 3
    c.save(tmp_path / "talk")
    again = talker.load_conversation(tmp_path / "talk")
    assert again.messages == c.messages and "5 messages" in repr(again)
    assert again.say("A", max_tokens=3, temperature=0).tokens == c.say("A", max_tokens=3, temperature=0).tokens
    with talker.session([1]) as s:
        s.save(tmp_path / "plain")
    with pytest.raises(hone.InputError, match="no conversation"):
        talker.load_conversation(tmp_path / "plain")


def test_errors_are_exceptions(m, path, tmp_path):
    with pytest.raises(hone.NotFoundError, match="chat template"):
        m.generate(messages=[{"role": "user", "content": "hello"}])
    for wrong in (lambda: m.generate(), lambda: m.generate("a", tokens=[1]), lambda: m.perplexity("A"), lambda: m.generate(tokens=[-1])):
        with pytest.raises(hone.UsageError):
            wrong()
    with pytest.raises(hone.LimitError):
        m.generate(tokens=[1] * 600)
    with pytest.raises(TypeError, match="no option 'heat'"):
        m.generate("a", heat=1)
    with pytest.raises(TypeError, match="temperature"):
        m.generate("a", temperature="hot")
    with pytest.raises(TypeError):
        m.detokenize(["a"])
    with pytest.raises(OverflowError):
        m.detokenize([1 << 40])
    with pytest.raises(hone.IOFailure):
        hone.LanguageModel(tmp_path / "missing.gguf")
    with pytest.raises(hone.LimitError):
        hone.LanguageModel(path, context=100000, parity=False)
    (tmp_path / "bad.gguf").write_bytes(open(path, "rb").read()[:5000])
    with pytest.raises(hone.InputError):
        hone.LanguageModel(tmp_path / "bad.gguf")


def test_closed_and_tokenizer_alone(path):
    with hone.LanguageModel(path, tokenizer_only=True) as t:
        assert t.detokenize(t.tokenize(PROMPT)) == PROMPT
        with pytest.raises(hone.UsageError, match="tokenizer alone"):
            t.generate("a")
    t.close()
    for call in (lambda: t.tokenize("a"), lambda: t.generate("a"), lambda: t.vocabulary, lambda: t.logits([1])):
        with pytest.raises(hone.UsageError, match="closed"):
            call()
    assert "closed" in repr(t)


def test_threads_wait_for_each_other(m):
    want, found = m.generate(PROMPT, max_tokens=10, temperature=0).tokens, []
    threads = [threading.Thread(target=lambda: found.append(m.generate(PROMPT, max_tokens=10, temperature=0).tokens)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [want] * 4


def test_ctrl_c_ends_an_answer(path):
    program = f"""
import hone, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started the tests with `&`
with hone.LanguageModel({path!r}, threads=1, parity=False) as m:
    print("begin", flush=True)
    while True:
        m.generate("AB", max_tokens=100, ignore_end=True)
"""
    p = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "begin\n"
    time.sleep(0.2)
    p.send_signal(signal.SIGINT)
    try:
        _, told = p.communicate(timeout=20)
    finally:
        p.kill()
    assert "KeyboardInterrupt" in told and p.returncode != 0


def test_tuning_takes_a_step_of_one_token(path, tmp_path):
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run([HONE, "tune", path, "--budget", "2s", "--threads", "1", "--kernels", "contract", "--json"], env=env,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["gain_also"] == [None, None, None] or len(told["gain_also"]) == 3
    assert {k["kind"] for k in told["kernels"] if k["end"] != "left out"} == {"contract"}


@pytest.mark.skipif(not os.environ.get("HONE_LONG"), reason="kernels are compiled many times: make check-long")
def test_attention_over_the_pool_is_tuned(path, tmp_path):
    """The graph is that of a server: what is proven of it is what an opened model takes."""
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}

    def tune(*more, kernels="opaque", code=0, budget="2s"):
        done = subprocess.run([HONE, "tune", path, "--budget", budget, "--threads", "1", "--kernels", kernels, "--json", *more], env=env,
                              capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)["kernels"] if not code else done.stderr

    def attention(**how):
        (k,) = [k for k in tune("--size", "tokens=4,past=100,wanted=4", **how) if k["schedule"].startswith("attend ")]
        assert k["end"] not in ("left out", "none") and k["share"] > 0
        return k

    name, n = attention()["kernel"], 0
    for _ in range(4):  # measurements are kept, so that a slow machine gets there, too
        n = n or attention(kernels=name, budget="6s")["candidates"]
    assert n > 0
    assert not any(k["schedule"].startswith("attend ") for k in tune("--cache-type", "none", kernels="contract"))
    assert "more is wanted" in tune("--size", "tokens=1,wanted=2", code=2)
    assert "'q7'" in tune("--cache-type", "q7", code=2)


def test_what_was_tuned_is_compiled_again(path):
    library, seen = ctypes.CDLL(os.path.join(os.path.dirname(HONE), "libhone.so")), []

    def compiles():
        seen.clear()
        hone.LanguageModel(path, threads=1, parity=False, progress=lambda stage, text: seen.append(stage)).close()
        return bool(seen)

    compiles()
    assert not compiles()
    assert library.hone_text_renew(path.encode(), None) == 0
    assert compiles()
    assert not compiles()
    assert library.hone_text_renew(b"/no/such/file", None) != 0


def test_grammars_beams_and_guesses(m):
    """What they do is tested with the command; here that they arrive."""
    a = m.generate("ABC", grammar="root ::= [A-D]{3}", seed=1)
    assert len(a.text) == 3 and set(a.text) <= set("ABCD") and a.end == "grammar"
    assert m.generate("ABC", json_schema={"enum": [12, 13]}, seed=2).text in ("12", "13")
    best = m.generate("ABC", grammar="root ::= [A-D]{3}", beams=64)
    assert sum(best.logprobs) >= sum(m.generate("ABC", grammar="root ::= [A-D]{3}", temperature=0).logprobs) - 1e-6
    assert m.generate("ABABAB", lookup=4, seed=3, max_tokens=20).tokens == m.generate("ABABAB", seed=3, max_tokens=20).tokens
    with pytest.raises(hone.InputError, match="grammar:1:10: the rule 'no' is not defined"):
        m.generate("ABC", grammar="root ::= no")
