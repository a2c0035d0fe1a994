/* shapes.c — declared types, and the symbols that their dimensions name. */
#include "base/err.h"
#include "onnx/import_int.h"

#include <ctype.h>
#include <onnx.pb-c.h>
#include <stdlib.h>
#include <string.h>

/* The dimension of a name; made when missing and `make`, else 0. */
static hn_dim symbol_of(hn_importer *im, const char *text, bool make) {
    hn_dim *d = hn_names_get(&im->symbol, text);
    if (d || !make) return d ? *d : 0;
    if (!(d = HN_NEW(im->arena, hn_dim))) return 0;
    *d = hn_symbol_options_dim(&im->options, im->arena, im->g->dims, text);
    hn_names_put(&im->symbol, im->arena, text, d);
    return *d;
}

/* What exporters write for a size that they do not know is no name: two of them need not be equal. */
bool hn_import_names_dim(const char *text) {
    static const char *const unknown[] = {"None", "none", "-1", "unk"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (text && !strcmp(text, unknown[i])) return false;
    for (const char *p = text ? text : ""; *p; p++)
        if (isalnum((unsigned char)*p) || *p == '_' || (unsigned char)*p >= 128) return true;
    return false;
}

static hn_dim dim_of(hn_importer *im, const HnOnnx__Dim *d, const char *make, size_t axis) {
    if (d->has_dim_value && d->dim_value >= 0) return hn_dim_int(im->g->dims, d->dim_value);
    if (hn_import_names_dim(d->dim_param)) return symbol_of(im, d->dim_param, make != NULL);
    if (!make) return 0;
    const char *name = hn_format(im->arena, "%s_dim%zu", make, axis);
    return name ? symbol_of(im, name, true) : 0;
}

bool hn_import_type(hn_importer *im, const HnOnnx__Type *t, const char *make, hn_type *out, const char **why) {
    hn_type made = {0};
    const char *reason = NULL;
    const HnOnnx__TensorType *tt = t ? t->tensor_type : NULL;
    if (!tt)
        reason = !t                      ? "has no declared type"
                 : t->sequence_type      ? "is a sequence"
                 : t->map_type           ? "is a map"
                 : t->optional_type      ? "is an optional"
                 : t->sparse_tensor_type ? "is a sparse tensor"
                                         : "has no declared type";
    else if (!hn_dtype_from_onnx(tt->elem_type, &made.dtype))
        reason = hn_format(im->arena, "has element type %s", hn_onnx_dtype_name(tt->elem_type));
    else if (!tt->shape)
        reason = "has no declared rank";
    else if (tt->shape->n_dim > HN_RANK_MAX)
        reason = "has more than 16 dimensions";
    if (!tt || reason) {
        *why = reason ? reason : "out of memory";
        return false;
    }
    made.rank = (uint8_t)tt->shape->n_dim;
    for (size_t i = 0; i < made.rank; i++) made.dim[i] = dim_of(im, tt->shape->dim[i], make, i);
    *out = made;
    return true;
}

hone_rc hn_check_symbol_options(const hn_importer *im, hone_err *err) {
    const char **name = HN_NEW_N(im->arena, const char *, im->symbol.n);
    size_t n = 0;
    if (!name) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < im->symbol.room; i++)
        if (im->symbol.slot[i].key) name[n++] = im->symbol.slot[i].key;
    return hn_symbol_options_check(&im->options, im->arena, name, n, err);
}
