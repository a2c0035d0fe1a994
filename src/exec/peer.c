/* peer.c — ONNX Runtime as a peer: a Python process that is told by lines on a socket what to do.
 *
 * Arrays go through npy files in a folder of the peer's own; answers are lines: "ok …" or "error …". The process ends
 * when its input does, or its parent, so nothing outlives hone. Between two turns it is stopped: its threads would go
 * on looking for work for a while, on the processors that the other side is timed on.
 */
#include "base/err.h"
#include "base/fs.h"
#include "base/locale.h"
#include "base/str.h"

#include <hone/compile.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct hone_peer {
    pid_t pid;
    int to;
    FILE *from; /* the same socket */
    char *folder, *name, *line;
    size_t room;
};

static const char program[] =
    "import sys, time\n"
    "try:\n"
    "    import ctypes; ctypes.CDLL(None).prctl(1, 9)\n" /* PR_SET_PDEATHSIG, SIGKILL: also while it is stopped */
    "except Exception: pass\n"
    "try:\n"
    "    import numpy as np, onnxruntime as ort\n"
    "except Exception as e:\n"
    "    print('missing', str(e).replace('\\n', ' '), flush=True); sys.exit(0)\n"
    "folder, model, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])\n"
    "try:\n"
    "    o = ort.SessionOptions()\n"
    "    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL\n"
    "    o.log_severity_level = 4\n"
    "    if threads: o.intra_op_num_threads = threads\n"
    "    s = ort.InferenceSession(model, o, providers=['CPUExecutionProvider'])\n"
    "except Exception as e:\n"
    "    print('error', str(e).replace('\\n', ' ')[:500], flush=True); sys.exit(0)\n"
    "print('ok', ort.__version__, flush=True)\n"
    "feed, dtypes = {}, {'tensor(bool)': np.bool_}\n"
    "for line in sys.stdin:\n"
    "    word = line.split()\n"
    "    try:\n"
    "        if word[0] == 'run':\n"
    "            feed = {}\n"
    "            for i, x in enumerate(s.get_inputs()[:int(word[1])]):\n"
    "                feed[x.name] = np.load('%s/in%d.npy' % (folder, i))\n"
    "            out = s.run(None, feed)\n"
    "            for i, y in enumerate(out): np.save('%s/out%d.npy' % (folder, i), y)\n"
    "            print('ok', len(out), flush=True)\n"
    "        else:\n"
    "            t = []\n"
    "            for i in range(int(word[1])):\n"
    "                a = time.perf_counter(); s.run(None, feed); t.append(time.perf_counter() - a)\n"
    "            print('ok', ' '.join('%.9g' % x for x in t), flush=True)\n"
    "    except Exception as e:\n"
    "        print('error', str(e).replace('\\n', ' ')[:500], flush=True)\n";

/* The rest of an "ok" line, or NULL. */
static const char *answer(hone_peer *p, hone_err *err) {
    ssize_t n = getline(&p->line, &p->room, p->from);
    if (n <= 0) {
        hn_fail(err, HONE_E_TOOL, "the Python process of onnxruntime ended");
        return NULL;
    }
    p->line[strcspn(p->line, "\n")] = 0;
    if (hn_starts_with(p->line, "ok ")) return p->line + 3;
    if (hn_starts_with(p->line, "missing "))
        hn_fail(err, HONE_E_UNSUPPORTED, "no onnxruntime: %.300s; set HONE_PYTHON to a Python that has it",
                p->line + 8);
    else
        hn_fail(err, HONE_E_TOOL, "onnxruntime: %.600s", hn_starts_with(p->line, "error ") ? p->line + 6 : p->line);
    return NULL;
}

static bool spawn(hone_peer *p, const char *python, const char *onnx, uint32_t n_threads) {
    int pair[2];
    char threads[16];
    posix_spawn_file_actions_t actions;
    snprintf(threads, sizeof threads, "%u", n_threads);
    char *argv[] = {
        (char *)(uintptr_t)python, "-c", (char *)(uintptr_t)program, p->folder, (char *)(uintptr_t)onnx, threads, NULL};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) || posix_spawn_file_actions_init(&actions))
        return false;
    posix_spawn_file_actions_adddup2(&actions, pair[1], 0);
    posix_spawn_file_actions_adddup2(&actions, pair[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&p->pid, python, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    p->to = pair[0];
    p->from = fdopen(pair[0], "r");
    if (!p->from) close(pair[0]);
    if (failed) p->pid = 0;
    return !failed && p->from;
}

static void rest(const hone_peer *p) { kill(p->pid, SIGSTOP); }

static void stop(hone_peer *p) {
    if (p->from) fclose(p->from);
    if (p->pid > 0) kill(p->pid, SIGCONT);
    if (p->pid > 0)
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) continue;
    p->from = NULL;
    p->pid = 0;
}

