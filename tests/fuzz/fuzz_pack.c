/* The index of a pack: what was read names files of its own folder alone, and is freed without a trace. */
#include "controls/pack.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    hone_pack p = {0};
    hone_err err = {0};
    if (hn_pack_parse((const char *)data, n, "index.yaml", "pack", &p, &err)) {
        assert(err.rc && *err.text && !p.entry);
        return 0;
    }
    for (size_t i = 0; i < p.n; i++) assert(*p.entry[i].file && !strchr(p.entry[i].file, '/') && p.entry[i].hash);
    hone_pack_free(&p);
    return 0;
}
