/* far/far.c — see far.h: the URL, files, runs, and what happens when the machine is lost. */
#include "far/far_int.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORDS_MOST = 64, FOLDERS_MOST = 256, LOSSES_MOST = 3, DEPTH_MOST = 32 };
static const double pause_most_s = 15;

typedef struct folder {
    char *dir;
    uint64_t version;
} folder;

struct hn_far {
    char *url, *host, *port, *path; /* host: with the user; port: "" for ssh's own */
    double wait_s;
    hn_link link;
    bool connected, ever;
    hone_far_info info;
    bool known;
    folder there[FOLDERS_MOST]; /* laid out in this connection */
    size_t n_there;
    void (*tell)(void *arg, const char *text);
    void *arg;
};

/* --- the URL ------------------------------------------------------------------------------------------------------ */

static bool is_plain(const char *text, size_t n, const char *more) {
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr(more, text[i])) return false;
    return n > 0 && *text != '-';
}

static hone_rc bad_url(const char *url, const char *why, hone_err *err) {
    return hn_fail(err, HONE_E_INPUT,
                   "'%.200s' is no machine: %s; write ssh://USER@HOST:PORT/FOLDER, all but the host may be left out",
                   url, why);
}

static hone_rc split_url(hn_far *f, const char *url, hone_err *err) {
    if (!hn_starts_with(url, "ssh://")) return bad_url(url, "it does not begin with ssh://", err);
    const char *at = url + 6, *slash = at + strcspn(at, "/"), *user = memchr(at, '@', (size_t)(slash - at));
    const char *host = user ? user + 1 : at;
    bool six = *host == '[';
    const char *end = six ? memchr(host, ']', (size_t)(slash - host)) : host + strcspn(host, ":/");
    if (user && !is_plain(at, (size_t)(user - at), "._-+")) return bad_url(url, "the user's name is odd", err);
    if (!end || !is_plain(host + six, (size_t)(end - host) - six, six ? ":.%" : "._-"))
        return bad_url(url, "it names no host", err);
    const char *colon = end + six, *port = *colon == ':' ? colon + 1 : colon;
    if (colon != slash &&
        (*colon != ':' || port == slash || strspn(port, "0123456789") != (size_t)(slash - port) || slash - port > 5))
        return bad_url(url, "the port is no number", err);
    const char *path = !slash[0] || !slash[1]                     ? ".cache/hone/far"
                       : hn_starts_with(slash, "/~/") && slash[3] ? slash + 3
                                                                  : slash;
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c < 32 || *c == '\'')
            return bad_url(url, "the folder's name has a character that cannot be there", err);
    hn_str h = {0};
    if (user) hn_str_add_n(&h, at, (size_t)(user - at) + 1);
    hn_str_add_n(&h, host + six, (size_t)(end - host) - six);
    f->url = strdup(url);
    f->host = hn_str_take(&h);
    f->port = strndup(port, (size_t)(slash - port));
    f->path = strdup(path);
    return f->url && f->host && f->port && f->path ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

hone_rc hn_far_new(const char *url, double wait_s, hn_far **out, hone_err *err) {
    hn_far *f = calloc(1, sizeof *f);
    if (!f) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    f->wait_s = wait_s;
    f->link = (hn_link){.fd = -1, .err_fd = -1};
    hone_rc rc = split_url(f, url, err);
    if (rc)
        hn_far_free(f);
    else
        *out = f;
    return rc;
}

static void forget_folders(hn_far *f) {
    for (size_t i = 0; i < f->n_there; i++) free(f->there[i].dir);
    f->n_there = 0;
}

static void disconnect(hn_far *f) {
    hn_link_close(&f->link);
    forget_folders(f);
    f->connected = false;
}

void hn_far_free(hn_far *f) {
    if (!f) return;
    disconnect(f);
    free(f->url);
    free(f->host);
    free(f->port);
    free(f->path);
    free(f);
}

const char *hn_far_url(const hn_far *f) { return f->url; }

void hn_far_watch(hn_far *f, void (*tell)(void *arg, const char *text), void *arg) {
    f->tell = tell;
    f->arg = arg;
}

