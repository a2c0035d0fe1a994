/* backend/gpu/place_rates.c — rates of hone/places.h: measured in a child process, kept in a file. */
#include "backend/device.h"
#include "backend/gpu/rates.h"

#include "backend/gpu/rt/cache.h"
#include "backend/gpu/rt/driver_cuda.h"
#include "backend/gpu/rt/driver_opencl.h"
#include "base/fs.h"
#include "base/yaml.h"

#include <hone/device.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_S = 180 };

/* --- measuring -------------------------------------------------------------------------------------------------------
 */

typedef struct answer {
    hone_place_rates rates;
    hnd_err err;
} answer;

static const hnd_driver *driver_of(const char *place) {
    static const hnd_driver *const driver[] = {&hnd_opencl, &hnd_cuda};
    for (size_t i = 0; i < sizeof driver / sizeof *driver; i++)
        if (!strncmp(place, driver[i]->name, strcspn(place, ":"))) return driver[i];
    return NULL;
}

static hone_rc fail_with(const char *name, const hnd_err *why, hone_err *err) {
    hone_rc rc = why->rc == HND_NO_DRIVER ? HONE_E_NOTFOUND : why->rc == HND_NOMEM ? HONE_E_NOMEM : HONE_E_TOOL;
    return hn_fail(err, rc, "'%s' cannot be measured: %s", name, why->text);
}

static hone_rc measure_in_child(const hone_place *p, answer *shared, hone_err *err) {
    const char *colon = strchr(p->name, ':');
    int status = 0;
    hnd_fail(&shared->err, HND_FAULT, "the driver ends the process that uses it");
    pid_t pid = fork();
    if (pid == 0) {
        hnd_err why = {0, ""};
        alarm(LIMIT_S);
        int rc = hn_rates_measure(driver_of(p->name), atoi(colon + 1), &shared->rates, &why);
        shared->err = why;
        _exit(rc != 0);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (pid < 0) return hn_fail(err, HONE_E_IO, "cannot fork: %s", strerror(errno));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        hnd_fail(&shared->err, HND_FAULT, "it has not answered for %d seconds", LIMIT_S);
    return status ? fail_with(p->name, &shared->err, err) : HONE_OK;
}

hone_rc hone_place_measure(const char *name, hone_place_rates *out, hone_err *err) {
    hone_place p;
    hone_rc rc = hone_place_find(name, &p, err);
    if (rc) return rc;
    if (!strcmp(p.name, "host"))
        return hn_fail(err, HONE_E_UNSUPPORTED, "the host has a table of its own: hone doctor --measure writes it");
    if (!strcmp(p.name, "shim"))
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "the shim cannot be measured: it runs each thread of a kernel on the processor and checks each "
                       "access; its times say nothing of a device");
    answer *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!hn_drivers_are_open())
        rc = measure_in_child(&p, shared, err);
    else if (hn_rates_measure(driver_of(p.name), atoi(strchr(p.name, ':') + 1), &shared->rates, &shared->err))
        rc = fail_with(p.name, &shared->err, err);
    if (!rc) *out = shared->rates;
    munmap(shared, sizeof *shared);
    return rc;
}

/* --- the file --------------------------------------------------------------------------------------------------------
 */

static const struct {
    const char *key, *meaning;
    size_t at;
} rates[] = {
#define HN_RATE(field, meaning) {#field, meaning, offsetof(hone_place_rates, field)},
#include "backend/gpu/rates.def"
#undef HN_RATE
};
enum { N_RATES = sizeof rates / sizeof *rates, N_KEYS = 4 };
static const char *const key_name[N_KEYS] = {"device", "arch", "driver", "version"};
static const char first_line[] = "# What devices do at most; written by `hone doctor --measure`. Per second, where it "
                                 "does not say seconds.\n";

char *hone_place_rates_path(void) {
    char *table = hone_device_path(), *slash = table ? strrchr(table, '/') : NULL;
    if (slash) *slash = 0;
    char *path = table ? hn_path_join(slash ? table : ".", "devices.yaml") : NULL;
    free(table);
    return path;
}

static void keys_of(const hone_place *p, const char *key[N_KEYS]) {
    key[0] = p->device, key[1] = p->arch, key[2] = p->driver, key[3] = p->version;
}

static bool is_of(const hn_ynode *item, const hone_place *p) {
    const char *key[N_KEYS];
    keys_of(p, key);
    for (size_t i = 0; i < N_KEYS; i++) {
        const hn_ynode *x = hn_yaml_get(item, key_name[i]);
        if (!x || x->kind != HN_Y_SCALAR || strcmp(x->text, key[i]) != 0) return false;
    }
    return true;
}

static double *rate(hone_place_rates *r, size_t i) { return (double *)(void *)((char *)r + rates[i].at); }

