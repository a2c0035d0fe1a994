/* mixed.c — hone_mixed_search: ranges by every way, prices, the search, the proof of its front on held-out samples. */
#include "mixed/mixed.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/options.h"

#include <hone/stat.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOLD = HONE_PRECISION_HOLD, LEAST_SAMPLES = 8, PARTS = 8 };
static const double usual_error = .01, usual_factor = 1.01;

typedef struct session {
    hn_arena a;
    hone_mixed_options o;
    hone_precision_options precision;
    const hone_graph *g;
    const hone_array *sample;
    size_t n_samples, n_in, n_out;
    size_t *taken, n_taken, *held, n_held; /* which samples */
    hn_calibration_run run;
    uint32_t n_ranges;
    const char *way[HN_N_CALIBRATIONS];
    hn_narrow_plan plan[HN_N_CALIBRATIONS];
    hn_switched program[HN_N_CALIBRATIONS];
    hone_array *exact; /* outputs of all samples */
    hn_kept kept;
    char *digits; /* room for a point's text */
    uint64_t *wide, *slim;
    uint32_t n_evaluated, n_reused;
    double start_s, until_s; /* until_s 0: time is not limited */
    double measured_s;       /* of running n_measured samples and judging them */
    size_t n_measured;
} session;

static hone_rc no_memory(hone_err *err) { return hn_fail(err, HONE_E_NOMEM, "out of memory"); }

static void tell(void *arg, const char *stage, size_t done, size_t total) {
    const session *s = arg;
    hone_event e = {stage, done, total, NAN, NAN, NULL};
    if (s->o.progress.fn) s->o.progress.fn(s->o.progress.arg, &e);
}

/* --- samples and ranges --------------------------------------------------------------------------------------------
 */

static hone_rc divide(session *s, hone_err *err) {
    s->taken = HN_NEW_N(&s->a, size_t, s->n_samples + 1), s->held = HN_NEW_N(&s->a, size_t, s->n_samples + 1);
    if (!hn_arena_ok(&s->a)) return no_memory(err);
    for (size_t i = 0; i < s->n_samples; i++)
        if (i % HOLD == HOLD - 1)
            s->held[s->n_held++] = i;
        else
            s->taken[s->n_taken++] = i;
    return HONE_OK;
}

static hone_rc look_at_samples(session *s, hone_err *err) {
    hone_array *list = HN_NEW_N(&s->a, hone_array, s->n_taken * s->n_in + 1);
    if (!list) return no_memory(err);
    for (size_t k = 0; k < s->n_taken; k++)
        memcpy(list + k * s->n_in, s->sample + s->taken[k] * s->n_in, s->n_in * sizeof *list);
    return hn_calibration_look(&s->run, list, s->n_taken, err);
}

static hone_rc make_plans(session *s, const char *data, hone_err *err) {
    hn_calibration how;
    hone_rc rc = hn_calibration_how(&s->precision, s->n_taken, &how, err);
    for (hn_calibration k = 0; k < HN_N_CALIBRATIONS && !rc; k++) {
        if (s->o.calibrate && k != how) continue;
        hn_narrow_plan *p = &s->plan[s->n_ranges];
        s->way[s->n_ranges++] = hn_calibration_name[k];
        rc = hn_calibration_plan(&s->run, k, data, s->n_taken, p, err);
        p->kind = "mixed";
    }
    return rc;
}

static hone_rc run_exact(session *s, hone_err *err) {
    size_t n_all = (size_t)hone_artifact_model(s->run.program)->n_outputs;
    hone_array *out = HN_NEW_N(&s->a, hone_array, n_all + 1);
    s->exact = HN_NEW_N(&s->a, hone_array, s->n_samples * s->n_out + 1);
    if (!hn_arena_ok(&s->a)) return no_memory(err);
    for (size_t i = 0; i < s->n_samples; i++) {
        hone_rc rc = hone_artifact_run(s->run.program, s->sample + i * s->n_in, s->n_in, out, n_all, err);
        if (rc) return rc;
        memcpy(s->exact + i * s->n_out, out, s->n_out * sizeof *out);
        for (size_t k = s->n_out; k < n_all; k++) hone_free(out[k].data);
    }
    return HONE_OK;
}

