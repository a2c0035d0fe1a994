/* Splits of programs between host and device: no other assignment of kernels takes less, by placing each and adding up
 * its copies; and what is split passes the verifier, with branches, loops and states. HONE_SEED=N runs one alone. */
#include "base/rng.h"
#include "program/program.h"
#include "tap.h"

enum { N_PROGRAMS = 60, MOST = 6, ITEM_B = 4096 };

typedef struct drawn {
    hn_str text;
    uint32_t n;
    double host_s[MOST], device_s[MOST];
    bool stays[MOST];
    int64_t symbol[4];
    hn_split_costs costs;
} drawn;

static double draw_s(hn_rng *r, int most_us) { return 1e-6 * (1 + (double)hn_rng_below(r, (uint64_t)most_us)); }

/* Kernel i makes value 3 + i of some before it; values 1 and 2 are inputs. Some kernels are used twice. */
static void draw(uint64_t seed, drawn *d) {
    hn_rng r = hn_rng_make(seed, 5);
    hn_str steps = {0}, *out = &d->text;
    *d = (drawn){.n = 2 + (uint32_t)hn_rng_below(&r, MOST - 1), .symbol = {3}};
    uint32_t n_launch = d->n + (uint32_t)hn_rng_below(&r, 3), n_out = 1 + (uint32_t)hn_rng_below(&r, 2);
    hn_str_add(out, "program \"drawn\"\nsymbol n 1 .. 8\n");
    for (uint32_t i = 0; i < d->n; i++)
        hn_str_addf(out, "kernel %u \"k%u\" \"map\" %s\n", i, i, hn_rng_below(&r, 8) ? "device 1" : "host");
    hn_str_addf(out, "arena bounded %u\n", n_launch * ITEM_B);
    for (uint32_t i = 0; i < n_launch; i++)
        hn_str_addf(out, "item %u size %d at %u alive 0 .. 99\n", i, ITEM_B, i * ITEM_B);
    hn_str_add(out, "%1 = f32[n, 64] host input 0 \"x\"\n%2 = f32[n] host input 1 \"z\"\n");
    for (uint32_t i = 0; i < n_launch; i++) {
        uint32_t a = 1 + (uint32_t)hn_rng_below(&r, 2 + i), b = 1 + (uint32_t)hn_rng_below(&r, 2 + i);
        uint32_t kernel = i < d->n ? i : (uint32_t)hn_rng_below(&r, d->n);
        hn_str_addf(out, "%%%u = f32[n, %u] host arena %u", 3 + i, 1 + (uint32_t)hn_rng_below(&r, 100), i);
        if (i + n_out >= n_launch) hn_str_addf(out, " or output %u", n_launch - 1 - i);
        hn_str_add(out, "\n");
        hn_str_addf(&steps, "    launch %u (%%%u, %%%u) -> (%%%u) work n cost n scratch 0\n", kernel, a, b, 3 + i);
    }
    for (uint32_t j = 0; j < n_out; j++) hn_str_addf(out, "output %u \"y%u\" = %%%u\n", j, j, 3 + n_launch - 1 - j);
    hn_str_addf(out, "sizes {\n    size n = %%1[0]\n}\nsteps {\n%s}\n", steps.text);
    hn_str_free(&steps);
    for (uint32_t i = 0; i < d->n; i++) d->host_s[i] = draw_s(&r, 40), d->device_s[i] = draw_s(&r, 20);
    for (uint32_t i = 0; i < d->n; i++) d->stays[i] = hn_rng_below(&r, 10) == 0;
    d->costs = (hn_split_costs){d->host_s,      d->device_s,
                                d->stays,       d->symbol,
                                draw_s(&r, 10), 1e6 * draw_s(&r, 200) * 1e6,
                                draw_s(&r, 10), 1e6 * draw_s(&r, 200) * 1e6};
}

static double bytes_of(const hn_program *p, hn_val v, const int64_t *symbol) {
    double n = 4;
    for (size_t i = 0; i < p->value[v].type.rank; i++) {
        int64_t x = 0;
        hn_dim_eval(p->dims, p->value[v].type.dim[i], symbol, &x);
        n *= (double)x;
    }
    return n;
}

