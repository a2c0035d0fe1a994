"""`hone bench` of language models: figures, lengths, peers, refusals. No speed is asserted."""

import ctypes
import json
import os
import stat
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
test_language = pytest.importorskip("test_language")
RATES = ["f32_flops", "f64_flops", "bf16_flops", "i8_ops", "l1_bps", "l2_bps", "memory_bps", "copy_bps", "all_f32_flops", "all_memory_bps"]
HONE = os.path.join(os.environ.get("HONE_BUILD", "build"), "hone")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a model whose context is 512 tokens, and a cache of its own."""
    folder = tmp_path_factory.mktemp("bench")
    s = test_language.MODELS["llama"]
    test_language.write(str(folder / "tiny.gguf"), s, test_language.weights_of(s, np.random.default_rng(1)), context=512)
    (folder / "cache/hone").mkdir(parents=True)
    (folder / "cache/hone/device.yaml").write_text(f'isa: any\nkey: "{device_key()}"\nall_cores: 2\n' + "".join(f"{rate}: 1e9\n" for rate in RATES))
    return folder


def device_key():
    """Of this machine: hone_device begins with its instruction set, 16 bytes, and the key."""
    library = ctypes.CDLL(os.path.join(os.path.dirname(HONE), "libhone.so"))
    device = ctypes.create_string_buffer(4096)
    library.hone_device_detect(device)
    return device.raw[16:48].decode()


def bench(place, *words, python=None):
    env = {**os.environ, "XDG_CACHE_HOME": str(place / "cache"), "PATH": "/usr/bin:/bin", "HONE_PYTHON": python or sys.executable}
    return subprocess.run([HONE, "bench", str(place / "tiny.gguf"), "--no-parity", "--threads", "1", *words], env=env, capture_output=True,
                          text=True, check=False)


def figures(place, *words, **more):
    done = bench(place, "--json", *words, **more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_figures_have_intervals_and_hang_together(place):
    x = figures(place, "--prompt-tokens", "20,40", "--tokens", "8", "--rounds", "3", "--cache-type", "f32", "--activations", "int8")
    assert x["activations"] == "int8" and not x["exact"]
    assert x["int8_ops_per_s"] == 1e9
    for key in ["prompt_tokens_per_s", "generation_tokens_per_s", "first_token_s", "share_of_bandwidth", "share_of_int8_peak", "bandwidth_b_per_s"]:
        assert x[key + "_ci"][0] <= x[key] <= x[key + "_ci"][1]
        assert x[key] > 0
    assert [(r["prompt_tokens"], r["tokens"]) for r in x["results"]] == [(20, 8), (40, 8)]
    assert x["generation_tokens_per_s"] == x["results"][0]["generation_tokens_per_s"]
    assert x["resident_b"] > 1 << 20
    s = test_language.MODELS["llama"]
    assert x["cache_b_per_token"] == s.layers * s.kv_heads * s.head_size * 2 * 4
    assert x["read_b_per_token"] == x["weights_read_b_per_token"] + x["cache_b_per_token"] * 24
    read = [x["read_b_per_token"] * rate / by for rate in x["generation_tokens_per_s_ci"] for by in x["bandwidth_b_per_s_ci"]]
    assert min(read) <= x["share_of_bandwidth"] <= max(read)  # measured in these rounds, whatever the table says
    assert x["bandwidth_b_per_s"] > 2e8 and x["bandwidth_b_per_s"] != 1e9
    n, body = 20, s.layers * (s.width * s.head_size * 2 * (s.heads + s.kv_heads) + 3 * s.width * s.mlp)
    ops = 2 * (body * n + s.width * test_language.VOCABULARY) + 4 * s.layers * s.heads * s.head_size * n * (n + 1) / 2
    assert x["share_of_int8_peak"] == pytest.approx(x["prompt_tokens_per_s"] * ops / n / x["int8_ops_per_s"])


@pytest.mark.skipif(not os.environ.get("HONE_LONG"), reason="it differs by lengths alone: make check-long")
def test_usual_lengths_shrink_to_the_context(place):
    x = figures(place, "--rounds", "1")
    assert (x["prompt_tokens"], x["tokens"]) == (409, 103)
    done = bench(place, "--prompt-tokens", "600")
    assert done.returncode != 0 and "has at most 512" in done.stderr


def test_a_peer_takes_turns(place):
    program = place / "llama-bench"
    program.write_text("""#!/bin/sh
echo "$@" >> "$0.calls"
case "$*" in *"-n 0"*) ns=2000000000 ;; *) ns=500000000 ;; esac
echo "[{\\"build_number\\": 7, \\"avg_ns\\": $ns}]"
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    x = figures(place, "--prompt-tokens", "20", "--tokens", "8", "--rounds", "2", "--against", "llama.cpp", "--peer", str(program))
    assert x["peer"]["prompt_tokens_per_s"] == pytest.approx(10) and x["peer"]["generation_tokens_per_s"] == pytest.approx(16)
    assert x["prompt_ratio"] > 0 and x["generation_ratio"] > 0
    calls = (place / "llama-bench.calls").read_text().splitlines()
    assert len(calls) == 6 and all("-t 1 " in c + " " for c in calls)
    assert any("-n 8 -d 20" in c for c in calls)


def test_refusals_say_what_to_do(place):
    done = bench(place, "--against", "llama.cpp", python=sys.executable)
    if "lacks its package" in done.stderr:
        assert done.returncode != 0 and "pip install llama-cpp-python" in done.stderr and "llama-bench on PATH" in done.stderr
    for words, text in [(["--peer", "x"], "say which by --against"), (["--prompt-tokens", "0"], "no number of tokens"),
                        (["--against", "onnxruntime"], "there is no peer 'onnxruntime'"), (["--time", "3"], "not for language models"),
                        (["--against", "llama.cpp", "--peer", "/bin/false"], "/bin/false"), (["--activations", "int4"], "auto|int8|int8x2|float"),
                        (["--exact", "--activations", "int8"], "leave one of both out")]:
        done = bench(place, *words)
        assert done.returncode != 0 and text in done.stderr, (words, done.stderr)


def test_profile_of_a_step(place):
    env = {**os.environ, "XDG_CACHE_HOME": str(place / "cache"), "PATH": "/usr/bin:/bin"}
    for sizes in ([], ["--size", "tokens=5,past=7,wanted=2"]):
        done = subprocess.run([HONE, "profile", str(place / "tiny.gguf"), "--threads", "1", "--time", "50ms", "--json", *sizes], env=env,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["kernels"]
