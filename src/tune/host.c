/* tune/host.c — see host.h. */
#include "tune/host.h"

#include "far/far.h"
#include "tune/run.h"

#include <string.h>

hone_rc hn_host_machine(const hone_workload *w, const volatile int *stop, hone_machine *out, hone_err *err) {
    hone_far_info info;
    if (!w->far) {
        hone_machine_get(out);
        return HONE_OK;
    }
    hone_rc rc = hn_far_get(w->far, stop, &info, err);
    if (!rc) *out = info.machine;
    return rc;
}

const char *hn_host_gpus(const hone_workload *w, hn_arena *a) {
    hone_far_info info;
    if (!w->far || hn_far_get(w->far, NULL, &info, NULL)) return NULL;
    return *info.gpus ? hn_strdup(a, info.gpus) : "none";
}

const char *hn_host_line(const hone_workload *w, hn_arena *a) {
    hone_far_info info;
    if (!w->far || hn_far_get(w->far, NULL, &info, NULL)) return "";
    return hn_format(a, "; programs run on %s%s%s", w->on, *info.gpus ? ", " : "", info.gpus);
}

int hn_host_core(const hone_workload *w, int asked) { return w->far ? asked : hn_measuring_cpu(asked); }

const char *hn_host_doubt(const hone_workload *w, const hone_machine *host, hn_arena *a) {
    hone_machine here;
    if (!w->far || !w->baseline || !strstr(w->baseline, "=native")) return NULL;
    hone_machine_get(&here);
    if (!strcmp(here.features, host->features)) return NULL;
    return hn_format(a,
                     "the baseline '%s' is made for this machine's processor, but programs run on '%s' (%s): name that "
                     "processor in the baseline's flags",
                     w->baseline, w->on, host->cpu);
}
