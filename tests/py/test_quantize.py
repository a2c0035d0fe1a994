"""hone quantize: models that the PyPI package gguf wrote become models that it reads, with the types and sizes that were announced."""

import json
import os
import struct
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy")
gguf = pytest.importorskip("gguf")
sys.path.insert(0, os.path.dirname(__file__))
import test_language as language  # noqa: E402

HONE = os.path.join(os.environ.get("HONE_BUILD", "build"), "hone")
T = gguf.GGMLQuantizationType
LAYERS, WIDTH, MLP, VOCABULARY = 8, 256, 512, 40


def weights(seed=1, width=WIDTH, layers=LAYERS):
    r = np.random.default_rng(seed)
    w = {"token_embd.weight": (VOCABULARY, width), "output.weight": (VOCABULARY, width)}
    for i in range(layers):
        w |= {f"blk.{i}.attn_q.weight": (80, width), f"blk.{i}.attn_v.weight": (16, width), f"blk.{i}.ffn_down.weight": (20, MLP),
              f"blk.{i}.attn_norm.weight": (width,), f"blk.{i}.ffn_gate_inp.weight": (4, width), f"blk.{i}.attn_q.bias": (width,)}
    return {k: (r.standard_normal(shape) * 0.03).astype(np.float32) for k, shape in w.items()}


def write(path, tensors, half=True, layers=LAYERS):
    w = gguf.GGUFWriter(path, "llama")
    w.add_block_count(layers)
    w.add_string("general.name", "ünï")
    w.add_array("tokenizer.ggml.tokens", ["a", "", "ü"])
    w.add_file_type(1)
    for k, v in tensors.items():
        w.add_tensor(k, v.astype(np.float16) if half and v.ndim > 1 else v)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return path


def hone(*args, rc=0, folder=None):
    got = subprocess.run([os.path.abspath(HONE), *map(str, args)], capture_output=True, text=True, cwd=folder)
    assert got.returncode == rc, got.stderr
    return got


def read(path):
    r = gguf.GGUFReader(path)
    values = {t.name: gguf.dequantize(t.data, t.tensor_type) if t.data.dtype == np.uint8 else np.array(t.data, np.float32) for t in r.tensors}
    return {k: f.contents() for k, f in r.fields.items()}, {t.name: t.tensor_type.name for t in r.tensors}, values


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write(tmp_path_factory.mktemp("model") / "m.gguf", weights())


# Per mix: type, type of the head, file type, and the relative error that its plain type has on normal values.
MIXES = {"f32": ("F32", "F32", 0, 0), "f16": ("F16", "F16", 1, 0), "bf16": ("BF16", "BF16", 32, 2e-3), "q8_0": ("Q8_0", "Q8_0", 7, 0.006),
         "q6_K": ("Q6_K", "Q6_K", 18, 0.018), "q5_K_M": ("Q5_K", "Q6_K", 17, 0.038), "q5_1": ("Q5_1", "Q6_K", 9, 0.041),
         "q5_0": ("Q5_0", "Q6_K", 8, 0.05), "q4_K_M": ("Q4_K", "Q6_K", 15, 0.075), "q4_1": ("Q4_1", "Q6_K", 3, 0.085),
         "q4_0": ("Q4_0", "Q6_K", 2, 0.1)}


@pytest.mark.parametrize("mix", MIXES)
def test_types_keys_and_values(tmp_path, model, mix):
    plain, head, number, most = MIXES[mix]
    out = tmp_path / "o.gguf"
    said = json.loads(hone("quantize", model, "-t", mix.upper(), "-o", out, "--json", "-j2").stdout)
    keys, types, values = read(out)
    before_keys, before_types, before = read(model)
    assert keys["general.file_type"] == number and keys["general.quantization_version"] == 2
    for k in before_keys:
        if k not in ("general.file_type", "general.quantization_version") and not k.startswith("GGUF."):
            assert keys[k] == before_keys[k]
    assert {t["name"]: t["to"] for t in said["tensors"]} == types and said["after_b"] == out.stat().st_size
    gains = {0, 7, 3, 6} if mix.endswith("_M") else set()
    for name, kind in types.items():
        layer = int(name.split(".")[1]) if name.startswith("blk.") else -1
        small = before[name].ndim == 1 or "gate_inp" in name
        richer = layer in gains and ("attn_v" in name or "ffn_down" in name)
        want = before_types[name] if small else head if name == "output.weight" else "Q6_K" if richer else plain
        assert (name, kind) == (name, want)
        error = np.linalg.norm(values[name].astype(np.float64) - before[name]) / np.linalg.norm(before[name])
        assert error <= (0 if small else most)
        told = next(t["error"] for t in said["tensors"] if t["name"] == name)
        assert abs(told - error) <= 1e-6 + 1e-4 * error


