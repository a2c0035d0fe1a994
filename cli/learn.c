/* learn.c — what a server learns in idle time. It is a process of its own, at the lowest priority: it asks the server
 * over its socket for admin calls whether it is idle, tunes for the sizes that were counted, stops as soon as a request
 * comes, compiles what was proven, and asks for a trial as `hone deploy` does. Every step is an event of the store. */
#include "learn.h"
#include "traffic.h"

#include <hone/compile.h>
#include <hone/import.h>
#include <hone/process.h>
#include <hone/text.h>
#include <hone/tune_model.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double usual_idle_s = 60, usual_budget_s = 300, usual_every_s = 86400, least_gain = 0.01;
static const double least_runs = 50; /* counted, before sizes are worth tuning for */

typedef struct learning {
    const hone_serve_options *o;
    double idle_s, budget_s, every_s;
    char *socket;
    int64_t n_asked;   /* calls that its models had got when it was last asked */
    double active_s;   /* when it last had another call than ours */
    double asked_s;    /* when it was last asked */
    double swept_s;    /* when old versions were last looked for */
    volatile int stop; /* a request came */
} learning;

/* --- the server -----------------------------------------------------------------------------------------------------
 */

/* Its models; NULL: it does not answer. Notes whether somebody else called. */
static json_t *ask_models(learning *l) {
    char *reply = NULL;
    if (hone_serve_ask(l->socket, "/models", NULL, &reply, NULL)) return NULL;
    json_t *o = json_loads(reply, 0, NULL);
    hone_free(reply);
    int64_t asked = json_integer_value(json_object_get(o, "asked"));
    l->asked_s = cli_now_s();
    if (asked != l->n_asked || json_integer_value(json_object_get(o, "calls")) > 1) l->active_s = l->asked_s;
    l->n_asked = asked; /* this call is one of `calls`, and none of `asked` */
    if (json_is_true(json_object_get(o, "ending"))) _exit(0);
    return o;
}

/* While it works: a request ends it. */
static void on_progress(void *arg, const hone_event *event) {
    learning *l = arg;
    (void)event;
    if (cli_now_s() < l->asked_s + 0.25) return;
    json_t *o = ask_models(l);
    if (!o || l->active_s == l->asked_s) l->stop = 1;
    json_decref(o);
}

/* --- the store ------------------------------------------------------------------------------------------------------
 */

static void tell(const learning *l, const char *base, const char *kind, char *text) {
    hone_rollouts *r;
    fprintf(stderr, "hone: learning '%s': %s\n", base, text);
    if (!hone_rollouts_open(l->o->store, true, &r, NULL)) {
        hone_rollouts_event(r, 0, base, kind, text, NULL, NULL);
        hone_rollouts_close(r);
    }
    free(text);
}

/* Unix time of the last event of a kind; 0: there is none. */
static double last_of(const learning *l, const char *base, const char *kind) {
    hone_rollouts *r;
    char *json = NULL;
    double at_s = 0;
    if (hone_rollouts_open(l->o->store, false, &r, NULL)) return 0;
    hone_rollouts_events(r, base, &json, NULL);
    hone_rollouts_close(r);
    json_t *list = json ? json_loads(json, 0, NULL) : NULL, *e;
    size_t i;
    json_array_foreach(list, i, e) {
        const char *word = json_string_value(json_object_get(e, "kind"));
        if (word && !strcmp(word, kind)) at_s = json_number_value(json_object_get(e, "at_s"));
    }
    json_decref(list);
    hone_free(json);
    return at_s;
}

/* --- one model ------------------------------------------------------------------------------------------------------
 */

static hone_rc plan_for(const learning *l, const char *base, hone_traffic_plan *out) {
    hone_traffic_row *row;
    size_t n;
    hone_rc rc = cli_traffic_open(base, l->o->store, &row, &n, NULL);
    if (rc) return rc;
    rc = hone_traffic_plan_make(row, n, out, NULL);
    hone_free(row);
    return !rc && out->count < least_runs ? HONE_E_EMPTY : rc;
}