static hone_rc count_weights(session *s, hone_err *err) {
    uint32_t n = s->run.n_seen;
    s->wide = HN_NEW_N(&s->a, uint64_t, n + 1), s->slim = HN_NEW_N(&s->a, uint64_t, n + 1);
    s->digits = HN_NEW_N(&s->a, char, n + 1);
    if (!hn_arena_ok(&s->a)) return no_memory(err);
    for (uint32_t i = 0; i < n; i++) {
        const hn_operand *x = &s->run.seen[i];
        uint64_t elements = (uint64_t)hn_tensor_n(x->w);
        s->wide[i] = elements * sizeof(float);
        s->slim[i] = elements + (uint64_t)x->w->dim[x->product.form.axis] * sizeof(float);
        if (x->product.form.own) s->slim[i] = s->wide[i];
    }
    return HONE_OK;
}

/* --- what is kept --------------------------------------------------------------------------------------------------
 */

/* Everything that errors follow from. */
static void key_of(const session *s, const char *data, char key[33]) {
    hn_hash h;
    char answers[33], text[64];
    hn_hash_arrays(s->exact, s->n_samples * s->n_out, answers);
    snprintf(text, sizeof text, "%.17g %d", s->o.percentile, s->o.no_smooth);
    hn_hash_begin(&h);
    for (uint32_t i = 0; i < s->plan[0].n; i++)
        hn_hash_text(&h, s->plan[0].choice[i].name), hn_hash_text(&h, s->plan[0].choice[i].hash);
    hn_hash_text(&h, data), hn_hash_text(&h, answers), hn_hash_text(&h, text);
    hn_hash_text(&h, s->o.metric ? s->o.metric_name : NULL);
    hn_hash_end(&h, key);
}

static hone_rc take_kept(session *s, const char *key, bool *taken, hone_err *err) {
    char *text;
    size_t n;
    hn_kept k;
    if (!s->o.points || !hn_exists(s->o.points)) return HONE_OK;
    hone_rc rc = hn_read_file(s->o.points, &text, &n, err);
    if (rc) return rc;
    rc = hn_kept_parse(text, n, s->o.points, &k, err);
    free(text);
    if (rc) return rc == HONE_E_INPUT && s->o.replace ? HONE_OK : rc;
    if (!strcmp(k.key, key) && k.n_products == s->run.n_seen) return s->kept = k, *taken = true, HONE_OK;
    hn_kept_free(&k);
    if (s->o.replace) return HONE_OK;
    return hn_fail(err, HONE_E_MISMATCH,
                   "'%s' has points of another model, other samples or another metric; name another file or remove it",
                   s->o.points);
}

/* All that is known, so that a line that was cut short is gone. */
static hone_rc write_kept(const session *s, hone_err *err) {
    hn_str out = {0};
    if (!s->o.points) return HONE_OK;
    hn_kept_print_head(&s->kept, &out);
    for (size_t i = 0; i < s->kept.n; i++) hn_kept_print_point(&s->kept.point[i], &out);
    hone_rc rc = out.failed ? no_memory(err) : hn_write_file(s->o.points, out.text, out.n, err);
    hn_str_free(&out);
    return rc;
}

static hone_rc append_kept(session *s, uint32_t ranges, double error, hone_err *err) {
    hn_kept_point p = {s->way[ranges], s->digits, error};
    hn_str out = {0};
    if (!isfinite(error)) return HONE_OK; /* is found out anew */
    hone_rc rc = hn_kept_add(&s->kept, p.ranges, p.narrow, error, err);
    if (rc || !s->o.points) return rc;
    hn_kept_print_point(&p, &out);
    FILE *f = out.failed ? NULL : fopen(s->o.points, "ae");
    bool good = f && fwrite(out.text, 1, out.n, f) == out.n;
    if (f) good = !fclose(f) && good;
    if (!good) rc = hn_fail(err, HONE_E_IO, "cannot write '%s': %s", s->o.points, strerror(errno));
    hn_str_free(&out);
    return rc;
}