def test_the_same_bytes_for_any_number_of_jobs(tmp_path, model):
    made = []
    for jobs in (1, 2, 7):
        hone("quantize", model, "-o", tmp_path / f"{jobs}.gguf", "-j", jobs)
        made.append((tmp_path / f"{jobs}.gguf").read_bytes())
    assert made[0] == made[1] == made[2]


def test_a_dry_run_tells_sizes_and_writes_nothing(tmp_path, model):
    dry = json.loads(hone("quantize", model, "-n", "--json", folder=tmp_path).stdout)
    assert os.listdir(tmp_path) == []
    hone("quantize", model, folder=tmp_path)
    assert os.listdir(tmp_path) == ["m-q4_K_M.gguf"] and (tmp_path / "m-q4_K_M.gguf").stat().st_size == dry["after_b"]


def test_types_of_single_tensors(tmp_path, model):
    out = tmp_path / "o.gguf"
    hone("quantize", model, "-t", "q8_0", "-o", out, "--tensor-type", "blk.[01].attn_v*=q4_0,*attn_v*=F16")
    types = read(out)[1]
    assert [types[f"blk.{i}.attn_v.weight"] for i in range(4)] == ["Q4_0", "Q4_0", "F16", "F16"] and types["blk.0.attn_q.weight"] == "Q8_0"
    assert "fits no tensor" in hone("quantize", model, "-n", "--tensor-type", "nothing*=q8_0", rc=2).stderr
    assert "PATTERN=TYPE" in hone("quantize", model, "-n", "--tensor-type", "x", rc=2).stderr
    assert "no type" in hone("quantize", model, "-n", "--tensor-type", "*=iq2_s", rc=2).stderr
    assert "q4_K_M" in hone("quantize", model, "-n", "-t", "q3_K_M", rc=2).stderr


def test_rows_that_fit_no_block_get_another_type(tmp_path):
    r = np.random.default_rng(2)
    m = write(tmp_path / "m.gguf", {"blk.0.attn_q.weight": r.standard_normal((4, 96)), "blk.0.attn_k.weight": r.standard_normal((4, 40)),
                                    "token_embd.weight": r.standard_normal((3, 32))}, layers=1)
    got = hone("quantize", m, "-o", tmp_path / "o.gguf")
    assert read(tmp_path / "o.gguf")[1] == {"blk.0.attn_q.weight": "Q5_0", "blk.0.attn_k.weight": "F16", "token_embd.weight": "Q8_0"}
    assert "no whole blocks" in got.stderr


def test_what_is_there_is_not_overwritten(tmp_path, model):
    out = tmp_path / "o.gguf"
    out.write_bytes(b"mine")
    assert "--force" in hone("quantize", model, "-o", out, rc=2).stderr and out.read_bytes() == b"mine"
    hone("quantize", model, "-o", out, "--force")
    assert out.stat().st_size > 1000
    assert "is the input" in hone("quantize", out, "-o", out, "--force", rc=2).stderr
    again = hone("quantize", out, "-t", "q4_0", "-o", tmp_path / "p.gguf")
    assert "were in blocks before" in again.stderr


@pytest.mark.parametrize("value,kind", [(np.nan, "q4_0"), (np.inf, "q8_0"), (-np.inf, "f16"), (1e6, "f16"), (1e9, "q4_K_M")])
def test_values_that_cannot_be_held_are_named(tmp_path, value, kind):
    w = weights(layers=1)
    w["blk.0.attn_q.weight"][77, 200] = value
    m = write(tmp_path / "m.gguf", w, half=False, layers=1)
    for jobs in (1, 3):
        got = hone("quantize", m, "-t", kind, "-o", tmp_path / "o.gguf", "-j", jobs, rc=3)
        assert "tensor 'blk.0.attn_q.weight', row 77, column 200" in got.stderr
    assert os.listdir(tmp_path) == ["m.gguf"]


# --- importances


