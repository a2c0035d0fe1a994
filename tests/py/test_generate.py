"""hone generate on tiny random models: grammars, log-probabilities, biases, stop texts, beams, speculation, many prompts in a file."""

import itertools
import json
import os
import random
import sys

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
sys.path.insert(0, os.path.dirname(__file__))
import test_language as language  # noqa: E402
from test_grammar import Gbnf  # noqa: E402

END, PROMPT = 299, "ABC"
NEAR = 5e-3  # keys and values are f16
SHAPE = language.MODELS["llama"]


class Place:
    """A folder with a model, one that is near it, and one of another vocabulary."""

    def __init__(self, folder):
        self.folder, self.model = folder, folder / "m.gguf"
        self.w = language.weights_of(SHAPE, np.random.default_rng(7))
        near = {k: v + (0.05 * np.random.default_rng(8).standard_normal(v.shape)).astype(np.float32) * v.std() for k, v in self.w.items()}
        language.write(self.model, SHAPE, self.w, eos=END)
        language.write(folder / "same.gguf", SHAPE, self.w, eos=END)
        language.write(folder / "near.gguf", SHAPE, near, eos=END)
        language.write(folder / "other.gguf", SHAPE, self.w, tokens=260)
        self.prompt = [json.loads(self.command("tokenize", self.model, PROMPT, "--json").stdout)["tokens"]][0]

    def command(self, *args):
        return language.command(*args)

    def one(self, *args):
        got = self.command("generate", self.model, "--json", "--no-parity", "--cache-type", "f32", "--threads", 2, *(() if "-p" in args else ("-p", PROMPT)), *args)
        assert got.returncode == 0, got.stderr
        return json.loads(got.stdout)

    def many(self, lines, *args):
        path = self.folder / "lines.jsonl"
        path.write_text("".join(json.dumps({"prompt": PROMPT, **x}) + "\n" for x in lines))
        got = self.command("generate", self.model, "--no-parity", "--cache-type", "f32", "--threads", 1, "--prompts", path, *args)
        answers = [json.loads(x) for x in got.stdout.splitlines()]
        assert got.returncode == 0, got.stdout + got.stderr
        assert [a["line"] for a in answers] == list(range(1, len(lines) + 1))
        return answers

    def logprobs(self, behind):
        """Of all tokens behind the prompt and these."""
        row = language.logits_of(SHAPE, self.w, np.array(self.prompt + list(behind)))[-1]
        row = row - row.max()
        return row - np.log(np.exp(row).sum())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generate")
    with pytest.MonkeyPatch.context() as m:
        m.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        m.delenv("HONE_CACHE", raising=False)
        yield Place(folder)


# --- grammars

GRAMMARS = [
    'root ::= [A-D]{1,5} ("x" | "é")?',
    'root ::= "[" (item ("," item){0,3})? "]"\nitem ::= [0-9]{1,3} | root',
    r'root ::= ([^\x00-\x7f] | "AB"){3}',
    'root ::= "A"*',
]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": -5, "maximum": 130}, "s": {"type": "string", "maxLength": 4}}, "required": ["n"]}


def test_answers_follow_their_grammar(place):
    for g in GRAMMARS:
        check, ended = Gbnf(g), 0
        for a in place.many([{"grammar": g, "seed": k, "temperature": 1.5 * (k > 0), "top_k": 0, "max_tokens": 60} for k in range(15)]):
            if a["end"] in ("eos", "grammar"):
                ended += 1
                assert check.accepts(a["text"]), a["text"]
                assert (a["end"] == "eos") == (a["tokens"][-1] == END)
        assert ended >= 5


