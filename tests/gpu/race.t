#!/usr/bin/env python3
"""tests/gpu/race.t: hone race: clean examples are clean, each class of fault is found and named with its lines, wrong input is refused. TAP."""

import json
import os
import re

import cuda_tools as tools

EXAMPLES = {"softmax": ["rows=3", "cols=300"], "gemm": ["m=70", "n=99", "k=33"], "attention": ["heads=2", "n_q=40", "n_k=45"],
            "reduction": ["n=5003", "BLOCKS=3"]}  # fmt: skip

KERNELS = """
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>
template <int N> __device__ float sum(const float *x) {
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float t = 0;
    for (int i = 0; i < N; i++) t += s[i];
    return t;
}
__global__ void dynamic_sum(const float *x, float *y, float scale) { y[threadIdx.x] = sum<64>(x) * scale; }
__global__ void halves(const __half *x, __half *y) { y[threadIdx.x] = __hadd(x[threadIdx.x], __float2half(1.0f)); }
__global__ void add(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] + 1.5f; /* beyond */
}
__global__ void before(const float *x, float *y, int n) {
    y[threadIdx.x] = x[(int)threadIdx.x - n]; /* before */
}
__global__ void hasty(const float *x, float *y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
    tile[threadIdx.x] = 0; /* no barrier before */
}
__global__ void stranger(float *y) { __shared__ float t[32]; y[threadIdx.x] = t[threadIdx.x]; }
__global__ void shared_index(float *y, int n) {
    __shared__ float rows[4][32], other[32];
    for (int r = 0; r < 4; r++) rows[r][threadIdx.x] = other[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = rows[1][threadIdx.x + n]; /* into the next row */
}
__global__ void shared_pointer(float *y, int n) {
    __shared__ float one[32], two[32];
    float *p = one;
    one[threadIdx.x] = two[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = p[threadIdx.x + n]; /* into the gap */
}
__global__ void between_blocks(float *y) { if (threadIdx.x == 0) y[0] = blockIdx.x; }
__global__ void counts(int *y) { atomicAdd(y, 1); }
__global__ void mixed(int *y) { atomicAdd(y, 1); if (threadIdx.x == 3) y[0] = 0; /* plain */ }
__global__ void last_block(const float *x, float *parts, unsigned *done, float *y, int fenced) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = x[blockIdx.x];
        if (fenced) __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++) sum += parts[b];
        y[0] = sum;
    }
}
__device__ unsigned ticket;
__global__ void last_by_ticket(const float *x, float *parts, float *y, int fenced) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = x[blockIdx.x];
        if (fenced) __threadfence();
        last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++) sum += ((volatile float *)parts)[b];
        y[0] = sum;
    }
}
__global__ void warp_order(float *y) {
    __shared__ float t[32];
    t[threadIdx.x] = 1;
    __syncwarp();
    y[threadIdx.x] = t[31 - threadIdx.x];
}
__global__ void no_warp_order(float *y) {
    __shared__ float t[32];
    t[threadIdx.x] = 1;
    __shfl_xor_sync(~0u, 1, 1);
    y[threadIdx.x] = t[31 - threadIdx.x];
}
__global__ void divergent(float *y, int n) {
    if ((int)threadIdx.x < n) __syncthreads();
    y[threadIdx.x] = 1;
}
__global__ void endless(volatile int *y) { while (y[0] != 12345678) { } }
__global__ void copies(const float *x, float *y, int waits) {
    __shared__ float4 tile[2][32];
    const float4 *from = reinterpret_cast<const float4 *>(x);
    for (int s = 0; s < 2; s++) {
        __pipeline_memcpy_async(&tile[s][threadIdx.x], &from[32 * s + threadIdx.x], 16);
        __pipeline_commit();
    }
    __pipeline_wait_prior(waits);
    __syncthreads();
    y[threadIdx.x] = tile[0][31 - threadIdx.x].x + (waits < 1 ? tile[1][31 - threadIdx.x].y : 0);
}
__global__ void early(const float *x, float *y, int left) {
    __shared__ float4 tile[32];
    __pipeline_memcpy_async(&tile[threadIdx.x], &x[4 * threadIdx.x], 16);
    __pipeline_commit();
    __pipeline_wait_prior(left);
    __syncthreads();
    y[threadIdx.x] = tile[31 - threadIdx.x].x; /* not landed */
}
__global__ void ring(const float *x, float *y, int flip, int wait_empty) {
    __shared__ alignas(16) float tile[2][64];
    __shared__ unsigned long long full[2], empty[2];
    if (threadIdx.x == 0)
        for (int s = 0; s < 2; s++) {
            hnr_mbar_init(&full[s], 1);
            hnr_mbar_init(&empty[s], 32);
        }
    __syncthreads();
    if (threadIdx.x >= 32) {
        if (threadIdx.x == 32)
            for (int k = 0; k < 6; k++) {
                if (wait_empty) hnr_mbar_wait(&empty[k % 2], (k / 2 & 1) ^ 1);
                hnr_mbar_expect(&full[k % 2], 256);
                hnr_bulk_copy(tile[k % 2], x + 64 * k, 256, &full[k % 2]);
            }
        return;
    }
    float sum = 0;
    for (int k = 0; k < 6; k++) {
        hnr_mbar_wait(&full[k % 2], flip ? k / 2 & 1 : 0);
        sum += tile[k % 2][threadIdx.x] + tile[k % 2][threadIdx.x + 32];
        hnr_mbar_arrive(&empty[k % 2]);
    }
    y[threadIdx.x] = sum;
}
"""

