/* The builder and what it knows at compile time: calls in, text of the block out. */
#include "base/str.h"
#include "ir/build.h"
#include "tap.h"

typedef struct place {
    hn_builder b;
    hn_val x, y, v, m; /* f32[2, 3, 4], f32[n, 4], i64[3], bool[n, 1] */
    hn_dim n, k;
} place;

static hn_val input(hn_graph *g, const char *name, hone_dtype t, size_t rank, const hn_dim *dim) {
    hn_type type = {.dtype = t, .rank = (uint8_t)rank};
    memcpy(type.dim, dim, rank * sizeof *dim);
    return hn_param(g, 0, name, &type);
}

static place open_place(void) {
    place p = {.b = {hn_graph_new(), 0}};
    hn_builder *b = &p.b;
    p.n = hn_dim_symbol(b->g->dims, "n", 1, 64);
    p.k = hn_dim_symbol(b->g->dims, "k", 0, INT64_MAX);
    p.x = input(b->g, "x", HONE_F32, 3, (hn_dim[]){hn_lit(b, 2), hn_lit(b, 3), hn_lit(b, 4)});
    p.y = input(b->g, "y", HONE_F32, 2, (hn_dim[]){p.n, hn_lit(b, 4)});
    p.v = input(b->g, "v", HONE_I64, 1, (hn_dim[]){hn_lit(b, 3)});
    p.m = input(b->g, "m", HONE_BOOL, 2, (hn_dim[]){p.n, hn_lit(b, 1)});
    return p;
}

/* --- what is built ---- */

static hn_val add_broadcasts(place *p) {
    return hn_bin(&p->b, HN_OP_ADD, p->y, hn_reduce1(&p->b, HN_OP_RSUM, p->y, -1, true));
}
static hn_val add_scalar(place *p) { return hn_bin_f(&p->b, HN_OP_MUL, p->x, 0.5); }
static hn_val scalar_sub(place *p) { return hn_f_bin(&p->b, HN_OP_SUB, 1, p->y); }
static hn_val add_assumes(place *p) { return hn_bin(&p->b, HN_OP_ADD, p->x, p->y); }
static hn_val add_cannot(place *p) {
    return hn_bin(&p->b, HN_OP_ADD, p->x, hn_transpose(&p->b, p->x, (int64_t[]){0, 2, 1}));
}
static hn_val where(place *p) { return hn_where(&p->b, p->m, p->y, hn_const_f(&p->b, HONE_F32, -1)); }
static hn_val cast_same(place *p) { return hn_cast(&p->b, p->x, HONE_F32); }
static hn_val cast_other(place *p) { return hn_cast(&p->b, p->x, HONE_F16); }
static hn_val full(place *p) { return hn_full(&p->b, HONE_I32, 2, (hn_dim[]){p->n, hn_lit(&p->b, 2)}, 7); }
static hn_val shape(place *p) { return hn_shape_value(&p->b, p->y); }
static hn_val shape_known(place *p) { return hn_shape_value(&p->b, p->x); }
static hn_val swap(place *p) { return hn_swap(&p->b, p->x, -1, 0); }
static hn_val transpose_nothing(place *p) { return hn_transpose(&p->b, p->x, (int64_t[]){0, 1, 2}); }
static hn_val unsqueeze(place *p) { return hn_unsqueeze(&p->b, p->y, -1); }
static hn_val squeeze(place *p) { return hn_squeeze(&p->b, p->m, 1); }
static hn_val squeeze_wrong(place *p) { return hn_squeeze(&p->b, p->x, 1); }
static hn_val axis_wrong(place *p) { return hn_flip(&p->b, p->x, 3); }
static hn_val slice(place *p) { return hn_slice_axis(&p->b, p->x, 2, hn_lit(&p->b, 1), hn_lit(&p->b, 2), 2); }
static hn_val slice_whole(place *p) { return hn_slice_axis(&p->b, p->y, 0, hn_lit(&p->b, 0), p->n, 1); }
static hn_val flip(place *p) { return hn_flip(&p->b, p->y, 0); }
static hn_val pad(place *p) { return hn_pad_axis(&p->b, p->y, 0, hn_lit(&p->b, 1), p->k, 0.25); }
static hn_val pad_nothing(place *p) { return hn_pad_axis(&p->b, p->y, 0, hn_lit(&p->b, 0), hn_lit(&p->b, 0), 1); }
static hn_val concat(place *p) { return hn_concat(&p->b, 2, (hn_val[]){p->y, p->y}, -2); }
static hn_val gather(place *p) { return hn_gather(&p->b, p->x, p->v, -1); }
static hn_val reduce_axes(place *p) { return hn_reduce(&p->b, HN_OP_RMAX, p->x, 3, (int64_t[]){-1, 0, 2}, false); }
static hn_val reduce_nothing(place *p) { return hn_reduce(&p->b, HN_OP_RSUM, p->x, 0, NULL, false); }
static hn_val mean(place *p) { return hn_mean(&p->b, p->x, 2, (int64_t[]){1, 2}, false); }
static hn_val mean_symbolic(place *p) { return hn_mean(&p->b, p->y, 1, (int64_t[]){0}, true); }
static hn_val mean_half(place *p) { return hn_mean(&p->b, cast_other(p), 1, (int64_t[]){2}, true); }
static hn_val softmax(place *p) { return hn_softmax(&p->b, p->y, -1); }
static hn_val matmul(place *p) { return hn_matmul(&p->b, p->x, hn_swap(&p->b, p->y, 0, 1), HONE_F32); }
static hn_val matmul_batch(place *p) {
    hn_val one = hn_unsqueeze(&p->b, hn_unsqueeze(&p->b, p->y, 0), 0), x = hn_swap(&p->b, p->x, 1, 2);
    return hn_matmul(&p->b, one, x, HONE_F32); /* [1, 1, n, 4] with [2, 4, 3] */
}
static hn_val matmul_vector(place *p) { return hn_matmul(&p->b, p->x, hn_const_f(&p->b, HONE_F32, 1), HONE_F32); }
static hn_val missing(place *p) { return hn_bin(&p->b, HN_OP_ADD, p->x, 0); }

