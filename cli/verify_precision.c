/* verify_precision.c — `hone verify MODEL --precision`: how far a model in 8 bits is from that of floats. */
#include "precision.h"
#include "verify_model.h"

static void put_json(cli *c, const char *path, const cli_precision *p, const cli_precision_report *r) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "file", path);
    cli_json_kcount(&j, "products", p->summary.n_products);
    cli_json_kcount(&j, "narrow", p->summary.n_narrow);
    cli_precision_json(&j, r);
    cli_json_end(&j);
}

hone_rc cli_verify_precision(cli *c, const char *path, hone_err *err) {
    cli_model m;
    cli_precision_report r = {0};
    if (cli_given(c, "exactness") || cli_given(c, "against"))
        return cli_fail(err, HONE_E_USAGE, "--precision tells the error against the model of floats; leave --%s out",
                        cli_given(c, "exactness") ? "exactness" : "against");
    if (!cli_given(c, "data"))
        return cli_fail(err, HONE_E_USAGE, "the error of a precision is told on samples: give --data FILE.npz");
    hone_rc rc = cli_model_open(c, path, (uint32_t)cli_count(c, "threads", 0), &m, err);
    if (rc) return rc;
    rc = cli_precision_measure(c, path, &m.precision, m.program, &r, err);
    cli_model_unlink(&m);
    if (!rc && c->json) {
        put_json(c, path, &m.precision, &r);
    } else if (!rc) {
        cli_put(c, stdout, path, 0);
        printf(": %u of %u products in %s\n", m.precision.summary.n_narrow, m.precision.summary.n_products,
               !m.precision.summary.n_halves                                 ? "bytes"
               : m.precision.summary.n_halves < m.precision.summary.n_narrow ? "bytes or bf16"
                                                                             : "bf16");
        cli_precision_put(c, &r);
    }
    cli_precision_report_free(&r);
    cli_model_close(&m);
    return rc;
}