static void tell(const hn_far *f, const char *text) {
    if (f->tell) f->tell(f->arg, text);
}

/* --- connecting --------------------------------------------------------------------------------------------------- */

/* What runs there first. $1: the folder, $2: the agent's file, named by its contents, $3: its size. */
static const char script[] = "umask 077; mkdir -p \"$1\" && cd \"$1\" || exit 1; [ -x \"$2\" ] && exec \"./$2\"; "
                             "printf \"\\nhone-far needs\\n\"; head -c \"$3\" >\"$2.$$\" && chmod 700 \"$2.$$\" && "
                             "mv -f \"$2.$$\" \"$2\" && exec \"./$2\"";

static void agent_name(char name[48], char size[24]) {
    hn_hash h;
    char hex[33];
    size_t n;
    const void *image = hn_far_image(&n);
    hn_hash_begin(&h);
    hn_hash_add(&h, image, n);
    hn_hash_end(&h, hex);
    snprintf(name, 48, "agent-%.16s", hex);
    snprintf(size, 24, "%zu", n);
}

/* $HONE_SSH, words between blanks, or "ssh"; then options, machine, command. */
static hn_link_end connect_once(hn_far *f, const volatile int *stop) {
    static const char *const options[] = {"-T",
                                          "-o",
                                          "BatchMode=yes",
                                          "-o",
                                          "ConnectTimeout=10",
                                          "-o",
                                          "ServerAliveInterval=5",
                                          "-o",
                                          "ServerAliveCountMax=3"};
    const char *own = getenv("HONE_SSH");
    char *words = strdup(own && *own ? own : "ssh"), *rest = words, *word, name[48], size[24];
    const char *argv[WORDS_MOST + 20];
    size_t n = 0;
    hn_str command = {0};
    agent_name(name, size);
    hn_str_addf(&command, "exec sh -c '%s' hone '%s' %s %s", script, f->path, name, size);
    while (words && n < WORDS_MOST && (word = strtok_r(rest, " ", &rest))) argv[n++] = word;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) argv[n++] = options[i];
    if (*f->port) argv[n++] = "-p", argv[n++] = f->port;
    argv[n++] = "--";
    argv[n++] = f->host;
    argv[n++] = command.text;
    argv[n] = NULL;
    hn_link_end end = words && !command.failed ? hn_link_open(&f->link, (char *const *)argv, stop) : HN_LINK_NOMEM;
    if (end) hn_link_close(&f->link);
    hn_str_free(&command);
    free(words);
    f->connected = !end;
    f->ever |= f->connected;
    return end;
}

static hone_rc interrupted(hone_err *err) { return hn_fail(err, HONE_E_INTERRUPTED, "interrupted while measuring"); }

/* The last line that ssh said, without its end. */
static const char *reason(hn_far *f) {
    char *said = f->link.said;
    for (size_t n = strlen(said); n && isspace((unsigned char)said[n - 1]);) said[--n] = 0;
    char *line = strrchr(said, '\n');
    return line ? line + 1 : *said ? said : "the connection ended";
}

static hone_rc unreachable(hn_far *f, hone_err *err) {
    return hn_fail(err, HONE_E_IO,
                   "cannot run anything on '%s': %.300s; `ssh %s%s%s true` must work without a password", f->url,
                   reason(f), *f->port ? "-p " : "", f->port, f->host);
}