/* Seconds of a run with the kernels of these bits on the host, by what placing makes of it; -1: not allowed. */
static double placed(const drawn *d, uint32_t bits, uint32_t *n_copies) {
    hn_program p = {0};
    hone_err err = {0};
    double sum = 0;
    bool good = !hn_program_parse(d->text.text, d->text.n, "t", &p, &err);
    for (uint32_t k = 0; good && k < d->n; k++) {
        bool host = bits >> k & 1;
        if (p.kernel[k].space == HN_HOST ? !host : host && d->stays[k]) good = false;
        p.kernel[k].space = host ? HN_HOST : HN_DEVICE;
    }
    good = good && !hn_program_place(&p, &err) && !hn_program_check(&p, &err);
    const hn_step_block *b = good ? &p.block[HN_STEPS_BLOCK] : NULL;
    if (!good && *err.text) printf("# kernels %x on the host: %s\n", bits, err.text);
    *n_copies = good ? hn_program_crossings(&p, NULL, 0) : 0;
    for (uint32_t i = 0; b && i < b->n; i++) {
        const hn_step *s = &b->step[i];
        if (s->kind == HN_STEP_LAUNCH)
            sum += (bits >> s->kernel & 1 ? d->host_s : d->device_s)[s->kernel];
        else if (p.value[s->out[0]].space == HN_DEVICE)
            sum += d->costs.put_s + bytes_of(&p, s->in[0], d->symbol) / d->costs.put_bps;
        else
            sum += d->costs.get_s + bytes_of(&p, s->in[0], d->symbol) / d->costs.get_bps;
    }
    hn_program_free(&p);
    return good ? sum : -1;
}

static void test_least(uint64_t seed) {
    drawn d;
    hn_program p = {0};
    hn_arena a = {0};
    hn_split s = {0};
    hone_err err = {0};
    draw(seed, &d);
    bool good =
        !hn_program_parse(d.text.text, d.text.n, "t", &p, &err) && !hn_program_split(&p, &d.costs, &a, &s, &err);
    double least = -1, mine = -1;
    uint32_t copies = 0, bits = 0;
    for (uint32_t k = 0; good && k < d.n; k++) bits |= (uint32_t)s.on_host[k] << k;
    for (uint32_t x = 0; good && x < 1u << d.n; x++) {
        double t = placed(&d, x, &copies);
        if (t >= 0 && (least < 0 || t < least)) least = t;
    }
    if (good) mine = placed(&d, bits, &copies);
    ok(good && mine > 0 && mine < least + 1e-10 && s.split_s > mine - 1e-10 && s.split_s < mine + 1e-10 &&
           copies == s.n_copies && s.n_host + s.n_device == d.n,
       "split/least_of_all %llu: %g of %g, %u copies, %s", (unsigned long long)seed, mine, least, copies, err.text);
    if (getenv("HONE_SEED")) printf("# %s\n", d.text.text);
    hn_program_free(&p);
    hn_arena_free(&a);
    hn_str_free(&d.text);
}