static hone_rc read_item(const hn_yaml *doc, const hn_ynode *item, hone_place_rates *out, hone_err *err) {
    hone_place_rates r = {0};
    for (size_t i = 0; i < N_RATES; i++) {
        const hn_ynode *x = hn_yaml_get(item, rates[i].key);
        hone_rc rc = x ? hn_yaml_double(doc, x, rate(&r, i), err) : HONE_OK;
        if (rc) return rc;
        if (*rate(&r, i) < 0) return hn_yaml_fail(doc, x, err, "'%s' is never negative", rates[i].key);
    }
    *out = r;
    return HONE_OK;
}

static hone_rc parse_list(const char *text, size_t n, const char *label, hn_yaml **doc, hone_err *err) {
    hone_rc rc = hn_yaml_parse(text, n, label, doc, err);
    hn_ykind kind = rc ? HN_Y_SEQ : hn_yaml_root(*doc)->kind;
    if (!rc && kind != HN_Y_SEQ && kind != HN_Y_NULL) {
        hn_yaml_free(*doc);
        rc = hn_fail(err, HONE_E_INPUT, "'%s' is no list of devices; `hone doctor --measure` writes one", label);
    }
    return rc;
}

hone_rc hn_rates_find(const hone_place *place, const char *text, size_t n, const char *label, hone_place_rates *out,
                      hone_err *err) {
    hn_yaml *doc = NULL;
    hone_rc rc = parse_list(text, n, label, &doc, err);
    if (rc) return rc;
    const hn_ynode *root = hn_yaml_root(doc);
    size_t i = 0;
    while (i < root->n && !is_of(root->item[i], place)) i++;
    if (i == root->n)
        rc = hn_fail(err, HONE_E_NOTFOUND, "'%s' was not measured under driver %s; `hone doctor --measure` does it",
                     place->device, place->driver);
    else
        rc = read_item(doc, root->item[i], out, err);
    hn_yaml_free(doc);
    return rc;
}

hone_rc hone_place_rates_read(const hone_place *place, const char *path, hone_place_rates *out, hone_err *err) {
    char *own = path ? NULL : hone_place_rates_path(), *text = NULL;
    const char *from = path ? path : own;
    size_t n = 0;
    hone_rc rc = from ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc && hn_exists(from)) rc = hn_read_file(from, &text, &n, err);
    if (!rc) rc = hn_rates_find(place, text ? text : "", n, from, out, err);
    free(text);
    free(own);
    return rc;
}

static void add_item(hn_str *s, const char *const key[N_KEYS], const hone_place_rates *r) {
    hone_place_rates copy = *r;
    for (size_t i = 0; i < N_KEYS; i++) {
        hn_str_addf(s, "%s %s: ", i ? " " : "-", key_name[i]);
        hn_yaml_add_quoted(s, key[i]);
        hn_str_add(s, "\n");
    }
    for (size_t i = 0; i < N_RATES; i++)
        hn_str_addf(s, "  %s: %.4g # %s\n", rates[i].key, *rate(&copy, i), rates[i].meaning);
}

/* Whole entries of other devices; what is damaged is left out. */
static void add_others(hn_str *s, const char *text, size_t n, const hone_place *place) {
    hn_yaml *doc = NULL;
    hone_place_rates r;
    if (parse_list(text, n, "devices", &doc, NULL)) return;
    const hn_ynode *root = hn_yaml_root(doc);
    for (size_t i = 0; i < root->n; i++) {
        const char *key[N_KEYS];
        size_t k = 0;
        for (; k < N_KEYS; k++) {
            const hn_ynode *x = hn_yaml_get(root->item[i], key_name[k]);
            if (!x || x->kind != HN_Y_SCALAR) break;
            key[k] = x->text;
        }
        if (k == N_KEYS && !is_of(root->item[i], place) && !read_item(doc, root->item[i], &r, NULL))
            add_item(s, key, &r);
    }
    hn_yaml_free(doc);
}

void hn_rates_text(const hone_place *place, const hone_place_rates *r, const char *old, size_t n, hn_str *out) {
    const char *key[N_KEYS];
    keys_of(place, key);
    hn_str_add(out, first_line);
    add_others(out, old, n, place);
    add_item(out, key, r);
}

hone_rc hone_place_rates_write(const hone_place *place, const hone_place_rates *r, const char *path, hone_err *err) {
    hn_str s = {0};
    char *own = path ? NULL : hone_place_rates_path(), *slash = own ? strrchr(own, '/') : NULL, *old = NULL;
    const char *to = path ? path : own;
    size_t n = 0;
    hone_rc rc = to ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (slash) {
        *slash = 0;
        rc = hn_make_dirs(own, err);
        *slash = '/';
    }
    if (!rc && hn_exists(to)) rc = hn_read_file(to, &old, &n, err);
    hn_rates_text(place, r, old ? old : "", n, &s);
    if (!rc && s.failed) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_write_file(to, s.text, s.n, err);
    hn_str_free(&s);
    free(old);
    free(own);
    return rc;
}