/* A machine that never answered is an error at once; one that was lost is waited for. */
static hone_rc reach(hn_far *f, const volatile int *stop, hone_err *err) {
    double t0 = hn_now_s(), pause_s = 0.5;
    char text[700];
    size_t n;
    if (f->connected) return HONE_OK;
    hn_far_image(&n);
    if (!n) return hn_fail(err, HONE_E_UNSUPPORTED, "this hone was built without its agent for other machines");
    bool lost = f->ever;
    for (;;) {
        hn_link_end end = connect_once(f, stop);
        if (end == HN_LINK_GOOD) break;
        if (end == HN_LINK_STOPPED || (stop && *stop)) return interrupted(err);
        if (end == HN_LINK_NOMEM) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (!lost) return unreachable(f, err);
        double left_s = f->wait_s - (hn_now_s() - t0);
        if (left_s <= 0)
            return hn_fail(err, HONE_E_IO,
                           "'%s' was lost and has not answered for %.0f s (%.300s); everything finished is recorded: "
                           "run again when it is back",
                           f->url, f->wait_s, reason(f));
        snprintf(text, sizeof text, "'%s' does not answer (%.300s); waiting for it, %.0f s at most", f->url, reason(f),
                 left_s);
        tell(f, text);
        for (double until_s = hn_now_s() + fmin(pause_s, left_s); hn_now_s() < until_s && !(stop && *stop);)
            nanosleep(&(struct timespec){0, 50000000}, NULL);
        pause_s = fmin(2 * pause_s, pause_most_s);
    }
    if (!lost) return HONE_OK;
    snprintf(text, sizeof text, "'%s' is back after %.0f s; what was running is measured again", f->url,
             hn_now_s() - t0);
    tell(f, text);
    return HONE_OK;
}

/* --- one exchange: HN_LINK_LOST is retried by the callers -----------------------------------------------------------
 */

typedef struct answer {
    char kind, *data;
    size_t n;
} answer;

static hn_link_end exchange(hn_far *f, char kind, const hn_str *body, answer *out, const volatile int *stop) {
    hn_link_end end = hn_link_send(&f->link, kind, body->text, body->n, stop);
    return end ? end : hn_link_receive(&f->link, &out->kind, &out->data, &out->n, stop);
}

static hone_rc fault_there(const hn_far *f, const answer *a, hone_err *err) {
    return a->kind == 'e'
               ? hn_fail(err, HONE_E_IO, "on '%s': %.600s", f->url, a->data)
               : hn_fail(err, HONE_E_IO, "on '%s': the agent said '%c', which was not expected", f->url, a->kind);
}