static const struct {
    const char *name;
    hn_val (*make)(place *);
    const char *want; /* the nodes, or the message */
} built[] = {
    {"add_broadcasts", add_broadcasts,
     "%4 = sum %1 {axes = [1], keep = 1} : f32[n, 1]\n"
     "%5 = broadcast %4 {shape = [n, 4], map = [0, 1]} : f32[n, 4]\n"
     "%6 = add %1, %5 : f32[n, 4]\n"
     "output %6 \"r\"\n"},
    {"add_scalar", add_scalar,
     "%4 = const {value = f32[] (0x1p-1)}\n"
     "%5 = broadcast %4 {shape = [2, 3, 4], map = []} : f32[2, 3, 4]\n"
     "%6 = mul %0, %5 : f32[2, 3, 4]\n"
     "output %6 \"r\"\n"},
    {"scalar_sub", scalar_sub,
     "%4 = const {value = f32[] (0x1p+0)}\n"
     "%5 = broadcast %4 {shape = [n, 4], map = []} : f32[n, 4]\n"
     "%6 = sub %5, %1 : f32[n, 4]\n"
     "output %6 \"r\"\n"},
    {"add_assumes", add_assumes,
     "equal 3, n\n"
     "%4 = broadcast %1 {shape = [2, 3, 4], map = [1, 2]} : f32[2, 3, 4]\n"
     "%5 = add %0, %4 : f32[2, 3, 4]\n"
     "output %5 \"r\"\n"},
    {"add_cannot", add_cannot, "the shapes of the inputs cannot be broadcast together"},
    {"where", where,
     "%4 = const {value = f32[] (-0x1p+0)}\n"
     "%5 = broadcast %3 {shape = [n, 4], map = [0, 1]} : bool[n, 4]\n"
     "%6 = broadcast %4 {shape = [n, 4], map = []} : f32[n, 4]\n"
     "%7 = select %5, %1, %6 : f32[n, 4]\n"
     "output %7 \"r\"\n"},
    {"cast_same", cast_same, "output %0 \"r\"\n"},
    {"cast_other", cast_other,
     "%4 = cast %0 {dtype = f16, saturate = 1} : f16[2, 3, 4]\n"
     "output %4 \"r\"\n"},
    {"full", full,
     "%4 = const {value = i32[] (7)}\n"
     "%5 = broadcast %4 {shape = [n, 2], map = []} : i32[n, 2]\n"
     "output %5 \"r\"\n"},
    {"shape", shape,
     "%4 = dims {shape = [n, 4]} : i64[2]\n"
     "output %4 \"r\"\n"},
    {"shape_known", shape_known,
     "%4 = const {value = i64[3] (2, 3, 4)}\n"
     "output %4 \"r\"\n"},
    {"swap", swap,
     "%4 = transpose %0 {perm = [2, 1, 0]} : f32[4, 3, 2]\n"
     "output %4 \"r\"\n"},
    {"transpose_nothing", transpose_nothing, "output %0 \"r\"\n"},
    {"unsqueeze", unsqueeze,
     "%4 = reshape %1 {shape = [n, 4, 1]} : f32[n, 4, 1]\n"
     "output %4 \"r\"\n"},
    {"squeeze", squeeze,
     "%4 = reshape %3 {shape = [n]} : bool[n]\n"
     "output %4 \"r\"\n"},
    {"squeeze_wrong", squeeze_wrong, "'reshape' of f32[2, 3, 4]: number of elements: 24 differs from 8"},
    {"axis_wrong", axis_wrong, "axis 3 is outside rank 3"},
    {"slice", slice,
     "%4 = slice %0 {shape = [2, 3, 2], start = [0, 0, 1], step = [1, 1, 2]} : f32[2, 3, 2]\n"
     "output %4 \"r\"\n"},
    {"slice_whole", slice_whole, "output %1 \"r\"\n"},
    {"flip", flip,
     "%4 = slice %1 {shape = [n, 4], start = [n - 1, 0], step = [-1, 1]} : f32[n, 4]\n"
     "output %4 \"r\"\n"},
    {"pad", pad,
     "%4 = const {value = f32[] (0x1p-2)}\n"
     "%5 = pad %1, %4 {low = [1, 0], high = [k, 0], mode = constant} : f32[k + n + 1, 4]\n"
     "output %5 \"r\"\n"},
    {"pad_nothing", pad_nothing, "output %1 \"r\"\n"},
    {"concat", concat,
     "%4 = concat %1, %1 {axis = 0} : f32[2*n, 4]\n"
     "output %4 \"r\"\n"},
    {"gather", gather,
     "%4 = gather %0, %2 {axis = 2, batch = 0} : f32[2, 3, 3]\n"
     "output %4 \"r\"\n"},
    {"reduce_axes", reduce_axes,
     "%4 = reduce_max %0 {axes = [0, 2], keep = 0} : f32[3]\n"
     "output %4 \"r\"\n"},
    {"reduce_nothing", reduce_nothing, "output %0 \"r\"\n"},
    {"mean", mean,
     "%4 = sum %0 {axes = [1, 2], keep = 0} : f32[2]\n"
     "%5 = const {value = f32[] (0x1.8p+3)}\n"
     "%6 = broadcast %5 {shape = [2], map = []} : f32[2]\n"
     "%7 = div %4, %6 : f32[2]\n"
     "output %7 \"r\"\n"},
    {"mean_symbolic", mean_symbolic,
     "%4 = sum %1 {axes = [0], keep = 1} : f32[1, 4]\n"
     "%5 = dims {shape = [n]} : i64[1]\n"
     "%6 = reshape %5 {shape = []} : i64[]\n"
     "%7 = cast %6 {dtype = f32, saturate = 1} : f32[]\n"
     "%8 = broadcast %7 {shape = [1, 4], map = []} : f32[1, 4]\n"
     "%9 = div %4, %8 : f32[1, 4]\n"
     "output %9 \"r\"\n"},
    {"mean_half", mean_half,
     "%4 = cast %0 {dtype = f16, saturate = 1} : f16[2, 3, 4]\n"
     "%5 = cast %4 {dtype = f32, saturate = 1} : f32[2, 3, 4]\n"
     "%6 = sum %5 {axes = [2], keep = 1} : f32[2, 3, 1]\n"
     "%7 = const {value = f32[] (0x1p+2)}\n"
     "%8 = broadcast %7 {shape = [2, 3, 1], map = []} : f32[2, 3, 1]\n"
     "%9 = div %6, %8 : f32[2, 3, 1]\n"
     "%10 = cast %9 {dtype = f16, saturate = 1} : f16[2, 3, 1]\n"
     "output %10 \"r\"\n"},
    {"softmax", softmax,
     "%4 = reduce_max %1 {axes = [1], keep = 1} : f32[n, 1]\n"
     "%5 = broadcast %4 {shape = [n, 4], map = [0, 1]} : f32[n, 4]\n"
     "%6 = sub %1, %5 : f32[n, 4]\n"
     "%7 = exp %6 : f32[n, 4]\n"
     "%8 = sum %7 {axes = [1], keep = 1} : f32[n, 1]\n"
     "%9 = broadcast %8 {shape = [n, 4], map = [0, 1]} : f32[n, 4]\n"
     "%10 = div %7, %9 : f32[n, 4]\n"
     "output %10 \"r\"\n"},
    {"matmul", matmul,
     "%4 = transpose %1 {perm = [1, 0]} : f32[4, n]\n"
     "%5 = contract %0, %4 {dtype = f32, lhs = [0, 16, 18], rhs = [18, 17], out = [0, 16, 17]} : f32[2, 3, n]\n"
     "output %5 \"r\"\n"},
    {"matmul_batch", matmul_batch,
     "%4 = reshape %1 {shape = [1, n, 4]} : f32[1, n, 4]\n"
     "%5 = reshape %4 {shape = [1, 1, n, 4]} : f32[1, 1, n, 4]\n"
     "%6 = transpose %0 {perm = [0, 2, 1]} : f32[2, 4, 3]\n"
     "%7 = reshape %5 {shape = [1, n, 4]} : f32[1, n, 4]\n"
     "%8 = contract %7, %6 {dtype = f32, lhs = [0, 16, 18], rhs = [1, 18, 17], out = [0, 1, 16, 17]} : f32[1, 2, n, "
     "3]\n"
     "output %8 \"r\"\n"},
    {"matmul_vector", matmul_vector, "a matrix product needs inputs of rank 1 or more"},
    {"missing", missing, "an input is missing"},
};

