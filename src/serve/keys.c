/* keys.c — who may ask: a file of keys. */
#include "base/err.h"
#include "base/fs.h"
#include "serve/http.h"

#include <stdlib.h>
#include <string.h>

void hn_keys_free(hn_key *key, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free(key[i].key);
        free(key[i].name);
    }
    free(key);
}

static hone_rc read_line(const char *path, size_t number, char *line, hn_key *out, hone_err *err) {
    char *rest = NULL, *key = strtok_r(line, " \t\r", &rest), *name = strtok_r(NULL, " \t\r", &rest),
         *most = strtok_r(NULL, " \t\r", &rest), *end = NULL;
    char usual[32];
    *out = (hn_key){0};
    if (!key || *key == '#') return HONE_OK;
    snprintf(usual, sizeof usual, "key-%zu", number);
    if (strlen(key) < 8)
        return hn_fail(err, HONE_E_INPUT, "%s:%zu:1: a key of %zu characters; give it 8 or more", path, number,
                       strlen(key));
    if (most) out->most = strtoull(most, &end, 10);
    if (most && (*end || !out->most))
        return hn_fail(err, HONE_E_INPUT, "%s:%zu:1: '%s' is no number of requests at once", path, number, most);
    out->key = strdup(key);
    out->name = strdup(name ? name : usual);
    return out->key && out->name ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
}

hone_rc hn_keys_read(const char *path, hn_key **out, size_t *n, hone_err *err) {
    char *text = NULL, *rest = NULL;
    size_t size = 0, n_line = 1, k = 0, number = 0;
    hone_rc rc = hn_read_file(path, &text, &size, err);
    if (rc) return rc;
    for (size_t i = 0; i < size; i++) n_line += text[i] == '\n';
    hn_key *list = calloc(n_line + 1, sizeof *list);
    if (!list) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
    for (char *line = text; !rc && line; line = rest) {
        rest = strchr(line, '\n');
        if (rest) *rest++ = 0;
        rc = read_line(path, ++number, line, &list[k], err);
        k += list[k].key || list[k].name;
    }
    if (!rc && !k) rc = hn_fail(err, HONE_E_INPUT, "'%s' holds no key; write one a line", path);
    free(text);
    if (rc) {
        hn_keys_free(list, list ? k : 0);
        return rc;
    }
    *out = list;
    *n = k;
    return HONE_OK;
}

/* The time that it takes does not tell how much of a key is right. */
hn_key *hn_keys_find(hn_key *key, size_t n, const char *bearer) {
    static const char prefix[] = "Bearer ";
    hn_key *found = NULL;
    if (!bearer || strncasecmp(bearer, prefix, sizeof prefix - 1)) return NULL;
    bearer += sizeof prefix - 1;
    size_t size = strlen(bearer);
    for (size_t i = 0; i < n; i++) {
        size_t own = strlen(key[i].key);
        unsigned differs = size != own;
        for (size_t k = 0; k < own; k++) differs |= (unsigned char)(key[i].key[k] ^ bearer[size ? k % size : 0]);
        if (!differs) found = &key[i];
    }
    return found;
}