def test_answers_follow_their_schema(place, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    answers = place.many([{"json_schema": SCHEMA, "seed": k, "temperature": 1.2 * (k > 0), "max_tokens": 100} for k in range(15)])
    ended = [a for a in answers if a["end"] != "length"]
    for a in ended:
        jsonschema.validate(json.loads(a["text"]), SCHEMA)
    assert len(ended) >= 8
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    from_file = place.one("--json-schema", tmp_path / "s.json", "--temperature", 0, "-n", 100)
    assert from_file["tokens"] == answers[0]["tokens"] == place.one("--json-schema", json.dumps(SCHEMA), "--temperature", 0, "-n", 100)["tokens"]


def test_a_bad_grammar_is_named(place, tmp_path):
    (tmp_path / "bad.gbnf").write_text('root ::= "a"\n  | missing\n')
    got = place.command("generate", place.model, "-p", "x", "--grammar", tmp_path / "bad.gbnf")
    assert got.returncode == 3 and "bad.gbnf:2:5: the rule 'missing' is not defined" in got.stderr
    got = place.command("generate", place.model, "-p", "x", "--grammar", 'root ::= "a"', "--json-schema", "{}")
    assert got.returncode == 2 and "one of them" in got.stderr


# --- log-probabilities and biases

def test_the_most_likely_tokens(place):
    a, behind = place.one("--logprobs", 5, "--seed", 3, "--temperature", 1, "-n", 6), []
    assert len(a["top_logprobs"]) == len(a["tokens"])
    for token, logprob, top in zip(a["tokens"], a["logprobs"], a["top_logprobs"]):
        p = place.logprobs(behind)
        assert len(top) == 5 and abs(p[token] - logprob) < NEAR
        want = np.sort(p)[::-1][:5]
        assert np.abs(np.array([t["logprob"] for t in top]) - want).max() < NEAR
        assert all(abs(p[t["token"]] - t["logprob"]) < NEAR for t in top)
        assert token not in [t["token"] for t in top] or logprob in [t["logprob"] for t in top]
        behind.append(token)


def test_biases(place):
    plain = place.one("--temperature", 0, "-n", 5)["tokens"]
    forced = place.one("--temperature", 0, "-n", 5, "--logit-bias", "70=1000")
    assert forced["tokens"] == [70] * 5
    assert abs(forced["logprobs"][0] - place.logprobs([])[70]) < NEAR  # by the logits as they are
    without = place.one("--temperature", 0, "-n", 1, "--logit-bias", f"{plain[0]}=-inf")["tokens"][0]
    p = place.logprobs([])
    p[plain[0]] = -np.inf
    assert without == p.argmax()
    got = place.command("generate", place.model, "-p", "x", "--logit-bias", "5:3")
    assert got.returncode == 2 and "TOKEN=VALUE" in got.stderr
    got = place.command("generate", place.model, "-p", "x", "--no-parity", "--logit-bias", "5000=3")
    assert got.returncode == 2 and "5000" in got.stderr


# --- stop texts

def cut(text, stops):
    """In front of the stop text that is complete first; of those complete at once, the longest."""
    found = [(text.find(s) + len(s), text.find(s)) for s in stops if s in text]
    return text[: min(found)[1]] if found else text


def test_stop_texts(place):
    """Texts that begin within one token and end within another, overlap, and hold characters of several bytes."""
    r = random.Random(4)
    grammar = 'root ::= ([A-C] | "é" | "€" | "AB"){40}'
    usual = {"grammar": grammar, "temperature": 1.5, "top_k": 0, "min_p": 0, "top_p": 1, "max_tokens": 90}
    whole = [a["text"] for a in place.many([{**usual, "seed": k} for k in range(8)])]
    assert all(len(t) >= 40 for t in whole) and any("€" in t for t in whole)
    lines = []
    for i in range(80):
        text, stops = whole[i % 8], []
        for _ in range(r.randint(1, 4)):
            at = r.randrange(len(text) - 12)
            s = text[at:at + r.randint(2, 9)]
            stops.append(s if r.random() < 0.7 else s[:-1] + "Z")
            stops.append(s[1:] + text[at + len(s):at + len(s) + 2])
        lines.append({**usual, "seed": i % 8, "stop": [s for s in stops if s]})
    for line, a in zip(lines, place.many(lines)):
        want = cut(whole[line["seed"]], line["stop"])
        assert a["text"] == want
        assert (a["end"] == "stop") == (want != whole[line["seed"]])


def test_what_streams_is_the_text(place):
    a = place.one("--seed", 5, "--temperature", 1.3, "-n", 40)
    stop = a["text"][7:9]
    stopped = place.one("--seed", 5, "--temperature", 1.3, "-n", 40, "--stop", stop)
    streamed = place.command("generate", place.model, "-p", PROMPT, "--no-parity", "--cache-type", "f32", "--seed", 5, "--temperature", 1.3, "-n", 40, "--stop", stop)
    assert streamed.stdout == stopped["text"] + "\n" and stopped["text"] == cut(a["text"], [stop])


# --- beams

def texts_of(letters, n):
    return ["".join(x) for x in itertools.product(letters, repeat=n)]


def test_many_beams_are_a_search_of_all(place):
    found = place.one("--beams", 64, "-n", 8, "--grammar", "root ::= [A-D] [A-D] [A-D]", "--logit-bias", "256=-inf")["beams"]
    assert len(found) == 64 and found[0]["end"] == "grammar"
    first = {t: i for i, t in enumerate(language.vocabulary())}
    want = {}
    for x in texts_of("ABCD", 3):
        ids = [first[ch] for ch in x]
        want[x] = sum(place.logprobs(ids[:k])[ids[k]] for k in range(3)) / 3
    assert {b["text"] for b in found} == set(want)
    for b, score in zip(found, sorted(want.values(), reverse=True)):
        assert abs(b["score"] - score) < NEAR and abs(want[b["text"]] - b["score"]) < NEAR
        assert abs(sum(b["logprobs"]) / len(b["tokens"]) - b["score"]) < 1e-9


def searched(place, n_beams, limit, penalty, bias, early):
    """Beam search as its papers have it, on the NumPy model: [(score, tokens)]."""
    live, done = [((), 0.0)], []
    while live:
        options = []
        for behind, total in live:
            p = place.logprobs(behind)
            p[END] += bias
            options += [(total + p[t], behind + (t,)) for t in np.argsort(-p)[: 2 * n_beams]]
        options.sort(key=lambda x: -x[0])
        live = []
        for total, tokens in options[: 2 * n_beams]:
            if len(live) == n_beams:
                break
            if tokens[-1] == END or len(tokens) == limit:
                done.append((total / len(tokens) ** penalty, tokens))
            else:
                live.append((tokens, total))
        done = sorted(done, key=lambda x: -x[0])[:n_beams]
        if len(done) == n_beams and early:
            break
    return done


@pytest.mark.parametrize("n_beams, penalty, bias, early", [(2, 1.0, 0.0, False), (3, 0.0, 3.0, False), (4, 2.0, 2.5, True), (3, -0.5, 2.0, True)])
def test_a_beam_search(place, n_beams, penalty, bias, early):
    want = searched(place, n_beams, 4, penalty, bias, early)
    args = ["--beams", n_beams, "-n", 4, "--length-penalty", penalty, *(["--logit-bias", f"{END}={bias}"] if bias else []), *(["--early-stop"] if early else [])]
    found = place.one(*args)
    assert [b["tokens"] for b in found["beams"]] == [list(t) for _, t in want]
    assert all(abs(b["score"] - s) < NEAR for b, (s, _) in zip(found["beams"], want))
    assert found["tokens"] == found["beams"][0]["tokens"]


def test_beams_refuse_what_has_no_part_in_them(place):
    for words in (["--repeat-penalty", 1.1], ["--logprobs", 2], ["--lookup", 4], ["--mirostat"]):
        assert place.command("generate", place.model, "-p", PROMPT, "--no-parity", "--beams", 2, *words).returncode == 2


# --- speculation

REQUESTS = [{"seed": k, "temperature": (0, 0.7, 1.4)[k % 3], "top_k": (40, 0)[k % 2], "max_tokens": 40, "prompt": ("ABABABABAB", PROMPT, "xyzxyzxyz")[k % 3],
             **({"repeat_penalty": 1.2} if k % 5 == 0 else {}), **({"grammar": 'root ::= ([A-E]{3} " "){9}'} if k % 4 == 0 else {})} for k in range(24)]


def test_guesses_change_nothing(place):
    plain = place.many(REQUESTS)
    for words in (["--lookup", 6], ["--draft", place.folder / "near.gguf", "--draft-tokens", 4], ["--draft", place.folder / "same.gguf", "--lookup", 3]):
        guessed = place.many(REQUESTS, *words)
        for a, b in zip(plain, guessed):
            assert (a["tokens"], a["logprobs"], a["text"], a["end"]) == (b["tokens"], b["logprobs"], b["text"], b["end"])
        assert sum(b.get("guessed_tokens", 0) for b in guessed) > 20


def test_the_same_model_guesses_right(place):
    answers = place.many([x for x in REQUESTS if "repeat_penalty" not in x], "--draft", place.folder / "same.gguf")
    guessed = sum(a.get("guessed_tokens", 0) for a in answers)
    assert guessed > 50 and sum(a.get("guessed_right", 0) for a in answers) == guessed


def test_guessed_answers_have_the_models_distribution(place):
    """Two letters of four, many seeds: chi-squared of 16 cells, beyond its 0.999 quantile once in a thousand."""
    n, first = 600, {t: i for i, t in enumerate(language.vocabulary())}
    answers = place.many([{"seed": k, "temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0, "grammar": "root ::= [A-D] [A-D] [A-D]", "max_tokens": 3,
                           "logit_bias": {"256": -1e9}} for k in range(n)], "--draft", place.folder / "near.gguf")
    assert sum(a.get("guessed_tokens", 0) for a in answers) > 100
    seen, p = {}, {}
    for a in answers:
        seen[a["text"][:2]] = seen.get(a["text"][:2], 0) + 1
    ids = [first[x] for x in "ABCD"]
    for x, y in itertools.product("ABCD", repeat=2):
        one, two = np.exp(place.logprobs([])[ids]), np.exp(place.logprobs([first[x]])[ids])
        p[x + y] = one["ABCD".index(x)] / one.sum() * two["ABCD".index(y)] / two.sum()
    assert sum((seen.get(k, 0) - n * q) ** 2 / (n * q) for k, q in p.items()) < 37.7


def test_a_draft_of_another_vocabulary_is_refused(place):
    got = place.command("generate", place.model, "-p", PROMPT, "--no-parity", "--draft", place.folder / "other.gguf")
    assert got.returncode == 11 and "same vocabulary" in got.stderr


# --- many prompts

def answers_in(path):
    keys = ("line", "id", "text", "tokens", "logprobs", "end", "error")
    return [{k: a[k] for k in keys if k in a} for a in map(json.loads, path.read_text().splitlines())]


def test_many_prompts_and_going_on(place, tmp_path):
    lines = [{"prompt": f"AB{k}", "id": [k, "x"], "max_tokens": 5, "seed": k} for k in range(6)]
    lines[2] = {"prompt": "A", "max_token": 3}
    lines[4] = {"prompt": "A" * 500}
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    words = ["generate", place.model, "--no-parity", "--prompts", tmp_path / "p.jsonl", "-o"]
    got = place.command(*words, tmp_path / "all.jsonl")
    want = answers_in(tmp_path / "all.jsonl")
    assert got.returncode == 3 and "2 prompts have no answer" in got.stderr and "7 of 7" in got.stderr
    assert [a["line"] for a in want] == [1, 2, 3, 4, 5, 6] and want[3]["id"] == [3, "x"] and len(want[0]["tokens"]) == 5
    assert "max_token" in want[2]["error"]["text"] and want[4]["error"]["id"] == "E_LIMIT"
    text = (tmp_path / "all.jsonl").read_text()
    for keep in (0, len(text) // 3, len(text) - 1):  # as a run that was killed leaves it
        (tmp_path / "part.jsonl").write_text(text[:keep])
        place.command(*words, tmp_path / "part.jsonl")
        assert answers_in(tmp_path / "part.jsonl") == want
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, lines[1:])))
    got = place.command(*words, tmp_path / "all.jsonl")
    assert got.returncode == 11 and "is another prompt by now" in got.stderr