/* Turns the end of an exchange into *lost, or an error. */
static hone_rc after(hn_link_end end, bool *lost, hone_err *err) {
    *lost = end == HN_LINK_LOST;
    if (end == HN_LINK_STOPPED) return interrupted(err);
    return end == HN_LINK_NOMEM ? hn_fail(err, HONE_E_NOMEM, "out of memory") : HONE_OK;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

typedef struct listing {
    const char *dir;
    const char *const *skip;
    hn_str body;  /* of the frames f and l */
    hn_str paths; /* hash, path, one behind the other */
} listing;

static bool is_skipped(const listing *l, const char *path) {
    for (size_t i = 0; l->skip[i]; i++)
        if (!strcmp(l->skip[i], path)) return true;
    return false;
}

static hone_rc list_file(listing *l, const char *rel, const char *full, const struct stat *st, hone_err *err) {
    char hex[33];
    hone_rc rc = hn_hash_file(full, hex, err);
    if (rc) return rc;
    hn_far_put(&l->body, rel);
    hn_far_put_number(&l->body, (double)(st->st_mode & 0777));
    hn_far_put_number(&l->body, (double)st->st_size);
    hn_far_put(&l->body, hex);
    hn_far_put(&l->paths, hex);
    hn_far_put(&l->paths, full);
    return l->body.failed || l->paths.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : HONE_OK;
}

/* Links are followed: the sources of a private folder are links. Hidden names stay here. */
static hone_rc list_folder(listing *l, const char *rel, int depth, hone_err *err) {
    char *whole = hn_path_join(l->dir, rel);
    DIR *d = whole ? opendir(whole) : NULL;
    hone_rc rc = HONE_OK;
    for (struct dirent *e; d && !rc && (e = readdir(d));) {
        struct stat st;
        if (*e->d_name == '.') continue;
        char *name = *rel ? hn_path_join(rel, e->d_name) : strdup(e->d_name);
        char *full = name ? hn_path_join(l->dir, name) : NULL;
        if (!full)
            rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
        else if (stat(full, &st) == 0 && S_ISREG(st.st_mode) && !is_skipped(l, name))
            rc = list_file(l, name, full, &st, err);
        else if (stat(full, &st) == 0 && S_ISDIR(st.st_mode) && depth < DEPTH_MOST)
            rc = list_folder(l, name, depth + 1, err);
        free(full);
        free(name);
    }
    if (d) closedir(d);
    free(whole);
    return rc;
}

static const char *path_of(const listing *l, const char *hash) {
    hn_far_fields f = {l->paths.text, l->paths.text + l->paths.n, false};
    while (f.at < f.end) {
        const char *hex = hn_far_field(&f), *path = hn_far_field(&f);
        if (!strcmp(hex, hash)) return path;
    }
    return NULL;
}

static hone_rc send_content(hn_far *f, const listing *l, const char *hash, bool *lost, const volatile int *stop,
                            hone_err *err) {
    const char *path = path_of(l, hash);
    char *text;
    size_t n;
    if (!path) return hn_fail(err, HONE_E_IO, "on '%s': the agent asks for a file that was not named", f->url);
    hone_rc rc = hn_read_file(path, &text, &n, err);
    if (rc) return rc;
    hn_str body = {0};
    hn_far_put(&body, hash);
    hn_str_add_n(&body, text, n);
    free(text);
    rc = body.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory")
                     : after(hn_link_send(&f->link, 'b', body.text, body.n, stop), lost, err);
    hn_str_free(&body);
    return rc;
}

static hone_rc lay_out(hn_far *f, const listing *l, bool *lost, const volatile int *stop, hone_err *err) {
    answer a = {0};
    hone_rc rc = after(exchange(f, 'f', &l->body, &a, stop), lost, err);
    if (rc || *lost) return rc;
    if (a.kind != 'n') rc = fault_there(f, &a, err);
    hn_far_fields missing = {a.data, a.data + a.n, false};
    while (!rc && !*lost && missing.at < missing.end) rc = send_content(f, l, hn_far_field(&missing), lost, stop, err);
    free(a.data);
    if (rc || *lost) return rc;
    rc = after(exchange(f, 'l', &l->body, &a, stop), lost, err);
    if (rc || *lost) return rc;
    if (a.kind != 'k') rc = fault_there(f, &a, err);
    free(a.data);
    return rc;
}

static const char *name_of(const char *dir) {
    const char *slash = strrchr(dir, '/');
    return slash && slash[1] ? slash + 1 : dir;
}

static folder *find_folder(hn_far *f, const char *dir) {
    for (size_t i = 0; i < f->n_there; i++)
        if (!strcmp(name_of(f->there[i].dir), name_of(dir))) return &f->there[i];
    return NULL;
}

static hone_rc note_folder(hn_far *f, const char *dir, uint64_t version, hone_err *err) {
    folder *there = find_folder(f, dir);
    if (!there && f->n_there == FOLDERS_MOST) forget_folders(f);
    char *copy = strdup(dir);
    if (!copy) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!there) there = &f->there[f->n_there++], there->dir = NULL;
    free(there->dir);
    *there = (folder){copy, version};
    return HONE_OK;
}

static hone_rc bring_folder(hn_far *f, const char *dir, uint64_t version, const char *const *back, bool *lost,
                            const volatile int *stop, hone_err *err) {
    const folder *there = find_folder(f, dir);
    if (there && there->version == version && !strcmp(there->dir, dir)) return HONE_OK;
    listing l = {.dir = dir, .skip = back};
    hn_far_put(&l.body, name_of(dir));
    hone_rc rc = list_folder(&l, "", 0, err);
    if (!rc) rc = lay_out(f, &l, lost, stop, err);
    if (!rc && !*lost) rc = note_folder(f, dir, version, err);
    hn_str_free(&l.body);
    hn_str_free(&l.paths);
    return rc;
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

static void put_run(hn_str *s, const char *dir, const hn_proc_spec *spec, const char *const *back) {
    hn_far_put(s, name_of(dir));
    hn_far_put(s, spec->shell);
    const double number[] = {spec->cpu,
                             (double)spec->stack_pad_b,
                             spec->wall_s,
                             spec->cpu_s,
                             (double)spec->memory_b,
                             (double)spec->file_b,
                             (double)spec->out_b,
                             (double)spec->keep_b,
                             spec->n_procs,
                             spec->no_aslr + 2 * spec->count_instructions + 4 * spec->count_energy + 8 * spec->confine};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) hn_far_put_number(s, number[i]);
    hn_far_put(s, HN_FAR_HERE);
    hn_far_put_list(s, spec->env);
    hn_far_put_list(s, spec->write);
    hn_far_put_list(s, back);
}

