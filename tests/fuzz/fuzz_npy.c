/* fuzz_npy.c — NumPy's array files: whatever the bytes are, an array or an error. */
#include <hone/npy.h>

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    hone_array a, b;
    void *file;
    size_t size_b, count = 1;
    if (hone_npy_parse(data, n, "fuzz", &a, NULL)) return 0;
    for (uint32_t d = 0; d < a.rank; d++) count *= (size_t)a.dim[d];
    if (hone_npy_format(&a, &file, &size_b, NULL) == HONE_OK) {
        if (hone_npy_parse(file, size_b, "again", &b, NULL) || b.rank != a.rank || b.dtype != a.dtype ||
            memcmp(a.data, b.data, count * hone_dtype_size_b(a.dtype)) != 0)
            __builtin_trap();
        hone_free(b.data);
        hone_free(file);
    }
    hone_free(a.data);
    return 0;
}
