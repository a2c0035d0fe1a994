"""Reading GGUF files, held against the PyPI package gguf: metadata, every element type bit for bit, files in parts."""

import json
import os
import subprocess
import zlib

import pytest

np = pytest.importorskip("numpy")
gguf = pytest.importorskip("gguf")
HELPER = os.path.join(os.environ.get("HONE_BUILD", "build"), "asan/tests/helper/gguf_values")
TYPES = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4"]

if not os.path.exists(HELPER):
    pytest.skip("the helper gguf_values is not built", allow_module_level=True)


def helper(*args):
    got = subprocess.run([HELPER, *map(str, args)], capture_output=True)
    assert got.returncode == 0, got.stderr.decode()
    return got.stdout


def random_blocks(kind, rows, blocks, seed):
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    return np.random.default_rng(seed).integers(0, 256, (rows, blocks * size), dtype=np.uint8)


def write(path, add, **options):
    w = gguf.GGUFWriter(path, "llama", **options)
    add(w)
    w.write_header_to_file(path)
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def add_raw(w, name, data, kind):
    if kind.name in ("F32", "F16"):
        w.add_tensor(name, data.view(np.float32 if kind.name == "F32" else np.float16))
    else:
        w.add_tensor(name, data, raw_dtype=kind)


@pytest.mark.parametrize("name", TYPES)
def test_values_are_the_same_bit_for_bit(tmp_path, name):
    kind = gguf.GGMLQuantizationType[name]
    data = random_blocks(kind, 64, 1024 if gguf.GGML_QUANT_SIZES[kind][0] == 1 else 32, zlib.crc32(name.encode()))
    if name == "F32":
        data = np.random.default_rng(1).standard_normal((64, 256), dtype=np.float32).view(np.uint8)
    write(tmp_path / "m.gguf", lambda w: add_raw(w, "t", data, kind))
    ours = np.frombuffer(helper(tmp_path / "m.gguf", "t"), np.uint32)
    with np.errstate(all="ignore"):
        typed = data.view(np.float32) if name == "F32" else data.view(np.float16) if name == "F16" else data
        theirs = gguf.dequantize(typed, kind).astype(np.float32).reshape(-1)
    nan = np.isnan(theirs)
    assert ours.size == theirs.size and np.array_equal(np.isnan(ours.view(np.float32)), nan)
    assert np.array_equal(ours[~nan], theirs.view(np.uint32)[~nan])


def test_metadata(tmp_path):
    def add(w):
        w.add_uint8("a.u8", 200)
        w.add_int8("a.i8", -100)
        w.add_uint16("a.u16", 60000)
        w.add_int32("a.i32", -(2**31))
        w.add_uint64("a.u64", 2**64 - 1)
        w.add_float32("a.f32", 1.5)
        w.add_float64("a.f64", 1e300)
        w.add_bool("a.bool", True)
        w.add_string("a.text", "ünï\n\"code\" 🙂")
        w.add_array("a.numbers", [1, -2, 3])
        w.add_array("a.texts", ["x", "", "yz"])
        w.add_tensor("t", np.zeros((2, 3, 4), np.float32))

    write(tmp_path / "m.gguf", add)
    seen = json.loads(helper(tmp_path / "m.gguf"))
    keys = {k["key"]: k for k in seen["keys"]}
    assert seen["version"] == 3 and keys["general.architecture"]["value"] == "llama"
    want = {"a.u8": 200, "a.i8": -100, "a.u16": 60000, "a.i32": -(2**31), "a.u64": 2**64 - 1, "a.f32": 1.5, "a.f64": 1e300,
            "a.bool": True, "a.text": "ünï\n\"code\" 🙂", "a.numbers": [1, -2, 3]}
    assert {k: keys[k]["value"] for k in want} == want and keys["a.texts"]["n"] == 3
    assert seen["tensors"] == [{"name": "t", "type": "F32", "dim": [2, 3, 4]}]


def test_a_model_in_parts(tmp_path):
    data = {f"t{i}": np.full((4, 32), i, np.float32) for i in range(7)}
    write(tmp_path / "m.gguf", lambda w: [w.add_tensor(k, v) for k, v in data.items()], split_max_tensors=3)
    parts = sorted(p.name for p in tmp_path.glob("*.gguf"))
    assert parts == [f"m-0000{i}-of-00003.gguf" for i in (1, 2, 3)]
    first = tmp_path / parts[0]
    assert {t["name"] for t in json.loads(helper(first))["tensors"]} == set(data)
    for k, v in data.items():
        assert np.array_equal(np.frombuffer(helper(first, k), np.float32), v.reshape(-1))
    second = subprocess.run([HELPER, tmp_path / parts[1]], capture_output=True)
    assert second.returncode == 1 and b"name its first part" in second.stderr
    (tmp_path / parts[2]).write_bytes((tmp_path / parts[1]).read_bytes())
    mixed = subprocess.run([HELPER, first], capture_output=True)
    assert mixed.returncode == 1 and mixed.stderr
