/* entry.h — the entry of a library with several models. Text carried into artifacts.
 *
 * Chooses one model per target by what the processor offers, one per version by the sizes of every run; compiled for
 * any processor of the family. In front of it: part.h, the HNM_ numbers, tables and functions named below. An instance
 * holds one instance of each version, made when it is created; they share memory, threads and weights.
 */
#ifndef HNM_ENTRY_H
#define HNM_ENTRY_H

struct hone_model_instance {
    hnm_common *c; /* first, as in the instances of versions */
    const hnm_part *const *part;
    int32_t last, target; /* the version of the last run */
    const char *said;     /* by the entry itself, of the last failure; NULL: the version says it */
    char text[200];
    hone_model_instance *of[HNM_VERSIONS];
#if HNM_PROFILE
    hone_model_time time[HNM_CALLS + 1];
#endif
};

static void hnm_free(hone_model_instance *m) {
    if (!m) return;
    for (int32_t v = HNM_VERSIONS; v-- > 0;)
        if (m->of[v]) m->part[v]->free(m->of[v]);
    free(m);
}

static hone_model_rc hnm_create_of(int32_t t, const hone_model_config *config, hone_model_instance **out) {
    hone_model_instance *m;
    hone_model_rc rc = HONE_MODEL_OK;
    if (!hnm_offers(t))
        return hnm_create_fail(HONE_MODEL_TARGET, "this processor does not offer '%s'; the library is for %s",
                               hnm_target_name[t], HNM_TARGET_NAMES);
    if (!out) return hnm_create_fail(HONE_MODEL_ARGUMENT, "no place for the instance");
    m = (hone_model_instance *)calloc(1, sizeof *m);
    if (!m) return hnm_create_fail(HONE_MODEL_NOMEM, "out of memory");
    m->part = hnm_parts[t];
    m->target = t;
    for (int32_t v = 0; !rc && v < HNM_VERSIONS; v++)
        if ((rc = m->part[v]->create(config, v ? m->part[0]->common(m->of[0]) : NULL, &m->of[v])))
            hnm_create_fail(rc, "%s", m->part[v]->error(NULL));
    if (rc) {
        hnm_free(m);
        return rc;
    }
    m->c = m->part[0]->common(m->of[0]);
    *out = m;
    return HONE_MODEL_OK;
}

/* The first version whose sizes are these; the one for all sizes, number 0, where there is none. */
static int32_t hnm_version_for(const hone_model_tensor *in) {
    for (int32_t i = 0; i < HNM_GUARDS;) {
        int32_t v = hnm_guard[i].version;
        int same = 1;
        for (; hnm_guard[i].version == v; i++)
            same = same && in[hnm_guard[i].input].rank > hnm_guard[i].axis &&
                   in[hnm_guard[i].input].dim[hnm_guard[i].axis] == hnm_guard[i].size;
        if (same) return v;
    }
    return 0;
}

#if HNM_PROFILE
/* Calls of the versions lie one behind the other; those of the others were not launched. */
static void hnm_take_times(hone_model_instance *m) {
    const hone_model_time *time = m->part[m->last]->times(m->of[m->last]);
    memset(m->time, 0, sizeof m->time);
    memcpy(m->time + hnm_first_call[m->last], time,
           (size_t)(hnm_first_call[m->last + 1] - hnm_first_call[m->last]) * sizeof *time);
}
static const hone_model_time *hnm_times(const hone_model_instance *m) { return m->time; }
#endif

static hone_model_rc hnm_run(hone_model_instance *m, const hone_model_tensor *in, size_t n_in, hone_model_tensor *out,
                             size_t n_out) {
    hone_model_rc rc;
    if (!m) return HONE_MODEL_ARGUMENT;
    m->said = NULL;
    m->last = n_in == HNM_INPUTS && in ? hnm_version_for(in) : 0;
    rc = m->part[m->last]->run(m->of[m->last], in, n_in, out, n_out);
#if HNM_PROFILE
    hnm_take_times(m);
#endif
    return rc;
}

static const char *hnm_error(const hone_model_instance *m) {
    return !m ? hnm_create_error() : m->said ? m->said : m->part[m->last]->error(m->of[m->last]);
}
static hone_model_rc hnm_say(hone_model_instance *m, hone_model_rc rc, const char *text) {
    snprintf(m->text, sizeof m->text, "%s", text);
    m->said = m->text;
    return rc;
}
static hnm_common *hnm_common_of(hone_model_instance *m) { return m->part[0]->common(m->of[0]); }
static hone_model_rc hnm_create_again(const hone_model_instance *m, const hone_model_config *config,
                                      hone_model_instance **out) {
    return hnm_create_of(m->target, config, out);
}

static int32_t hnm_last_version(const hone_model_instance *m) { return m->last; }

/* HONE_MODEL_TARGET=NAME takes that target where the library has it; else the first one that the processor offers. */
static int32_t hnm_target(void) {
    const char *want = getenv("HONE_MODEL_TARGET");
    for (int32_t t = 0; want && t < HNM_TARGETS; t++)
        if (!strcmp(want, hnm_target_name[t])) return t;
    for (int least = 2; least; least--) /* 2: at its best; 1: it runs, too, as OpenCL on a processor */
        for (int32_t t = 0; t < HNM_TARGETS; t++)
            if (hnm_offers(t) >= least) return t;
    return HNM_TARGETS - 1; /* its create says so */
}

#endif
