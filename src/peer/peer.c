/* peer.c — ONNX Runtime or OpenVINO as a peer: a Python process that takes commands as lines on a socket.
 *
 * Arrays go through npy files in a folder of the peer's own.
 */
#include "base/err.h"
#include "base/locale.h"
#include "base/options.h"
#include "base/str.h"
#include "peer/helper.h"
#include "proc/temp.h"

#include <hone/npy.h>
#include <hone/peer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hone_peer {
    hn_helper helper;
    const char *engine;
    hn_temp temp;
    char *name;
};

/* The parts of the Python program: what all share in front, an engine (a class `Engine`, made of the model's path and a
 * number of threads, with prepare(arrays) and run(), which gives the outputs), the loop. */
static const char front[] =
    "import sys, time\n"
    "try:\n"
    "    import ctypes; ctypes.CDLL(None).prctl(1, 9)\n" /* PR_SET_PDEATHSIG, SIGKILL: also while it is stopped */
    "except Exception: pass\n"
    "def say(word, e): print(word, str(e).replace('\\n', ' ')[:500], flush=True)\n";
static const char onnxruntime[] =
    "try:\n"
    "    import numpy as np, onnxruntime as ort\n"
    "except Exception as e:\n"
    "    say('missing', e); sys.exit(0)\n"
    "class Engine:\n"
    "    version = ort.__version__\n"
    "    def __init__(self, path, threads):\n"
    "        o = ort.SessionOptions()\n"
    "        o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL\n"
    "        o.log_severity_level = 4\n"
    "        if threads: o.intra_op_num_threads = threads\n"
    "        self.s = ort.InferenceSession(path, o, providers=['CPUExecutionProvider'])\n"
    "    def prepare(self, arrays): self.feed = dict(zip([x.name for x in self.s.get_inputs()], arrays))\n"
    "    def run(self): return self.s.run(None, self.feed)\n";
/* Compiled for the sizes of the arrays, in f32 (its default is bf16 where the processor has instructions for it), for
 * one request at a time. */
static const char openvino[] = "try:\n"
                               "    import numpy as np, openvino as ov\n"
                               "except Exception as e:\n"
                               "    say('missing', e); sys.exit(0)\n"
                               "class Engine:\n"
                               "    version = ov.__version__.split('-')[0]\n"
                               "    def __init__(self, path, threads):\n"
                               "        self.core, self.path = ov.Core(), path\n"
                               "        self.how = {'PERFORMANCE_HINT': 'LATENCY', 'INFERENCE_PRECISION_HINT': 'f32'}\n"
                               "        if threads: self.how['INFERENCE_NUM_THREADS'] = threads\n"
                               "        self.core.read_model(path)\n"
                               "    def prepare(self, arrays):\n"
                               "        m = self.core.read_model(self.path)\n"
                               "        m.reshape({i: list(a.shape) for i, a in enumerate(arrays)})\n"
                               "        self.feed = dict(enumerate(arrays))\n"
                               "        self.m = self.core.compile_model(m, 'CPU', self.how)\n"
                               "        self.r = self.m.create_infer_request()\n"
                               "    def run(self):\n"
                               "        got = self.r.infer(self.feed, share_inputs=True, share_outputs=True)\n"
                               "        return [got[i] for i in range(len(self.m.outputs))]\n";
static const char loop[] =
    "folder = sys.argv[1]\n"
    "try:\n"
    "    engine = Engine(sys.argv[2], int(sys.argv[3]))\n"
    "except Exception as e:\n"
    "    say('error', e); sys.exit(0)\n"
    "print('ok', engine.version, flush=True)\n"
    "for line in sys.stdin:\n"
    "    word = line.split()\n"
    "    try:\n"
    "        if word[0] == 'run':\n"
    "            engine.prepare([np.load('%s/in%d.npy' % (folder, i)) for i in range(int(word[1]))])\n"
    "            out = engine.run()\n"
    "            for i, y in enumerate(out): np.save('%s/out%d.npy' % (folder, i), y)\n"
    "            print('ok', len(out), flush=True)\n"
    "        else:\n"
    "            t = []\n"
    "            for i in range(int(word[1])):\n"
    "                a = time.perf_counter(); engine.run(); t.append(time.perf_counter() - a)\n"
    "            print('ok', ' '.join('%.9g' % x for x in t), flush=True)\n"
    "    except Exception as e:\n"
    "        say('error', e)\n";

