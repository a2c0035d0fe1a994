"""Folders of Hugging Face models: the weights of each architecture of test_language.py written as safetensors give the logits of the same
NumPy reading; folders that are damaged or not known are refused with the file, the tensor and the key."""

import json
import os
import struct
import subprocess
import sys

import hone
import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from test_language import HONE, MODELS, MORE, TOKENS, VOCABULARY, logits_of, step, vocabulary, weights_of  # noqa: E402

TYPE = {"F32": 4, "F16": 2, "BF16": 2}
NAMES = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}
LAYER = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_qkv": "self_attn.qkv_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
         "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
         "ffn_norm": "post_attention_layernorm"}
GEMMA = LAYER | {"ffn_norm": "pre_feedforward_layernorm", "post_attention_norm": "post_attention_layernorm",
                 "post_ffw_norm": "post_feedforward_layernorm"}
PHI3 = LAYER | {"ffn_up": "mlp.gate_up_proj"}
MOE = LAYER | {"ffn_gate_inp": "mlp.gate", "ffn_gate_inp_shexp": "mlp.shared_expert_gate", "ffn_gate_shexp": "mlp.shared_expert.gate_proj",
               "ffn_up_shexp": "mlp.shared_expert.up_proj", "ffn_down_shexp": "mlp.shared_expert.down_proj"}
GPT2 = {"attn_norm": "ln_1", "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj", "ffn_norm": "ln_2", "ffn_up": "mlp.c_fc",
        "ffn_down": "mlp.c_proj"}
NEOX = {"attn_norm": "input_layernorm", "attn_qkv": "attention.query_key_value", "attn_output": "attention.dense",
        "ffn_norm": "post_attention_layernorm", "ffn_up": "mlp.dense_h_to_4h", "ffn_down": "mlp.dense_4h_to_h"}
NEOX_NAMES = {"token_embd": "gpt_neox.embed_in", "output_norm": "gpt_neox.final_layer_norm", "output": "embed_out"}
GPT2_NAMES = {"token_embd": "wte", "position_embd": "wpe", "output_norm": "ln_f"}
KIND = {"qwen2moe": "qwen2_moe", "phi3-long": "phi3", "llama": "llama", "llama3": "llama", "gemma3": "gemma3_text"}


def to_bytes(x, kind):
    x = np.ascontiguousarray(x, np.float32)
    if kind == "F16":
        return x.astype(np.float16).tobytes()
    return (x.view(np.uint32) >> 16).astype(np.uint16).tobytes() if kind == "BF16" else x.tobytes()


def rounded(x, kind):
    """What a tensor of this type holds of x."""
    if kind == "F16":
        return x.astype(np.float16).astype(np.float32)
    return (x.view(np.uint32) & 0xFFFF0000).view(np.float32) if kind == "BF16" else x