/* One part of the plan; *n_new: kernels that have new winners. A language model is tuned as the server has it. */
static hone_rc tune_part(learning *l, const char *base, const hone_traffic_part *part, bool language, size_t *n_new,
                         hone_err *err) {
    hone_graph *g;
    hone_tune_model_result m;
    hone_import_options i = {.size = sizeof i};
    hone_compile_options c = hone_compile_defaults();
    hone_tune_model_options t = hone_tune_model_defaults();
    char *text = part->hot ? cli_strdup(part->sizes) : NULL;
    const char **symbol = text ? cli_split_options(text) : NULL;
    i.symbol = c.symbol = symbol;
    while (symbol && symbol[c.n_symbol]) i.n_symbol = ++c.n_symbol;
    c.n_threads = l->o->n_threads;
    i.exact = c.exact = l->o->exact;
    t.compile = &c, t.budget_s = part->share * l->budget_s, t.stop = &l->stop;
    t.sizes = part->hot || !*part->sizes ? NULL : part->sizes;
    if (*part->also) t.also = part->also;
    if (language) i.cache = l->o->cache ? l->o->cache : l->o->exact ? "f32" : "f16";
    t.progress = (hone_progress){on_progress, l};
    hone_rc rc = hone_import_model(base, &i, &g, NULL, err);
    if (!rc) {
        rc = hone_tune_model_run(g, base, &t, &m, err);
        hone_graph_free(g);
    }
    for (size_t k = 0; !rc && !m.dropped && k < m.n_kernels; k++) *n_new += m.kernel[k].is_new;
    if (!rc) hone_tune_model_result_free(&m);
    free(symbol);
    free(text);
    return rc;
}

/* DATA/hone/learned: beside the store, since what is made there may be promoted. */
static char *learned_dir(const learning *l) {
    char *store = l->o->store ? cli_strdup(l->o->store) : hone_rollouts_path(),
         *slash = store ? strrchr(store, '/') : NULL;
    if (slash) *slash = 0;
    char *dir = cli_format("%s/learned", slash ? store : ".");
    hone_free(store);
    return dir;
}

/* learned/NAME-TIME/model */
static char *output_for(const learning *l, const char *name) {
    char *dir = learned_dir(l), *own = cli_format("%s/%s-%lld", dir, name, (long long)time(NULL));
    mkdir(own, 0700);
    char *output = cli_format("%s/model", own);
    free(dir);
    free(own);
    return output;
}

/* As long as somebody makes a version, none is removed. -1: there is no lock, and no version is made. */
static int lock_versions(const learning *l) {
    char *dir = learned_dir(l);
    mkdir(dir, 0700);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_SH)) {
        close(fd);
        fd = -1;
    }
    if (fd < 0) fprintf(stderr, "hone: no version is made in '%s': %s\n", dir, strerror(errno));
    free(dir);
    return fd;
}

/* What hone_text_tuned made; freed. */
static void drop_folder(char *folder) {
    static const char *const part[] = {"tuned", "model"};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        char *path = cli_format("%s/%s", folder, part[i]);
        unlink(path);
        free(path);
    }
    rmdir(folder);
    free(folder);
}

/* As the server, and the trial, open a language model. */
static hone_text_options text_options(const learning *l) {
    hone_text_options o = hone_text_defaults();
    o.n_threads = l->o->n_threads;
    o.cache = l->o->cache;
    o.exact = l->o->exact;
    o.no_parity = l->o->no_parity;
    return o;
}

/* A folder that leads to the model's file; its library is compiled now, where the trial and the server look for it. */
static hone_rc make_language(learning *l, const char *base, const char *name, char **path, hone_err *err) {
    hone_text *m;
    hone_text_options o = text_options(l);
    char *folder = output_for(l, name);
    o.stop = &l->stop;
    o.progress = (hone_progress){on_progress, l};
    hone_rc rc = hone_text_tuned(base, folder, err);
    if (!rc && !(rc = hone_text_open(folder, &o, &m, err))) hone_text_close(m);
    if (!rc)
        *path = folder;
    else
        drop_folder(folder);
    return rc;
}

static hone_rc make_tensors(learning *l, const char *base, const char *name, const hone_traffic_plan *p, char **path,
                            hone_err *err) {
    const char *special[HONE_TRAFFIC_PARTS];
    hone_compile_options c = hone_compile_defaults();
    hone_compile_result result = {0};
    char *output = output_for(l, name);
    for (size_t i = 0; i < p->n; i++)
        if (p->part[i].hot) special[c.n_specialize++] = p->part[i].sizes;
    c.specialize = special;
    c.output = output;
    c.n_threads = l->o->n_threads;
    c.exact = l->o->exact;
    c.no_parity = l->o->no_parity;
    c.stop = &l->stop;
    c.progress = (hone_progress){on_progress, l};
    hone_rc rc = hone_compile_model(base, &c, &result, err);
    hone_free(result.text);
    if (!rc) *path = cli_format("%s.so", output);
    free(output);
    return rc;
}

