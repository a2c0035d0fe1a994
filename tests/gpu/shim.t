#!/usr/bin/env python3
"""tests/gpu/shim.t: the shim that runs CUDA kernels on the CPU: right kernels are right in every order, planted faults are found. TAP."""

import re
import subprocess

import cuda_tools as tools

FAULTS = {  # fault: what must be said, by the shim or by a sanitizer
    "missing_barrier": r"right in 0 of 3 orders",
    "divergent_barrier": r"divergent barrier: thread 0,0,0 of block 0,0,0 waits in __syncthreads at shim_cases.cpp:\d+; thread 32,0,0 .* has ended",
    "two_barriers": r"divergent barrier: thread 0,0,0 .* waits .*; thread 32,0,0 .* waits",
    "lonely_lane": r"lanes of a mask do not meet: .*thread 5,0,0 .* waits in __syncthreads",
    "outside_the_mask": r"reads lane 20, which takes no part, in __shfl_sync: thread 0,0,0",
    "not_in_its_mask": r"not in its own mask 0000ffff in __shfl_sync: thread 16,0,0",
    "too_many_threads": r"2048 threads in a block: 1 to 1024 are possible",
    "too_much_shared": r"307200 bytes of shared memory",
    "global_overrun": r"out of bounds: thread 0,0,0 of block 2,0,0 writes 4 bytes at 256 of global 'array', which has 256 at shim_cases.cpp:\d+",
    "dynamic_overrun": r"out of bounds: thread 32,0,0 .* writes 4 bytes at 8 of dynamic shared memory, which has 8 at shim_cases.cpp:\d+",
    "shared_overrun": r"(outside of every array|no thread of the block wrote).* at shim_cases.cpp:\d+",
    "right_after_a_fault": r"not reported",
}

tap = tools.Tap("gpu/shim")
with tools.folder() as where:
    program, said = tools.on_the_shim("shim_cases.cpp", where)
    if program is None:
        tools.skip_all(said)
    if tap.ok(program, "compiles_without_warnings", said):
        done = tools.run([program])
        tap.ok(done.returncode == 0 and "not ok" not in done.stdout, "right_kernels_are_right", done.stdout, done.stderr)
        for fault, pattern in FAULTS.items():
            done = subprocess.run([program, fault], capture_output=True, text=True, check=False)
            tap.ok(re.search(pattern, done.stdout + done.stderr), f"finds_{fault}", done.stdout, done.stderr)
tap.done()
