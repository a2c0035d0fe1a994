/* hone/npy.h — arrays as NumPy's files.
 *
 * Threads: all functions are re-entrant.   Errors: E_INPUT, E_IO, E_NOMEM.
 */
#ifndef HONE_NPY_H
#define HONE_NPY_H

#include <hone/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Versions 1 to 3, little-endian, C or Fortran order. Types that NumPy lacks (bf16, 8-bit floats …) are written as
 * unsigned integers of their size. data is the caller's: hone_free. E_INPUT names the label and what is wrong. */
HONE_API hone_rc hone_npy_parse(const void *data, size_t n, const char *label, hone_array *out, hone_err *err);
HONE_API hone_rc hone_npy_read(const char *path, hone_array *out, hone_err *err);
HONE_API hone_rc hone_npy_format(const hone_array *a, void **data, size_t *n, hone_err *err);
HONE_API hone_rc hone_npy_write(const hone_array *a, const char *path, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
