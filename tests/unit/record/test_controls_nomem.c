/* Controls files while the nth allocation fails: text, reading, the pair of files, keys and signatures. */
#include "base/fs.h"
#include "controls_fixture.h"
#include "failalloc.h"

#include <unistd.h>

static char dir[] = "/tmp/hone-controls-nomem-XXXXXX", path[100], key[100], pub[120];

static hone_rc judge(hone_rc rc, const hone_err *err) {
    if (rc && (err->rc != rc || !*err->text)) return HONE_E_FAILED;
    if (rc == HONE_E_IO && strstr(err->text, "Cannot allocate memory")) return HONE_E_NOMEM; /* as the C library says */
    if (rc && rc != HONE_E_NOMEM) fprintf(stderr, "# %s\n", err->text);
    return rc;
}

static hone_rc make_text(void *ctx) {
    hone_controls c = fixture();
    char *text = NULL;
    hone_err err = {HONE_OK, ""};
    (void)ctx;
    hone_rc rc = hone_controls_text(&c, &text, &err);
    if (rc && text) return HONE_E_FAILED;
    hone_free(text);
    return judge(rc, &err);
}

static hone_rc parse(void *ctx) {
    hone_controls *c = NULL;
    hone_err err = {HONE_OK, ""};
    hone_rc rc = hone_controls_parse(ctx, strlen(ctx), "t", &c, &err);
    if (rc && c) return HONE_E_FAILED;
    hone_controls_free(c);
    return judge(rc, &err);
}

static hone_rc files(void *ctx) {
    hone_controls c = fixture();
    hone_err err = {HONE_OK, ""};
    (void)ctx;
    hone_rc rc = hone_controls_write(&c, path, &err);
    if (!rc) rc = hone_controls_sign(path, key, &err);
    if (!rc) rc = hone_controls_verify(path, pub, &err);
    return judge(rc, &err);
}

int main(void) {
    hone_controls c = fixture();
    char *text = NULL;
    if (!mkdtemp(dir)) return 1;
    snprintf(path, sizeof path, "%s/a.hone", dir);
    snprintf(key, sizeof key, "%s/key", dir);
    snprintf(pub, sizeof pub, "%s/key.pub", dir);
    if (hone_key_generate(key, NULL, NULL) || hone_controls_text(&c, &text, NULL)) return 1;
    sweep_allocations("controls/text_nth_allocation_fails", make_text, NULL);
    sweep_allocations("controls/parse_nth_allocation_fails", parse, text);
    sweep_allocations("controls/files_nth_allocation_fails", files, NULL);
    hone_free(text);
    hn_remove_tree(dir, NULL);
    return done_testing();
}