def file_of(tensors, kind="F32"):
    """A safetensors file, its tensors in the order of the dictionary."""
    head, data = {"__metadata__": {"format": "pt"}}, b""
    for name, x in tensors.items():
        raw = to_bytes(x, kind)
        head[name] = {"dtype": kind, "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    return raw_file(head, data)


def raw_file(head, data):
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def gpt2_weights(w):
    """Matrices of layers are [summed, results]; masks are stored as well."""
    out = {"transformer.h.0.attn.bias": np.ones((1, 1, 128, 128), np.float32)}
    for key, x in w.items():
        parts = key.split(".")
        if parts[0] == "blk":
            out[f"transformer.h.{parts[1]}.{GPT2[parts[2]]}.{parts[3]}"] = x.T
        else:
            out[f"transformer.{GPT2_NAMES[parts[0]]}.{parts[1]}"] = x
    return out


def neox_weights(s, w):
    """Joint rows are those of one head after the other; masks are stored as well."""
    out = {"gpt_neox.layers.0.attention.bias": np.ones((1, 1, 8, 8), np.float32)}
    for key, x in w.items():
        parts = key.split(".")
        if parts[0] != "blk":
            out[f"{NEOX_NAMES[parts[0]]}.{parts[1]}"] = x
            continue
        if parts[2] == "attn_qkv":
            x = x.reshape(3, s.heads, s.head_size, -1).swapaxes(0, 1).reshape(x.shape)
        out[f"gpt_neox.layers.{parts[1]}.{NEOX[parts[2]]}.{parts[3]}"] = x
    return out


def hf_weights(name, s, w):
    """GGUF's names and order as Hugging Face has them. Rows of queries and keys of llama are pairs of neighbours in GGUF."""
    if s.learned:
        return gpt2_weights(w)
    if s.arch == "gptneox":
        return neox_weights(s, w)
    names = GEMMA if s.post_norm else PHI3 if s.fused else MOE if s.experts else LAYER
    out = {}
    for key, x in w.items():
        if key.startswith("rope_f"):
            continue
        parts = key.split(".")
        if "_exps" in key:
            for e in range(s.experts):
                out[f"model.layers.{parts[1]}.mlp.experts.{e}.{parts[2].split('_')[1]}_proj.weight"] = x[e]
            continue
        if parts[0] != "blk":
            out[NAMES[key]] = x - 1 if s.post_norm and "norm" in key else x
            continue
        if s.interleaved and parts[2] in ("attn_q", "attn_k"):
            x = x.reshape(-1, s.head_size // 2, 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)
        if s.post_norm and parts[2].endswith("norm"):
            x = x - 1
        out[f"model.layers.{parts[1]}.{names[parts[2]]}.{parts[3]}"] = x
    return out


def config_of(name, s):
    c = {"model_type": KIND.get(name, name), "hidden_size": s.width, "num_hidden_layers": s.layers, "num_attention_heads": s.heads,
         "num_key_value_heads": s.kv_heads, "head_dim": s.head_size, "intermediate_size": s.mlp, "vocab_size": VOCABULARY,
         "max_position_embeddings": s.context, "rms_norm_eps": s.eps, "rope_theta": s.base, "tie_word_embeddings": s.tied,
         "hidden_act": "gelu_pytorch_tanh" if s.gelu else "silu"}
    if s.learned:
        c = {"model_type": "gpt2", "n_embd": s.width, "n_layer": s.layers, "n_head": s.heads, "n_inner": s.mlp, "vocab_size": VOCABULARY,
             "n_positions": s.context, "layer_norm_epsilon": s.eps, "activation_function": "gelu_new"}
    if s.arch == "gptneox":
        c = {"model_type": "gpt_neox", "hidden_size": s.width, "num_hidden_layers": s.layers, "num_attention_heads": s.heads,
             "intermediate_size": s.mlp, "vocab_size": VOCABULARY, "max_position_embeddings": s.context, "layer_norm_eps": s.eps,
             "rotary_emb_base": s.base, "rotary_pct": s.rotary / s.head_size, "hidden_act": "gelu", "use_parallel_residual": True,
             "tie_word_embeddings": False}
        return c
    if s.experts:
        c |= {"num_experts": s.experts, "num_experts_per_tok": s.used, "moe_intermediate_size": s.expert_mlp,
              "shared_expert_intermediate_size": s.shared, "norm_topk_prob": s.normalised, "mlp_only_layers": list(s.dense)}
    if s.long:
        c |= {"original_max_position_embeddings": s.long["original"],
              "rope_scaling": {"type": "longrope", "short_factor": s.long["short"], "long_factor": s.long["long"]}}
    if s.window:
        c["sliding_window"] = s.window
    if s.softcap:
        c |= {"attn_logit_softcapping": s.softcap, "final_logit_softcapping": s.logit_softcap}
    if s.post_norm:
        c["query_pre_attn_scalar"] = s.head_size
    if s.base_local:
        c |= {"rope_local_base_freq": s.base_local, "rope_scaling": {"rope_type": "linear", "factor": s.scale},
              "layer_types": ["full_attention" if (i + 1) % s.every == 0 else "sliding_attention" for i in range(s.layers)]}
    if s.rotary != s.head_size:
        c["partial_rotary_factor"] = s.rotary / s.head_size
    return c


def llama3_factors(s):
    """By the paper's reference code: what frequencies are divided by."""
    out = []
    for i in range(s.rotary // 2):
        wave = 2 * np.pi * s.base ** (2 * i / s.rotary)
        smooth = (32 / wave - 1) / (4 - 1)
        out.append(8 if wave > 32 / 1 else 1 if wave < 32 / 4 else 1 / ((1 - smooth) / 8 + smooth))
    return np.array(out, np.float32)


def folder(tmp_path, name, kind="F32", shards=1, **more):
    s = (MODELS | MORE)[name]
    w = {k: rounded(x, kind) for k, x in weights_of(s, np.random.default_rng(len(name))).items()}
    if s.factors:
        w["rope_freqs.weight"] = llama3_factors(s)
        more["rope_scaling"] = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                "original_max_position_embeddings": 32}
    at = tmp_path / "model"
    at.mkdir()
    (at / "config.json").write_text(json.dumps(config_of(name, s) | more))
    tensors = hf_weights(name, s, w)
    if s.post_norm:  # what is stored is what is added to one: what was lost in the subtraction is lost in the reading too
        for key, x in w.items():
            if "norm" in key:
                w[key] = rounded(x - np.float32(1), kind) + np.float32(1)
    if shards == 1:
        (at / "model.safetensors").write_bytes(file_of(tensors, kind))
        return at, s, w
    names, index = list(tensors), {}
    for i in range(shards):
        file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        part = {n: tensors[n] for n in names[i::shards]}
        index |= dict.fromkeys(part, file)
        (at / file).write_bytes(file_of(part, kind))
    (at / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    return at, s, w


FOLDERS = [("llama3", "BF16", 3), ("qwen2moe", "BF16", 2), ("gptneox", "F16", 1)]
MORE_FOLDERS = [("gemma3", "BF16", 1), ("phi3-long", "F32", 1), ("llama", "F32", 1), ("qwen2", "F16", 1), ("qwen3", "F32", 2), ("gemma2", "F32", 1), ("phi3", "F16", 1), ("gpt2", "F32", 1)]


@pytest.mark.parametrize("name,kind,shards", [*FOLDERS, *(MORE_FOLDERS if os.environ.get("HONE_LONG") else [])])
def test_an_architecture(tmp_path, name, kind, shards):
    at, s, w = folder(tmp_path, name, kind, shards)
    token = np.random.default_rng(9).integers(0, VOCABULARY, TOKENS)
    want = logits_of(s, w, token)
    m = hone.compile(at, parity=False)
    empty = {f"past.{k}.{i}": np.zeros((0, s.kv_heads, s.head_size), np.float32) for i in range(s.layers) for k in ("key", "value")}
    got, _ = step(m, s, token, range(TOKENS), empty)
    assert np.abs(got - want).max() / np.abs(want).max() < 1e-4


def command(*args):
    return subprocess.run([HONE, *map(str, args)], capture_output=True, text=True)


def inspected(at):
    got = command("inspect", at, "--json")
    assert got.returncode == 0, got.stderr
    return json.loads(got.stdout)


def test_what_is_in_a_folder(tmp_path):
    at, s, _ = folder(tmp_path, "llama", "F16")
    j = inspected(at)
    assert (j["format"], j["family"], j["layers"], j["vocabulary"], j["supported"]) == ("hf", "llama", s.layers, VOCABULARY, True)
    assert list(j["types"]) == ["F16"] and j["weights_read_b_per_token"] < j["types"]["F16"]["size_b"]
    got = command("inspect", at / "model.safetensors")
    assert "name its folder" in got.stdout + got.stderr
    assert command("compile", str(at) + "/", "-o", tmp_path / "x", "--no-parity").returncode == 0


def test_what_is_not_known_is_refused(tmp_path):
    """All of it at once."""
    at, s, w = folder(tmp_path, "llama", hidden_act="relu", quantization_config={"bits": 4},
                      rope_scaling={"rope_type": "dynamic", "factor": 2})
    lines = inspected(at)["refusals"]
    assert len(lines) == 3 and all(any(k in x for x in lines) for k in ("hidden_act", "quantization_config", "dynamic"))
    config = config_of("llama", s)
    (at / "config.json").write_text(json.dumps(config | {"model_type": "mamba"}))
    got = command("compile", at, "-o", tmp_path / "x")
    assert got.returncode == 14 and "mamba" in got.stderr and "qwen3" in got.stderr
    (at / "config.json").write_text(json.dumps({k: v for k, v in config.items() if k not in ("hidden_size", "vocab_size")}))
    lines = inspected(at)["refusals"]
    assert len(lines) == 2 and "hidden_size" in lines[0] and "vocab_size" in lines[1]
    (at / "config.json").write_text(json.dumps(config))
    tensors = hf_weights("llama", s, w)
    sinks = {f"model.layers.{i}.self_attn.sinks": np.zeros(4, np.float32) for i in (0, 1)}
    inv = {"model.layers.0.self_attn.rotary_emb.inv_freq": np.zeros(8, np.float32)}
    (at / "model.safetensors").write_bytes(file_of(tensors | sinks | inv))
    lines = inspected(at)["refusals"]
    assert len(lines) == 2 and "layers.0.self_attn.sinks" in lines[0] and "layers.1.self_attn.sinks" in lines[1]
    (at / "model.safetensors").write_bytes(file_of({k: v for k, v in tensors.items() if k != "lm_head.weight"}))
    assert "tie_word_embeddings" in command("compile", at, "-o", tmp_path / "x").stderr
    (at / "model.safetensors").write_bytes(file_of({k: v for k, v in tensors.items() if "1.mlp.down" not in k}))
    assert "layer 1 has no down weights" in command("compile", at, "-o", tmp_path / "x").stderr
    (at / "config.json").write_text(json.dumps(config)[:-9])
    assert "config.json:1:" in command("compile", at, "-o", tmp_path / "x").stderr


def test_shards_that_do_not_fit(tmp_path):
    at, _, _ = folder(tmp_path, "llama", shards=2)
    index = json.loads((at / "model.safetensors.index.json").read_text())
    first = next(iter(index["weight_map"]))

    def says(change, *parts):
        (at / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index["weight_map"] | change}))
        got = command("compile", at, "-o", tmp_path / "x")
        assert got.returncode and all(p in got.stderr for p in parts), got.stderr

    says({first: "../secret"}, "../secret", "not in a file of this folder")
    says({first: "none.safetensors"}, "none.safetensors")
    says({"extra": index["weight_map"][first]}, "extra", "where the index has it")
    says({first: sorted(set(index["weight_map"].values()))[1]}, first, "where the index has it")
    index["weight_map"].pop(first)
    says({}, first, "is not in 'model.safetensors.index.json'")


def with_tokenizer(at):
    """Bytes and one pair, as test_language.py's GGUF files have them; a token that ends a turn; a chat template."""
    tokenizers = pytest.importorskip("tokenizers")
    names = vocabulary()[:257]
    t = tokenizers.Tokenizer(tokenizers.models.BPE({n: i for i, n in enumerate(names)}, [("A", "B")]))
    t.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = tokenizers.decoders.ByteLevel()
    t.add_special_tokens(["<bos>", "<end>"])
    t.post_processor = tokenizers.processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 257)])
    (at / "tokenizer.json").write_text(t.to_str())
    (at / "tokenizer_config.json").write_text(json.dumps({"bos_token": {"content": "<bos>"}, "eos_token": "<end>"}))
    (at / "chat_template.jinja").write_text("{{ bos_token }}{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}")
    return t


