#!/usr/bin/env python3
"""tests/gpu/gates.t: kernels of generated models for devices, compiled and looked at without a device. CUDA C by NVRTC for sm_80, sm_90a and
sm_100a, then ptxas: no spills, no local memory, registers within bounds; OpenCL C by clang for gfx942. A sample of models and
architectures; with HONE_LONG all distinct kernels of the six models. TAP; what is not installed is skipped by name."""

import ctypes
import os
import re
import shutil

import cuda_tools as tools

LONG = bool(os.environ.get("HONE_LONG"))
MODELS = ["mlp", "resnet50", "mobilenet_v2", "minilm_l6", "bert_base", "gpt2"] if LONG else ["mlp", "mobilenet_v2"]
ARCHS = ["sm_80", "sm_90a", "sm_100a"]
REGISTERS = 255

tap = tools.Tap("gates")


def literal(text):
    """A C string literal's bytes, without its quotes."""
    plain = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "?": "?"}
    return re.sub(r"\\(.)", lambda m: plain[m.group(1)], text)


def module(path):
    """The text of a library's module: what stands in front of kernels, and the kernels."""
    parts = []
    with open(path, encoding="utf-8") as f:
        inside = False
        for line in f:
            if re.match(r"static const char hnm_text\w*\[\] =", line):
                inside = True
            elif inside:
                m = re.match(r'\s*"(.*)"\s*;?$', line)
                if m:
                    parts.append(literal(m.group(1)))
                else:
                    inside = False
    return "".join(parts)


def emitted(folder, model, target):
    onnx, out = f"{folder}/{model}.onnx", f"{folder}/{model}-{target.replace(':', '-')}"
    if not os.path.exists(onnx):
        tools.run([tools.HONE, "gen", model, onnx])
    done = tools.run([tools.HONE, "compile", onnx, "--target", target, "--emit=c", "--no-parity", "--no-winners", "--no-cache", "-o", out])
    text = module(f"{out}.c") if not done.returncode else ""
    kernels = len(re.findall(r"^HNR_KERNEL\(", text, re.M))
    for big in (f"{out}.c", f"{out}.weights"):
        if os.path.exists(big):
            os.remove(big)
    tap.ok(kernels > 0, f"{model}_for_{target}_has_kernels", done.stderr)
    return text, kernels


