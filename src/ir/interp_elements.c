/* ir/interp_elements.c — elements as numbers in bulk, indices and strided copies. */
#include "ir/interp_int.h"

#include <string.h>

#define LOAD(type)                                                                                                     \
    for (int64_t i = 0; i < n; i++) x[i] = ((const type *)t->data)[at + i * step];                                     \
    break

void hn_load_f(const hn_tensor *t, int64_t at, int64_t step, int64_t n, double *x) {
    switch (t->dtype) {
    case HONE_F32: LOAD(float);
    case HONE_F64: LOAD(double);
    case HONE_U64:
        for (int64_t i = 0; i < n; i++) x[i] = (double)((const uint64_t *)t->data)[at + i * step];
        break;
    default:
        for (int64_t i = 0; i < n; i++) x[i] = hn_get_f(t, at + i * step);
        break;
    }
}

void hn_load_i(const hn_tensor *t, int64_t at, int64_t step, int64_t n, int64_t *x) {
    switch (t->dtype) {
    case HONE_I64:
    case HONE_U64: LOAD(int64_t);
    case HONE_I32: LOAD(int32_t);
    case HONE_I8: LOAD(int8_t);
    case HONE_U8:
    case HONE_BOOL: LOAD(uint8_t);
    default:
        for (int64_t i = 0; i < n; i++) x[i] = hn_get_i(t, at + i * step);
        break;
    }
}

void hn_store_f(hn_tensor *t, int64_t at, int64_t n, const double *x) {
    if (t->dtype == HONE_F32)
        for (int64_t i = 0; i < n; i++) ((float *)t->data)[at + i] = (float)x[i];
    else if (t->dtype == HONE_F64)
        memcpy((double *)t->data + at, x, (size_t)n * sizeof *x);
    else
        for (int64_t i = 0; i < n; i++) hn_set_f(t, at + i, x[i]);
}

void hn_store_i(hn_tensor *t, int64_t at, int64_t n, const int64_t *x) {
    if (t->dtype == HONE_I64 || t->dtype == HONE_U64)
        memcpy((int64_t *)t->data + at, x, (size_t)n * sizeof *x);
    else if (t->dtype == HONE_I32)
        for (int64_t i = 0; i < n; i++) ((uint32_t *)t->data)[at + i] = (uint32_t)x[i];
    else if (t->dtype == HONE_I8 || t->dtype == HONE_U8)
        for (int64_t i = 0; i < n; i++) ((uint8_t *)t->data)[at + i] = (uint8_t)x[i];
    else
        for (int64_t i = 0; i < n; i++) hn_set_i(t, at + i, x[i]);
}

int64_t hn_product(const int64_t *dim, size_t from, size_t to) {
    int64_t n = 1;
    for (size_t i = from; i < to; i++) n *= dim[i];
    return n;
}

void hn_strides(const hn_tensor *t, int64_t *stride) {
    int64_t n = 1;
    for (size_t i = t->rank; i-- > 0;) {
        stride[i] = n;
        n *= t->dim[i];
    }
}

bool hn_next_index(size_t rank, const int64_t *dim, int64_t *index) {
    for (size_t i = rank; i-- > 0;) {
        if (++index[i] < dim[i]) return true;
        index[i] = 0;
    }
    return false;
}

#define COPY_ROW(type)                                                                                                 \
    for (int64_t i = 0; i < n; i++) ((type *)to)[i * ts] = ((const type *)from)[i * fs];                               \
    break

static void copy_row(size_t size_b, int64_t n, char *to, int64_t ts, const char *from, int64_t fs) {
    if (ts == 1 && fs == 1) {
        memcpy(to, from, (size_t)n * size_b);
        return;
    }
    switch (size_b) {
    case 1: COPY_ROW(uint8_t);
    case 2: COPY_ROW(uint16_t);
    case 4: COPY_ROW(uint32_t);
    default: COPY_ROW(uint64_t);
    }
}

void hn_copy_box(size_t size_b, size_t rank, const int64_t *dim, char *to, const int64_t *to_stride, const char *from,
                 const int64_t *from_stride) {
    for (size_t i = 0; i < rank; i++)
        if (dim[i] <= 0) return;
    if (rank == 0) {
        memcpy(to, from, size_b);
        return;
    }
    int64_t index[HN_RANK_MAX] = {0}, b = (int64_t)size_b;
    size_t last = rank - 1;
    do {
        int64_t t = 0, f = 0;
        for (size_t i = 0; i < last; i++) {
            t += index[i] * to_stride[i];
            f += index[i] * from_stride[i];
        }
        copy_row(size_b, dim[last], to + t * b, to_stride[last], from + f * b, from_stride[last]);
    } while (hn_next_index(last, dim, index));
}
