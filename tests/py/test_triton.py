"""hone.triton: kernels of Triton as workloads, and launches with what was proven. Without Triton a stand-in plays its part, without a
GPU a command that prints times; what Triton itself compiles is tested where it can be imported (make check-long installs it)."""

import importlib.util
import json
import os
import shutil
import subprocess
from types import SimpleNamespace

import hone
import pytest
from hone import triton as ht

HAS_TRITON = importlib.util.find_spec("triton") is not None
needs_triton = pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed: make test-deps-gpu")
PTX = """.version 7.0
.target sm_80
.address_size 64
.visible .entry twice(
    .param .u64 out, .param .u64 x, .param .align 8 .u32 n,
    .param .u64 scratch, .param .u64 profile
)
.reqntid 128
{
    .reg .b64 %rd<4>; .reg .f32 %f<3>;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [x];
    ld.global.f32 %f1, [%rd2]; fma.rn.f32 %f2, %f1, %f1, %f1; st.global.f32 [%rd1], %f2;
    ret;
}
"""
TIMES = "echo latency: $(( ({num_warps} - 8) * ({num_warps} - 8) + 60 )).$(( $(date +1%N) / 10000000 ))"
PRINTED = ht.Bench(TIMES, {"source": "lines", "names": ["latency"]})
DEVICE = ht.Device("Some GPU", "sm_80", "1.0")
SHORT = {"proof": {"pairs": 12, "pairs_most": 12, "variants": 3}, "parity": "none"}
TENSOR = ht.Tensor("fp32", (64, 30))
SPACE = {"BLOCK": [32, 64], "num_warps": [4, 8]}