static void deploy(const learning *l, const char *base, const char *name, const char *path) {
    char *reply = NULL;
    hone_err err = {0};
    json_t *body = json_pack("{s:s, s:s, s:f}", "model", name, "path", path, "min_gain", least_gain);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    hone_rc rc = text ? hone_serve_ask(l->socket, "/deploy", text, &reply, &err) : HONE_E_NOMEM;
    free(text);
    json_decref(body);
    json_t *o = rc ? NULL : json_loads(reply, 0, NULL);
    long long id = (long long)json_integer_value(json_object_get(json_object_get(o, "deployment"), "id"));
    hone_free(reply);
    json_decref(o);
    tell(l, base, "learned",
         rc ? cli_format("what was found cannot be put on trial: %s", err.text)
            : cli_format("'%s' is on trial as deployment %lld", path, id));
}

/* Sizes that get a version of their own: worth a trial without new winners, too. */
static bool has_hot(const hone_traffic_plan *p) {
    for (size_t i = 0; i < p->n; i++)
        if (p->part[i].hot) return true;
    return false;
}

/* Kernels that were proven better, and are in no version yet: now, or before a request came between. */
static bool has_winners(const learning *l, const char *base) {
    return last_of(l, base, "learn-winners") > last_of(l, base, "learned");
}

static hone_rc tune_parts(learning *l, const char *base, const hone_traffic_plan *p, hone_err *err) {
    size_t n_new = 0;
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < p->n && !rc && !l->stop; i++) rc = tune_part(l, base, &p->part[i], p->language, &n_new, err);
    if (n_new)
        tell(l, base, "learn-winners", cli_format("%zu kernels have new winners, proven on fresh builds", n_new));
    return rc;
}

static hone_rc make_version(learning *l, const char *base, const char *name, const hone_traffic_plan *p, char **path,
                            hone_err *err) {
    tell(l, base, "learn",
         cli_format(has_winners(l, base) ? "compiling a version with the winners"
                                         : "no kernel has a new winner; compiling versions for the sizes that are "
                                           "asked for most"));
    return p->language ? make_language(l, base, name, path, err) : make_tensors(l, base, name, p, path, err);
}

/* A version, if there is anything to put in one; the lock is held until its trial has begun. */
static hone_rc make_and_deploy(learning *l, const char *base, const char *name, const hone_traffic_plan *p, bool *made,
                               hone_err *err) {
    char *path = NULL;
    int fd = has_winners(l, base) || has_hot(p) ? lock_versions(l) : -1;
    *made = false;
    if (fd < 0) return HONE_OK;
    hone_rc rc = make_version(l, base, name, p, &path, err);
    *made = !rc && !l->stop && path;
    if (*made) deploy(l, base, name, path);
    free(path);
    close(fd);
    return rc;
}

static void learn(learning *l, const char *base, const char *name, const hone_traffic_plan *p) {
    bool made = false;
    hone_err err = {0};
    l->stop = 0;
    tell(l, base, "learn",
         cli_format("tuning for %zu sizes of %.0f %s, first %s, %.0f %% of the time", p->n, p->count,
                    p->language ? "steps" : "runs", *p->part[0].sizes ? p->part[0].sizes : "its only one",
                    100 * p->part[0].share));
    hone_rc rc = tune_parts(l, base, p, &err);
    if (!rc && !l->stop) rc = make_and_deploy(l, base, name, p, &made, &err);
    if (made) return;
    if (l->stop || rc == HONE_E_INTERRUPTED)
        tell(l, base, "learn", cli_format("stopped: requests came; what was measured is kept"));
    else if (rc)
        tell(l, base, "learned", cli_format("failed: %s", err.text));
    else
        tell(l, base, "learned", cli_format("nothing better was found"));
}

/* --- versions that nothing can go back to ---------------------------------------------------------------------------
 */

/* Does the server name the path, or what lies in it? */
static bool names(const json_t *o, const char *path) {
    const char *text = json_string_value(o), *key;
    size_t i, n = strlen(path);
    json_t *x;
    if (text) return !strncmp(text, path, n) && (!text[n] || text[n] == '/');
    json_array_foreach(o, i, x) if (names(x, path)) return true;
    json_object_foreach((json_t *)(uintptr_t)o, key, x) if (names(x, path)) return true;
    return false;
}

/* path: learned/NAME-TIME. What the server has open stays. Of a language model the library goes that was compiled of
 * it, too. */
