#!/usr/bin/env python3
"""tests/gpu/controls.t: hone/cuda_controls.h. With nothing set a kernel is exactly the plain one; every value of every macro is
accepted by nvcc, NVRTC and clang, and the PTX (for registers: the machine code) follows it. TAP; what is not installed is skipped by name."""

import ctypes
import json
import os
import re
import shutil

import cuda_tools as tools

INCLUDE = f"-I{tools.ROOT}/include"
LOADS = {
    "ca": ".ca", "cg": ".cg", "cs": ".cs", "lu": ".lu", "cv": ".cv", "nc": ".nc", "evict_first": ".L1::evict_first",
    "evict_last": ".L1::evict_last", "no_allocate": ".L1::no_allocate", "nc_evict_first": ".nc.L1::evict_first",
    "nc_evict_last": ".nc.L1::evict_last", "nc_no_allocate": ".nc.L1::no_allocate", "l2_64b": ".L2::64B",
    "l2_128b": ".L2::128B", "l2_256b": ".L2::256B",
}  # fmt: skip
STORES = {
    "wb": ".wb", "cg": ".cg", "cs": ".cs", "wt": ".wt", "evict_first": ".L1::evict_first", "evict_last": ".L1::evict_last",
    "evict_unchanged": ".L1::evict_unchanged", "no_allocate": ".L1::no_allocate",
}  # fmt: skip
UNROLLS = [*range(1, 17), 20, 24, 28, 32, 40, 48, 56, 64, 96, 128, "full"]
TYPES = {"char": 1, "short": 2, "float": 4, "double": 8, "quad": 16}

KERNEL = """#include <hone/cuda_controls.h>
HONE_SIZE(TILE, 4);
extern "C" __global__ void HONE_LAUNCH(256) HONE_KERNEL_NAME(scale)(const float *HONE_RESTRICT a, float *HONE_RESTRICT y, int n) {
    HONE_KERNEL_BEGIN();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    HONE_UNROLL(K) for (int k = 0; k < n; k++) s += HONE_LOAD(A, &a[i + k * n]);
    for (int k = 0; k < TILE; k++) HONE_STORE(Y, &y[i * TILE + k], s + k);
}
"""
PLAIN = """constexpr int TILE = 4;
extern "C" __global__ void scale(const float *a, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[i + k * n];
    for (int k = 0; k < TILE; k++) y[i * TILE + k] = s + k;
}
"""
# A kernel that wants more registers than it may have.
PRESSURE = """#include <hone/cuda_controls.h>
extern "C" __global__ void HONE_LAUNCH(256) pressure(float *y, int n) {
    HONE_KERNEL_BEGIN();
    float v[96];
    for (int i = 0; i < 96; i++) v[i] = y[threadIdx.x + i * n];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 96; i++) v[i] = v[i] * v[(i + 7) % 96] + v[(i + 41) % 96];
    for (int i = 0; i < 96; i++) y[threadIdx.x + i * n] = v[i];
}
"""


def every_value():
    """One source with a kernel for each value of the macros that carry names, and for each size of what is loaded."""
    text = ["#include <hone/cuda_controls.h>", "struct alignas(16) quad { float v[4]; };"]
    for n, hint in enumerate(LOADS):
        text.append(f"#define HONE_LOAD_L{n} {hint}")
        for kind in TYPES:
            text.append(f'extern "C" __global__ void load_{hint}_{kind}(const {kind} *a, {kind} *y)'
                        f" {{ y[threadIdx.x] = HONE_LOAD(L{n}, &a[threadIdx.x]); }}")  # fmt: skip
    for n, hint in enumerate(STORES):
        text.append(f"#define HONE_STORE_S{n} {hint}")
        for kind in TYPES:
            text.append(f'extern "C" __global__ void store_{hint}_{kind}(const {kind} *a, {kind} *y)'
                        f" {{ HONE_STORE(S{n}, &y[threadIdx.x], a[threadIdx.x]); }}")  # fmt: skip
    for factor in UNROLLS:
        text.append(f"#define HONE_UNROLL_U{factor} {factor}")
        count = 8 if factor == "full" else "n"
        text.append(f'extern "C" __global__ void unroll_{factor}(float *y, int n)'
                    f" {{ HONE_UNROLL(U{factor}) for (int i = 0; i < {count}; i++) y[i * n] = 3 + y[i * n] * threadIdx.x; }}")  # fmt: skip
    return "\n".join(text) + "\n"


def entries(ptx):
    """The text of each kernel of a PTX file."""
    parts = re.split(r"\.visible \.entry (\w+)\(", ptx)
    return dict(zip(parts[1::2], parts[2::2]))