static bool is_expected(const char *name, const char *const *back) {
    for (; *back; back++)
        if (!strcmp(*back, name)) return true;
    return false;
}

static hone_rc take_file(const char *dir, const answer *a, const char *const *back, hn_proc_result *r, hone_err *err) {
    hn_far_fields f = {a->data, a->data + a->n, false};
    const char *name = hn_far_field(&f);
    size_t n = (size_t)(f.end - f.at);
    if (f.bad || (*name && !is_expected(name, back)))
        return hn_fail(err, HONE_E_IO, "the agent sent a file that was not asked for");
    if (!*name) {
        free(r->out);
        r->out = malloc(n + 1);
        if (!r->out) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        memcpy(r->out, f.at, n);
        r->out[n] = 0;
        r->out_n = n;
        return HONE_OK;
    }
    char *path = hn_path_join(dir, name);
    FILE *file = path ? fopen(path, "wbe") : NULL;
    bool good = file && fwrite(f.at, 1, n, file) == n;
    if (file) good = fclose(file) == 0 && good;
    hone_rc rc = good ? HONE_OK : hn_fail(err, HONE_E_IO, "cannot write '%s': %s", path ? path : name, strerror(errno));
    free(path);
    return rc;
}

static hone_rc take_result(const answer *a, hn_proc_result *r, hone_err *err) {
    hn_far_fields f = {a->data, a->data + a->n, false};
    r->end = (hn_proc_end)hn_far_number(&f);
    r->code = (int)hn_far_number(&f);
    r->signal = (int)hn_far_number(&f);
    r->wall_s = hn_far_number(&f);
    r->user_s = hn_far_number(&f);
    r->sys_s = hn_far_number(&f);
    r->max_rss_b = (uint64_t)hn_far_number(&f);
    r->instructions = hn_far_number(&f);
    r->energy_j = hn_far_number(&f);
    r->confined = (unsigned)hn_far_number(&f);
    snprintf(r->err_tail, sizeof r->err_tail, "%s", hn_far_field(&f));
    if (!r->out) r->out = calloc(1, 1);
    return f.bad || r->end > HN_PROC_COUNT_LIMIT ? hn_fail(err, HONE_E_IO, "the agent sent a damaged result") : HONE_OK;
}

static hone_rc run_there(hn_far *f, const char *dir, const hn_proc_spec *spec, const char *const *back, bool *lost,
                         const volatile int *stop, hn_proc_result *out, hone_err *err) {
    hn_str body = {0};
    hn_proc_result r = {.end = HN_PROC_NOT_STARTED};
    put_run(&body, dir, spec, back);
    hone_rc rc = body.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory")
                             : after(hn_link_send(&f->link, 'r', body.text, body.n, stop), lost, err);
    bool ended = false;
    while (!rc && !*lost && !ended) {
        answer a = {0};
        rc = after(hn_link_receive(&f->link, &a.kind, &a.data, &a.n, stop), lost, err);
        if (rc || *lost) break;
        ended = a.kind == 'd';
        if (a.kind == 'o')
            rc = take_file(dir, &a, back, &r, err);
        else if (ended)
            rc = take_result(&a, &r, err);
        else if (a.kind != '.')
            rc = fault_there(f, &a, err);
        free(a.data);
    }
    hn_str_free(&body);
    if (rc || *lost)
        hn_proc_result_free(&r);
    else
        *out = r;
    return rc;
}