# name: (kernel, grid, block, arguments, more options, class or None when clean, what the text says)
CASES = {
    "dynamic_shared": ("dynamic_sum", "1", "64", "x=in:f32:64 y=out:f32:64 2:f32", ["--shared", "256"], None, ""),
    "dynamic_shared_too_small": ("dynamic_sum", "1", "64", "x=in:f32:64 y=out:f32:64 2:f32", ["--shared", "252"], "bounds", "at 252 of dynamic shared"),
    "halves": ("halves", "1", "64", "x=in:f16:64 y=out:f16:64", [], None, ""),
    "past_the_end": ("add", "4", "64", "x=in:f32:250 y=out:f32:250 250:i32", [], "bounds", "at 1000 of global 'x', which has 1000"),
    "before_the_start": ("before", "1", "32", "x=in:f32:32 y=out:f32:32 1:i32", [], "bounds", "at -4 of global 'x'"),
    "write_after_read": ("hasty", "1", "64", "x=in:f32:64 y=out:f32:64", [], "race", "writes shared 'tile'"),
    "undefined_shared": ("stranger", "1", "32", "y=out:f32:32", [], "undefined", "shared 't'"),
    "index_into_the_next_row": ("shared_index", "1", "32", "y=out:f32:32 1:i32", [], "bounds", "index 32 of an array"),
    "pointer_out_of_an_array": ("shared_pointer", "1", "32", "y=out:f32:32 1:i32", [], "bounds", "outside of every array"),
    "blocks_write_one_place": ("between_blocks", "2", "32", "y=inout:f32:32", [], "race", "block 0,0,0"),
    "atomics": ("counts", "3", "64", "y=inout:i32:1", [], None, ""),
    "atomic_and_plain": ("mixed", "1", "64", "y=inout:i32:1", [], "race", "updates global 'y'"),
    "last_block_sums": ("last_block", "5", "32", "x=in:f32:5 p=out:f32:5 d=inout:u32:1:constant:0:anyway y=out:f32:1 1:i32", [], None, ""),
    "last_block_without_a_fence": ("last_block", "5", "32", "x=in:f32:5 p=out:f32:5 d=inout:u32:1:constant:0:anyway y=out:f32:1 0:i32", [], "race", "global 'p'"),
    "last_block_by_a_variable": ("last_by_ticket", "5", "32", "x=in:f32:5 p=out:f32:5 y=out:f32:1 1:i32", [], None, ""),
    "last_block_by_a_variable_without_a_fence": ("last_by_ticket", "5", "32", "x=in:f32:5 p=out:f32:5 y=out:f32:1 0:i32", [], "race", "global 'p'"),
    "syncwarp_orders": ("warp_order", "1", "32", "y=out:f32:32", [], None, ""),
    "shuffles_do_not": ("no_warp_order", "1", "32", "y=out:f32:32", [], "race", "shared 't'"),
    "divergent_barrier": ("divergent", "1", "64", "y=out:f32:64 40:i32", [], "divergent", "has ended"),
    "never_ends": ("endless", "1", "1", "y=inout:i32:1", ["--limit", "2s"], "stuck", ""),
    "copies_waited_for": ("copies", "1", "32", "x=in:f32:256 y=out:f32:32 0:i32", [], None, ""),
    "first_copy_waited_for": ("copies", "1", "32", "x=in:f32:256 y=out:f32:32 1:i32", [], None, ""),
    "copy_not_waited_for": ("early", "1", "32", "x=in:f32:128 y=out:f32:32 1:i32", [], "in_flight", "copies to shared 'tile'"),
    "ring": ("ring", "1", "64", "x=in:f32:384 y=out:f32:32 1:i32 1:i32", [], None, ""),
    "phase_bit_forgotten": ("ring", "1", "64", "x=in:f32:384 y=out:f32:32 0:i32 1:i32", [], "(in_flight|race|stuck)", ""),
    "stage_reused": ("ring", "1", "64", "x=in:f32:384 y=out:f32:32 1:i32 0:i32", [], "(in_flight|race|misuse)", ""),
    "too_many_threads": ("counts", "1", "1025", "y=inout:i32:1", [], "limit", "1 to 1024"),
}  # fmt: skip