def test_prompts_of_a_text_file(place, tmp_path):
    (tmp_path / "p.txt").write_text("AB\n\nxyz\r\n")
    got = place.command("generate", place.model, "--no-parity", "--cache-type", "f32", "--prompts", tmp_path / "p.txt", "-n", 4, "--temperature", 0)
    answers = [json.loads(x) for x in got.stdout.splitlines()]
    assert [a["line"] for a in answers] == [1, 3] and answers[1]["tokens"] == place.one("-p", "xyz", "-n", 4, "--temperature", 0)["tokens"]


def test_many_at_once_are_as_one_by_one(place, tmp_path):
    """Forty requests, of which sixteen share a step, some with grammars, stop texts, beams or no room: each as if it were alone."""
    lines = [{"prompt": "AB" * (k % 7) + "xyz"[: k % 3 + 1], "max_tokens": 3 + k % 11, "seed": k, "temperature": k % 3 / 2} for k in range(40)]
    lines[5]["grammar"] = 'root ::= "AB" [a-z]+'
    lines[9]["beams"] = 3
    lines[9]["temperature"] = 0
    lines[11]["prompt"] = "A" * 600
    answers = []
    for parts in ([lines], [[x] for x in lines]):
        got = []
        for k, part in enumerate(parts):
            (tmp_path / "p.jsonl").write_text("".join(json.dumps(x) + "\n" for x in part))
            out = place.command("generate", place.model, "--no-parity", "--threads", 1, "--prompts", tmp_path / "p.jsonl").stdout
            got += [json.loads(x) for x in out.splitlines()]
        answers.append([{k: a.get(k) for k in ("text", "tokens", "logprobs", "end", "error")} for a in got])
    assert len(answers[0]) == 40 and answers[0] == answers[1] and answers[0][11]["error"] and answers[0][5]["text"].startswith("AB")