/* The nodes of the block and the result, one a line, or the failure. */
static void show(place *p, hn_val v, hn_str *out) {
    hn_str all = {0};
    if (!hn_graph_ok(p->b.g)) {
        hn_str_add(out, p->b.g->err.text);
        return;
    }
    hn_result(p->b.g, 0, v, "r");
    hn_print(p->b.g, &all);
    char *save = NULL;
    for (char *line = strtok_r(all.text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (*line != '%' && strncmp(line, "output", 6) != 0 && strncmp(line, "equal", 5) != 0 &&
            strncmp(line, "bind", 4) != 0)
            continue;
        hn_str_add(out, line);
        hn_str_add(out, "\n");
    }
    hn_str_free(&all);
}

static void builds(void) {
    for (size_t i = 0; i < sizeof built / sizeof *built; i++) {
        place p = open_place();
        hn_str got = {0};
        char name[100];
        show(&p, built[i].make(&p), &got);
        snprintf(name, sizeof name, "build/%s", built[i].name);
        is_text(got.text, built[i].want, name);
        hn_str_free(&got);
        hn_graph_free(p.b.g);
    }
}

/* --- what is known ---- */

static hn_val at(place *p, hn_val v, int64_t i) { return hn_gather(&p->b, v, hn_const_i(&p->b, HONE_I64, i), 0); }
static hn_val one_of(place *p, hn_val scalar) { return hn_reshape(&p->b, scalar, 1, (hn_dim[]){hn_lit(&p->b, 1)}); }
static hn_val ints(place *p, int64_t a, int64_t b) { return hn_const_ints(&p->b, 2, (int64_t[]){a, b}); }

static hn_val known_shape(place *p) { return hn_shape_value(&p->b, p->y); }
static hn_val known_gathered(place *p) { return at(p, hn_shape_value(&p->b, p->y), -2); }
static hn_val known_arithmetic(place *p) {
    hn_val s = hn_shape_value(&p->b, p->y);
    s = hn_bin(&p->b, HN_OP_MUL, s, ints(p, 2, 3));
    return hn_bin(&p->b, HN_OP_DIV, hn_bin(&p->b, HN_OP_ADD, s, ints(p, 1, 1)), ints(p, 2, 2));
}
static hn_val known_concat(place *p) {
    hn_val n = at(p, hn_shape_value(&p->b, p->y), 0);
    hn_val parts[] = {one_of(p, n), ints(p, -1, 12), one_of(p, hn_bin_f(&p->b, HN_OP_MUL, n, 3))};
    return hn_concat(&p->b, 3, parts, 0);
}
static hn_val known_cast(place *p) { return hn_cast(&p->b, hn_shape_value(&p->b, p->y), HONE_I32); }
static hn_val known_reversed(place *p) { return hn_flip(&p->b, hn_shape_value(&p->b, p->y), 0); }
static hn_val known_transposed(place *p) {
    hn_val s = hn_shape_value(&p->b, p->y), parts[] = {s, ints(p, 7, 8)};
    hn_dim two = hn_lit(&p->b, 2), four = hn_lit(&p->b, 4);
    hn_val t = hn_reshape(&p->b, hn_concat(&p->b, 2, parts, 0), 2, (hn_dim[]){two, two});
    return hn_reshape(&p->b, hn_swap(&p->b, t, 0, 1), 1, &four);
}
static hn_val known_where(place *p) { /* the exporters' expand: -1 keeps the size */
    hn_val want = ints(p, -1, 5), s = hn_shape_value(&p->b, p->y);
    return hn_where(&p->b, hn_bin(&p->b, HN_OP_EQ, want, hn_const_i(&p->b, HONE_I64, -1)), s, want);
}
static hn_val known_product(place *p) { return hn_reduce1(&p->b, HN_OP_RPROD, hn_shape_value(&p->b, p->y), 0, false); }
static hn_val known_max(place *p) { return hn_bin(&p->b, HN_OP_MAX, hn_shape_value(&p->b, p->y), ints(p, 0, 8)); }
static hn_val known_constant(place *p) { return hn_bin(&p->b, HN_OP_MOD, ints(p, -7, 9), ints(p, 4, 4)); }
static hn_val unknown_input(place *p) { return p->v; }
static hn_val unknown_float(place *p) { return hn_cast(&p->b, hn_shape_value(&p->b, p->y), HONE_F32); }
static hn_val unknown_rank(place *p) { return p->x; }

static const struct {
    const char *name;
    hn_val (*make)(place *);
    const char *want;
} known[] = {
    {"shape", known_shape, "n, 4"},
    {"gather", known_gathered, "n"},
    {"arithmetic", known_arithmetic, "n, 6"},
    {"concat", known_concat, "n, -1, 12, 3*n"},
    {"cast", known_cast, "n, 4"},
    {"reversed", known_reversed, "4, n"},
    {"transposed", known_transposed, "n, 7, 4, 8"},
    {"where", known_where, "n, 5"},
    {"product", known_product, "4*n"},
    {"max", known_max, "n, 8"},
    {"constant", known_constant, "1, 1"},
    {"input_is_not", unknown_input, "?"},
    {"float_is_not", unknown_float, "?"},
    {"matrix_is_not", unknown_rank, "?"},
};

static void show_dims(place *p, bool found, const hn_dim *d, size_t n, hn_str *out) {
    if (!found) hn_str_add(out, "?");
    for (size_t i = 0; found && i < n; i++) {
        if (i) hn_str_add(out, ", ");
        hn_dim_print(p->b.g->dims, d[i], out);
    }
}

static void knows(void) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        place p = open_place();
        hn_str got = {0};
        hn_dim d[8];
        size_t n = 0;
        char name[100];
        hn_val v = known[i].make(&p);
        bool found = hn_known_dims(&p.b, v, d, 8, &n);
        show_dims(&p, found, d, n, &got);
        snprintf(name, sizeof name, "build/known_%s", known[i].name);
        is_text(hn_graph_ok(p.b.g) ? got.text : p.b.g->err.text, known[i].want, name);
        hn_str_free(&got);
        hn_graph_free(p.b.g);
    }
}

