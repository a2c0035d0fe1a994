/* usual_sizes.c — see usual_sizes.h. */
#include "assess/usual_sizes.h"
#include "ir/tensor.h"

#include <ctype.h>
#include <string.h>

typedef enum role { ROLE_OTHER, ROLE_BATCH, ROLE_SEQUENCE, ROLE_IMAGE, N_ROLES } role;
static const int64_t usual[N_ROLES][14] = {
    [ROLE_OTHER] = {16, 8, 32, 64, 128, 4, 256, 2, 1},
    [ROLE_BATCH] = {1, 2, 4, 8},
    [ROLE_SEQUENCE] = {128, 64, 32, 16, 256, 512, 576, 1024, 8, 4, 2, 1},
    [ROLE_IMAGE] = {224, 256, 320, 640, 384, 192, 160, 128, 112, 96, 64, 48, 32},
};

/* --- roles ---------------------------------------------------------------------------------------------------------
 */

static bool has_word(const char *name, const char *const *word) {
    char low[128];
    size_t n = 0;
    for (; name && name[n] && n + 1 < sizeof low; n++) low[n] = (char)tolower((unsigned char)name[n]);
    low[n] = 0;
    for (; *word; word++)
        if (strstr(low, *word)) return true;
    return false;
}

/* Heights and widths lie behind the channels, or in front of the last dimension where that is one of colours. */
static bool is_place_of_image(const hn_size_place *p) {
    if (p->rank != 4 || !hn_is_float(p->dtype)) return p->rank == 4 && p->dtype == HONE_U8 && p->d > 0 && p->d < 3;
    bool colours_last = p->last >= 0 && p->last <= 4;
    return colours_last ? p->d == 1 || p->d == 2 : p->d > 1;
}

static role role_of(const hn_size_place *p) {
    static const char *const batch[] = {"batch", "bsz", NULL};
    static const char *const sequence[] = {"seq",   "len",  "time", "token", "step",
                                           "frame", "word", "past", "cache", NULL};
    static const char *const image[] = {"height", "width", NULL};
    const char *name = p->name;
    if (has_word(name, batch)) return ROLE_BATCH;
    if (has_word(name, image)) return ROLE_IMAGE;
    if (has_word(name, sequence)) return ROLE_SEQUENCE;
    if (is_place_of_image(p)) return ROLE_IMAGE;
    if (p->d == 0)
        return p->rank > 1 || !strcmp(name, "N") || !strcmp(name, "n") || !strcmp(name, "b") ? ROLE_BATCH : ROLE_OTHER;
    return (p->rank == 2 || p->rank == 3) ? ROLE_SEQUENCE : ROLE_OTHER;
}

/* --- values --------------------------------------------------------------------------------------------------------
 */

void hn_size_add(hn_free_size *f, int64_t x, int64_t low, int64_t high) {
    if (x < low || x > high || f->n == HN_SIZE_VALUES) return;
    for (size_t i = 0; i < f->n; i++)
        if (f->value[i] == x) return;
    f->value[f->n++] = x;
}

void hn_size_list(hn_free_size *f, const hn_size_place *place, int64_t low, int64_t high) {
    role r = role_of(place);
    for (size_t i = 0; i < sizeof usual[r] / sizeof *usual[r] && usual[r][i]; i++)
        hn_size_add(f, usual[r][i], low, high);
    for (int64_t x = 1; x <= 33; x++) hn_size_add(f, x, low, high);
    for (int64_t x = 40; x <= 512; x += 8) hn_size_add(f, x, low, high);
    for (int64_t x = 576; x <= 2048; x += 64) hn_size_add(f, x, low, high);
    for (int64_t x = 4096; x <= 65536; x *= 2) hn_size_add(f, x, low, high);
    hn_size_add(f, 16000, low, high);
    hn_size_add(f, low, low, high);
    if (high < INT64_MAX) hn_size_add(f, high, low, high);
}

/* --- combinations --------------------------------------------------------------------------------------------------
 */

/* All combinations of sizes from number i on whose places in the lists sum to `steps`. */
static bool search_steps(hn_size_search *s, size_t i, size_t steps) {
    hn_free_size *f = &s->size[i];
    if (i == s->n) return !steps && (s->n_tries++, s->holds(s->arg));
    if (s->n_tries > s->most_tries) return false;
    bool last = i + 1 == s->n;
    for (f->at = last ? steps : 0; f->at < f->n && f->at <= steps; f->at++)
        if (search_steps(s, i + 1, steps - f->at)) return true;
    return false;
}

bool hn_size_search_run(hn_size_search *s) {
    size_t most = 0;
    for (size_t i = 0; i < s->n; i++) most += s->size[i].n - 1;
    s->n_tries = 0;
    for (size_t steps = 0; steps <= most && s->n_tries <= s->most_tries; steps++)
        if (search_steps(s, 0, steps)) return true;
    return false;
}
