"""Arrays by DLPack: read where they lie in the host's memory; on devices handed through as they are. The device is the shim, and a CUDA
driver that is played, which notes the addresses that kernels get."""
import ctypes
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import hone

ROOT = os.environ.get("HONE_ROOT", os.path.join(os.path.dirname(__file__), "..", ".."))
GRAPH = """ir 1
symbol n in 1..64
input %0 : f32[n, 8] "x"
%1 = mul %0, %0
output %1 "y"
"""
HALVES = 'ir 1\ninput %0 : bf16[4] "x"\n%1 = neg %0\noutput %1 "y"\n'


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("t", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("t", Tensor)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype, capsule_new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_at = ctypes.pythonapi.PyCapsule_GetPointer
capsule_at.restype, capsule_at.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Producer:
    """An array of another library's: no buffer, only DLPack."""

    def __init__(self, address, shape, code=2, bits=32, device=(1, 0), strides=None, offset=0, versioned=False):
        self.device, self.freed, self.asked, self.versioned = device, 0, [], versioned
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.strides = (ctypes.c_int64 * max(len(shape), 1))(*strides) if strides else None
        self.deleter = DELETER(self.free)
        self.m = (Versioned if versioned else Managed)()
        if versioned:
            self.m.major = 1
        self.m.t = Tensor(address, device[0], device[1], len(shape), code, bits, 1, self.shape, self.strides, offset)
        self.m.deleter = ctypes.cast(self.deleter, ctypes.c_void_p)

    def free(self, _):
        self.freed += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **how):
        self.asked.append(how)
        return capsule_new(ctypes.addressof(self.m), b"dltensor_versioned" if self.versioned else b"dltensor", None)