static void known_tensors(void) {
    place p = open_place();
    hn_builder *b = &p.b;
    hn_val two = hn_const_f(b, HONE_F32, 2),
           sum = hn_bin_f(b, HN_OP_ADD, hn_un(b, HN_OP_SQRT, hn_bin(b, HN_OP_MUL, two, two)), 1);
    const hn_tensor *t = hn_known_tensor(b, sum);
    ok(t && hn_get_f(t, 0) == 3, "build/known_tensor_of_a_tree");
    ok(hn_known_tensor(b, sum) == t && hn_def(b->g, sum)->op == HN_OP_CONST, "build/known_tensor_is_kept");
    ok(!hn_known_tensor(b, hn_bin(b, HN_OP_ADD, p.x, hn_broadcast_to(b, two, 3, hn_t(b, p.x)->dim))),
       "build/input_is_not_known");
    ok(!hn_known_tensor(b, hn_full(b, HONE_F32, 2, (hn_dim[]){hn_lit(b, 2000), hn_lit(b, 2000)}, 1)),
       "build/large_tensor_is_not_evaluated");
    ok(!hn_known_tensor(b, hn_shape_value(b, p.y)), "build/symbolic_shape_is_no_tensor");
    ok(!hn_known_tensor(b, 0), "build/no_value_is_no_tensor");
    hn_graph_free(b->g);
}