class Nvrtc:
    """libnvrtc, as much of it as makes PTX."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)

    def ptx(self, text, arch):
        """(PTX, messages)"""
        lib, program, size = self.lib, ctypes.c_void_p(), ctypes.c_size_t()
        lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
        options = [b"--gpu-architecture=compute_" + arch[3:].encode(), b"--fmad=false", b"-w"]
        rc = lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        get = (lib.nvrtcGetPTXSize, lib.nvrtcGetPTX) if not rc else (lib.nvrtcGetProgramLogSize, lib.nvrtcGetProgramLog)
        get[0](program, ctypes.byref(size))
        out = ctypes.create_string_buffer(size.value)
        get[1](program, out)
        lib.nvrtcDestroyProgram(ctypes.byref(program))
        return (out.value.decode(), "") if not rc else (None, out.value.decode())


def figures(said):
    """Of each kernel what `ptxas -v` says: bytes of stack and spills, registers."""
    out, name = {}, None
    for line in said.splitlines():
        if m := re.search(r"entry function '(\w+)'", line):
            name = m.group(1)
            out[name] = [0, 0, 0]
        elif name and (m := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", line)):
            out[name][:2] = [int(m.group(1)), int(m.group(2))]
        elif name and (m := re.search(r"Used (\d+) registers", line)):
            out[name][2] = int(m.group(1))
    return out


def machine_code(folder, ptxas, nvrtc, name, text, kernels, arch):
    ptx, messages = nvrtc.ptx(text, arch)
    if not tap.ok(ptx is not None, f"{name}_compiles_for_{arch}", messages):
        return
    with open(f"{folder}/k.ptx", "w") as f:
        f.write(ptx)
    done = tools.run([ptxas, "-v", f"-arch={arch}", f"{folder}/k.ptx", "-o", f"{folder}/k.cubin"])
    each = figures(done.stderr)
    wrong = [f"{k}: {v[0]} bytes of local memory, {v[1]} spilled, {v[2]} registers" for k, v in each.items() if v[0] or v[1] or v[2] > REGISTERS]
    tap.ok(not done.returncode and len(each) == kernels, f"{name}_{kernels}_kernels_assemble_for_{arch}", done.stderr)
    tap.ok(not wrong, f"{name}_for_{arch}_spills_nothing_and_takes_no_local_memory", *wrong)


# Products whose tiles are copied ahead: architectures from sm_80 on have an instruction for that.
PRODUCTS = {
    "product_f32": "input %0 : f32[1024, 300] \"x\"\ninput %1 : f32[300, 1024] \"w\"\n"
                   "%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\noutput %2 \"y\"\n",
    "product_f16": "input %0 : f16[1024, 320] \"x\"\ninput %1 : f16[320, 1024] \"w\"\n"
                   "%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\noutput %2 \"y\"\n",
}  # fmt: skip


def copied_ahead(folder, ptxas, nvrtc):
    dump = tools.find("nvdisasm") or tools.find("cuobjdump")
    for name, ir in PRODUCTS.items():
        with open(f"{folder}/{name}.onnx", "w") as f:
            f.write("ir 1\n" + ir)
        for arch in ARCHS if LONG else ["sm_80"]:
            text, kernels = emitted(folder, name, f"cuda:{arch}")
            machine_code(folder, ptxas, nvrtc, name, text, kernels, arch)
            if not dump:
                tap.skip(f"{name}_for_{arch}_copies_ahead", "nvdisasm and cuobjdump are not installed")
                continue
            sass = tools.run([dump, *(["-sass"] if dump.endswith("cuobjdump") else []), f"{folder}/k.cubin"]).stdout
            tap.ok("LDGSTS" in sass, f"{name}_for_{arch}_copies_ahead", "no LDGSTS in the machine code")
            if name == "product_f16":
                tap.ok("HMMA" in sass, f"{name}_for_{arch}_multiplies_tiles", "no HMMA in the machine code")


def cuda(folder):
    path, ptxas = tools.library("libnvrtc.so"), tools.find("ptxas")
    if not path or not ptxas:
        tap.skip("cuda", "NVRTC or ptxas is not installed")
        return
    nvrtc = Nvrtc(path)
    planted = "extern \"C\" __global__ void k(float *x) { float a[64]; for (int i = 0; i < 99; i++) a[(int)x[i] & 63] += x[i + 1]; x[0] = a[(int)x[1]]; }"
    with open(f"{folder}/p.ptx", "w") as f:
        f.write(nvrtc.ptx(planted, "sm_80")[0])
    said = tools.run([ptxas, "-v", "-arch=sm_80", f"{folder}/p.ptx", "-o", f"{folder}/p.cubin"]).stderr
    tap.ok(figures(said).get("k", [0])[0] > 0, "planted_local_memory_is_seen", said)
    copied_ahead(folder, ptxas, nvrtc)
    for model in MODELS:
        text, kernels = emitted(folder, model, "cuda:sm_80")
        for arch in ARCHS if LONG or model == "mlp" else ["sm_80"]:
            machine_code(folder, ptxas, nvrtc, model, text, kernels, arch)


def gfx942(folder):
    clang = shutil.which("clang-19") or shutil.which("clang")
    if not clang:
        tap.skip("gfx942", "clang is not installed")
        return
    command = [clang, "-x", "cl", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header",
               "-nogpulib", "-O2", "-w", "-S", "-o", f"{folder}/k.s", f"{folder}/k.cl"]  # fmt: skip
    for model in MODELS:
        text, kernels = emitted(folder, model, "opencl")
        with open(f"{folder}/k.cl", "w") as f:
            f.write(text)
        done = tools.run(command)
        tap.ok(not done.returncode, f"{model}_{kernels}_kernels_compile_for_gfx942", done.stderr)
        if done.returncode:
            continue
        with open(f"{folder}/k.s") as f:
            spilled = sum(int(n) for n in re.findall(r"\.vgpr_spill_count:\s*(\d+)", f.read()))
        tap.ok(not spilled, f"{model}_for_gfx942_spills_nothing", f"{spilled} registers")


if not tools.HONE:
    tools.skip_all("build/hone is not there")
with tools.folder() as where:
    cuda(where)
    gfx942(where)
tap.done()