class Kernel:
    """What a @triton.jit function looks like to hone; launches are counted."""

    __name__ = "twice"

    def __init__(self, source="def twice(out, x, n, BLOCK): ..."):
        def parameter(name, constant=False, default=None):
            return SimpleNamespace(name=name, is_constexpr=constant, has_default=default is not None, default=default, do_not_specialize=False,
                                   annotation_type="")  # fmt: skip

        self.params = [parameter("out"), parameter("x"), parameter("n"), parameter("BLOCK", True)]
        self.arg_names = [p.name for p in self.params]
        self.src, self.cache_key, self.launched = source, str(hash(source)), []

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.launched.append((grid, kwargs))


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """Triton's part: PTX that says its configuration, and an assembler that copies."""

    def made(kernel, *args, target="sm_90", **given):
        if given.get("num_warps") == 32:
            raise hone.ToolError("out of resources: shared memory\nmore of that")
        more = "fma.rn.f32 %f2, %f2, %f2, %f1; " * (given.get("BLOCK", 0) == 32) * 9
        text = PTX.replace("st.global", more + "st.global") + "".join(f"// {k}={v}\n" for k, v in sorted(given.items()))
        return ht.Compiled("twice", text, b"", "sm_80", 32 * given.get("num_warps", 4), 512, 0, given.get("num_ctas", 1), True)

    assembler = tmp_path / "assembler"
    assembler.write_text('#!/bin/sh\nfor x; do case $x in *.ptx) in=$x;; esac; last=$x; done\ncp "$in" "$last"\n')
    assembler.chmod(0o755)
    monkeypatch.setattr("hone.triton.folder.compile", made)
    for where in ("folder", "tuned"):
        monkeypatch.setattr(f"hone.triton.{where}.toolkit", lambda target: ht.kernel.Toolkit("9.9", str(assembler), "assembler 1.2", ("-a",)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_words_for_ptxas():
    assert ht.render(["-O1", "-maxrregcount=32"]) == "-O1 -maxrregcount=32"
    assert ht.render("-O1   '-dlcm=cg'") == "-O1 -dlcm=cg"
    assert ht.render([]) == ""
    for wrong in (["a b"], [""]):
        with pytest.raises(hone.UsageError, match="no way to hand over"):
            ht.render(wrong)


def test_arguments():
    class Torch:  # as far as it counts
        shape, dtype = (4, 8), "torch.bfloat16"

        def stride(self):
            return (16, 1)

        def data_ptr(self):
            return 8

    bound = ht.kernel.bind(Kernel(), (TENSOR, Torch(), 1), {"num_warps": 4})
    assert [(a.type, a.text, a.elements, a.aligned) for a in bound] == [
        ("*fp32", "fp32[64,30]", 1920, True), ("*bf16", "bf16[4,8]/16,1", 56, False), ("constexpr", "1", 0, False),
        ("constexpr", "None", 0, False)]  # fmt: skip
    assert [ht.kernel.bind(Kernel(), (TENSOR, TENSOR, n), {})[2].type for n in (32, 33, 1 << 40, 2.5, True)] == ["i32", "i32", "i64", "fp32", "u1"]
    np = pytest.importorskip("numpy")
    assert ht.kernel.bind(Kernel(), (np.zeros((4, 6), np.int32)[:, ::2], TENSOR, 0), {})[0][:5:4] == ("out", "i32[4,3]/6,2")
    for args, given in (((TENSOR,), {}), ((TENSOR, TENSOR, "n"), {}), ((TENSOR, TENSOR, 1), {"heat": 2}), ((1,) * 9, {}),
                        ((ht.Tensor("complex64", (2,)), TENSOR, 1), {})):  # fmt: skip
        with pytest.raises(hone.UsageError):
            ht.kernel.bind(Kernel(), args, given)
    with pytest.raises(hone.UsageError, match="@triton.jit"):
        ht.kernel.function_of(print)


def test_what_is_launched(stand_in):
    made = ht.write(stand_in / "w", Kernel(), TENSOR, TENSOR, 30, space={**SPACE, "num_warps": [4, 32, 8]}, grid=lambda m: (m["BLOCK"] // 32, m["n"]),
                    outputs=["out"], bench=ht.Bench(), settings={"limits": ["registers <= 64"], "parity": "none"})  # fmt: skip
    assert made.configs[0] == {"BLOCK": 32, "num_warps": 4} and len(made.configs) == 4
    assert [c["num_warps"] for c, why in made.left_out] == [32, 32]
    text = (made.path / "launch" / "64-8.kernel").read_text()
    assert text.splitlines()[1:] == ["buffer out out f32 1920", "buffer x in f32 1920 normal", "launch twice", "  grid 2 30", "  block 256",
                                     "  shared 512", "  pass out x 30:i32 0:u64 0:u64"]  # fmt: skip
    program = os.path.join(os.environ.get("HONE_BUILD", "build"), "hone-gpu-bench")
    if os.path.exists(program):  # which reads that
        done = subprocess.run([program, "launch/64-8.kernel", "ptx/64-8.ptx", "--hone-help"], cwd=made.path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    rows = dict(line.split(": ", 1) for line in made.workload.read_text().splitlines() if ": " in line)
    assert json.loads(rows["build"]) == "{cc} -v -a {flags} --gpu-name=sm_80 ptx/{BLOCK}-{num_warps}.ptx -o {out}"
    assert json.loads(rows["run"]) == "{gpu_bench} launch/{BLOCK}-{num_warps}.kernel {out}"
    assert json.loads(rows["limits"]) == ["registers <= 64"] and json.loads(rows["parity"]) == "none"
    ints = ht.Tensor("int32", (7,))
    for more, why in (({"outputs": ()}, "outputs="), ({"grid": None}, "grid"), ({"outputs": ["z"]}, "no tensor"), ({"space": {"BLOCK": []}}, "list"),
                      ({"space": {"BLOCK": range(9999)}}, "configurations"), ({"grid": (0,)}, "grid"), ({"x": ints}, "what does the tensor 'x'"),
                      ({"space": {"num_ctas": [2]}}, "clusters")):  # fmt: skip
        x = more.pop("x", TENSOR)
        with pytest.raises((hone.UsageError, hone.UnsupportedError), match=why):
            ht.write(stand_in / "v", Kernel(), TENSOR, x, 30, **{"space": SPACE, "grid": (3,), "outputs": ["out"], "bench": ht.Bench(), **more})
    made = ht.write(stand_in / "v", Kernel(), TENSOR, ints, 30, grid=(3,), outputs=["out"], bench=ht.Bench(), data={"x": "index 7"})
    assert "buffer x in i32 7 index 7" in (made.path / "launch" / "0.kernel").read_text()
    with pytest.raises(hone.ToolError, match="out of resources"):
        ht.write(stand_in / "v", Kernel(), TENSOR, TENSOR, 30, space={"num_warps": [32, 4]})


def test_configurations_as_triton_writes_them():
    config = SimpleNamespace(kwargs={"BLOCK": 64}, num_warps=8, num_stages=3, num_ctas=1, maxnreg=None)
    values, rows = ht.folder.configs_of([config, {"BLOCK": 32}])
    assert values == {"config": ["0", "1"]} and rows == [{"BLOCK": 64, "num_warps": 8, "num_stages": 3}, {"BLOCK": 32}]


def test_a_winner_is_kept_for_the_next_process(stand_in):
    def kernel(source="def twice", **more):
        given = {"device": DEVICE, "winners": stand_in / "winners.db", "bench": PRINTED, "controls": False, **SHORT, **more}
        return ht.tune(SPACE, outputs=["out"], **given)(Kernel(source))

    k, args = kernel(), (TENSOR, TENSOR, 30)
    k[(2,)](*args)
    assert k.kernel.launched == [((2,), {"BLOCK": 32, "num_warps": 4})]  # nothing is known yet
    found = k.tune((2,), *args, max_evals=4, seed=1)
    assert found.kept and found.config["num_warps"] == 8 and 1.2 < found.gain[0] <= found.gain[1] <= found.gain[2] and "kept" in str(found)
    k[(2,)](*args)
    assert k.kernel.launched[-1] == ((2,), found.config)
    row = hone.Winners(stand_in / "winners.db").rows()[0]
    assert (row["kind"], row["target"], row["device"], row["compiler"]) == ("triton twice", "sm_80", "Some GPU", "triton 9.9, assembler 1.2")
    assert row["sizes"] == "out=fp32[64,30] x=fp32[64,30] n=30" and row["pairs"] == 12 and row["gain"] == found.gain
    assert kernel().options(*args) == found.config  # another process
    first = {"BLOCK": 32, "num_warps": 4}
    other = ht.Tensor("fp32", (64, 31))
    assert kernel().options(other, TENSOR, 30) == kernel().options(TENSOR, TENSOR, 31) == kernel().options(ht.Tensor("fp16", (64, 30)), TENSOR, 30) == first
    assert kernel("another source").options(*args) == kernel(device=DEVICE._replace(driver="2.0")).options(*args) == first
    assert kernel(device=DEVICE._replace(name="Other")).options(*args) == first
    assert kernel(key=[]).options(*args) == first  # "any" is another key


def test_auto_searches_at_the_first_launch_and_keeps_nothing_without_a_gain(stand_in):
    flat = ht.Bench("echo latency: 60.$(( $(date +1%N) / 10000000 ))", {"source": "lines", "names": ["latency"]})
    k = ht.tune(SPACE, outputs=["out"], auto=True, device=DEVICE, winners=stand_in / "w.db", bench=flat, controls=False, budget={"evaluations": 3},
                key=["n"], **SHORT)(Kernel())  # fmt: skip
    k[(2,)](TENSOR, TENSOR, 30)
    k[(2,)](TENSOR, TENSOR, 30)
    assert k.kernel.launched == [((2,), {"BLOCK": 32, "num_warps": 4})] * 2
    assert hone.Winners(stand_in / "w.db").rows() == []


def test_rows_of_other_kinds_are_not_taken(stand_in):
    k = ht.tune(SPACE, device=DEVICE, winners=stand_in / "w.db")(Kernel())
    key = k.key(TENSOR, TENSOR, 30)
    for schedule, want in (("no json", 4), ('["a"]', 4), ('{"os.system": 1}', 4), ('{"BLOCK": 64, "num_warps": 8}', 8)):
        hone._hone.winners_put(str(stand_in / "w.db"), {**key, "schedule": schedule, "flags": "-O1", "gain": 1.5, "at_s": 1.0})
        again = ht.tune(SPACE, device=DEVICE, winners=stand_in / "w.db")(Kernel())
        assert again.options(TENSOR, TENSOR, 30)["num_warps"] == want
    assert again.options(TENSOR, TENSOR, 30)["ptx_options"] == "-O1"
    with pytest.raises(TypeError):
        hone._hone.winners_put(None, {**key, "gain": "x"})
    with pytest.raises(TypeError):
        hone._hone.winners_put(None, {**key, "nothing": 1.0})


def test_without_a_gpu_it_says_so(stand_in):
    k = ht.tune(SPACE, outputs=["out"])(Kernel())
    if os.path.exists("/dev/nvidia0"):
        pytest.skip("there is a GPU")
    assert k.options(TENSOR, TENSOR, 30) == {"BLOCK": 32, "num_warps": 4}
    with pytest.raises(hone.UnsupportedError, match=r"static\("):
        k.tune((2,), TENSOR, TENSOR, 30)


def ptxas():
    own = os.path.join(os.environ.get("HONE_CUDA", ""), "bin", "ptxas")
    return own if os.path.exists(own) else shutil.which("ptxas")


@pytest.mark.skipif(not ptxas(), reason="no ptxas: tools/cuda-tools.sh")
def test_controls_of_ptxas_are_searched_with_the_configurations(stand_in, monkeypatch):
    real = ht.kernel.Toolkit("9.9", ptxas(), "ptxas", ())
    for where in ("folder", "tuned"):
        monkeypatch.setattr(f"hone.triton.{where}.toolkit", lambda target: real)
    k = ht.tune(SPACE, outputs=["out"], device=DEVICE, winners=stand_in / "w.db", bench=PRINTED, **SHORT)(Kernel())
    found = k.tune((2,), TENSOR, TENSOR, 30, max_evals=16, seed=2, reduce=True)
    assert found.config == {"BLOCK": 32, "num_warps": 8} and found.ptx_options == ""  # nothing else carries the gain
    assert found.kept and found.config["num_warps"] == 8
    assert k.options(TENSOR, TENSOR, 30).get("ptx_options", "") == found.ptx_options
    assert all(w.startswith("-") for w in found.ptx_options.split())
    controls = hone.Controls.load(found.folder / "twice.hone")
    words = ht.render(controls.stages["ptxas"])
    assert words == controls.ptx_options and ht.render([w for w in words.split() if w != "-O3"]) == found.ptx_options


@pytest.mark.skipif(not ptxas(), reason="no ptxas: tools/cuda-tools.sh")
def test_ptxas_is_a_compiler_of_a_space():
    import hone.space as ss

    space = ss.compiler(ptxas())
    flags = [space.config(space.sample(seed)) for seed in range(20)]
    assert len({str(f) for f in flags}) > 10 and all(ht.render(f) == " ".join(f) for f in flags)


@pytest.mark.skipif(not ptxas() or not os.path.exists(os.path.join(os.path.dirname(ptxas()), "nvdisasm")), reason="no nvdisasm: tools/cuda-tools.sh")
def test_static_search(stand_in, monkeypatch):
    real = ht.kernel.Toolkit("9.9", ptxas(), "ptxas", ())
    for where in ("folder", "tuned"):
        monkeypatch.setattr(f"hone.triton.{where}.toolkit", lambda target: real)
    k = ht.tune(SPACE, winners=stand_in / "w.db", device=DEVICE)(Kernel())
    found = k.static(TENSOR, TENSOR, 30, target="sm_80", limits=["spills == 0", "registers <= 64"], max_evals=12)
    assert found.config["BLOCK"] == 64 and not found.kept and found.trials == 12 and "not measured" in str(found)
    assert hone.Winners(stand_in / "w.db").rows() == [] and k.options(TENSOR, TENSOR, 30)["BLOCK"] == 32


# --- Triton itself


@pytest.fixture(scope="module")
def softmax(tmp_path_factory):
    """A kernel stands in a file, whose text Triton reads."""
    path = tmp_path_factory.mktemp("kernel") / "softmax_kernel.py"
    os.environ["TRITON_CACHE_DIR"] = str(path.parent)
    path.write_text('''import triton
import triton.language as tl


@triton.jit
def softmax(out, x, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * n + at, e / tl.sum(e, axis=0), mask=at < n)
''')
    spec = importlib.util.spec_from_file_location("softmax_kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.softmax


WIDE = ht.Tensor("fp32", (4096, 1000))


@needs_triton
def test_triton_compiles_without_a_gpu(softmax):
    made = ht.compile(softmax, WIDE, WIDE, 1000, BLOCK=1024, num_warps=8, target="sm_80")
    assert (made.name, made.target, made.threads) == ("softmax", "sm_80", 256) and made.cubin[:4] == b"\x7fELF"
    assert made.parameters[:3] == ["u64", "u64", "u32"]
    fewer = ht.compile(softmax, WIDE, WIDE, 1000, BLOCK=1024, num_warps=8, target="sm_80", ptx_options="-O1")
    assert fewer.ptx == made.ptx and fewer.cubin != made.cubin
    with pytest.raises(hone.ToolError, match="BLOCK=1000"):
        ht.compile(softmax, WIDE, WIDE, 1000, BLOCK=1000)
    with pytest.raises(hone.UsageError, match="'BLOCK'"):
        ht.compile(softmax, WIDE, WIDE, 1000)
    with pytest.raises(hone.UsageError, match="no GPU"):
        ht.compile(softmax, WIDE, WIDE, 1000, BLOCK=1024, target="gfx90a")


def code(cubin):
    """The machine code of a cubin: what no path or date is in."""
    import struct

    at, = struct.unpack_from("<Q", cubin, 40)
    size, n, names = struct.unpack_from("<HHH", cubin, 58)
    rows = [struct.unpack_from("<IIQQQQ", cubin, at + i * size) for i in range(n)]
    text = rows[names]
    label = lambda r: cubin[text[4] + r[0] : cubin.index(b"\0", text[4] + r[0])]
    return {label(r): cubin[r[4] : r[4] + r[5]] for r in rows if label(r).startswith(b".text")}


@needs_triton
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_the_workload_builds_what_a_launch_would(softmax, target, tmp_path):
    """Also where Triton's own words for ptxas change."""
    made = ht.write(tmp_path, softmax, WIDE, WIDE, 1000, space={"BLOCK": [1024], "num_warps": [8]}, target=target)
    build = json.loads(next(line for line in made.workload.read_text().splitlines() if line.startswith("build: "))[7:])
    words = "-O1 -maxrregcount=32"
    out = tmp_path / "k.cubin"
    text = build.replace("{cc}", ht.toolkit(target).ptxas).replace("{flags}", words).replace("{out}", str(out))
    subprocess.run(text, shell=True, check=True, cwd=tmp_path, capture_output=True)
    launched = ht.compile(softmax, WIDE, WIDE, 1000, BLOCK=1024, num_warps=8, target=target, ptx_options=words)
    assert code(out.read_bytes()) == code(launched.cubin) and code(launched.cubin)
    plain = ht.compile(softmax, WIDE, WIDE, 1000, BLOCK=1024, num_warps=8, target=target)
    assert code(plain.cubin) != code(launched.cubin)