def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HONE_CACHE", raising=False)
    at, s, w = folder(tmp_path, "llama")
    got = command("tokenize", at, "AB")
    assert got.returncode and "tokenizer.json" in got.stderr
    with_tokenizer(at)
    j = json.loads(command("tokenize", at, "xAB\u00e9<end>", "--json").stdout)
    assert j["tokens"] == [257, vocabulary().index("x"), 256, *[vocabulary().index(chr(c)) for c in (0xC3, 0xA9)], 258]
    ids = " ".join(map(str, j["tokens"]))
    assert command("tokenize", at, "--decode", ids).stdout == "<bos>xAB\u00e9<end>\n"
    args = ["generate", at, "--prompt", "ABC", "--max-tokens", 8, "--temperature", 0, "--json", "--no-parity"]
    got = command(*args)
    assert got.returncode == 0, got.stderr
    answer, seen = json.loads(got.stdout), [257, 256, vocabulary().index("C")]
    for t in answer["tokens"]:
        row = logits_of(s, w, np.array(seen))[-1][:259]
        assert row[t] > row.max() - 1e-3
        seen.append(t)
    (at / "generation_config.json").write_text(json.dumps({"eos_token_id": [258, answer["tokens"][2]]}))
    again = json.loads(command(*args).stdout)
    assert again["end"] == "eos" and answer["tokens"][:len(again["tokens"])] == again["tokens"] and len(again["tokens"]) <= 3
    got = subprocess.run([HONE, "chat", at, "--max-tokens", "2", "--temperature", "0"], input="hi\n", capture_output=True, text=True)
    assert got.returncode == 0, got.stderr


def test_tokenizers_that_are_not_read(tmp_path):
    at, _, _ = folder(tmp_path, "llama")
    with_tokenizer(at)
    j = json.loads((at / "tokenizer.json").read_text())

    def says(change, *parts):
        (at / "tokenizer.json").write_text(json.dumps(j | change))
        got = command("tokenize", at, "AB")
        assert got.returncode and all(p in got.stderr for p in ("tokenizer.json", *parts)), got.stderr

    says({"normalizer": {"type": "Twist"}, "pre_tokenizer": {"type": "UnicodeScripts"}, "decoder": {"type": "CTC"}},
         "normalizer 'Twist'", "pre_tokenizer 'UnicodeScripts'", "decoder 'CTC'")
    says({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[a&&b]"}, "behavior": "Isolated", "invert": False}, "decoder": {"type": "Fuse"}},
         "intersection of classes")
    says({"model": j["model"] | {"merges": [["A", "nothing"]]}}, "merge 0")
    says({"model": j["model"] | {"vocab": {"a": 0, "b": 0}}}, "a second token")
    says({"model": j["model"] | {"vocab": {"a": 10**9}}}, "damaged")
    says({"added_tokens": [{"id": 3}]}, "added_tokens")