def check_values(tap, who, ptx):
    got = entries(ptx)
    access = {1: r"\.[su]8", 2: r"\.[su]16|b16", 4: r"\.u32", 8: r"\.u64", 16: r"\.v2\.u64"}
    for kind, table in (("load", LOADS), ("store", STORES)):
        word = "ld" if kind == "load" else "st"
        wrong = [f"{kind}_{hint}_{t}" for hint, op in table.items() for t, size in TYPES.items()
                 if not re.search(rf"\b{word}\.global{re.escape(op)}({access[size]})\s", got.get(f"{kind}_{hint}_{t}", ""))]  # fmt: skip
        tap.ok(not wrong, f"{who}_every_{kind}_hint_in_ptx", wrong)
    # Multiplications in an unrolled loop: the factor's number of them, and one more in the loop for what is left over.
    count = {f: len(re.findall(r"fma\.rn\.f32", got.get(f"unroll_{f}", ""))) for f in UNROLLS}
    want = {f: 8 if f == "full" else f for f in UNROLLS}
    tap.ok(all(count[f] >= want[f] for f in UNROLLS), f"{who}_every_unroll_factor_in_ptx", count)
    tap.ok(count[1] == 1 and count[4] < 12 and count[8] < count[16] < count[64], f"{who}_unroll_factors_grow", count)


class Nvcc:
    def __init__(self, path, where):
        self.path, self.where = path, where

    def ptx(self, text, *flags, arch="sm_90"):
        source = os.path.join(self.where, "k.cu")
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        done = tools.run([self.path, f"-arch={arch}", "-ptx", "-Werror=all-warnings", INCLUDE, *flags, source, "-o", "-"])
        return done.stdout if not done.returncode else "failed: " + done.stderr

    def ptxas(self, ptx, arch="sm_90"):
        """What ptxas says with -v."""
        source = os.path.join(self.where, "k.ptx")
        with open(source, "w", encoding="utf-8") as f:
            f.write(ptx)
        done = tools.run([os.path.join(os.path.dirname(self.path), "ptxas"), f"-arch={arch}", "-v", source, "-o", "/dev/null"])
        return ("failed: " if done.returncode else "") + done.stderr


class Clang(Nvcc):
    def ptx(self, text, *flags, arch="sm_90"):
        text = text.replace("#include <hone/cuda_controls.h>", "#include <hone/cuda_controls.h>\n#include <__clang_cuda_builtin_vars.h>")
        command = [self.path, "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", f"--cuda-gpu-arch={arch}", "-O3", "-Wall",
                   "-Werror", "-Wno-unknown-cuda-version", "-ffp-contract=fast", INCLUDE, *flags, "-S", "-o", "-", "-"]  # fmt: skip
        done = tools.run(command, input=text)
        return done.stdout if not done.returncode else "failed: " + done.stderr