static hone_rc open_kept(session *s, const char *data, hone_err *err) {
    char key[33];
    bool taken = false;
    key_of(s, data, key);
    hone_rc rc = take_kept(s, key, &taken, err);
    if (rc || taken) return rc ? rc : write_kept(s, err);
    s->kept.key = hn_strdup(&s->kept.arena, key);
    s->kept.n_products = s->run.n_seen;
    s->kept.change = HN_NEW_N(&s->kept.arena, double, s->run.n_seen + 1);
    if (!hn_arena_ok(&s->kept.arena)) return no_memory(err);
    tell(s, "profile", 0, 1);
    rc = hn_price_products(s->g, &s->plan[0], s->sample, &s->precision, s->kept.change, err);
    return rc ? rc : write_kept(s, err);
}

/* --- errors --------------------------------------------------------------------------------------------------------
 */

static void drop(hone_array *a, size_t n) {
    for (size_t i = 0; i < n; i++) hone_free(a[i].data), a[i].data = NULL;
}

/* Of the output where it is largest. */
static hone_rc distance(const session *s, const hone_array *got, size_t sample, double *out, hone_err *err) {
    double most = 0;
    for (size_t k = 0; k < s->n_out; k++) {
        hone_precision_error e = {0};
        hn_error_sums sums = {0};
        hone_rc rc = hn_error_add(&got[k], &s->exact[sample * s->n_out + k], &e, &sums, err);
        if (rc) return rc;
        hn_error_finish(&e, &sums);
        double x = e.is_float ? e.rms : e.n_elements ? (double)e.n_other / (double)e.n_elements : 0;
        if (e.is_float && e.n_other) x = INFINITY;
        if (e.is_float && sums.squares > 0 && sums.exact_squares <= 0) x = 1;
        most = fmax(most, x);
    }
    *out = most;
    return HONE_OK;
}

static hone_rc open_program(session *s, uint32_t ranges, hone_err *err) {
    if (s->program[ranges].program) return HONE_OK;
    return hn_switched_open(s->g, &s->plan[ranges], &s->precision, &s->program[ranges], err);
}

static hone_rc run_sample(session *s, const bool *narrow, uint32_t ranges, size_t sample, hone_array *out,
                          hone_err *err) {
    if (s->o.stop && *s->o.stop) return hn_fail(err, HONE_E_INTERRUPTED, "interrupted");
    return hn_switched_run(&s->program[ranges], s->sample + sample * s->n_in, narrow, s->run.n_seen, out, err);
}

static hone_rc mean_distance(session *s, const bool *narrow, uint32_t ranges, const size_t *index, size_t n,
                             double *out, hone_err *err) {
    hone_array *got = calloc(s->n_out + 1, sizeof *got);
    hone_rc rc = got ? HONE_OK : no_memory(err);
    double sum = 0, one = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        rc = run_sample(s, narrow, ranges, index[i], got, err);
        if (!rc) rc = distance(s, got, index[i], &one, err);
        sum += one;
        if (got) drop(got, s->n_out);
    }
    free(got);
    if (!rc) *out = sum / (double)n;
    return rc;
}

static hone_rc ask_metric(session *s, const bool *narrow, uint32_t ranges, const size_t *index, size_t n, bool exact,
                          double *out, hone_err *err) {
    hone_array *got = calloc(n * s->n_out + 1, sizeof *got);
    hone_rc rc = got ? HONE_OK : no_memory(err);
    for (size_t i = 0; i < n && !rc; i++) {
        if (exact)
            memcpy(got + i * s->n_out, s->exact + index[i] * s->n_out, s->n_out * sizeof *got);
        else
            rc = run_sample(s, narrow, ranges, index[i], got + i * s->n_out, err);
    }
    if (!rc) rc = s->o.metric(s->o.metric_arg, got, s->n_out, index, n, out, err);
    if (got && !exact) drop(got, n * s->n_out);
    free(got);
    return rc;
}

