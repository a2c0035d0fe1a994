"""Language models against the package transformers: tiny random models of each architecture, written as GGUF files as ggml's converter
writes them. Long: needs torch and transformers, which no other test does (pip install torch transformers)."""

import os

import hone
import pytest

if not os.environ.get("HONE_LONG"):
    pytest.skip("for make check-long", allow_module_level=True)
np = pytest.importorskip("numpy")
gguf = pytest.importorskip("gguf")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TOKENS = 256
SIZES = {"vocab_size": 300, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
         "intermediate_size": 96, "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "pad_token_id": 0, "bos_token_id": 1,
         "eos_token_id": 2, "tie_word_embeddings": False}
GPT2 = {"vocab_size": 300, "n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 512, "bos_token_id": 1, "eos_token_id": 2}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 128}
LONG = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1 + 0.05 * i for i in range(8)],
        "long_factor": [1 + 0.7 * i for i in range(8)], "original_max_position_embeddings": 64}
PHI3 = {"original_max_position_embeddings": 64}

# name: class, architecture in GGUF, what the configuration says beyond SIZES
CASES = {
    "llama": ("Llama", "llama", {}),
    "llama-biased": ("Llama", "llama", {"attention_bias": True, "mlp_bias": True}),
    "llama-linear": ("Llama", "llama", {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}}),
    "llama3": ("Llama", "llama", {"rope_parameters": LLAMA3, "tie_word_embeddings": True}),
    "mistral": ("Mistral", "llama", {"sliding_window": 20}),
    "mixtral": ("Mixtral", "llama", {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None}),
    "qwen2": ("Qwen2", "qwen2", {}),
    "qwen2-yarn": ("Qwen2", "qwen2", {"rope_parameters": YARN}),
    "qwen2_moe": ("Qwen2Moe", "qwen2moe", {"num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 24,
                                           "shared_expert_intermediate_size": 40, "norm_topk_prob": False, "mlp_only_layers": [1]}),
    "qwen3": ("Qwen3", "qwen3", {"head_dim": 24}),
    "qwen3_moe": ("Qwen3Moe", "qwen3moe", {"head_dim": 24, "num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 24,
                                           "norm_topk_prob": True}),
    "gemma": ("Gemma", "gemma", {"head_dim": 16, "tie_word_embeddings": True}),
    "gemma2": ("Gemma2", "gemma2", {"head_dim": 16, "sliding_window": 20, "query_pre_attn_scalar": 16, "tie_word_embeddings": True}),
    "gemma3": ("Gemma3", "gemma3", {"head_dim": 16, "sliding_window": 20, "query_pre_attn_scalar": 16, "num_hidden_layers": 7,
                                    "tie_word_embeddings": True}),
    "phi3": ("Phi3", "phi3", {"sliding_window": 30, "partial_rotary_factor": 0.5}),
    "phi3-longrope": ("Phi3", "phi3", {"rope_parameters": LONG} | PHI3),
    "gpt2": ("GPT2", "gpt2", {}),
    "phi": ("Phi", "phi2", {"partial_rotary_factor": 0.5, "num_key_value_heads": 4}),
    "gpt_neox": ("GPTNeoX", "gptneox", {"rotary_pct": 0.25, "num_key_value_heads": 4}),
    "starcoder2": ("Starcoder2", "starcoder2", {"use_bias": True, "sliding_window": None}),
    "stablelm": ("StableLm", "stablelm", {"use_qkv_bias": True, "partial_rotary_factor": 0.25}),
    "olmo2": ("Olmo2", "olmo2", {}),
    "olmoe": ("Olmoe", "olmoe", {"num_experts": 4, "num_experts_per_tok": 2, "intermediate_size": 24}),
    "granite": ("Granite", "granite", {"embedding_multiplier": 3.0, "residual_multiplier": 0.4, "logits_scaling": 5.0,
                                       "attention_multiplier": 0.2}),
}



def model_of(name):
    kind, arch, more = CASES[name]
    config = getattr(transformers, {"Gemma3": "Gemma3TextConfig"}.get(kind, kind + "Config"))
    sizes = {k: v for k, v in (GPT2 if kind == "GPT2" else SIZES).items()}
    torch.manual_seed(len(name))
    m = getattr(transformers, kind + ("LMHeadModel" if kind == "GPT2" else "ForCausalLM"))(config(**(sizes | more), attn_implementation="eager"))
    r = torch.Generator().manual_seed(len(name))
    with torch.no_grad():
        for n, p in m.named_parameters():  # biases, norms and routers are not left at 0 and 1
            if p.dim() == 1:
                p.add_(0.2 * torch.randn(p.shape, generator=r))
            else:
                p.copy_(torch.randn(p.shape, generator=r) / (p.shape[-1] ** 0.5))
    return m.float().eval(), arch