static bool may_go(void *arg, const char *path) {
    learning *l = arg;
    const hone_text_options o = text_options(l);
    json_t *told = ask_models(l);
    bool may = told && !names(told, path);
    json_decref(told);
    char *version = cli_format("%s/model", path), *stamp = cli_format("%s/tuned", version);
    if (may && !access(stamp, F_OK)) hone_text_forget(version, &o, NULL);
    free(version);
    free(stamp);
    return may;
}

static void sweep(learning *l) {
    hone_rollouts *r;
    hone_err why = {0};
    size_t n = 0;
    char *dir = learned_dir(l);
    hone_rc rc = access(dir, F_OK) ? HONE_E_NOTFOUND : hone_rollouts_open(l->o->store, false, &r, &why);
    if (!rc) {
        rc = hone_rollouts_sweep(r, dir, may_go, l, &n, &why);
        hone_rollouts_close(r);
    }
    if (n) fprintf(stderr, "hone: learning: removed %zu versions that nothing can go back to\n", n);
    if (rc && rc != HONE_E_NOTFOUND) fprintf(stderr, "hone: learning: old versions stay: %s\n", why.text);
    l->swept_s = cli_now_s();
    free(dir);
}

/* Of each model that has no trial under way and was not learned for of late. */
static void look_at(learning *l, const json_t *m) {
    const char *name = json_string_value(json_object_get(m, "name")),
               *base = json_string_value(json_object_get(m, "base"));
    const char *kind = json_string_value(json_object_get(m, "kind"));
    hone_traffic_plan p;
    if (!name || !base || !json_is_null(json_object_get(m, "deployment"))) return;
    if (!kind || !hone_import_format_of(base) || (double)time(NULL) < last_of(l, base, "learned") + l->every_s) return;
    if (!plan_for(l, base, &p)) learn(l, base, name, &p);
}

/* --- the process ----------------------------------------------------------------------------------------------------
 */

static _Noreturn void run(learning *l, int fd) {
    uint16_t port;
    struct sched_param none = {0};
    if (read(fd, &port, sizeof port) != sizeof port) _exit(0);
    close(fd);
    setpriority(PRIO_PROCESS, 0, 19);
    sched_setscheduler(0, SCHED_IDLE, &none); /* where that is not allowed, 19 it is */
    l->socket = l->o->admin ? cli_strdup(l->o->admin) : hone_serve_admin_path(port);
    l->active_s = l->swept_s = cli_now_s();
    for (unsigned missed = 0; missed < 10; nanosleep(&(struct timespec){1, 0}, NULL)) {
        json_t *o = ask_models(l);
        missed = o ? 0 : missed + 1;
        const json_t *list = json_object_get(o, "models"), *m;
        size_t i;
        json_array_foreach(list, i, m) if (cli_now_s() >= l->active_s + l->idle_s) look_at(l, m);
        json_decref(o);
        if (!missed && cli_now_s() >= fmax(l->active_s, l->swept_s) + l->idle_s) sweep(l);
    }
    fprintf(stderr, "hone: nothing is learned any more: nobody answers admin calls at '%s'\n", l->socket);
    _exit(0);
}

hone_rc cli_learn_start(const cli *c, const hone_serve_options *o, cli_learner *out, hone_err *err) {
    int fd[2];
    *out = (cli_learner){0, -1};
    if (!cli_given(c, "learn")) return HONE_OK;
    if (o->admin && !*o->admin)
        return cli_fail(err, HONE_E_USAGE, "--learn needs the socket of admin calls; leave out --no-admin");
    if (pipe(fd)) return cli_fail(err, HONE_E_IO, "cannot make a pipe: %s", strerror(errno));
    hone_rc rc = hone_process_fork(&out->pid, err);
    if (!rc && !out->pid) {
        learning l = {.o = o};
        l.idle_s = cli_seconds(c, "learn-idle", usual_idle_s);
        l.budget_s = cli_seconds(c, "learn-budget", usual_budget_s);
        l.every_s = cli_seconds(c, "learn-every", usual_every_s);
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        close(fd[1]);
        run(&l, fd[0]);
    }
    close(fd[0]);
    out->fd = fd[1];
    return rc;
}

void cli_learn_ready(cli_learner *l, uint16_t port) {
    if (l->fd >= 0 && write(l->fd, &port, sizeof port) != sizeof port) return; /* it has ended */
}

void cli_learn_end(cli_learner *l) {
    if (l->fd >= 0) close(l->fd);
    if (l->pid > 0) {
        kill(l->pid, SIGTERM);
        waitpid(l->pid, NULL, 0);
    }
}