def write_imatrix(path, means, count=7.0):
    w = gguf.GGUFWriter(path, "llama")
    w.add_type("imatrix")
    w.add_array("imatrix.datasets", ["a text"])
    w.add_uint32("imatrix.chunk_count", 3)
    for k, v in means.items():
        w.add_tensor(k + ".in_sum2", (v * count).astype(np.float32).reshape(-1, v.shape[-1]))
        w.add_tensor(k + ".counts", np.full((v.size // v.shape[-1], 1), count, np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return path


def write_dat(path, means):
    data = struct.pack("<i", len(means))
    for k, v in means.items():
        data += struct.pack("<i", len(k)) + k.encode() + struct.pack("<ii", 5, v.size) + (v * 5).astype("<f4").tobytes()
    path.write_bytes(data + struct.pack("<ii", 3, 6) + b"a text")
    return path


@pytest.mark.parametrize("form", [write_imatrix, write_dat])
def test_importances_of_both_formats(tmp_path, model, form):
    name = "blk.1.attn_q.weight"
    mean = np.random.default_rng(3).gamma(0.2, 1, WIDTH).astype(np.float32) + 1e-4
    file = form(tmp_path / "i", {name: mean})
    got = {}
    for how, more in (("plain", []), ("weighted", ["--importance", file])):
        said = hone("quantize", model, "-t", "q4_0", "-o", tmp_path / f"{how}.gguf", "--json", *more)
        got[how] = read(tmp_path / f"{how}.gguf")
    before = read(model)[2][name]
    error = {how: (mean * (v[2][name].astype(np.float64) - before) ** 2).sum() for how, v in got.items()}
    assert error["weighted"] < 0.8 * error["plain"]
    assert [t["name"] for t in json.loads(said.stdout)["tensors"] if t["weighted"]] == [name] and "no importances" in said.stderr
    keys = got["weighted"][0]
    assert keys["quantize.imatrix.dataset"] == "a text" and keys["quantize.imatrix.entries_count"] == 1
    assert keys["quantize.imatrix.chunks_count"] == 3 and not any(k.startswith("quantize.") for k in got["plain"][0])
    other = form(tmp_path / "j", {name: mean[:-1]})
    assert "another model's" in hone("quantize", model, "-n", "--importance", other, rc=3).stderr


def test_damaged_importances_are_refused(tmp_path, model):
    good = write_dat(tmp_path / "i", {"blk.1.attn_q.weight": np.ones(WIDTH, np.float32)}).read_bytes()
    for cut in (0, 3, 10, 30, 100, len(good) - 10, len(good) - 1):
        (tmp_path / "i").write_bytes(good[:cut])
        assert f"{tmp_path}/i" in hone("quantize", model, "-n", "--importance", tmp_path / "i", rc=3).stderr
    (tmp_path / "i").write_bytes(good.replace(struct.pack("<f", 5.0), struct.pack("<f", -1.0), 1))
    assert "negative" in hone("quantize", model, "-n", "--importance", tmp_path / "i", rc=3).stderr
    assert "holds no importances" in hone("quantize", model, "-n", "--importance", model, rc=3).stderr


def test_importances_from_a_text(tmp_path):
    """What the first layer sees, by NumPy; sizes of the others; and that the file does what it is for."""
    shape = language.MODELS["llama"]
    w = language.weights_of(shape, np.random.default_rng(9))
    language.write(tmp_path / "m.gguf", shape, w)
    text = "".join(chr(33 + (i * i + i // 7) % 90) for i in range(300))
    (tmp_path / "t.txt").write_text(text)
    said = json.loads(hone("imatrix", "m.gguf", "t.txt", "-o", "i.gguf", "--json", "--window", 50, folder=tmp_path).stdout)
    ids = json.loads(hone("tokenize", tmp_path / "m.gguf", text, "--json").stdout)["tokens"]
    assert said["tokens"] == len(ids) and said["windows"] == -(-len(ids) // 50) and said["tensors"] == 7 * shape.layers + 1
    keys, _, values = read(tmp_path / "i.gguf")
    assert keys["general.type"] == "imatrix" and keys["imatrix.datasets"] == ["t.txt"] and keys["imatrix.chunk_size"] == 50
    assert all(v.reshape(-1)[0] == len(ids) for k, v in values.items() if k.endswith(".counts"))
    x = w["token_embd.weight"][ids].astype(np.float64)
    x = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + shape.eps) * w["blk.0.attn_norm.weight"]
    for name in ("attn_q", "attn_k", "attn_v"):
        assert np.allclose(values[f"blk.0.{name}.weight.in_sum2"].reshape(-1), (x**2).sum(axis=0), rtol=1e-4)
    assert np.array_equal(values["blk.1.ffn_gate.weight.in_sum2"], values["blk.1.ffn_up.weight.in_sum2"])
    assert values[f"blk.{shape.layers - 1}.ffn_down.weight.in_sum2"].size == shape.mlp and values["output.weight.in_sum2"].size == shape.width
    assert all((v > 0).all() for v in values.values())
    assert "--force" in hone("imatrix", "m.gguf", "t.txt", "-o", "i.gguf", rc=2, folder=tmp_path).stderr
    hone("imatrix", "m.gguf", "t.txt", "-o", "j.gguf", folder=tmp_path)
    for how in (("--importance", "j.gguf", "-o", "1.gguf"), ("--importance-text", "t.txt", "-o", "2.gguf"), ("-o", "3.gguf")):
        hone("quantize", "m.gguf", "-t", "q4_0", *how, folder=tmp_path)
    one, two, without = ([t.data.tobytes() for t in gguf.GGUFReader(tmp_path / f"{k}.gguf").tensors] for k in (1, 2, 3))
    assert one == two != without
    assert "give one of them" in hone("quantize", "m.gguf", "--importance", "j.gguf", "--importance-text", "t.txt", rc=2, folder=tmp_path).stderr
    plan = json.loads(hone("quantize", "m.gguf", "-n", "-t", "q4_0", "--importance", "i.gguf", "--json", folder=tmp_path).stdout)["tensors"]
    assert {t["name"] for t in plan if t["weighted"]} == {t["name"] for t in plan if t["to"][0] == "Q" and "embd" not in t["name"]}


# --- folders


def trained(cuts):
    """Byte-level pairs learned from this page, cut as Llama 3 or Qwen 2 do; a token that ends a text, as its id."""
    tokenizers = pytest.importorskip("tokenizers")
    t = tokenizers.Tokenizer(tokenizers.models.BPE())
    byte_level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    t.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([tokenizers.pre_tokenizers.Split(tokenizers.Regex(cuts), "isolated"), byte_level])
    t.decoder = tokenizers.decoders.ByteLevel()
    first = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    text = ["123 12 3 12345 1234567 it's IT'S we'll 12 3456 " * 50, "\n\n\n  x = foo(bar)\n\n   y", open(__file__, encoding="utf-8").read()]
    t.train_from_iterator(text, tokenizers.trainers.BpeTrainer(vocab_size=296, initial_alphabet=first, show_progress=False))
    t.add_special_tokens(["<end>"])
    return t


NUMBERS = {"llama-bpe": r"\p{N}{1,3}", "qwen2": r"\p{N}"}
CUTS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


@pytest.mark.parametrize("name,kind,pre", [("llama3", "BF16", "llama-bpe"), ("qwen2", "F16", "qwen2"), ("qwen3", "F32", "qwen2")])
def test_a_folder_becomes_a_file(tmp_path, name, kind, pre):
    import hone as package
    test_hf = pytest.importorskip("test_hf")

    at, s, w = test_hf.folder(tmp_path, name, kind)
    t = trained(CUTS % NUMBERS[pre])
    (at / "tokenizer.json").write_text(t.to_str())
    (at / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<end>", "chat_template": "{{ messages[0]['content'] }}"}))
    said = json.loads(hone("quantize", f"{at}/", "-t", "f32", "--json", folder=tmp_path).stdout)
    file = tmp_path / "model-f32.gguf"
    keys, types, values = read(file)
    assert said["output"] == file.name and set(types.values()) == {"F32"} and keys["tokenizer.ggml.pre"] == pre
    assert keys["tokenizer.ggml.eos_token_id"] == t.token_to_id("<end>") and keys["general.architecture"] == name.replace("llama3", "llama")
    assert keys["tokenizer.chat_template"] == "{{ messages[0]['content'] }}" and len(keys["tokenizer.ggml.tokens"]) == language.VOCABULARY
    text = "Hello it's 1234567 \n\n  foo(bar) naïve 你好 IT'S\t\tx<end>"
    assert json.loads(hone("tokenize", file, text, "--json").stdout)["tokens"] == t.encode(text).ids
    token = np.random.default_rng(9).integers(0, language.VOCABULARY, 12)
    m = package.compile(file, parity=False)
    empty = {f"past.{k}.{i}": np.zeros((0, s.kv_heads, s.head_size), np.float32) for i in range(s.layers) for k in ("key", "value")}
    got, _ = language.step(m, s, token, range(12), empty)
    want = language.logits_of(s, w, token)
    assert np.abs(got - want).max() / np.abs(want).max() < 1e-4
    small = json.loads(hone("quantize", at, "-t", "q8_0", "-n", "--json", folder=tmp_path).stdout)["tensors"]
    assert "Q8_0" in {t["to"] for t in small} and all(t["to"] == "F32" for t in small if "norm" in t["name"] or "bias" in t["name"])
    if name == "qwen2":
        (tmp_path / "t.txt").write_text(text[:-5])
        said = json.loads(hone("imatrix", at, "t.txt", "-o", "i.gguf", "--json", folder=tmp_path).stdout)
        assert said["tokens"] == len(t.encode(text[:-5]).ids) and said["tensors"] == 7 * s.layers + 1


def test_folders_that_gguf_cannot_say(tmp_path):
    test_hf = pytest.importorskip("test_hf")
    at, _, _ = test_hf.folder(tmp_path, "gemma2")
    assert "gemma2" in hone("quantize", at, "-n", rc=14).stderr