def race(*words):
    return tools.run([tools.HONE, "race", *words])


def found_as_wanted(tap, where):
    source = os.path.join(where, "kernels.cu")
    with open(source, "w", encoding="utf-8") as f:
        f.write(KERNELS)
    for name, (kernel, grid, block, args, more, wanted, text) in CASES.items():
        done = race(source, "--launch", kernel, "--grid", grid, "--block", block, "--args", args, "--runs", "2", "--json", *more)
        try:
            said = json.loads(done.stdout)
        except ValueError:
            tap.ok(False, name, done.stdout, done.stderr)
            continue
        fault = said.get("fault")
        if wanted:
            good = done.returncode == 1 and fault and re.fullmatch(wanted, fault["class"]) and text in fault["text"]
            good = good and (wanted in ("limit", "stuck") or fault["places"][0]["line"] > 0)
        else:
            good = done.returncode == 0 and said["clean"]
        tap.ok(good, name, done.stdout, done.stderr)


def main():
    tap = tools.Tap("gpu/race")
    if not tools.HONE or not os.access(f"{tools.BUILD}/shim/hone-shim-cc", os.X_OK):
        tools.skip_all("hone is not built")
    if tools.run(["g++", "--version"]).returncode:
        tools.skip_all("g++ is not installed")
    if "HONE_QUICK_KEPT" in os.environ:  # two dozen kernels of one file
        os.environ["CXX"] = f"{tools.ROOT}/tests/helper/quick/cxx"
    for name, sizes in EXAMPLES.items():
        done = race(f"{tools.ROOT}/examples/gpu/{name}/{name}.cu", *sizes)
        tap.ok(done.returncode == 0 and "clean in 3 runs" in done.stdout, f"{name}_is_clean", done.stdout, done.stderr)
    with tools.folder() as where:
        found_as_wanted(tap, where)
        bad = os.path.join(where, "bad.cu")
        with open(bad, "w", encoding="utf-8") as f:
            f.write("__global__ void k(float *y) { y[0] = nothing; }\n")
        done = race(bad, "--launch", "k", "--args", "y=out:f32:1")
        tap.ok(done.returncode == 9 and "bad.cu:1" in done.stderr and "nothing" in done.stderr, "source_that_does_not_compile", done.stderr)
        header = os.path.join(where, "header.cu")
        with open(header, "w", encoding="utf-8") as f:
            f.write("#include <cuda/pipeline>\n__global__ void k(float *y) { y[0] = 1; }\n")
        done = race(header, "--launch", "k", "--args", "y=out:f32:1")
        tap.ok(done.returncode == 9 and "header.cu:1" in done.stderr and "docs/race.md" in done.stderr, "header_that_is_not_there", done.stderr)
        done = race(bad)
        tap.ok(done.returncode == 6 and "bad.kernel" in done.stderr, "no_description", done.stderr)
        good = os.path.join(where, "kernels.cu")
        done = race(good, "--launch", "nobody", "--args", "y=out:f32:1")
        tap.ok(done.returncode == 3 and "'nobody'" in done.stderr, "no_such_kernel", done.stderr)
        done = race(good, "--launch", "stranger", "--args", "y=out:f33:1")
        tap.ok(done.returncode == 3 and "f33" in done.stderr, "no_such_type", done.stderr)
        done = race(good, "--launch", "add", "--args", "x=in:f32:64 y=out:f32:64")
        tap.ok(done.returncode == 3 and "'add'" in done.stderr and "takes 3 arguments, the launch passes 2" in done.stderr, "too_few_arguments", done.stderr)
        done = race(good, "--grid", "3")
        tap.ok(done.returncode == 2 and "--launch" in done.stderr, "grid_without_launch", done.stderr)
    tap.done()


main()