/* A peer that is gone makes the next answer fail, no signal. */
static void tell(hone_peer *p, const char *verb, size_t n) {
    char line[64];
    int length = snprintf(line, sizeof line, "%s %zu\n", verb, n);
    kill(p->pid, SIGCONT);
    if (send(p->to, line, (size_t)length, MSG_NOSIGNAL) != length) shutdown(p->to, SHUT_RDWR);
}

static bool make_folder(hone_peer *p) {
    const char *tmp = getenv("TMPDIR");
    hn_str path = {0};
    hn_str_addf(&path, "%s/hone-peer-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    p->folder = hn_str_take(&path);
    if (p->folder && mkdtemp(p->folder)) return true;
    free(p->folder);
    p->folder = NULL;
    return false;
}

hone_rc hone_peer_open(const char *onnx, uint32_t n_threads, hone_peer **out, hone_err *err) {
    const char *python[] = {getenv("HONE_PYTHON"), "build/venv/bin/python", "python3"};
    hone_peer *p = calloc(1, sizeof *p);
    hone_err why = {.rc = HONE_E_UNSUPPORTED,
                    .text = "there is no Python; set HONE_PYTHON to one that has onnxruntime"};
    if (!p || !make_folder(p)) {
        hone_peer_close(p);
        return hn_fail(err, HONE_E_IO, "cannot make a folder for the arrays of onnxruntime");
    }
    for (size_t i = 0; i < sizeof python / sizeof *python; i++) {
        const char *version;
        hn_str name = {0};
        if (!python[i] || !*python[i] || (strchr(python[i], '/') && !hn_exists(python[i]))) continue;
        if (spawn(p, python[i], onnx, n_threads) && (version = answer(p, &why))) {
            hn_str_addf(&name, "onnxruntime %s", version);
            p->name = hn_str_take(&name);
            *out = p;
            return HONE_OK;
        }
        stop(p);
        if (why.rc == HONE_E_TOOL) break; /* it is there, but refuses the model */
    }
    hone_peer_close(p);
    return hn_fail(err, why.rc, "%s", why.text);
}

const char *hone_peer_name(const hone_peer *p) { return p->name ? p->name : "onnxruntime"; }

static char *array_path(const hone_peer *p, const char *what, size_t i) {
    hn_str s = {0};
    hn_str_addf(&s, "%s/%s%zu.npy", p->folder, what, i);
    return hn_str_take(&s);
}

static hone_rc send_arrays(hone_peer *p, const hone_array *in, size_t n, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < n && !rc; i++) {
        char *path = array_path(p, "in", i);
        rc = path ? hone_npy_write(&in[i], path, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
        free(path);
    }
    return rc;
}

static hone_rc take_arrays(hone_peer *p, hone_array *out, size_t n, hone_err *err) {
    hone_array *made = calloc(n + 1, sizeof *made);
    hone_rc rc = made ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    size_t i = 0;
    for (; i < n && !rc; i++) {
        char *path = array_path(p, "out", i);
        rc = path ? hone_npy_read(path, &made[i], err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
        free(path);
    }
    if (!rc) memcpy(out, made, n * sizeof *made);
    for (size_t k = 0; rc && made && k < i; k++) free(made[k].data);
    free(made);
    return rc;
}

hone_rc hone_peer_run(hone_peer *p, const hone_array *in, size_t n_in, hone_array *out, size_t n_out, hone_err *err) {
    hone_rc rc = send_arrays(p, in, n_in, err);
    if (rc) return rc;
    tell(p, "run", n_in);
    hone_err why = {0};
    const char *made = answer(p, &why);
    rest(p);
    if (!made) return hn_fail(err, why.rc, "%s", why.text);
    if (strtoull(made, NULL, 10) != n_out)
        return hn_fail(err, HONE_E_TOOL, "onnxruntime gives %s outputs instead of %zu", made, n_out);
    return take_arrays(p, out, n_out, err);
}

hone_rc hone_peer_time(hone_peer *p, size_t n, double *time_s, hone_err *err) {
    hone_err why = {0};
    tell(p, "time", n);
    const char *text = answer(p, &why);
    rest(p);
    if (!text) return hn_fail(err, why.rc, "%s", why.text);
    for (size_t i = 0; i < n; i++) {
        char *end;
        time_s[i] = hn_strtod(text, &end);
        if (end == text) return hn_fail(err, HONE_E_TOOL, "onnxruntime gives %zu times instead of %zu", i, n);
        text = end;
    }
    return HONE_OK;
}

void hone_peer_close(hone_peer *p) {
    if (!p) return;
    stop(p);
    if (p->folder) hn_remove_tree(p->folder, NULL);
    free(p->folder);
    free(p->name);
    free(p->line);
    free(p);
}
