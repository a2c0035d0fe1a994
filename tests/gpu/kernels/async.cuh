/* tests/gpu/kernels/async.cuh — asynchronous copies, mbarriers and matrix products as kernels spell them: PTX for sm_80 and (bulk
 * copies, mbarriers) sm_90; on the shim they are its own. */
#ifndef HONE_ASYNC_CUH
#define HONE_ASYNC_CUH
#ifndef HONE_CUDA_SHIM
#include <cuda_fp16.h>

#define ASYNC static __device__ __forceinline__

ASYNC unsigned async_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* 16 bytes, of which `bytes` come from memory; the rest are zeros. */
ASYNC void hnr_cp_async16_guard(void *to, const void *from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(async_shared(to)), "l"(from), "r"(bytes) : "memory");
}
ASYNC void hnr_cp_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> ASYNC void hnr_cp_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }

ASYNC void hnr_ldmatrix_x4(unsigned *r, const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(async_shared(row))
                 : "memory");
}
ASYNC void hnr_ldmatrix_x2_trans(unsigned *r, const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(async_shared(row))
                 : "memory");
}
ASYNC void hnr_mma_m16n8k16_f16(float *d, const unsigned *a, const unsigned *b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
ASYNC void hnr_mbar_init(unsigned long long *bar, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(async_shared(bar)), "r"(count) : "memory");
}
ASYNC void hnr_mbar_arrive(unsigned long long *bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(async_shared(bar)) : "memory");
}
ASYNC void hnr_mbar_expect(unsigned long long *bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(async_shared(bar)), "r"(bytes) : "memory");
}
ASYNC void hnr_mbar_wait(unsigned long long *bar, int phase) {
    asm volatile("{\n.reg .pred p;\nagain: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra again;\n"
                 "done:\n}" ::"r"(async_shared(bar)), "r"(phase) : "memory");
}
ASYNC void hnr_bulk_copy(void *to, const void *from, int bytes, unsigned long long *bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(async_shared(to)),
                 "l"(from), "r"(bytes), "r"(async_shared(bar))
                 : "memory");
}
ASYNC void hnr_fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#endif
#endif
#endif