static hone_rc measure(session *s, const bool *narrow, uint32_t ranges, const size_t *index, size_t n, double *out,
                       hone_err *err) {
    bool exact = !memchr(narrow, true, s->run.n_seen);
    if (exact && !s->o.metric) return *out = 0, HONE_OK;
    hone_rc rc = exact ? HONE_OK : open_program(s, ranges, err);
    double start_s = hn_now_s();
    if (!rc && s->o.metric)
        rc = ask_metric(s, narrow, ranges, index, n, exact, out, err);
    else if (!rc)
        rc = mean_distance(s, narrow, ranges, index, n, out, err);
    s->measured_s += hn_now_s() - start_s, s->n_measured += n;
    return rc;
}

static double proof_s(void *arg) {
    const session *s = arg;
    return s->n_measured ? s->measured_s / (double)s->n_measured * (double)s->n_held : 0;
}

static const hn_kept_point *find_kept(session *s, const bool *narrow, uint32_t ranges) {
    for (uint32_t i = 0; i < s->run.n_seen; i++) s->digits[i] = narrow[i] ? '1' : '0';
    return hn_kept_find(&s->kept, s->way[ranges], s->digits);
}

static bool is_known(void *arg, const bool *narrow, uint32_t ranges) { return find_kept(arg, narrow, ranges) != NULL; }

static hone_rc error_of(void *arg, const bool *narrow, uint32_t ranges, double *out, hone_err *err) {
    session *s = arg;
    const hn_kept_point *known = find_kept(s, narrow, ranges);
    if (known) return s->n_reused++, *out = known->error, HONE_OK;
    hone_rc rc = measure(s, narrow, ranges, s->taken, s->n_taken, out, err);
    s->n_evaluated += !rc;
    return rc ? rc : append_kept(s, ranges, *out, err);
}

/* --- the front, proven ---------------------------------------------------------------------------------------------
 */

/* Held-out samples one by one, or in parts where a metric judges many at once. */
static hone_rc measure_parts(session *s, const hn_mixed_point *x, double *value, size_t n_parts, hone_err *err) {
    size_t *index = HN_NEW_N(&s->a, size_t, s->n_held + 1);
    if (!index) return no_memory(err);
    for (size_t k = 0; k < n_parts; k++) {
        size_t n = 0;
        for (size_t i = k; i < s->n_held; i += n_parts) index[n++] = s->held[i];
        hone_rc rc = measure(s, x->narrow, x->ranges, index, n, &value[k], err);
        if (rc) return rc;
    }
    return HONE_OK;
}

typedef struct proof {
    size_t n_parts;
    double *limit, *value, *over;
} proof;

static hone_rc begin_proof(session *s, const hn_mixed_point *f32, proof *p, hone_err *err) {
    p->n_parts = s->o.metric && s->n_held > PARTS ? PARTS : s->n_held;
    p->limit = HN_NEW_N(&s->a, double, p->n_parts), p->value = HN_NEW_N(&s->a, double, p->n_parts);
    p->over = HN_NEW_N(&s->a, double, p->n_parts);
    if (!hn_arena_ok(&s->a)) return no_memory(err);
    bool of_f32 = s->o.metric && s->o.max_error < 0;
    hone_rc rc = of_f32 ? measure_parts(s, f32, p->limit, p->n_parts, err) : HONE_OK;
    for (size_t k = 0; k < p->n_parts; k++)
        p->limit[k] = of_f32 ? usual_factor * p->limit[k] : s->o.max_error < 0 ? usual_error : s->o.max_error;
    return rc;
}

static hone_rc prove(session *s, proof *p, const hn_mixed_point *x, hone_mixed_point *out, hone_err *err) {
    hone_rc rc = measure_parts(s, x, p->value, p->n_parts, err);
    if (rc) return rc;
    for (size_t k = 0; k < p->n_parts; k++) p->over[k] = p->value[k] - p->limit[k];
    double over = hn_upper_mean(p->over, p->n_parts);
    out->held_error = hone_stat_mean(p->value, p->n_parts);
    out->held_bound = hone_stat_mean(p->limit, p->n_parts) + over;
    out->proven = over <= 0;
    return HONE_OK;
}