NAMES = [("model.embed_tokens.", "token_embd."), ("model.norm.", "output_norm."), ("lm_head.", "output."),
         ("model.final_layernorm.", "output_norm."), ("self_attn.q_proj", "attn_q"), ("self_attn.k_proj", "attn_k"),
         ("self_attn.v_proj", "attn_v"), ("self_attn.qkv_proj", "attn_qkv"), ("self_attn.o_proj", "attn_output"),
         ("self_attn.dense", "attn_output"), ("self_attn.q_norm", "attn_q_norm"), ("self_attn.k_norm", "attn_k_norm"),
         ("self_attn.q_layernorm", "attn_q_norm"), ("self_attn.k_layernorm", "attn_k_norm"),
         ("input_layernorm", "attn_norm"), ("pre_feedforward_layernorm", "ffn_norm"), ("post_feedforward_layernorm", "post_ffw_norm"),
         ("mlp.shared_expert_gate", "ffn_gate_inp_shexp"), ("mlp.shared_expert.gate_proj", "ffn_gate_shexp"),
         ("mlp.shared_expert.up_proj", "ffn_up_shexp"), ("mlp.shared_expert.down_proj", "ffn_down_shexp"),
         ("block_sparse_moe.gate.", "ffn_gate_inp."), ("mlp.gate.", "ffn_gate_inp."),
         ("mlp.gate_up_proj", "ffn_up"), ("mlp.gate_proj", "ffn_gate"), ("mlp.up_proj", "ffn_up"), ("mlp.down_proj", "ffn_down"),
         ("mlp.fc1", "ffn_up"), ("mlp.fc2", "ffn_down"), ("mlp.c_fc", "ffn_up"), ("mlp.c_proj", "ffn_down"),
         ("attn.c_attn", "attn_qkv"), ("attn.c_proj", "attn_output"), ("ln_1", "attn_norm"), ("ln_2", "ffn_norm"),
         ("transformer.ln_f", "output_norm"), ("transformer.wte", "token_embd"), ("transformer.wpe", "position_embd"),
         ("gpt_neox.embed_in", "token_embd"), ("embed_out", "output"), ("gpt_neox.final_layer_norm", "output_norm"),
         ("attention.query_key_value", "attn_qkv"), ("attention.dense", "attn_output"),
         ("mlp.dense_h_to_4h", "ffn_up"), ("mlp.dense_4h_to_h", "ffn_down"),
         ("model.layers.", "blk."), ("transformer.h.", "blk."), ("gpt_neox.layers.", "blk.")]


