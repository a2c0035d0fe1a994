/* prove/site.c — opens what builds and runs need. */
#include "prove/site.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "tune/host.h"

#include <hone/machine.h>

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { JOBS_MOST = 16 };

const char *hn_prove_word(hone_prove_stage stage) {
    static const char *const word[] = {"build", "measure", "reduce", "warning"};
    return word[stage];
}

void hn_site_tell(const hn_site *site, hone_prove_stage stage, size_t done, size_t total, hone_interval gain,
                  const char *text) {
    const hone_progress *to = &site->o->progress;
    hone_prove_event e = {.stage = stage, .n_candidates = 1, .gain = gain};
    e.base = (hone_event){hn_prove_word(stage), done, total, hn_now_s() - site->started_s, NAN, text};
    if (to->fn) to->fn(to->arg, &e.base);
}

static void tell_discovery(void *ctx, const hone_event *e) {
    hn_site_tell(ctx, HONE_PROVE_BUILD, e->done, e->total, (hone_interval){NAN, NAN, NAN}, "controls of the compilers");
}

static hone_rc make_folders(hn_site *s, const char *what, hone_err *err) {
    const char *store = s->o->store_dir ? s->o->store_dir : hn_format(&s->arena, "%s/.hone", s->w->dir);
    const char *dir = hn_format(&s->arena, "%s/work/%s-%ld", store ? store : "", what, (long)getpid());
    const char *ref = hn_format(&s->arena, "%s/ref", dir ? dir : "");
    if (!hn_arena_ok(&s->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hn_make_dirs(ref, err);
    if (rc) return rc;
    s->dir = realpath(dir, NULL);
    if (!s->dir) return hn_fail(err, HONE_E_IO, "cannot resolve the work folder '%s'", dir);
    s->run.ref_dir = hn_format(&s->arena, "%s/ref", s->dir);
    return s->run.ref_dir ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

hone_tune_options hn_prove_tuning(const hone_prove_options *o) {
    hone_tune_options t = hone_tune_defaults();
    t.store_dir = o->store_dir, t.cache_dir = o->cache_dir, t.seed = o->seed;
    t.n_jobs = o->n_jobs, t.cpu = o->cpu, t.stop = o->stop;
    return t;
}

static int jobs_of(const hn_site *s) {
    hone_machine machine;
    for (size_t k = 0; k < hn_n_quantities(s->w); k++)
        if (hn_quantity_at(s->w, k)->source == HN_FROM_COMPILE_TIME) return 1;
    hone_machine_get(&machine);
    int jobs = s->o->n_jobs ? (int)s->o->n_jobs : machine.n_usable > 0 ? machine.n_usable : 1;
    return jobs < JOBS_MOST ? jobs : JOBS_MOST;
}

hone_rc hn_site_open(hn_site *site, const hone_workload *w, const hone_prove_options *o, const char *what,
                     hone_err *err) {
    *site = (hn_site){.w = w, .o = o, .started_s = hn_now_s()};
    site->deadline_s = o->budget_s > 0 ? site->started_s + o->budget_s : INFINITY;
    site->tune = hn_prove_tuning(o);
    hone_progress progress = {tell_discovery, site};
    hone_rc rc = hn_plan_open(w, &site->tune, &progress, &site->plan, err);
    if (!rc) rc = make_folders(site, what, err);
    if (rc) {
        hn_site_close(site);
        return rc;
    }
    site->builder = (hn_build_config){.w = w, .options = &site->tune, .root = site->dir, .waited_s = &site->waited_s};
    site->builder.jobs = jobs_of(site);
    site->run.w = w;
    site->run.options = &site->tune;
    site->run.cpu = hn_host_core(w, o->cpu);
    site->run.waited_s = &site->waited_s;
    return HONE_OK;
}

void hn_site_close(hn_site *site) {
    if (site->dir) hn_remove_tree(site->dir, NULL);
    free(site->dir);
    hn_plan_close(site->plan);
    hn_arena_free(&site->arena);
    *site = (hn_site){0};
}
