/* compile/split.c — what kernels and copies cost on the device and on the host, for the split of a program.
 *
 * A call takes as long as the largest of: its bytes by the bandwidth, its arithmetic by the peak, its steps by how many
 * of them the work items take at once; and a launch. Peaks and copies are measured figures (hone/places.h,
 * hone/device.h) where there are any, else those of an ordinary device, which the text says. Speeds of one work item
 * are assumed; they matter where a kernel has few, such as sorting.
 */
#include "compile/split.h"

#include "compile/winner.h"

#include <hone/device.h>
#include <hone/places.h>

#include <stdio.h>
#include <string.h>

/* What one side does. */
typedef struct side {
    double flops, bps;    /* together */
    double items, item_s; /* work items that run at once; seconds of a step of one */
    double launch_s;
} side;
typedef struct figures {
    side host, device;
    hone_place_rates rates;
    char of[200]; /* whose they are */
} figures;

static double or_else(double x, double usual) { return x > 0 ? x : usual; }

static side host_side(void) {
    hone_device d;
    hone_device_get(&d);
    double cores = d.n_cores ? d.n_cores : 1;
    return (side){.flops = or_else(d.all_f32_flops, cores * 5e10),
                  .bps = or_else(d.all_memory_bps, 1.5e10),
                  .items = cores,
                  .item_s = 2e-10, /* vectors of some lanes */
                  .launch_s = 1e-6};
}

/* The place that options->split names, where it is of the model's driver; else that driver's first. */
static bool find_place(const hn_model *m, hone_place *out) {
    const char *driver = m->dialect->backend->driver, *asked = m->options->split;
    size_t n = strlen(driver);
    bool named = !strncmp(asked, driver, n) && (!asked[n] || asked[n] == ':');
    return !hone_place_find(named ? asked : driver, out, NULL);
}

static void find_figures(const hn_model *m, figures *f) {
    hone_place p = {.n_units = 60, .n_threads = 1024};
    bool here = find_place(m, &p), measured = here && !hone_place_rates_read(&p, NULL, &f->rates, NULL);
    hone_place_rates *r = &f->rates;
    if (!measured) *r = (hone_place_rates){0};
    snprintf(f->of, sizeof f->of, measured ? "measured figures of %.120s" : "assumed figures of a device%s",
             measured ? p.device
             : here   ? "; hone doctor --measure measures this one"
                      : "");
    r->put_bps = or_else(r->put_bps, p.is_cpu ? 5e9 : 1e10), r->get_bps = or_else(r->get_bps, p.is_cpu ? 5e9 : 1e10);
    r->put_s = or_else(r->put_s, 1e-5), r->get_s = or_else(r->get_s, 1e-5);
    double at_once = p.is_cpu ? p.n_units : 1024. * (p.n_units ? p.n_units : 60);
    f->host = host_side();
    f->device = (side){.flops = or_else(r->f32_flops, p.is_cpu ? 2e10 : 1e13),
                       .bps = or_else(r->read_bps, p.is_cpu ? 1e10 : 5e11),
                       .items = at_once,
                       .item_s = p.is_cpu ? 1e-9 : 5e-9,
                       .launch_s = or_else(r->launch_s, 5e-6)};
}

static double amount(const hn_model *m, hn_dim d, const int64_t *symbol) {
    int64_t x;
    return d && hn_dim_eval(m->g->dims, d, symbol, &x) && x > 0 ? (double)x : 0;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* Seconds of a call. */
static double call_s(const hn_model *m, const hn_kernel *k, const int64_t *symbol, const side *s, bool device) {
    int64_t work = 1;
    if (!hn_work_eval(m->g, &k->code, symbol, &work) || work < 1) work = 1;
    double items = (double)work * (device && k->code.device.block_items ? k->code.device.threads : 1);
    if (device && k->code.device.cluster) items *= k->code.device.cluster;
    double steps = amount(m, k->cost.steps, symbol);
    double bytes = amount(m, k->cost.read_b, symbol) + amount(m, k->cost.write_b, symbol);
    double time_s = larger(bytes / s->bps, amount(m, k->cost.flops, symbol) / s->flops);
    return s->launch_s + larger(time_s, steps / (items < s->items ? items : s->items) * s->item_s);
}

static const char *time_text(double s, char buf[32]) {
    snprintf(buf, 32, s < 1e-3 ? "%.1f us" : "%.2f ms", s < 1e-3 ? 1e6 * s : 1e3 * s);
    return buf;
}

static hone_rc move_kernels(hn_model *m, const hn_split *split, const hn_split_costs *c, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (uint32_t i = 0; i < m->n_kernel && !rc; i++) {
        char a[32], b[32];
        if (!split->on_host[i] || !hn_kernel_on_device(m, &m->kernel[i])) continue;
        const char *why = hn_format(&m->arena, "split: %s a call here, %s there", time_text(c->host_s[i], a),
                                    time_text(c->device_s[i], b));
        rc = why ? hn_kernel_to_host(m, &m->kernel[i], why, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    for (uint32_t id = 0; id < m->g->n_node; id++)
        if (m->kernel_of[id]) m->facts[id].in_place = m->kernel[m->kernel_of[id] - 1].code.in_place;
    return rc;
}

static void say(hn_model *m, const hn_split *s, const figures *f) {
    char a[32], b[32], c[32];
    m->split =
        hn_format(&m->arena,
                  "%u kernels on the device, %u on the host, %u copies, because a run is expected to take %s so, "
                  "%s on the device, %s on the host (%s)",
                  s->n_device, s->n_host, s->n_copies, time_text(s->split_s, a), time_text(s->device_s, b),
                  time_text(s->host_s, c), f->of);
}

hone_rc hn_split_model(hn_model *m, hone_err *err) {
    figures f;
    hn_split split;
    if (!m->options->split || !hn_is_on_device(m->dialect)) return HONE_OK;
    int64_t *symbol = hn_alloc_n(&m->arena, hn_dims_symbols(m->g->dims) + 1, sizeof *symbol);
    double *host_s = hn_alloc_n(&m->arena, m->n_kernel + 1, sizeof *host_s),
           *device_s = hn_alloc_n(&m->arena, m->n_kernel + 1, sizeof *device_s);
    bool *stays = hn_alloc_n(&m->arena, m->n_kernel + 1, sizeof *stays);
    if (!symbol || !host_s || !device_s || !stays) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hn_model_lower_unplaced(m, err);
    if (rc) return rc;
    find_figures(m, &f);
    hn_usual_sizes(m, symbol);
    for (uint32_t i = 0; i < m->n_kernel; i++) {
        host_s[i] = call_s(m, &m->kernel[i], symbol, &f.host, false);
        device_s[i] = call_s(m, &m->kernel[i], symbol, &f.device, true);
        stays[i] = m->kernel[i].same != NULL; /* an earlier version's function, which is on the device */
    }
    const hn_split_costs costs = {host_s,        device_s,        stays,         symbol,
                                  f.rates.put_s, f.rates.put_bps, f.rates.get_s, f.rates.get_bps};
    rc = hn_program_split(&m->program, &costs, &m->arena, &split, err);
    if (!rc) rc = move_kernels(m, &split, &costs, err);
    if (!rc) say(m, &split, &f);
    return rc;
}
