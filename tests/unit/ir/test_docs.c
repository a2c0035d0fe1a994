/* docs/ir.md and docs/fusion.md say what the tables say: a row for every operation, attribute, element type, pass and
 * kind of kernel. */
#include "base/str.h"
#include "ir/graph.h"
#include "onnx/onnx.h"
#include "pass/pass.h"
#include "tap.h"

static const char *const op_doc[] = {
#define HN_OP(id, text, imin, imax, outs, cls, kind, flags, takes, result, doc) doc,
#include "ir/ops.def"
#undef HN_OP
};
static const char *const attr_doc[] = {
#define HN_ATTR(id, text, kind, doc) doc,
#include "ir/attrs.def"
#undef HN_ATTR
};
static const char *const kind_doc[] = {
    "",
#define HN_KIND(id, text, doc) doc,
#include "ir/kinds.def"
#undef HN_KIND
};
static const char *const attr_kind[] = {"int", "float", "ints", "dims", "name", "tensor", "blocks", "dtype"};
static const char *const class_name[] = {"float", "int", "uint", "bool"};

static char *page;

/* docs/ir.md, and docs/fusion.md for the kinds of kernels. */
static bool read_pages(void) {
    static const char *const name[] = {"ir", "fusion"};
    const char *root = getenv("HONE_ROOT");
    char path[1000];
    size_t n = 0;
    page = calloc(1, 400000);
    for (int i = 0; i < 2 && page; i++) {
        snprintf(path, sizeof path, "%s/docs/%s.md", root ? root : ".", name[i]);
        FILE *f = fopen(path, "rb");
        if (!f) return false;
        n += fread(page + n, 1, 199999, f);
        fclose(f);
    }
    return page;
}

/* A cell of a table: bars are escaped. */
static void add_cell(hn_str *s, const char *text) {
    for (; *text; text++) hn_str_addf(s, *text == '|' ? "\\%c" : "%c", *text);
}

static void check_row(hn_str *s, const char *what) {
    if (!ok(s->text && strstr(page, s->text), "docs/ir_%s", what)) printf("#   missing: %s\n", s->text ? s->text : "");
    hn_str_free(s);
}

static void check_op(hn_op op) {
    const hn_op_info *x = hn_op_of(op);
    hn_str s = {0};
    hn_str_addf(&s, "| `%s` | %d", x->text, x->in_min);
    if (x->in_max < 0)
        hn_str_add(&s, "+");
    else if (x->in_max != x->in_min)
        hn_str_addf(&s, "-%d", x->in_max);
    if (x->outs < 0)
        hn_str_add(&s, " | any | ");
    else
        hn_str_addf(&s, " | %d | ", x->outs);
    hn_str_add(&s, x->flags & HN_PURE ? "pure" : "");
    hn_str_add(&s, x->flags & HN_COMMUTES ? ", commutes" : "");
    hn_str_add(&s, x->flags & HN_ASSOCIATES ? ", associates" : "");
    hn_str_add(&s, hn_op_is_easy(op) ? ", easy" : "");
    hn_str_add(&s, x->flags & HN_FUNCTION ? ", function" : "");
    hn_str_add(&s, x->flags & HN_DOMAIN ? ", domain" : "");
    hn_str_add(&s, " | ");
    add_cell(&s, op_doc[op]);
    hn_str_add(&s, " |\n");
    check_row(&s, x->text);
}

int main(void) {
    hn_str s = {0};
    if (!ok(read_pages(), "docs/are_there")) return done_testing();
    for (unsigned i = 0; i < HN_N_OPS; i++) check_op((hn_op)i);
    for (hn_kernel_kind i = 1; i < HN_N_KINDS; i++) {
        hn_str_addf(&s, "| `%s` | %s |\n", hn_kind_text(i), kind_doc[i]);
        check_row(&s, hn_kind_text(i));
    }
    for (unsigned i = 0; i < HN_N_ATTRS; i++) {
        const hn_attr_info *x = hn_attr_of((hn_attr_id)i);
        hn_str_addf(&s, "| `%s` | %s | ", x->text, attr_kind[x->kind]);
        add_cell(&s, attr_doc[i]);
        hn_str_add(&s, " |\n");
        check_row(&s, x->text);
    }
    for (unsigned i = 0; i < HONE_N_DTYPES; i++) {
        const hn_dtype_info *x = hn_dtype_of((hone_dtype)i);
        hn_str_addf(&s, "| `%s` | %d | %d | %s | %d |\n", x->text, x->bits, x->size_b, class_name[x->cls],
                    hn_onnx_dtype((hone_dtype)i));
        check_row(&s, x->text);
    }
    for (size_t i = 0; hn_passes[i]; i++) {
        hn_str_addf(&s, "| `%s` | ", hn_passes[i]->name);
        check_row(&s, hn_passes[i]->name);
    }
    free(page);
    return done_testing();
}
