/* tests/unit/nest/device_nests.h — nests for machines with blocks of threads, as they are before barriers are derived.
 */
#ifndef HN_DEVICE_NESTS_H
#define HN_DEVICE_NESTS_H

/* 64 x 16 = 64 x 64 times 64 x 16 (the right one lies transposed), f16, by tiles of 32 x 16 in shared memory of three
 * stages that are copied ahead, the left ones swizzled, and two warps with tile products. */
#define NEST_LANE "mod(i1, 32)"
static const char nest_pipelined[] =
    "param p0 f16 4096\n"
    "param p1 f16 1024\n"
    "result r0 f32 1024\n"
    "shared s0 f16 1536\n"
    "shared s1 f16 768\n"
    "parallel i0 < 2 {\n"
    "group i1 < 64 {\n"
    "  reg a0 f32 8\n"
    "  %0 = const f32 0x0p+0\n"
    "  unroll i2 < 8 {\n"
    "    store a0[i2] %0\n"
    "  }\n"
    "  for i3 < 2 {\n"
    "    copy s0[512*i3 + 16*floordiv(i1, 2) + 8*xor(mod(i1, 2), mod(floordiv(i1, 8), 2))] "
    "p0[2048*i0 + 64*floordiv(i1, 2) + 8*mod(i1, 2) + 16*i3] 8\n"
    "    copy s1[256*i3 + 4*i1] p1[64*floordiv(i1, 4) + 4*mod(i1, 4) + 16*i3] 4\n"
    "    commit\n"
    "  }\n"
    "  for i4 < 4 {\n"
    "    wait 1\n"
    "    copy s0[512*mod(i4 + 2, 3) + 16*floordiv(i1, 2) + 8*xor(mod(i1, 2), mod(floordiv(i1, 8), 2))] "
    "p0[2048*i0 + 64*floordiv(i1, 2) + 8*mod(i1, 2) + 16*i4 + 32] 8 if -1*i4 + 1\n"
    "    copy s1[256*mod(i4 + 2, 3) + 4*i1] p1[64*floordiv(i1, 4) + 4*mod(i1, 4) + 16*i4 + 32] 4 if -1*i4 + 1\n"
    "    commit\n"
    "    reg a1 f16 8\n"
    "    reg a2 f16 8\n"
    "    unroll i5 < 8 {\n"
    "      %1 = load f16 s0[512*mod(i4, 3) + 256*floordiv(i1, 32) + 16*floordiv(" NEST_LANE
    ", 4) + 128*mod(floordiv(i5, 2), 2) + 8*xor(floordiv(i5, 4), mod(floordiv(i1, 16), 2)) + 2*mod(i1, 4) + "
    "mod(i5, 2)]\n"
    "      store a1[i5] %1\n"
    "    }\n"
    "    unroll i6 < 8 {\n"
    "      %2 = load f16 s1[256*mod(i4, 3) + 16*floordiv(" NEST_LANE
    ", 4) + 128*floordiv(i6, 4) + 2*mod(i1, 4) + mod(i6, 2) + 8*mod(floordiv(i6, 2), 2)]\n"
    "      store a2[i6] %2\n"
    "    }\n"
    "    unroll i7 < 2 {\n"
    "      mma m16n8k16_f16 a0[4*i7] a1[0] a2[4*i7]\n"
    "    }\n"
    "  }\n"
    "  wait 0\n"
    "  unroll i8 < 2 {\n"
    "    unroll i9 < 4 {\n"
    "      %3 = load f32 a0[4*i8 + i9]\n"
    "      store r0[512*i0 + 256*floordiv(i1, 32) + 16*floordiv(" NEST_LANE
    ", 4) + 128*floordiv(i9, 2) + 8*i8 + 2*mod(i1, 4) + mod(i9, 2)] %3\n"
    "    }\n"
    "  }\n"
    "}\n"
    "}\n";

/* A square of 32 x 32, turned through swizzled shared memory by four rows of threads; edges of 50 x 50 guarded. */
static const char nest_turned[] =
    "param p0 f32 2500\n"
    "result r0 f32 2500\n"
    "shared s0 f32 1024\n"
    "parallel i0 < 2 {\n"
    "parallel i1 < 2 {\n"
    "group i2 < 4 {\n"
    "group i3 < 32 {\n"
    "  for i4 < 8 {\n"
    "    %0 = load f32 p0[1600*i0 + 32*i1 + 50*i2 + i3 + 200*i4] if -32*i0 + -1*i2 + -4*i4 + 49, -32*i1 + -1*i3 + 49\n"
    "    store s0[32*i2 + 128*i4 + xor(i3, i2 + 4*i4)] %0\n"
    "  }\n"
    "  for i5 < 8 {\n"
    "    %1 = load f32 s0[32*i3 + xor(i3, i2 + 4*i5)]\n"
    "    store r0[1600*i1 + 32*i0 + 50*i2 + 200*i5 + i3] %1 if -32*i1 + -1*i2 + -4*i5 + 49, -32*i0 + -1*i3 + 49\n"
    "  }\n"
    "}\n"
    "}\n"
    "}\n"
    "}\n";

/* Sums of windows of 64 neighbours' sums, in two stages of shared memory, then over the block. */
static const char nest_staged[] = "param p0 f32 512\n"
                                  "result r0 f32 65\n"
                                  "shared s0 f32 128\n"
                                  "reg a1 f32 1\n"
                                  "%9 = const f32 0x0p+0\n"
                                  "store a1[0] %9\n"
                                  "group i1 < 64 {\n"
                                  "  reg a0 f32 1\n"
                                  "  store a0[0] %9\n"
                                  "  for i2 < 8 {\n"
                                  "    %1 = load f32 p0[64*i2 + i1]\n"
                                  "    store s0[64*mod(i2, 2) + i1] %1\n"
                                  "    for i3 < 4 {\n"
                                  "      %2 = load f32 s0[64*mod(i2, 2) + mod(i1 + 5*i3, 64)]\n"
                                  "      update a0[0] add %2\n"
                                  "    }\n"
                                  "  }\n"
                                  "  %3 = load f32 a0[0]\n"
                                  "  update a1[0] add %3\n"
                                  "  store r0[i1] %3\n"
                                  "}\n"
                                  "%4 = load f32 a1[0]\n"
                                  "store r0[64] %4\n";

#endif
