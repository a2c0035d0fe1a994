# A model of one layer, as a GGUF file and as a folder, gives the logits that are computed here in plain Python.
cat > models.py <<'PY'
import json, math, os, random, struct, sys

WIDTH, MLP, WORDS = 8, 12, 16
draw = random.Random(1)
def matrix(rows, columns): return [[draw.gauss(0, columns ** -0.5) for _ in range(columns)] for _ in range(rows)]
def vector(n, middle): return [middle + draw.gauss(0, 0.1) for _ in range(n)]
names = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"} | {
    f"blk.0.{a}": f"model.layers.0.{b}" for a, b in [
        ("attn_norm", "input_layernorm"), ("attn_q", "self_attn.q_proj"), ("attn_k", "self_attn.k_proj"), ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"), ("ffn_norm", "post_attention_layernorm"), ("ffn_gate", "mlp.gate_proj"),
        ("ffn_up", "mlp.up_proj"), ("ffn_down", "mlp.down_proj")]}
shape = {"token_embd": (WORDS, WIDTH), "output": (WORDS, WIDTH), "ffn_gate": (MLP, WIDTH), "ffn_up": (MLP, WIDTH), "ffn_down": (WIDTH, MLP)}
w = {}
for name in names:
    last = name.split(".")[-1]
    if last.endswith("norm"):
        w[name + ".weight"], w[name + ".bias"] = vector(WIDTH, 1), vector(WIDTH, 0)
    else:
        w[name + ".weight"] = matrix(*shape.get(last, (WIDTH, WIDTH)))

def sizes(x): return [len(x), len(x[0])] if isinstance(x[0], list) else [len(x)]
def raw(x):
    flat = [v for row in x for v in row] if isinstance(x[0], list) else x
    return struct.pack(f"<{len(flat)}f", *flat)
def text(s): return struct.pack("<Q", len(s)) + s.encode()
keys = {"block_count": 1, "embedding_length": WIDTH, "attention.head_count": 1, "feed_forward_length": MLP, "context_length": 32}
head = b"".join(text("orion." + k) + struct.pack("<II", 4, v) for k, v in keys.items())
head += text("general.architecture") + struct.pack("<I", 8) + text("orion")
data = b""
for name, x in w.items():
    head += text(name) + struct.pack("<I", len(sizes(x))) + struct.pack(f"<{len(sizes(x))}Q", *sizes(x)[::-1]) + struct.pack("<IQ", 0, len(data))
    data += raw(x) + b"\0" * (-len(raw(x)) % 32)
head = b"GGUF" + struct.pack("<IQQ", 3, len(w), len(keys) + 1) + head
with open("orion.gguf", "wb") as f:
    f.write(head + b"\0" * (-len(head) % 32) + data)

os.makedirs("orion")
with open("orion/config.json", "w") as f:
    json.dump({"model_type": "orion", "hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": MLP,
               "max_position_embeddings": 32, "vocab_size": WORDS, "rms_norm_eps": 1e-5}, f)
entries, data = {}, b""
for name, x in w.items():
    stem, _, end = name.rpartition(".")
    entries[names[stem] + "." + end] = {"dtype": "F32", "shape": sizes(x), "data_offsets": [len(data), len(data) + len(raw(x))]}
    data += raw(x)
head = json.dumps(entries).encode()
with open("orion/model.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(head)) + head + data)

def norm(x, name):
    mean = sum(x) / WIDTH
    by = 1 / math.sqrt(sum((v - mean) ** 2 for v in x) / WIDTH + 1e-5)
    return [(v - mean) * by * s + b for v, s, b in zip(x, w[name + ".weight"], w[name + ".bias"])]
def product(x, name): return [sum(a * b for a, b in zip(x, row)) for row in w[name + ".weight"]]
x = w["token_embd.weight"][5]  # one token sees itself alone: attention is its value
x = [a + b for a, b in zip(x, product(product(norm(x, "blk.0.attn_norm"), "blk.0.attn_v"), "blk.0.attn_output"))]
y = norm(x, "blk.0.ffn_norm")
y = [g / (1 + math.exp(-g)) * u for g, u in zip(product(y, "blk.0.ffn_gate"), product(y, "blk.0.ffn_up"))]
x = [a + b for a, b in zip(x, product(y, "blk.0.ffn_down"))]
json.dump(product(norm(x, "output_norm"), "output"), open("want.json", "w"))

def npy(path, kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (64 - (10 + len(head) + 1) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
npy("token.npy", "<i8", "(1,)", struct.pack("<q", 5))
npy("want.npy", "<i8", "(1,)", struct.pack("<q", 0))
npy("past.npy", "<f4", "(0, 1, 8)", b"")
PY
python3 models.py
for model in orion.gguf orion; do
    "$HONE" inspect $model > shown
    grep -q 'hone can compile this model' shown
    "$HONE" compile $model -o lib/$model.d/m --target generic --no-parity > /dev/null
    "$HONE" run lib/$model.d/m.so token=token.npy want=want.npy past.key.0=past.npy past.value.0=past.npy -o got.npz > /dev/null
    python3 - <<'PY'
import json, struct, zipfile
raw = zipfile.ZipFile("got.npz").read("logits.npy")
got, want = struct.unpack("<16f", raw[-64:]), json.load(open("want.json"))
assert max(abs(a - b) for a, b in zip(got, want)) < 1e-5 * max(map(abs, want)), (got, want)
PY
done