/* Testing in a fixed order, from the most exact point to the least, and ending at the first that is not proven: so the
 * tests together are wrong as seldom as one (Maurer et al. 1995). The fastest of those before it. */
static size_t choose(const hone_mixed_front *f) {
    size_t best = 0;
    for (size_t i = 1; i < f->n && f->point[i].error <= f->max_error && f->point[i].proven; i++)
        if (f->point[i].latency < f->point[best].latency) best = i;
    return best;
}

static double applied_error(const session *s, const hn_mixed *m) {
    if (s->o.max_error >= 0) return s->o.max_error;
    return s->o.metric ? usual_factor * m->point[0].error : usual_error;
}

/* When time is over only points that may be chosen are proven. */
static hone_rc prove_front(session *s, hn_mixed *m, hone_mixed_front *f, hn_arena *a, hone_err *err) {
    size_t *list;
    bool may = true;
    proof p;
    f->max_error = applied_error(s, m);
    hone_rc rc = hn_mixed_front(m, &list, &f->n, err);
    if (!rc) rc = begin_proof(s, &m->point[0], &p, err);
    f->point = rc ? NULL : HN_NEW_N(a, hone_mixed_point, f->n + 1);
    if (!rc && !f->point) rc = no_memory(err);
    for (size_t i = 0; i < f->n && !rc; i++) {
        const hn_mixed_point *x = &m->point[list[i]];
        bool *narrow = HN_NEW_N(a, bool, m->of->n + 1);
        if (!narrow) return no_memory(err);
        memcpy(narrow, x->narrow, m->of->n * sizeof *narrow);
        hone_mixed_point *to = &f->point[i];
        *to = (hone_mixed_point){s->way[x->ranges], narrow, 0, x->error, x->latency, x->weights_b, NAN, NAN, false};
        for (uint32_t k = 0; k < m->of->n; k++) to->n_narrow += narrow[k];
        may = may && x->error <= f->max_error;
        if (!may && hn_mixed_late(m->of, 1, 0)) continue;
        tell(s, "proof", i, f->n);
        rc = prove(s, &p, x, to, err);
        may = may && to->proven;
    }
    if (!rc) f->chosen = choose(f);
    return rc;
}

/* --- the result ----------------------------------------------------------------------------------------------------
 */

static hone_rc print_choice(session *s, hone_mixed_front *f, hone_err *err) {
    const hone_mixed_point *x = &f->point[f->chosen];
    hn_str out = {0};
    uint32_t k = 0;
    while (s->way[k] != x->calibrate) k++;
    for (uint32_t i = 0; i < f->n_products; i++) s->plan[k].choice[i].narrow = x->narrow[i];
    hn_plan_print(&s->plan[k], &out);
    f->text = hn_str_take(&out);
    return f->text ? HONE_OK : no_memory(err);
}

static hone_rc fill_front(session *s, hn_mixed *m, hone_mixed_front *f, hone_err *err) {
    hn_arena *a = calloc(1, sizeof *a);
    if (!a) return no_memory(err);
    f->owned = a;
    f->n_products = s->run.n_seen;
    const char **names = HN_NEW_N(a, const char *, f->n_products + 1);
    for (uint32_t i = 0; names && i < f->n_products; i++) names[i] = hn_strdup(a, s->run.seen[i].product.name);
    f->product = names;
    f->n_samples = s->n_taken, f->n_held = s->n_held;
    hone_rc rc = hn_arena_ok(a) ? prove_front(s, m, f, a, err) : no_memory(err);
    f->n_evaluated = s->n_evaluated, f->n_reused = s->n_reused;
    f->n_ranges = m->n_ranges, f->n_ranges_all = m->of->n_ranges;
    f->n_alone = m->n_alone, f->n_asked = m->n_asked;
    f->late = m->n_ranges < m->of->n_ranges || m->n_alone < m->of->n || m->late;
    return rc ? rc : print_choice(s, f, err);
}

