"""Sessions of language models (hone/text.h): what one gives does not depend on how its tokens came, nor on other sessions."""

import ctypes as c
import os
import sys

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
sys.path.insert(0, os.path.dirname(__file__))
import test_language as language  # noqa: E402

LIB = c.CDLL(os.path.join(os.environ.get("HONE_BUILD", "build"), "libhone.so"))


class Model:
    def __init__(self, path):
        self.m, self.e = c.c_void_p(), c.create_string_buffer(4096)
        LIB.hone_text_logits.restype = c.c_size_t
        LIB.hone_text_session_tokens.restype = c.POINTER(c.c_int32)
        self.check(LIB.hone_text_open(str(path).encode(), None, c.byref(self.m), self.e))
        self.vocabulary = LIB.hone_text_logits(self.m)

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

    def truncate(self, n):
        self.model.check(LIB.hone_text_session_truncate(self.s, c.c_size_t(n), self.model.e))

    def tokens(self):
        n = c.c_size_t()
        p = LIB.hone_text_session_tokens(self.s, c.byref(n))
        return p[: n.value]

    def close(self):
        LIB.hone_text_session_close(self.s)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("session")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    shape = language.MODELS["qwen2"]
    language.write(folder / "m.gguf", shape, language.weights_of(shape, np.random.default_rng(5)))
    m = Model(folder / "m.gguf")
    yield m
    m.close()


TOKENS = [int(x) for x in np.random.default_rng(9).integers(0, 250, 60)]


def close(a, b):
    assert np.abs(a - b).max() <= 1e-4 * np.abs(b).max()


def test_fork_and_truncate(model):
    s = model.session()
    whole = s.feed(TOKENS, len(TOKENS))
    s.truncate(20)
    close(s.feed(TOKENS[20:], 40), whole[20:])
    s.truncate(30)
    t = s.fork()
    s.feed([1, 2, 3])
    close(t.feed(TOKENS[30:], 30), whole[30:])
    assert t.tokens() == TOKENS and s.tokens() == TOKENS[:30] + [1, 2, 3]
    with pytest.raises(RuntimeError, match="cannot be cut to 99"):
        t.truncate(99)
    with pytest.raises(RuntimeError, match="too many for a context of 128"):
        t.feed([1] * 100)
    with pytest.raises(RuntimeError, match="token 999"):
        t.feed([999])
    assert t.tokens() == TOKENS
    s.close()
    t.close()
