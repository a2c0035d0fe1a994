"""Sessions of language models (hone/text.h): what one gives does not depend on how its tokens came, nor on other sessions."""

import copy
import ctypes as c
import os
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
sys.path.insert(0, os.path.dirname(__file__))
import test_language as language  # noqa: E402

LIB = c.CDLL(os.path.join(os.environ.get("HONE_BUILD", "build"), "libhone.so"))


class Options(c.Structure):
    _fields_ = [("size", c.c_size_t), ("n_threads", c.c_uint32), ("context", c.c_int64), ("compiler", c.c_char_p), ("target", c.c_char_p),
                ("no_parity", c.c_bool), ("progress", c.c_void_p * 2), ("stop", c.c_void_p), ("no_tokenizer", c.c_bool),
                ("cache", c.c_char_p), ("cached_tokens", c.c_int64)]


class Feed(c.Structure):
    _fields_ = [("session", c.c_void_p), ("token", c.POINTER(c.c_int32)), ("n", c.c_size_t), ("n_want", c.c_size_t),
                ("logits", c.POINTER(c.c_float))]


class Model:
    def __init__(self, path, **options):
        self.m, self.e = c.c_void_p(), c.create_string_buffer(4096)
        LIB.hone_text_logits.restype = c.c_size_t
        LIB.hone_text_session_tokens.restype = c.POINTER(c.c_int32)
        options.setdefault("cache", b"f32")
        o = Options(size=c.sizeof(Options), context=256, no_tokenizer=True, **{"no_parity": options.get("cache") in (b"f16", b"bf16")} | options)
        self.check(LIB.hone_text_open(str(path).encode(), c.byref(o), c.byref(self.m), self.e))
        self.vocabulary = LIB.hone_text_logits(self.m)

    def load(self, path):
        s, note = c.c_void_p(), c.c_char_p()
        self.check(LIB.hone_text_session_load(self.m, str(path).encode(), c.byref(s), c.byref(note), self.e))
        return Session(self, s), note.value

    def feed_all(self, feeds):
        """Feeds [(session, tokens, want)] in one step; logits of each."""
        held = [(c.c_int32 * len(t))(*t) for _, t, _ in feeds]
        a = (Feed * len(feeds))(*[Feed(s.s, h, len(t), w) for (s, t, w), h in zip(feeds, held)])
        self.check(LIB.hone_text_feed_all(self.m, a, c.c_size_t(len(feeds)), self.e))
        return [np.ctypeslib.as_array(f.logits, (f.n_want, self.vocabulary)).copy() if f.n_want else None for f in a]

    def check(self, rc):
        if rc:
            raise RuntimeError(f"{rc}: {self.e.raw[4:].split(bytes(1))[0].decode(errors='replace')}")

    def session(self):
        s = c.c_void_p()
        self.check(LIB.hone_text_session_open(self.m, c.byref(s), self.e))
        return Session(self, s)

    def close(self):
        LIB.hone_text_close(self.m)


class Session:
    def __init__(self, model, s):
        self.model, self.s = model, s

    def feed(self, tokens, want=1):
        a, out = (c.c_int32 * len(tokens))(*tokens), c.POINTER(c.c_float)()
        self.model.check(LIB.hone_text_session_feed(self.s, a, c.c_size_t(len(tokens)), c.c_size_t(want), c.byref(out), self.model.e))
        return np.ctypeslib.as_array(out, (want, self.model.vocabulary)).copy()

    def fork(self):
        s = c.c_void_p()
        self.model.check(LIB.hone_text_session_fork(self.s, c.byref(s), self.model.e))
        return Session(self.model, s)

    def save(self, path, note=b""):
        self.model.check(LIB.hone_text_session_save(self.s, note, str(path).encode(), self.model.e))

    def truncate(self, n):
        self.model.check(LIB.hone_text_session_truncate(self.s, c.c_size_t(n), self.model.e))

    def tokens(self):
        n = c.c_size_t()
        p = LIB.hone_text_session_tokens(self.s, c.byref(n))
        return p[: n.value]

    def close(self):
        LIB.hone_text_session_close(self.s)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("session")
    before = {k: os.environ.get(k) for k in ("XDG_CACHE_HOME", "HONE_CACHE")}
    os.environ["XDG_CACHE_HOME"] = str(folder)
    os.environ.pop("HONE_CACHE", None)
    shape = copy.copy(language.MODELS["qwen2"])
    shape.__dict__.update(width=96, layers=2, heads=6, kv_heads=3, head_size=24, rotary=24, mlp=160)
    language.write(folder / "m.gguf", shape, language.weights_of(shape, np.random.default_rng(5)), context=256)
    yield folder / "m.gguf"
    for k, v in before.items():  # what other files' tests have probed and compiled is there
        if v is None:
            os.environ.pop(k, None)
        else:
            os.environ[k] = v