static hone_rc search(session *s, hone_mixed_front *f, hone_err *err) {
    hn_mixed m = {0};
    hn_mixed_problem problem = {.n = s->run.n_seen,
                                .n_ranges = s->n_ranges,
                                .change = s->kept.change,
                                .wide = s->wide,
                                .slim = s->slim,
                                .engine = s->o.engine,
                                .seed = s->o.seed,
                                .n_points = s->o.n_points,
                                .start_s = s->start_s,
                                .until_s = s->until_s,
                                .proof_s = proof_s,
                                .error = error_of,
                                .known = is_known,
                                .told = tell,
                                .arg = s};
    hone_rc rc = hn_mixed_run(&problem, &m, err);
    if (!rc) rc = fill_front(s, &m, f, err);
    hn_mixed_free(&m);
    return rc;
}

static hone_rc read_options(session *s, const hone_mixed_options *options, hone_err *err) {
    s->o = hone_mixed_defaults();
    hone_rc rc = hn_options_read(&s->o, sizeof s->o, options, "mixed", err);
    if (rc) return rc;
    s->until_s = s->o.budget_s > 0 ? s->start_s + s->o.budget_s : 0;
    s->precision = hone_precision_defaults();
    s->precision.calibrate = s->o.calibrate, s->precision.percentile = s->o.percentile;
    s->precision.no_smooth = s->o.no_smooth, s->precision.compiler = s->o.compiler;
    s->precision.n_jobs = s->o.n_jobs, s->precision.n_threads = s->o.n_threads;
    s->precision.progress = s->o.progress, s->precision.stop = s->o.stop, s->precision.keep = s->o.keep;
    if (s->n_samples < LEAST_SAMPLES)
        return hn_fail(err, HONE_E_USAGE,
                       "a search for mixed precision takes %d samples or more, since every fourth is held out for the "
                       "proof; there are %zu",
                       LEAST_SAMPLES, s->n_samples);
    return HONE_OK;
}

static void end(session *s) {
    for (uint32_t k = 0; k < HN_N_CALIBRATIONS; k++) hn_switched_close(&s->program[k]);
    if (s->exact) drop(s->exact, s->n_samples * s->n_out);
    if (s->run.g) hn_calibration_close(&s->run);
    hn_kept_free(&s->kept);
    hn_arena_free(&s->a);
}

hone_rc hone_mixed_search(const hone_graph *g, const hone_array *sample, size_t n_samples,
                          const hone_mixed_options *options, hone_mixed_front *out, hone_err *err) {
    session s = {.g = g, .sample = sample, .n_samples = n_samples, .n_in = hone_graph_inputs(g), .start_s = hn_now_s()};
    hone_mixed_front f = {0};
    hn_calibration how;
    char data[33];
    s.n_out = hone_graph_outputs(g);
    hone_rc rc = read_options(&s, options, err);
    if (!rc) rc = hn_calibration_how(&s.precision, n_samples, &how, err);
    if (!rc) rc = divide(&s, err);
    if (!rc) rc = hn_calibration_open(g, &s.precision, &s.run, err);
    if (!rc) rc = look_at_samples(&s, err);
    if (!rc) rc = run_exact(&s, err);
    if (!rc) rc = count_weights(&s, err);
    hn_hash_arrays(sample, n_samples * s.n_in, data);
    if (!rc) rc = make_plans(&s, data, err);
    if (!rc) rc = open_kept(&s, data, err);
    if (!rc) rc = search(&s, &f, err);
    end(&s);
    if (rc)
        hone_mixed_free(&f);
    else
        *out = f;
    return rc;
}

void hone_mixed_free(hone_mixed_front *f) {
    hn_arena *a = f->owned;
    hone_free(f->text);
    if (a) hn_arena_free(a);
    free(a);
    *f = (hone_mixed_front){0};
}

/* --- a budget for a choice and what follows ------------------------------------------------------------------------
 */

static const double choice_part = .5, judge_part = .1, kernels_part = .1;

double hone_mixed_choice_s(double budget_s) { return choice_part * budget_s; }

double hone_mixed_kernels_s(double budget_s, double spent_s, bool judged) {
    return fmax((1 - (judged ? judge_part : 0)) * budget_s - spent_s, kernels_part * budget_s);
}
