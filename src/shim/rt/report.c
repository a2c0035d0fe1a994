/* report.c — what was wrong, in words: the kind, and one or two threads with what they did and where. Lines come from
 * addr2line; without it the address in the module stands there. */
#include "rt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

hs_options *shim_options(void) { return &hs.options; }
const hs_report *shim_report(void) { return &hs.report; }
const char *shim_fault(void) { return hs.report.text; }

const char *shim_kind_name(hs_kind kind) {
    static const char *const name[] = {"none",      "race",  "bounds", "undefined", "in_flight",
                                       "divergent", "stuck", "limit",  "warp",      "misuse"};
    return name[kind];
}

void hs_say(hs_kind kind, const char *format, ...) {
    if (hs.report.kind) return; /* the first one counts */
    hs.report.kind = kind;
    snprintf(hs.report.kernel, sizeof hs.report.kernel, "%s", hs.kernel ? hs.kernel : "");
    size_t n = 0;
    if (hs.kernel && *hs.kernel)
        n = (size_t)snprintf(hs.report.text, sizeof hs.report.text, "kernel '%.70s': ", hs.kernel);
    va_list ap;
    va_start(ap, format);
    vsnprintf(hs.report.text + n, sizeof hs.report.text - n, format, ap);
    va_end(ap);
}

/* The innermost frame that is not in the shim's own header. */
static void ask(const char *command, char *file, size_t n, int *line) {
    char text[600];
    FILE *f = popen(command, "r");
    for (bool found = false; f && fgets(text, sizeof text, f);) {
        char *colon = strrchr(text, ':');
        if (!colon || found) continue;
        *colon = 0;
        const int at = atoi(colon + 1);
        const char *slash = strrchr(text, '/');
        if (at <= 0 || !strcmp(slash ? slash + 1 : text, "shim.cuh")) continue;
        snprintf(file, n, "%.190s", text);
        *line = at;
        found = true;
    }
    if (f) pclose(f);
}

static bool is_plain(const char *path) { return path && *path && !strpbrk(path, "'\\"); }

static void place_of(uint32_t site, char *file, size_t n, int *line) {
    char command[700];
    *file = 0;
    *line = 0;
    if (!site || !hs.module || !is_plain(hs.module->path)) return;
    const char *path = hs.module->handle ? hs.module->path : "/proc/self/exe";
    char self[300];
    snprintf(self, sizeof self, "/proc/%d/exe", (int)getpid());
    snprintf(command, sizeof command, "addr2line -i -e '%.500s' 0x%x 2>/dev/null", hs.module->handle ? path : self,
             site - 1);
    ask(command, file, n, line);
    if (!*line) snprintf(file, n, "address 0x%x", site);
}

void hs_say_place(unsigned thread, uint32_t interval, const char *does, uint32_t site, const char *file, int line) {
    hs_report *r = &hs.report;
    if (r->n_spot == 2) return;
    hs_spot *s = &r->spot[r->n_spot];
    const hs_uint3 t = hs.fibre[thread].thread, b = hs_block_of(interval);
    s->thread = t;
    s->block = b;
    s->line = line;
    snprintf(s->does, sizeof s->does, "%s", does);
    snprintf(s->file, sizeof s->file, "%s", file ? file : "");
    if (!file && site) place_of(site, s->file, sizeof s->file, &s->line);
    const char *slash = strrchr(s->file, '/'), *base = slash ? slash + 1 : s->file;
    const size_t at = strlen(r->text);
    char where[160] = "";
    if (s->line)
        snprintf(where, sizeof where, " at %.100s:%d", base, s->line);
    else if (*base)
        snprintf(where, sizeof where, " at %.100s", base);
    snprintf(r->text + at, sizeof r->text - at, "%s thread %u,%u,%u of block %u,%u,%u %s%s", r->n_spot++ ? ";" : ":",
             t.x, t.y, t.z, b.x, b.y, b.z, s->does, where);
}