@pytest.fixture(scope="module")
def model(file):
    m = Model(file)
    yield m
    m.close()


R = np.random.default_rng(9)
TOKENS = [int(x) for x in R.integers(0, 250, 100)]


def same(a, b):
    return (np.asarray(a).view(np.uint32) == np.asarray(b).view(np.uint32)).all()


def test_fork_and_truncate(model):
    s = model.session()
    whole = s.feed(TOKENS, len(TOKENS))
    for n in (99, 64, 63, 33, 32, 31, 1, 0):
        s.truncate(n)
        assert same(s.feed(TOKENS[n:], len(TOKENS) - n), whole[n:])
    s.truncate(40)
    t = s.fork()
    s.feed([1, 2, 3])
    assert same(t.feed(TOKENS[40:], 60), whole[40:])
    u = t.fork()
    assert not same(u.feed([5]), t.feed([6]))
    t.truncate(100)
    u.truncate(100)
    assert same(u.feed([6]), t.feed([6]))
    t.truncate(100)
    assert t.tokens() == TOKENS and s.tokens() == TOKENS[:40] + [1, 2, 3]
    with pytest.raises(RuntimeError, match="cannot be cut to 999"):
        t.truncate(999)
    with pytest.raises(RuntimeError, match="too many for a context of 256"):
        t.feed([1] * 200)
    with pytest.raises(RuntimeError, match="token 999"):
        t.feed([999])
    assert t.tokens() == TOKENS
    t.truncate(50)
    assert same(t.feed(TOKENS[50:], 50), whole[50:])
    for x in (s, t, u):
        x.close()


@pytest.mark.parametrize("cache", ["f32", "f16", "bf16", "q8"] if os.environ.get("HONE_LONG") else ["f16", "q8"])
def test_the_same_bits(file, cache):
    """However the tokens come, beside whatever, with one thread or two, a prefix found or not, preempted or not."""
    m = Model(file, cache=cache.encode(), n_threads=1)
    whole = m.session().feed(TOKENS, len(TOKENS))
    exact = Model(file) if cache != "f32" else m
    reference = exact.session().feed(TOKENS, len(TOKENS))
    assert np.abs(whole - reference).max() <= {"f32": 0, "f16": 2e-3, "bf16": 2e-2, "q8": 2e-2}[cache] * np.abs(reference).max()
    hold_to_the_same_bits(file, cache, (1, 7, 30, 64), (1, 3, 15))


@pytest.mark.parametrize("name, kind, cache, sizes", [
    ("qwen2", "q4_K_M", "f16", {"width": 256, "mlp": 256, "heads": 8, "kv_heads": 2, "head_size": 32, "rotary": 32}),
    ("qwen2moe", "q4_0", "q8", {"width": 64, "expert_mlp": 32, "shared": 32, "mlp": 64})])