static const struct { const char *name, *text; } engines[] = {{"onnxruntime", onnxruntime}, {"openvino", openvino}};
enum { N_ENGINES = sizeof engines / sizeof *engines };

/* Starts the program under the first Python that has the engine. */
static bool start(hone_peer *p, const char *program, const char *onnx, uint32_t n_threads, hone_err *why) {
    char threads[16];
    const char *python, *arg[] = {p->temp.path, onnx, threads, NULL};
    snprintf(threads, sizeof threads, "%u", n_threads);
    p->helper.what = p->engine;
    hn_fail(why, HONE_E_UNSUPPORTED, "there is no Python; set HONE_PYTHON to one that has %s", p->engine);
    for (size_t i = 0; (python = hn_helper_python(NULL, i)); i++) {
        const char *version;
        hn_str name = {0};
        if (hn_helper_start(&p->helper, python, program, arg) && (version = hn_helper_answer(&p->helper, why))) {
            hn_str_addf(&name, "%s %s", p->engine, version);
            p->name = hn_str_take(&name);
            return true;
        }
        hn_helper_stop(&p->helper);
        if (why->rc == HONE_E_TOOL) break; /* it is there, but refuses the model */
    }
    return false;
}

/* "run 3": the answer to a command and its number. */
static const char *ask(hone_peer *p, const char *verb, size_t n, hone_err *err) {
    char line[64];
    snprintf(line, sizeof line, "%s %zu\n", verb, n);
    return hn_helper_ask(&p->helper, line, err);
}

hone_rc hone_peer_open(const char *onnx, const hone_peer_options *options, hone_peer **out, hone_err *err) {
    hone_peer_options o = hone_peer_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "peer", err);
    if (rc) return rc;
    const char *engine = o.engine ? o.engine : engines[0].name;
    size_t at = 0;
    hn_str program = {0};
    hone_err why = {0};
    while (at < N_ENGINES && strcmp(engines[at].name, engine) != 0) at++;
    if (at == N_ENGINES)
        return hn_fail(err, HONE_E_USAGE, "there is no peer '%s'; give onnxruntime or openvino", engine);
    hn_str_addf(&program, "%s%s%s", front, engines[at].text, loop);
    hone_peer *p = program.failed ? NULL : calloc(1, sizeof *p);
    if (p) p->engine = engines[at].name;
    if (!p || hn_temp_make(NULL, "hone-peer-", &p->temp, NULL))
        hn_fail(&why, HONE_E_IO, "cannot make a folder for the arrays of %s", engine);
    else if (start(p, program.text, onnx, o.n_threads, &why))
        *out = p, p = NULL, why.rc = HONE_OK;
    hn_str_free(&program);
    hone_peer_close(p);
    return why.rc ? hn_fail(err, why.rc, "%s", why.text) : HONE_OK;
}

const char *hone_peer_name(const hone_peer *p) { return p->name ? p->name : p->engine; }

static char *array_path(const hone_peer *p, const char *what, size_t i) {
    hn_str s = {0};
    hn_str_addf(&s, "%s/%s%zu.npy", p->temp.path, what, i);
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
    hone_err why = {0};
    const char *made = ask(p, "run", n_in, &why);
    if (!made) return hn_fail(err, why.rc, "%s", why.text);
    if (strtoull(made, NULL, 10) != n_out)
        return hn_fail(err, HONE_E_TOOL, "%s gives %s outputs instead of %zu", p->engine, made, n_out);
    return take_arrays(p, out, n_out, err);
}

hone_rc hone_peer_time(hone_peer *p, size_t n, double *time_s, hone_err *err) {
    hone_err why = {0};
    const char *text = ask(p, "time", n, &why);
    if (!text) return hn_fail(err, why.rc, "%s", why.text);
    for (size_t i = 0; i < n; i++) {
        char *end;
        time_s[i] = hn_strtod(text, &end);
        if (end == text) return hn_fail(err, HONE_E_TOOL, "%s gives %zu times instead of %zu", p->engine, i, n);
        text = end;
    }
    return HONE_OK;
}

void hone_peer_close(hone_peer *p) {
    if (!p) return;
    hn_helper_stop(&p->helper);
    hn_temp_free(&p->temp);
    free(p->name);
    free(p);
}
