/* cubin/metric.c — the metrics by name; names of kernels. */
#include "cubin/cubin.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT, BYTES };
static const hn_code_metric_info info[HN_N_CODE_METRICS] = {
#define HN_GPU_METRIC(id, name, fold, unit, what) [HN_GPU_##id] = {name, what, HN_FOLD_##fold, unit},
#include "cubin/metric.def"
#define HN_SASS_CLASS(id, metric, what) [HN_SASS_##id] = {metric, what, HN_FOLD_SUM, COUNT},
#include "cubin/opcode.def"
};

const hn_code_metric_info *hn_code_metric_at(hn_code_metric m) { return &info[m]; }

hn_code_metric hn_code_metric_find(const char *name) {
    unsigned m = 0;
    while (m < HN_N_CODE_METRICS && strcmp(info[m].name, name)) m++;
    return (hn_code_metric)m;
}

/* The names that a mangled one begins with: "_Z7softmaxPf" has softmax, "_ZN2ns7softmaxEPf" ns and softmax. What
 * follows (parameters, arguments of templates) is passed over. */
const char *hn_gpu_kernel_plain(hn_arena *a, const char *name) {
    const char *p = name;
    if (strncmp(p, "_Z", 2)) return name;
    p += 2;
    bool nested = *p == 'N';
    hn_str s = {0};
    p += nested;
    while (isdigit((unsigned char)*p)) {
        char *end;
        unsigned long n = strtoul(p, &end, 10);
        if (!n || n > strlen(end)) break;
        bool hidden = n >= 12 && !strncmp(end, "_GLOBAL__N_", 11);
        if (!hidden && s.n) hn_str_add(&s, "::");
        if (!hidden) hn_str_add_n(&s, end, n);
        p = end + n;
        if (!nested) break;
    }
    const char *plain = s.n && !s.failed ? hn_strndup(a, s.text, s.n) : NULL;
    hn_str_free(&s);
    return plain ? plain : name;
}

bool hn_gpu_kernel_is(const hn_gpu_kernel *k, const char *name) {
    if (!fnmatch(name, k->name, 0)) return true;
    hn_arena a = {0};
    const char *plain = hn_gpu_kernel_plain(&a, k->name), *last = strrchr(plain, ':');
    bool same = !fnmatch(name, plain, 0) || (last && !fnmatch(name, last + 1, 0));
    hn_arena_free(&a);
    return same;
}