class Nvrtc:
    """NVRTC through its library, as the driver of hone uses it: no header of CUDA is there."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)

    def ptx(self, text, *flags, arch="sm_90"):
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        options = [f"-arch={arch}", INCLUDE, *flags]
        array = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        self.lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"k.cu", 0, None, None)
        failed = self.lib.nvrtcCompileProgram(program, len(options), array)
        for size_of, get in (("nvrtcGetProgramLogSize", "nvrtcGetProgramLog"), ("nvrtcGetPTXSize", "nvrtcGetPTX"))[not failed :][:1]:
            getattr(self.lib, size_of)(program, ctypes.byref(size))
            out = ctypes.create_string_buffer(size.value)
            getattr(self.lib, get)(program, out)
        self.lib.nvrtcDestroyProgram(ctypes.byref(program))
        return ("failed: " if failed else "") + out.value.decode()


def without_comments(ptx):
    return re.sub(r"//.*", "", ptx)


def check_one(tap, who, cc):
    plain = PLAIN if who != "clang" else "#include <hone/cuda_controls.h>\n" + PLAIN
    same = without_comments(cc.ptx(KERNEL)), without_comments(cc.ptx(plain))
    tap.ok(same[0] == same[1] and "entry" in same[0], f"{who}_nothing_set_is_the_plain_kernel", *same)
    every = cc.ptx(every_value())
    if tap.ok("failed" not in every, f"{who}_takes_every_value", every):
        check_values(tap, who, every)
    all_set = ["-DHONE_MIN_BLOCKS=3", "-DHONE_NAME_PREFIX=cutlass_", "-DHONE_SMEM_SPILL=1", "-DHONE_ADD_RESTRICT=1", "-DHONE_SIZE_TILE=2",
               "-DHONE_LOAD_A=plain", "-DHONE_STORE_Y=cs"]  # fmt: skip
    text = cc.ptx(KERNEL, *all_set)
    for name, pattern in {"name": r"entry cutlass_scale\(", "min_blocks": r"\.maxntid 256.*\s*\.minnctapersm 3",
                          "smem_spill": r"\.pragma \"enable_smem_spilling\"", "restrict": r"ld\.global\.nc\.f32"}.items():  # fmt: skip
        tap.ok(re.search(pattern, text), f"{who}_{name}_in_ptx", text)
    tap.ok(len(re.findall(r"st\.global\.cs", text)) == 2, f"{who}_size_in_ptx", text)
    bounds = cc.ptx(KERNEL, "-DHONE_BOUNDS=1", "-DHONE_NAME_PREFIX=none")
    tap.ok(".maxntid 256" in bounds and "minnctapersm" not in bounds and "entry scale(" in bounds, f"{who}_bounds_in_ptx", bounds)
    for flags, words in {("-DHONE_LOAD_A=cgg",): "no cache hint", ("-DHONE_STORE_Y=ca",): "no cache hint", ("-DHONE_SIZE_TILE=x",): "no whole number",
                         ("-DHONE_SIZE_TILE=0",): "no whole number", ("-DHONE_MAXNREG=32", "-DHONE_BOUNDS=1"): "set one of them"}.items():  # fmt: skip
        text = cc.ptx(KERNEL, *flags)
        tap.ok("failed" in text and words in text, f"{who}_refuses_{'_'.join(flags).replace('-D', '')}", text)


def check_nvcc(tap, cc):
    check_one(tap, "nvcc", cc)
    # ptxas knows all of them on both generations (some hints are for sm_80 and later).
    for arch in ("sm_80", "sm_90"):
        said = cc.ptxas(cc.ptx(every_value(), arch=arch), arch)
        tap.ok(not re.search("failed|warning", said), f"nvcc_every_value_assembles_for_{arch}", said)
    registers = {}
    for flag in ("-DHONE_BOUNDS=1", "-DHONE_MAXNREG=64", "-DHONE_MAXNREG=40", "-DHONE_MIN_BLOCKS=4"):
        said = cc.ptxas(cc.ptx(PRESSURE, flag))
        registers[flag] = int((re.search(r"Used (\d+) registers", said) or [0, "-1"])[1])
    tap.ok(registers["-DHONE_MAXNREG=40"] == 40 and registers["-DHONE_MAXNREG=64"] == 64, "nvcc_maxnreg_sets_registers", registers)
    tap.ok(0 < registers["-DHONE_MIN_BLOCKS=4"] <= 64 < registers["-DHONE_BOUNDS=1"], "nvcc_min_blocks_sets_registers", registers)
    said = [cc.ptxas(cc.ptx(PRESSURE, "-DHONE_MIN_BLOCKS=4", f"-DHONE_SMEM_SPILL={on}")) for on in (0, 1)]
    smem = [int((re.search(r"(\d+) bytes smem", s) or [0, "0"])[1]) for s in said]
    local = [int((re.search(r"(\d+) bytes spill stores", s) or [0, "-1"])[1]) for s in said]
    tap.ok(smem[0] == 0 < smem[1] and local[1] < local[0], "nvcc_smem_spill_moves_spills", *said)


def check_page(tap):
    """The space on the page can be read, and offers no value that the header does not know."""
    if not tools.HONE:
        return tap.skip("page", "hone is not built")
    with open(f"{tools.ROOT}/docs/cuda-controls.md", encoding="utf-8") as f:
        text = re.search(r"```yaml\n(.*?)```", f.read(), re.S)[1]
    with tools.folder() as where:
        path = os.path.join(where, "space.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        done = tools.run([tools.HONE, "space", "print", path, "--json"])
    if not tap.ok(done.returncode == 0, "page_has_a_space", done.stderr):
        return None
    for p in json.loads(done.stdout)["parameters"]:
        known = {"HONE_LOAD_X": ["plain", *LOADS], "HONE_STORE_Y": ["plain", *STORES], "HONE_UNROLL_I": ["0", *map(str, UNROLLS)]}.get(p["name"])
        tap.ok(known is None or set(p["values"]) <= set(known), f"page_{p['name']}", p["values"])
    return None


def main():
    tap = tools.Tap("gpu/controls")
    check_page(tap)
    nvcc, clang = tools.find("nvcc"), shutil.which("clang-19")
    with tools.folder() as where:
        if nvcc:
            check_nvcc(tap, Nvcc(nvcc, where))
        else:
            tap.skip("nvcc", "nvcc is not installed")
        nvrtc = tools.library("libnvrtc.so")
        if nvrtc:
            check_one(tap, "nvrtc", Nvrtc(nvrtc))
        else:
            tap.skip("nvrtc", "NVRTC is not installed")
        if clang:
            cc = Clang(clang, where)
            check_one(tap, "clang", cc)
            text = cc.ptx(KERNEL, "-DHONE_MAXNREG=32")
            tap.ok("clang has no __maxnreg__" in text, "clang_maxnreg_is_refused", text)
        else:
            tap.skip("clang", "clang-19 is not installed")
    tap.done()


main()