static void binds(void) {
    place p = open_place();
    hn_str got = {0};
    hn_dim d[8];
    size_t n = 0;
    hn_val n_of = at(&p, hn_shape_value(&p.b, p.y), 0), parts[] = {one_of(&p, n_of), p.v};
    hn_val mixed = hn_concat(&p.b, 2, parts, 0);
    bool found = hn_bind_dims(&p.b, mixed, "size", d, 8, &n);
    show_dims(&p, found, d, n, &got);
    is_text(got.text, "n, size0, size1, size2", "build/bind_names_what_is_unknown");
    hn_str_free(&got);
    hn_dim again[8];
    ok(hn_bind_dims(&p.b, mixed, "other", again, 8, &n) && !memcmp(d, again, n * sizeof *d), "build/bind_is_done_once");
    ok(!hn_bind_dims(&p.b, p.x, "size", d, 8, &n), "build/bind_needs_a_vector");
    show(&p, hn_iota(&p.b, HONE_I64, n, again, 0), &got);
    ok(strstr(got.text, "defines = [size0, size1, size2]") && hn_verify(p.b.g, NULL) == HONE_OK,
       "build/bind_is_a_node");
    hn_str_free(&got);
    hn_graph_free(p.b.g);
}

int main(void) {
    builds();
    knows();
    known_tensors();
    binds();
    return done_testing();
}