def test_the_same_bits_of_packed_weights(tmp_path, monkeypatch, name, kind, cache, sizes):
    """Products of int8 activations and packed rows: of one to a hundred rows, of experts that other rows choose, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shape = copy.copy(language.MODELS[name])
    shape.__dict__.update(sizes)
    language.write(tmp_path / "m.gguf", shape, language.weights_of(shape, np.random.default_rng(6)), context=256)
    subprocess.run([os.environ.get("HONE_BUILD", "build") + "/hone", "quantize", tmp_path / "m.gguf", "-o", tmp_path / "p.gguf", "--type", kind], check=True,
                   capture_output=True)
    long = os.environ.get("HONE_LONG")
    chunks = (1, 2, 3, 4, 5, 8, 9, 12, 16, 17, 31, 32, 33, 64) if long else (1, 3, 4, 9, 17, 32, 33)
    hold_to_the_same_bits(tmp_path / "p.gguf", cache, chunks, range(1, 17) if long else (1, 3, 8, 15, 16), no_parity=True)


def hold_to_the_same_bits(file, cache, chunks, crowds, **how):
    how["cache"] = cache.encode()
    m = Model(file, n_threads=1, **how)
    s = m.session()
    whole = s.feed(TOKENS, len(TOKENS))
    two = Model(file, n_threads=2, **how)
    for n in chunks:
        for x in (m, two):
            t = x.session()
            got = [t.feed(TOKENS[i:i + n], len(TOKENS[i:i + n])) for i in range(0, len(TOKENS), n)]
            assert same(np.concatenate(got), whole), n
            t.close()
    for neighbours in crowds:
        others = [m.session() for _ in range(neighbours)]
        t = m.session()
        for i in range(0, len(TOKENS), 20):
            feeds = [(o, [int(x) for x in R.integers(0, 250, R.integers(1, 9))], int(R.integers(0, 2))) for o in others]
            at = int(R.integers(0, neighbours + 1))
            feeds.insert(at, (t, TOKENS[i:i + 20], 20))
            assert same(m.feed_all(feeds)[at], whole[i:i + 20]), neighbours
        for o in [*others, t]:
            o.close()
    few = Model(file, n_threads=1, cached_tokens=256, **how)
    sessions = [few.session() for _ in range(4)]
    for i in range(0, len(TOKENS), 25):
        for k, t in enumerate(sessions):
            if k:
                t.feed([k] * 25)
            else:
                assert same(t.feed(TOKENS[i:i + 25], 25), whole[i:i + 25])
    with pytest.raises(RuntimeError, match="are all in use"):
        few.feed_all([(t, [1] * 60, 1) for t in sessions])
    assert same(sessions[0].fork().feed([3]), s.feed([3]))


def test_save_and_load(file, model, tmp_path):
    s = model.session()
    s.feed(TOKENS[:70])
    s.save(tmp_path / "s", b"a note")
    want = s.feed(TOKENS[70:], 30)
    for m in (model, Model(file)):
        t, note = m.load(tmp_path / "s")
        assert note == b"a note" and t.tokens() == TOKENS[:70] and same(t.feed(TOKENS[70:], 30), want)
    for x in (s, t):
        x.truncate(0)
    s.save(tmp_path / "empty")
    assert model.load(tmp_path / "empty")[0].tokens() == []
    data = (tmp_path / "s").read_bytes()
    with pytest.raises(RuntimeError, match="another model, or of .* compiled otherwise"):
        Model(file, cache=b"f16").load(tmp_path / "s")
    for fault, what in ((data[:-1], "do not add up"), (data[:60], "no saved session"), (b"x" + data[1:], "no saved session"),
                        (data[:56] + b"\xff" * 8 + data[64:], "context|damaged"), (data[:64] + b"\xff" * 8 + data[72:], "damaged"),
                        (data[:72] + b"\xff" * 7 + data[79:], "damaged"), (data[:96] + b"\xff\xff\xff\x7f" + data[100:], "damaged"),
                        (data[:20] + (b"1" if data[20:21] == b"0" else b"0") + data[21:], "another model"), (data + b"0", "do not add up")):
        (tmp_path / "bad").write_bytes(fault)
        with pytest.raises(RuntimeError, match=what):
            model.load(tmp_path / "bad")


def test_windows_give_blocks_back(file, tmp_path):
    """Where no layer sees beyond 40 positions, three sessions of 200 tokens live in ten blocks of 32."""
    shape = copy.copy(language.MODELS["phi3"])
    shape.__dict__.update(window=40, every=0)
    language.write(tmp_path / "m.gguf", shape, language.weights_of(shape, np.random.default_rng(5)), context=256)
    tokens = [int(x) for x in R.integers(0, 250, 200)]
    m, small = Model(tmp_path / "m.gguf", no_parity=True), Model(tmp_path / "m.gguf", no_parity=True, cached_tokens=256)
    s = m.session()
    whole = s.feed(tokens, 200)
    sessions = [small.session() for _ in range(3)]
    for i in range(0, 200, 8):
        for got in small.feed_all([(t, tokens[i:i + 8], 8) for t in sessions]):
            assert same(got, whole[i:i + 8])
    t = sessions[0].fork()
    for n in (199, 170, 100, 10):
        t.truncate(n)
        assert same(t.feed(tokens[n:], 200 - n), whole[n:])
    t.save(tmp_path / "s")
    u, _ = small.load(tmp_path / "s")
    assert same(u.feed([1, 2, 3], 3), s.feed([1, 2, 3], 3))