hone_rc hn_far_run(hn_far *f, const char *dir, uint64_t version, const hn_proc_spec *spec, const char *const *back,
                   const volatile int *stop, hn_proc_result *out, hone_err *err) {
    for (int losses = 0; losses < LOSSES_MOST;) {
        bool lost = false, running = false;
        hone_rc rc = reach(f, stop, err);
        if (!rc) rc = bring_folder(f, dir, version, back, &lost, stop, err);
        running = !rc && !lost;
        if (running) rc = run_there(f, dir, spec, back, &lost, stop, out, err);
        if (rc || lost) disconnect(f); /* after an error nobody knows what the stream still holds */
        if (rc || !lost) return rc;
        losses += running;
    }
    *out = (hn_proc_result){.end = HN_PROC_NOT_STARTED, .out = calloc(1, 1)};
    snprintf(out->err_tail, sizeof out->err_tail, "'%s' was lost each of the %d times that it ran", f->url,
             LOSSES_MOST);
    return HONE_OK;
}

/* --- the machine -------------------------------------------------------------------------------------------------- */

static void copy(hn_far_fields *f, char *out, size_t n) { snprintf(out, n, "%s", hn_far_field(f)); }

static hone_rc read_info(const answer *a, hone_far_info *out, hone_err *err) {
    hn_far_fields f = {a->data, a->data + a->n, false};
    hone_far_info i = {0};
    hone_machine *m = &i.machine;
    copy(&f, m->cpu, sizeof m->cpu);
    copy(&f, m->kernel, sizeof m->kernel);
    copy(&f, m->governor, sizeof m->governor);
    copy(&f, m->os, sizeof m->os);
    copy(&f, m->features, sizeof m->features);
    copy(&f, m->hash, sizeof m->hash);
    copy(&f, i.gpus, sizeof i.gpus);
    copy(&f, i.confined_by, sizeof i.confined_by);
    m->n_cpu = (int)hn_far_number(&f);
    m->n_usable = (int)hn_far_number(&f);
    m->memory_b = (uint64_t)hn_far_number(&f);
    m->turbo = (int)hn_far_number(&f);
    m->smt = (int)hn_far_number(&f);
    m->virtual_machine = hn_far_number(&f) != 0;
    m->perf_instructions = hn_far_number(&f) != 0;
    m->rapl = hn_far_number(&f) != 0;
    m->callgrind = hn_far_number(&f) != 0;
    m->cgroup = hn_far_number(&f) != 0;
    i.confines_writes = hn_far_number(&f) != 0;
    i.confines_network = hn_far_number(&f) != 0;
    i.free_b = (uint64_t)hn_far_number(&f);
    if (f.bad) return hn_fail(err, HONE_E_IO, "the agent sent a damaged description of its machine");
    *out = i;
    return HONE_OK;
}

/* A machine's GPUs and their driver are part of what measurements are worth. */
static void add_gpus(hone_far_info *i) {
    hn_hash h;
    if (!*i->gpus) return;
    hn_hash_begin(&h);
    hn_hash_text(&h, i->machine.hash);
    hn_hash_text(&h, i->gpus);
    hn_hash_end(&h, i->machine.hash);
}

hone_rc hn_far_get(hn_far *f, const volatile int *stop, hone_far_info *out, hone_err *err) {
    while (!f->known) {
        answer a = {0};
        bool lost = false;
        hn_str none = {0};
        hone_rc rc = reach(f, stop, err);
        if (!rc) rc = after(exchange(f, 'i', &none, &a, stop), &lost, err);
        if (!rc && !lost) rc = a.kind == 'i' ? read_info(&a, &f->info, err) : fault_there(f, &a, err);
        free(a.data);
        if (rc || lost) disconnect(f);
        if (rc) return rc;
        if (lost) continue;
        add_gpus(&f->info);
        f->known = true;
    }
    *out = f->info;
    return HONE_OK;
}

hone_rc hone_far_ask(const char *url, hone_far_info *out, hone_err *err) {
    hn_far *f;
    hone_rc rc = hn_far_new(url, 0, &f, err);
    if (rc) return rc;
    rc = hn_far_get(f, NULL, out, err);
    hn_far_free(f);
    return rc;
}
