/* docs/code/toy_backend.c — the example backend of docs/how-to-add-a-backend.md: kernels are the plain versions of the
 * CPU backend, and each counts the work items that it did. It takes no nests and wants its weights as they are. */
#include "backend/backend.h"

#include <string.h>

extern const hn_backend hn_backend_toy;

static const char *const flags[] = {"-fwrapv", "-fno-math-errno", "-fno-strict-aliasing", NULL};
static const hn_dialect target = {.backend = &hn_backend_toy,
                                  .name = "toy",
                                  .summary = "plain kernels that count their work items",
                                  .flags = flags,
                                  .offered = "1"};
static const hn_dialect *const targets[] = {&target, NULL};
static const hn_layout_facts layout = {.panel = 0, .channels_last = false};

static const hn_backend *cpu(void) { return hn_dialect_named("scalar")->backend; }

static hone_rc reference(hn_graph *g, hn_block body, const char *name, hn_arena *a, hn_kernel_code *out,
                         hone_err *err) {
    hn_kernel_code code;
    const char *inner = hn_format(a, "%s_plain", name);
    hone_rc rc = cpu()->reference(g, body, inner, a, &code, err);
    if (rc) return rc;
    code.text =
        hn_format(a,
                  "%sstatic void %s(void *const *buf, const int64_t *s, int64_t begin, int64_t end, char *scratch) {\n"
                  "    __atomic_fetch_add(&toy_items, end - begin, __ATOMIC_RELAXED);\n"
                  "    %s(buf, s, begin, end, scratch);\n}\n",
                  code.text, name, inner);
    code.helpers = hn_format(a, "toy %s", code.helpers);
    *out = code;
    return HONE_OK;
}

/* Its own part of the runtime, and those of the CPU backend. */
static bool add_runtime(hn_str *out, const char *names) {
    hn_str others = {0};
    hn_str_add(out, "static int64_t toy_items;\n");
    for (size_t n; *names; names += n + (names[n] == ' ')) {
        n = strcspn(names, " ");
        if (n == 3 && !strncmp(names, "toy", 3)) continue;
        hn_str_add_n(&others, names, n);
        hn_str_add(&others, " ");
    }
    bool good = !others.failed && cpu()->add_runtime(out, others.text ? others.text : "");
    hn_str_free(&others);
    return good;
}

static hn_machine machine(const hn_dialect *d, const hone_device *device) { return cpu()->machine(d, device); }

const hn_backend hn_backend_toy = {
    .version = HN_BACKEND_VERSION,
    .name = "toy",
    .summary = "plain kernels that count their work items",
    .dialects = targets,
    .reference = reference,
    .add_runtime = add_runtime,
    .here = &hn_place_here,
    .machine = machine,
    .layout = &layout,
};