def neighbours(x, heads):
    """Rows of a head so that pairs are neighbours, as the files of llama have them."""
    return x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def tensors_of(m, arch):
    c, out = m.config, {}
    behind = "post_attention_norm" if arch in ("gemma2", "gemma3", "olmo2") else "ffn_norm"
    heads = c.num_attention_heads
    for name, x in m.state_dict().items():
        x = x.numpy()
        if name == "lm_head.weight" and c.tie_word_embeddings or "rotary_emb" in name or ".attn.bias" in name:
            continue
        to = name.replace("post_attention_layernorm", behind)
        if ".experts." in name:
            to = to.replace("block_sparse_moe", "mlp")
            layer = to.split("mlp.")[0].replace("model.layers.", "blk.")
            if name.endswith("gate_up_proj"):
                out[layer + "ffn_gate_exps.weight"], out[layer + "ffn_up_exps.weight"] = np.split(x, 2, axis=1)
            else:
                assert name.endswith("down_proj"), name
                out[layer + "ffn_down_exps.weight"] = x
            continue
        for a, b in NAMES:
            to = to.replace(a, b)
        if arch in ("llama", "granite") and ("attn_q." in to or "attn_k." in to):
            x = neighbours(x, heads if "attn_q." in to else c.num_key_value_heads)
        if arch.startswith("gemma") and to.endswith("norm.weight"):
            x = x + 1
        if arch == "gpt2" and x.ndim == 2 and to.startswith("blk."):
            x = x.T
        if arch == "gptneox" and "attn_qkv" in to:
            x = x.reshape(heads, 3, c.hidden_size // heads, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape)
        if "ffn_gate_inp_shexp" in to:
            x = x[0]
        out[to] = x
    return out


def write(path, m, arch):
    c, f = m.config, gguf.GGUFWriter(path, arch)
    heads, size = c.num_attention_heads, getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
    rope = getattr(c, "rope_parameters", None) or {}
    rotary = int(size * (rope.get("partial_rotary_factor") or getattr(c, "partial_rotary_factor", None) or getattr(c, "rotary_pct", 1.0)))
    f.add_block_count(c.num_hidden_layers)
    f.add_context_length(c.max_position_embeddings)
    f.add_embedding_length(c.hidden_size)
    f.add_feed_forward_length(getattr(c, "intermediate_size", None) or 4 * c.hidden_size)
    f.add_head_count(heads)
    f.add_head_count_kv(getattr(c, "num_key_value_heads", heads))
    f.add_key_length(size)
    if any(hasattr(c, k) for k in ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon")):
        f.add_layer_norm_eps(next(getattr(c, k) for k in ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon") if hasattr(c, k)))
    else:
        f.add_layer_norm_rms_eps(c.rms_norm_eps)
    if arch == "gemma3":
        f.add_rope_freq_base(rope["full_attention"]["rope_theta"])
    elif arch != "gpt2":
        f.add_rope_freq_base(rope["rope_theta"])
        f.add_rope_dimension_count(rotary)
    if getattr(c, "sliding_window", None):
        f.add_sliding_window(c.sliding_window)
    kind = rope.get("rope_type", "default")
    tensors = tensors_of(m, arch)
    if kind == "linear":
        f.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        f.add_rope_scaling_factor(rope["factor"])
    if kind == "yarn":
        f.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        f.add_rope_scaling_factor(rope["factor"])
        f.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if kind == "llama3":  # as ggml's converter writes it
        speed = rope["rope_theta"] ** -(np.arange(0, size, 2) / size)
        wave, original = 2 * np.pi / speed, rope["original_max_position_embeddings"]
        smooth = (original / wave - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
        part = 1 / ((1 - smooth) / rope["factor"] + smooth)
        factors = np.where(wave < original / rope["high_freq_factor"], 1, np.where(wave > original / rope["low_freq_factor"], rope["factor"], part))
        tensors["rope_freqs.weight"] = factors.astype(np.float32)
    if kind == "longrope":
        f.add_rope_scaling_orig_ctx_len(c.original_max_position_embeddings)
        scale = c.max_position_embeddings / c.original_max_position_embeddings
        f.add_rope_scaling_attn_factors(np.sqrt(1 + np.log(scale) / np.log(c.original_max_position_embeddings)))
        tensors["rope_factors_short.weight"] = np.array(rope["short_factor"], np.float32)
        tensors["rope_factors_long.weight"] = np.array(rope["long_factor"], np.float32)
    experts = getattr(c, "num_local_experts", None) or getattr(c, "num_experts", None)
    if experts:
        f.add_expert_count(experts)
        f.add_expert_used_count(c.num_experts_per_tok)
        if hasattr(c, "moe_intermediate_size"):
            f.add_expert_feed_forward_length(c.moe_intermediate_size)
        if hasattr(c, "shared_expert_intermediate_size"):
            f.add_expert_shared_feed_forward_length(c.shared_expert_intermediate_size)
    if arch == "granite":
        f.add_float32("granite.attention.scale", c.attention_multiplier)
        f.add_float32("granite.embedding_scale", c.embedding_multiplier)
        f.add_float32("granite.residual_scale", c.residual_multiplier)
        f.add_float32("granite.logit_scale", c.logits_scaling)
    for name, x in tensors.items():
        f.add_tensor(name, np.ascontiguousarray(x, np.float32))
    f.write_header_to_file()
    f.write_kv_data_to_file()
    f.write_tensors_to_file()
    f.close()


def run(m, token, want, cache):
    out = m(token=np.asarray(token, np.int64), want=np.asarray(want, np.int64), **cache)
    got = dict(zip([o.name for o in m.outputs], out))
    return got.pop("logits"), {"past" + k[len("present"):]: v for k, v in got.items()}


@pytest.mark.parametrize("form", ["gguf", "folder"])
@pytest.mark.parametrize("name", CASES)
def test_a_model(tmp_path, name, form):
    theirs, arch = model_of(name)
    if form == "folder":
        theirs.save_pretrained(tmp_path / "m")
    else:
        write(tmp_path / "m", theirs, arch)
    token = np.random.default_rng(1).integers(0, 300, TOKENS)
    with torch.no_grad():
        want = theirs(torch.tensor(token)[None]).logits[0].numpy()
        short = theirs(torch.tensor(token[:60])[None]).logits[0].numpy()
    ours = hone.compile(tmp_path / "m", parity=False)
    empty = {p.name: np.zeros((0, *p.shape[1:]), np.float32) for p in ours.inputs if p.name.startswith("past.")}
    got, _ = run(ours, token, range(TOKENS), empty)
    whole = np.abs(got - want).max() / np.abs(want).max()
    cache, at, steps = empty, 0, 0.0
    want = short if name == "phi3-longrope" else want  # a text beyond the original context is turned as a whole
    while at < len(want):
        n = min((9, 1, 1, 30, 1)[at % 5], len(want) - at)
        part, cache = run(ours, token[at:at + n], [n - 1], cache)
        at += n
        steps = max(steps, np.abs(part[0] - want[at - 1]).max() / np.abs(want).max())
    print(f"{name} ({form}): relative error {whole:.1e} at once, {steps:.1e} step by step")
    assert whole < 1e-4 and steps < 1e-4
