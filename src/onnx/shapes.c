/* shapes.c — declared types, and the symbols that their dimensions name. A dim_param is any text; the symbol's name is
 * an identifier made of it. */
#include "base/err.h"
#include "onnx/import_int.h"

#include <onnx.pb-c.h>
#include <stdlib.h>
#include <string.h>

static bool name_char(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

static const char *identifier(hn_importer *im, const char *text) {
    static const char *const taken[] = {"floordiv", "mod", "min", "max"};
    char *name = hn_format(im->arena, "%s%.60s", name_char(text[0], true) ? "" : "d", text);
    if (!name) return "d";
    for (char *p = name; *p; p++)
        if (!name_char(*p, p == name)) *p = '_';
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (!strcmp(name, taken[i])) return hn_format(im->arena, "%s_", name);
    return name;
}

static hn_dim new_symbol(hn_importer *im, const char *text) {
    const char *name = identifier(im, text);
    int64_t low = 0, high = INT64_MAX;
    for (size_t i = 0; i < im->n_option; i++) {
        hn_symbol_option *o = &im->option[i];
        if (strcmp(o->name, text) && strcmp(o->name, name)) continue;
        o->used = true;
        low = o->low, high = o->high;
    }
    return low == high ? hn_dim_int(im->g->dims, low) : hn_dim_symbol(im->g->dims, name, low, high);
}

/* The dimension of a name; made when missing and `make`, else 0. */
static hn_dim symbol_of(hn_importer *im, const char *text, bool make) {
    hn_dim *d = hn_names_get(&im->symbol, text);
    if (d || !make) return d ? *d : 0;
    if (!(d = HN_NEW(im->arena, hn_dim))) return 0;
    *d = new_symbol(im, text);
    hn_names_put(&im->symbol, im->arena, text, d);
    return *d;
}

static hn_dim dim_of(hn_importer *im, const HnOnnx__Dim *d, const char *make, size_t axis) {
    if (d->has_dim_value && d->dim_value >= 0) return hn_dim_int(im->g->dims, d->dim_value);
    if (d->dim_param && d->dim_param[0]) return symbol_of(im, d->dim_param, make != NULL);
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

/* --- options ------------------------------------------------------------------------------------------------------ */

static bool read_bound(const char **p, int64_t *out) {
    char *end;
    if (**p < '0' || **p > '9') return false;
    long long x = strtoll(*p, &end, 10);
    *p = end;
    *out = x;
    return x < INT64_MAX;
}

static hone_rc read_option(hn_importer *im, const char *text, hn_symbol_option *out, hone_err *err) {
    const char *eq = strrchr(text, '='), *p = eq ? eq + 1 : "";
    bool good = eq && eq > text && read_bound(&p, &out->low);
    out->high = out->low;
    if (good && *p == ':') {
        p++;
        if (*p)
            good = read_bound(&p, &out->high);
        else
            out->high = INT64_MAX;
    }
    if (!good || *p || out->low > out->high)
        return hn_fail(err, HONE_E_USAGE, "'%s': a dimension is set as name=size or name=smallest:largest", text);
    out->name = hn_strndup(im->arena, text, (size_t)(eq - text));
    return out->name ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

hone_rc hn_read_symbol_options(hn_importer *im, const hone_import_options *o, hone_err *err) {
    hone_rc rc = HONE_OK;
    if (!o || !o->n_symbol) return HONE_OK;
    if (!(im->option = HN_NEW_N(im->arena, hn_symbol_option, o->n_symbol)))
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < o->n_symbol && !rc; i++)
        rc = read_option(im, o->symbol[i], &im->option[im->n_option++], err);
    return rc;
}

hone_rc hn_check_symbol_options(const hn_importer *im, hone_err *err) {
    const char **name = HN_NEW_N(im->arena, const char *, im->symbol.n);
    size_t n = 0;
    if (!name) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < im->symbol.room; i++)
        if (im->symbol.slot[i].key) name[n++] = im->symbol.slot[i].key;
    for (size_t i = 0; i < im->n_option; i++) {
        if (im->option[i].used) continue;
        const char *near = hn_nearest(im->option[i].name, name, n);
        if (!n) return hn_fail(err, HONE_E_USAGE, "'%s': the model has no symbolic dimension", im->option[i].name);
        return hn_fail(err, HONE_E_USAGE, "the model has no dimension '%s'; %s '%s'", im->option[i].name,
                       near ? "did you mean" : "one that it has is", hn_shown(im->arena, near ? near : name[0]));
    }
    return HONE_OK;
}
