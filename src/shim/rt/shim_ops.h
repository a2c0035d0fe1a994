/* shim/rt/shim_ops.h — what kernels call of the shim, behind the names that CUDA has for it (shim.cuh). C11 and C++. */
#ifndef HONE_SHIM_OPS_H
#define HONE_SHIM_OPS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#else
extern struct hs_uint3 threadIdx, blockIdx, blockDim, gridDim;
#endif

void shim_barrier(const char *what, const char *file, int line);
void shim_cluster_barrier(const char *file, int line);
/* What lies there, size bytes, goes to the same place of the shared memory of the cluster's other blocks; it has n. */
void shim_push(const void *at, int size, int n, const char *file, int line);
int shim_block_sum(int v, const char *what, const char *file, int line);
void shim_pause(const char *file, int line);
unsigned shim_lane(void);
void shim_syncwarp(unsigned mask, const char *file, int line);
uint64_t shim_shuffle(unsigned mask, uint64_t give, unsigned from, const char *what, const char *file, int line);
unsigned shim_ballot(unsigned mask, int v, const char *what, const char *file, int line);
unsigned shim_match(unsigned mask, uint64_t v, const char *file, int line);
/* op: + & | ^ > <; the last two are the largest and the smallest. */
int64_t shim_reduce(unsigned mask, int64_t v, char op, const char *what, const char *file, int line);
const uint64_t *shim_gather(unsigned mask, uint64_t give, unsigned *lanes, const char *what, const char *file,
                            int line);
void shim_named_barrier(int id, int threads, const char *file, int line);

void shim_mbar_init(uint64_t *at, int count, const char *file, int line);
void shim_mbar_arrive(uint64_t *at, const char *file, int line);
void shim_mbar_expect(uint64_t *at, int bytes, const char *file, int line);
/* When the thread's copies so far have landed. */
void shim_mbar_arrive_copies(uint64_t *at, const char *file, int line);
void shim_mbar_end(uint64_t *at, const char *file, int line);
void shim_mbar_wait(uint64_t *at, int phase, const char *file, int line);

/* n bytes, of which `given` come from memory and the rest are zeros; they land when the thread waits. */
void shim_copy_async(void *to, const void *from, int n, int given, const char *file, int line);
void shim_copy_commit(void);
void shim_copy_wait(int left); /* until at most so many groups have not landed; < 0: all */
void shim_bulk_copy(void *to, const void *from, int n, uint64_t *at, const char *file, int line);

void *shim_dynamic(void);
/* An atomic operation on n bytes begins: the thread may read and write there. site: the address in the kernel. */
void shim_atomic(const volatile void *at, int n, const void *site);
/* What one thread wrote before it, another one that comes after it in the same place may read. */
void shim_fence(void);

void shim_ldmatrix(unsigned *out, const void *row, int tiles, int transposed, const char *file, int line);
/* d += a b of 16 x 8 x 16; bf: bfloat16, else half. */
void shim_mma_16816(float *d, const unsigned *a, const unsigned *b, int bf, const char *file, int line);
/* d += a b of 16 x 8 x 8, tf32. */
void shim_mma_1688(float *d, const unsigned *a, const unsigned *b, const char *file, int line);

#ifdef __cplusplus
}
#endif
#endif