def of(array, **how):
    codes = {"f": 2, "i": 0, "u": 1, "b": 6}
    return Producer(array.ctypes.data, array.shape, codes[array.dtype.kind], 8 * array.itemsize, strides=[s // array.itemsize for s in array.strides], **how)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("dlpack") / "square.ir"
    path.write_text(GRAPH)
    return hone.compile(path, parity=False, threads=1)


@pytest.mark.parametrize("versioned", [False, True])
def test_host_tensors_are_read_where_they_lie(model, versioned):
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    p = of(x, versioned=versioned)
    assert np.array_equal(model(p), x * x)
    assert p.asked == [{}] and p.freed == 1
    x[:] = 3  # the same memory, not a copy of it
    assert np.array_equal(model(x=p), x * x) and p.freed == 2


def test_offsets_and_sizes_of_one_have_no_order(model):
    x = np.arange(32, dtype=np.float32)
    assert np.array_equal(model(Producer(x.ctypes.data, (1, 8), strides=[77, 1], offset=32)), (x[8:16] ** 2)[None])


def test_what_lies_in_another_order_is_copied(model):
    x = np.asfortranarray(np.arange(24, dtype=np.float32).reshape(3, 8))
    p = of(x)
    p.__class__ = type("Copied", (Producer,), {"__array__": lambda self, *a, **k: x})
    assert np.array_equal(model(p), x * x) and p.freed == 1


def test_types_are_never_converted(model):
    x = np.zeros((2, 8))
    p = of(x)
    with pytest.raises(hone.InputError, match="takes float32, not float64"):
        model(p)
    assert p.freed == 1
    with pytest.raises(hone.InputError, match="DLPack numbers 5 with 64 bits"):
        model(Producer(x.ctypes.data, (2, 8), 5, 64))


def test_bfloat16_needs_no_numpy_type(tmp_path):
    (tmp_path / "h.ir").write_text(HALVES)
    m = hone.compile(tmp_path / "h.ir", parity=False)
    bits = np.array([0x3F80, 0x4000, 0xC040, 0x0000], np.uint16)
    y = m(Producer(bits.ctypes.data, (4,), 4, 16))
    assert np.array_equal(np.asarray(y).view(np.uint16), bits ^ 0x8000)


def test_other_devices_are_refused(model):
    with pytest.raises(hone.InputError, match="cuda:3, where this model does not run"):
        model(Producer(4096, (1, 8), device=(2, 3)))
    with pytest.raises(hone.InputError, match="type 8"):
        model(Producer(4096, (1, 8), device=(8, 0)))
    with pytest.raises(hone.UsageError, match="runs on the host"):
        model.to_device(np.zeros((1, 8), np.float32))


def test_strange_producers(model):
    x = np.ones((1, 8), np.float32)
    p = of(x)
    p.__class__ = type("Failing", (Producer,), {"__dlpack__": lambda self, **k: 1 / 0, "__array__": lambda self, *a, **k: x})
    assert np.array_equal(model(p), x)
    p.__class__ = type("Other", (Producer,), {"__dlpack__": lambda self, **k: "capsule"})
    with pytest.raises(hone.InputError, match="no DLPack capsule"):
        model(p)
    p.__class__ = type("NoDevice", (Producer,), {"__dlpack_device__": lambda self: None, "__array__": lambda self, *a, **k: x})
    assert np.array_equal(model(p), x)
    with pytest.raises(hone.InputError, match="dimensions"):
        model(Producer(x.ctypes.data, (1,) * 17))


def test_outputs_are_given_by_dlpack(model):
    y = model(np.ones((2, 8), np.float32))
    again = np.from_dlpack(y)
    assert again.ctypes.data == y.ctypes.data


def child(script, **env):
    """Runs in a process of its own, as a driver that is open stays so."""
    head = f"import sys; sys.path[:0] = {[os.path.dirname(os.path.dirname(hone.__file__)), os.path.dirname(__file__)]!r}\n"
    done = subprocess.run([sys.executable, "-c", head + textwrap.dedent(script)], env=dict(os.environ, **env), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("played")
    for source, library in (("cuda.c", "libcuda.so.1"), ("nvrtc.c", "libnvrtc.so")):
        words = ["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", f"-Wl,-soname,{library}", "-o", str(folder / library), f"{ROOT}/tests/helper/fake/{source}"]
        if subprocess.run(words, capture_output=True).returncode:
            pytest.skip("no C compiler for the played driver")
    (folder / "square.ir").write_text(GRAPH)
    return folder


def test_addresses_reach_kernels_on_cuda(played):
    """The address of a CUDA tensor is the one that the kernel gets; its result is given where it lies."""
    out = child("""
        import ctypes, hone, numpy as np
        from test_dlpack import Producer, Managed, capsule_at
        m = hone.compile("square.ir", target="cuda:sm_80", parity=False)
        cuda = ctypes.CDLL("libcuda.so.1")
        at = ctypes.c_uint64()
        x = m.to_device(np.zeros((4, 8), np.float32)) # opens the driver
        assert x.__dlpack_device__() == (2, 0) and x.shape == (4, 8) and x.dtype == "float32"
        assert cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(4096)) == 0
        p = Producer(at.value, (4, 8), device=(2, 0))
        for _ in range(2):
            y = m(p)
            capsule = y.__dlpack__(stream=1)
            t = ctypes.cast(capsule_at(capsule, b"dltensor"), ctypes.POINTER(Managed)).contents.t
            print("pair", hex(at.value), hex(t.data), t.device_type, t.device_id, list(t.shape[:2]), t.code, t.bits)
        assert p.asked == [{"stream": 1}] * 2 and p.freed == 2
        y = m(x)
        assert y.to_host() is not None
        for bad, why in ((Producer(at.value, (4, 8), device=(2, 1)), "cuda:1, but the model runs on cuda:0"),
                         (Producer(at.value + 4, (4, 8), device=(2, 0)), "multiple of 16"),
                         (Producer(at.value, (4, 8), device=(2, 0), strides=[1, 4]), "not contiguous")):
            try:
                m(bad)
            except hone.InputError as error:
                assert why in str(error), error
                continue
            raise SystemExit(why)
        try:
            m.bench({"x": p}, seconds=0.01)
        except hone.InputError:
            print("bench refuses")
        """.replace("square.ir", str(played / "square.ir")), LD_LIBRARY_PATH=str(played), HONE_NVRTC=str(played / "libnvrtc.so"),
                HONE_FAKE_LOG=str(played / "log"), HONE_DEVICE_CACHE="")
    log = (played / "log").read_text()
    pairs = [line.split()[1:] for line in out.splitlines() if line.startswith("pair")]
    assert len(pairs) == 2 and "bench refuses" in out
    for pair in pairs:
        assert pair[2:4] == ["2", "0"] and " ".join(pair[4:]) == "[4, 8] 2 32"
        assert f"k0 reads {pair[0]} " in log and pair[1] != pair[0], log
    assert pairs[0][1] != pairs[1][1]  # an output is its own
    first = log.index(f"k0 reads {pairs[0][0]} ")
    rest = log[first:].split("k0 reads")
    assert "cuMemcpyHtoD" not in rest[2] and "cuMemcpyDtoDAsync_v2" in rest[2], rest[2]  # of known size: nothing goes through the host


def test_arrays_stay_on_the_shim(tmp_path):
    if subprocess.run(["g++", "--version"], capture_output=True).returncode:
        pytest.skip("no g++ for the shim")
    (tmp_path / "square.ir").write_text(GRAPH)
    subprocess.run([os.environ.get("HONE", "hone"), "verify", str(tmp_path / "square.ir"), "--place", "shim", "--inputs", "1", "--no-parity"], check=True,
                   capture_output=True)  # puts the shim where libraries find it
    child(f"""
        import hone, numpy as np
        m = hone.compile({str(tmp_path / 'square.ir')!r}, target="cuda:sm_80", parity=False)
        x = np.arange(24, dtype=np.float32).reshape(3, 8)
        there = m.to_device(x=x)
        assert m.to_device(there) is there
        for turn in range(3):
            y = m(there)
            assert np.array_equal(np.asarray(y.to_host()), x * x)
        assert np.array_equal(np.asarray(m(y).to_host()), x ** 4)
        assert np.array_equal(m(x), x * x)  # the host's arrays as ever
        del m, there
        assert np.array_equal(np.asarray(y.to_host()), x * x)
        """, HONE_MODEL_PLACE="shim")