/* Branches, loops that stack, sizes read, a state: whatever the costs, what is split can be placed. */
static const char control[] =
    "program \"all\"\nsymbol n 1 .. 8\nsymbol t 0 ..\nsymbol p 0 ..\nsymbol k 0 ..\n"
    "kernel 0 \"k0\" \"map\" device 1\nkernel 1 \"k1\" \"map\" device 1\nkernel 2 \"k2\" \"map\" device 1\n"
    "kernel 3 \"k3\" \"map\" device 1\nkernel 4 \"k4\" \"opaque\" device 1\n"
    "arena bounded 1024\n"
    "item 0 size 128 at 0 alive 0 .. 99\nitem 1 size 128 at 128 alive 0 .. 99\nitem 2 size 8 at 256 alive 0 .. 99\n"
    "item 3 size 1 at 320 alive 0 .. 99\nitem 4 size 128 at 384 alive 0 .. 99\nitem 5 size 8 at 512 alive 0 .. 99\n"
    "item 6 size 128 at 576 alive 0 .. 99\nitem 7 size 1 at 704 alive 0 .. 99\nitem 8 size 128 at 768 alive 0 .. 99\n"
    "%1 = f32[n, 4] host input 0 \"x\"\n%2 = bool[] host input 1 \"c\"\n%3 = f32[4] host weights 0\n"
    "%4 = f32[n, 4] host arena 0\n%5 = f32[n, 4] host arena 1\n%6 = f32[4*n] host view %5\n"
    "%7 = i64[] host arena 2\n%8 = bool[] host arena 3\n%9 = f32[n, 4] host arena 4\n"
    "%10 = f32[t, n, 4] host grown 0\n%11 = i64[1] host arena 5\n%12 = f32[n, 4] host arena 6 or output 0\n"
    "%13 = bool[] host arena 7\n%14 = f32[p, 4] host state 0\n%15 = f32[n + p, 4] host state 0\n"
    "%16 = f32[n, 4] host state 1\n%17 = f32[n, 4] host next 1\n%18 = f32[n, 4] host arena 8\n"
    "%19 = f32[k] host grown 1 room 4*n\n"
    "output 0 \"y\" = %12\noutput 1 \"z\" = %10\noutput 2 \"w\" = %19\n"
    "state 0 \"past\" \"present\" = %14 -> %15\nstate 1 \"h\" \"h2\" = %16 -> %17\n"
    "sizes {\n    size n = %1[0]\n    size p = %14[0]\n}\n"
    "steps {\n"
    "    launch 0 (%1, %3) -> (%4) work 4*n cost 4*n scratch 0\n"
    "    launch 1 (%4) -> (%5) work 4*n cost 4*n scratch 0\n"
    "    store %11 = (n)\n"
    "    launch 0 (%6, %11) -> (%9) work n cost n scratch 0\n"
    "    state %15 = %14, %9\n"
    "    launch 3 (%16, %9) -> (%17) work n cost n scratch 0\n"
    "    launch 2 (%9) -> (%13) work 1 cost 1 scratch 0\n"
    "    if %2 {\n        copy %12 = %6\n        launch 1 (%9) -> (%18) work n cost n scratch 0\n"
    "    } else {\n        copy %12 = %9\n        launch 0 (%9, %4) -> (%18) work n cost n scratch 0\n    }\n"
    "    loop %7, %8 turns none while %13 counts t {\n"
    "        launch 2 (%7, %18) -> (%13) work 1 cost 1 scratch 0\n"
    "        launch 1 (%18) -> (%9) work n cost n scratch 0\n"
    "        again %13\n        stack %10 = %9\n    }\n"
    "    launch 4 (%9) -> (%19) defines k work 1 cost n scratch 0\n"
    "}\n";

static bool split_control(hn_rng *r, uint32_t *n_host, hone_err *err) {
    hn_program p = {0};
    hn_arena a = {0};
    hn_split s = {0};
    double host_s[5], device_s[5];
    const int64_t symbol[] = {3, 2, 2, 2};
    for (int k = 0; k < 5; k++) host_s[k] = draw_s(r, 60), device_s[k] = draw_s(r, 20);
    const hn_split_costs c = {host_s, device_s, NULL, symbol, draw_s(r, 4), 1e10, draw_s(r, 4), 1e10};
    bool good = !hn_program_parse(control, sizeof control - 1, "t", &p, err) && !hn_program_split(&p, &c, &a, &s, err);
    for (uint32_t k = 0; good && k < p.n_kernel; k++) p.kernel[k].space = s.on_host[k] ? HN_HOST : HN_DEVICE;
    good = good && !hn_program_place(&p, err) && !hn_program_check(&p, err);
    *n_host = s.n_host;
    hn_program_free(&p);
    hn_arena_free(&a);
    return good;
}

static void test_control(void) {
    hn_rng r = hn_rng_make(7, 7);
    hone_err err = {0};
    uint32_t seen = 0, n_bad = 0, n_host;
    for (int i = 0; i < 100; i++) {
        n_bad += !split_control(&r, &n_host, &err);
        seen |= 1u << n_host;
    }
    ok(!n_bad, "split/control_flow_and_states_can_be_placed: %u not, %s", n_bad, err.text);
    ok(__builtin_popcount(seen) > 3, "split/and_differ_by_costs: %x", seen);
}

int main(void) {
    const char *only = getenv("HONE_SEED");
    for (uint64_t seed = 1; !only && seed <= N_PROGRAMS; seed++) test_least(seed);
    if (only) test_least(strtoull(only, NULL, 10));
    test_control();
    return done_testing();
}
