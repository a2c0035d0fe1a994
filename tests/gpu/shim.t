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
    "cluster_begins_early": r"race: shared memory of a block of the cluster that may not have begun.*: thread 0,0,0 of block 0,0,0 writes there at shim_cases.cpp:\d+",
    "cluster_missing_barrier": r"race: thread .* reads shared 'tile' \+ \d+ at shim_cases.cpp:\d+; thread .* of block 1,0,0 writes|no thread of the block wrote",
    "cluster_barrier_of_a_block": r"race: thread .* shared 'tile'|no thread of the block wrote",
    "cluster_barrier_of_some": r"divergent barrier of the cluster: thread .* of block 0,0,0 waits in a barrier of the cluster at .*; thread .* of block 1,0,0 has ended",
    "cluster_ends_early": r"race: (a block of the cluster ends while another one may still write|shared memory of a block of the cluster that has ended)",
    "cluster_of_others": r"a push among another number of blocks than the cluster has: thread 0,0,0 of block 0,0,0 pushes at shim_cases.cpp:\d+",
    "cluster_pushes_global": r"out of bounds: a push of what is no shared memory",
    "cluster_in_part": r"clusters of 2 blocks in a grid of 5",
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
