#!/usr/bin/env python3
"""Writes language models with random weights in the shapes of published ones, in the mixes of element types that llama.cpp's own
quantisation gives them: `language_models.py FOLDER [SHAPE-MIX...]`. A model's speed does not depend on its weights' values; their scales
keep the logits finite. The tokenizer is the smallest that engines load: bytes, and names that no text has. Needs NumPy and gguf."""
import os
import sys

import gguf
import numpy as np

Q = gguf.GGMLQuantizationType
# architecture, width, layers, heads, heads of keys, head size, MLP, vocabulary, context, theta, epsilon, biases
SHAPES = {
    "qwen2.5-0.5b": ("qwen2", 896, 24, 14, 2, 64, 4864, 151936, 32768, 1e6, 1e-6, True),
    "qwen2.5-1.5b": ("qwen2", 1536, 28, 12, 2, 128, 8960, 151936, 32768, 1e6, 1e-6, True),
    "llama-3.2-3b": ("llama", 3072, 28, 24, 8, 128, 8192, 128256, 131072, 5e5, 1e-5, False),
    "tiny": ("llama", 256, 2, 4, 2, 64, 512, 512, 2048, 1e4, 1e-5, False),
}
MIXES = {"q4_0": ("Q4_0", "Q4_0", "Q6_K"), "q4_k_m": ("Q4_K", "Q6_K", "Q6_K"), "q8_0": ("Q8_0", "Q8_0", "Q8_0")}  # usual, more bits, head
FILE_TYPES = {"q4_0": gguf.LlamaFileType.MOSTLY_Q4_0, "q4_k_m": gguf.LlamaFileType.MOSTLY_Q4_K_M, "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0}
INSTEAD = {"Q4_K": "Q5_0", "Q6_K": "Q8_0"}  # where a row is no multiple of 256
# Of each type: elements and bytes of a block, where its f16 scales stand, and what makes values of a standard deviation near 1.
BLOCKS = {
    "Q4_0": (32, 18, {0: 1 / 4.6}),
    "Q5_0": (32, 22, {0: 1 / 9.2}),
    "Q8_0": (32, 34, {0: 1 / 74}),
    "Q4_K": (256, 144, {0: 1 / 170, 2: 7.5 / 170}),
    "Q6_K": (256, 210, {208: 1 / 1370}),
}


def packed(random, kind, rows, columns):
    """A matrix of random blocks, as bytes."""
    elements, size, scales = BLOCKS[kind]
    x = random.integers(0, 1 << 64, (rows * (columns // elements) * size + 7) // 8, dtype=np.uint64).view(np.uint8)
    x = x[: rows * (columns // elements) * size].reshape(-1, size)
    for at, scale in scales.items():
        d = (scale / np.sqrt(columns) * random.uniform(0.75, 1.25, len(x))).astype(np.float16)
        x[:, at : at + 2] = d.view(np.uint8).reshape(-1, 2)
    return x.reshape(rows, -1)


def kind_of(mix, columns, more):
    kind = MIXES[mix][more]
    return kind if columns % BLOCKS[kind][0] == 0 else INSTEAD.get(kind, kind)


def tensors(shape, mix):
    """(name, rows, columns, type) of each tensor; rows 0: a vector of f32."""
    _, width, layers, heads, kv, head, mlp, vocabulary, _, _, _, bias = shape
    yield "token_embd.weight", vocabulary, width, kind_of(mix, width, 2)
    yield "output_norm.weight", 0, width, "F32"
    for i in range(layers):
        p, more = f"blk.{i}.", int(i < layers // 8 or i >= 7 * layers // 8 or (i - layers // 8) % 3 == 2)
        for name, rows, columns, which in [("attn_q", heads * head, width, 0), ("attn_k", kv * head, width, 0), ("attn_v", kv * head, width, more),
                                           ("attn_output", width, heads * head, 0), ("ffn_gate", mlp, width, 0), ("ffn_up", mlp, width, 0),
                                           ("ffn_down", width, mlp, more)]:
            yield f"{p}{name}.weight", rows, columns, kind_of(mix, columns, which)
            if bias and name in ("attn_q", "attn_k", "attn_v"):
                yield f"{p}{name}.bias", 0, rows, "F32"
        yield p + "attn_norm.weight", 0, width, "F32"
        yield p + "ffn_norm.weight", 0, width, "F32"


def tokens(vocabulary):
    visible = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or 0xAE <= b <= 0xFF]
    names = [chr(b) for b in visible] + [chr(0x100 + i) for i in range(256 - len(visible))] + ["AB"]
    return names + [f"<unused {i}>" for i in range(vocabulary - len(names) - 1)] + ["<|end|>"]


def describe(f, name, shape):
    arch, width, layers, heads, kv, head, mlp, vocabulary, context, theta, epsilon, _ = shape
    f.add_name(name)
    f.add_block_count(layers)
    f.add_context_length(context)
    f.add_embedding_length(width)
    f.add_feed_forward_length(mlp)
    f.add_head_count(heads)
    f.add_head_count_kv(kv)
    f.add_key_length(head)
    f.add_value_length(head)
    f.add_rope_dimension_count(head)
    f.add_rope_freq_base(theta)
    f.add_layer_norm_rms_eps(epsilon)
    f.add_vocab_size(vocabulary)
    f.add_tokenizer_model("gpt2")
    f.add_tokenizer_pre("qwen2" if arch == "qwen2" else "llama-bpe")
    f.add_token_list(tokens(vocabulary))
    f.add_token_types([gguf.TokenType.NORMAL] * 257 + [gguf.TokenType.UNUSED] * (vocabulary - 258) + [gguf.TokenType.CONTROL])
    f.add_token_merges(["A B"])
    f.add_bos_token_id(vocabulary - 1)
    f.add_eos_token_id(vocabulary - 1)
    f.add_add_bos_token(False)


def write(path, name, mix):
    shape, random = SHAPES[name], np.random.default_rng(1)
    f = gguf.GGUFWriter(path + ".part", shape[0])
    describe(f, f"{name} {mix}, random weights", shape)
    f.add_file_type(FILE_TYPES[mix])
    f.add_quantization_version(gguf.GGML_QUANT_VERSION)
    for tensor, rows, columns, kind in tensors(shape, mix):
        if rows:
            size = rows * columns // BLOCKS[kind][0] * BLOCKS[kind][1]
            f.add_tensor_info(tensor, (rows, columns // BLOCKS[kind][0] * BLOCKS[kind][1]), np.dtype(np.uint8), size, raw_dtype=Q[kind])
        else:
            f.add_tensor_info(tensor, (columns,), np.dtype(np.float32), 4 * columns)
    f.write_header_to_file()
    f.write_kv_data_to_file()
    f.write_ti_data_to_file()
    for tensor, rows, columns, kind in tensors(shape, mix):
        vector = np.zeros(columns, np.float32) if tensor.endswith("bias") else np.ones(columns, np.float32)
        f.write_tensor_data(packed(random, kind, rows, columns) if rows else vector)
    f.close()
    os.replace(path + ".part", path)


def main(folder, *names):
    os.makedirs(folder, exist_ok=True)
    for name in names or [f"{s}-{m}" for s in SHAPES if s != "tiny" for m in MIXES]:
        shape, mix = name.rsplit("-", 1)
        if shape not in SHAPES or mix not in MIXES:
            sys.exit(f"language_models.py: there is no '{name}'; give SHAPE-MIX of {', '.join(SHAPES)} and {', '.join(MIXES)}")
        path = os.path.join(folder, name + ".gguf")
        if not os.path.exists(path):
            write(path, shape, mix)
        print(path, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
