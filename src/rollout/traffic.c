/* rollout/traffic.c — what models are asked for: into the store and back, and as JSON. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "record/asked.h"
#include "rollout/rollouts_int.h"
#include "rollout/versions.h"

#include <hone/traffic.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES_MOST = 64 };
static const double half_life_s = 7 * 86400;

static hone_rc no_memory(hone_err *err) { return hn_fail(err, HONE_E_NOMEM, "out of memory counting requests"); }

/* --- the store ------------------------------------------------------------------------------------------------------
 */

hone_rc hone_traffic_add(hone_rollouts *r, const char *base, const hone_traffic_row *row, size_t n, hone_err *err) {
    char *whole = hn_version_path(base);
    hn_asked *asked = malloc((n + 1) * sizeof *asked);
    hone_rc rc = whole && asked ? HONE_OK : no_memory(err);
    for (size_t i = 0; !rc && i < n; i++) {
        asked[i] = (hn_asked){row[i].kind, row[i].size, row[i].count, row[i].time_s};
        if (!(row[i].count >= 0) || !(row[i].time_s >= 0) || isinf(row[i].count + row[i].time_s))
            rc = hn_fail(err, HONE_E_INPUT, "count or time of '%s' is no number that can be", row[i].size);
    }
    if (!rc) rc = hn_asked_add(r->store, whole, asked, n, hn_unix_s(), half_life_s, SIZES_MOST, err);
    free(asked);
    free(whole);
    return rc;
}

/* Rows and their texts in one block. */
static hone_rc pack(const hn_asked *from, size_t n, hone_traffic_row **out, hone_err *err) {
    size_t room = (n + 1) * sizeof **out;
    for (size_t i = 0; i < n; i++) room += strlen(from[i].kind) + strlen(from[i].size) + 2;
    hone_traffic_row *row = malloc(room);
    if (!row) return no_memory(err);
    char *at = (char *)(row + n + 1);
    for (size_t i = 0; i < n; i++) {
        row[i] = (hone_traffic_row){at, at + strlen(from[i].kind) + 1, from[i].count, from[i].time_s};
        at = stpcpy(stpcpy(at, from[i].kind) + 1, from[i].size) + 1;
    }
    *out = row;
    return HONE_OK;
}

hone_rc hone_traffic_read(hone_rollouts *r, const char *base, hone_traffic_row **row, size_t *n, hone_err *err) {
    hn_arena a = {0};
    hn_asked *list = NULL;
    size_t count = 0;
    char *whole = hn_version_path(base);
    hone_rc rc = whole ? hn_asked_list(r->store, whole, &a, &list, &count, err) : no_memory(err);
    if (!rc && !count)
        rc = hn_fail(err, HONE_E_NOTFOUND,
                     "'%s' was asked for nothing yet, as '%s' has it; serve it with `hone serve`, which counts", base,
                     r->path);
    if (!rc) rc = pack(list, count, row, err);
    if (!rc) *n = count;
    free(whole);
    hn_arena_free(&a);
    return rc;
}

/* --- JSON -----------------------------------------------------------------------------------------------------------
 */

char *hone_traffic_json(const hone_traffic_row *row, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; list && i < n; i++) {
        json_t *one = json_pack("{s:s, s:s, s:f, s:f}", "kind", row[i].kind, "size", row[i].size, "count", row[i].count,
                                "time_s", row[i].time_s);
        if (json_array_append_new(list, one)) json_decref(list), list = NULL;
    }
    char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;
    json_decref(list);
    return text;
}

static bool read_row(const json_t *x, hn_asked *out) {
    const char *kind = json_string_value(json_object_get(x, "kind")),
               *size = json_string_value(json_object_get(x, "size"));
    const json_t *count = json_object_get(x, "count"), *time_s = json_object_get(x, "time_s");
    if (!kind || !size || !json_is_number(count) || (time_s && !json_is_number(time_s))) return false;
    *out = (hn_asked){kind, size, json_number_value(count), time_s ? json_number_value(time_s) : 0};
    return strlen(kind) < 16 && strlen(size) < 160 && out->count >= 0 && out->time_s >= 0;
}

hone_rc hone_traffic_parse(const char *json, size_t n_json, const char *label, hone_traffic_row **row, size_t *n,
                           hone_err *err) {
    json_error_t where;
    json_t *list = json_loadb(json, n_json, 0, &where);
    if (!list) return hn_fail(err, HONE_E_INPUT, "%s:%d:%d: %s", label, where.line, where.column, where.text);
    size_t count = json_array_size(list);
    hn_asked *asked = malloc((count + 1) * sizeof *asked);
    hone_rc rc = asked ? HONE_OK : no_memory(err);
    if (!rc && !json_is_array(list)) rc = hn_fail(err, HONE_E_INPUT, "%s: not an array of rows", label);
    for (size_t i = 0; !rc && i < count; i++)
        if (!read_row(json_array_get(list, i), &asked[i]))
            rc = hn_fail(err, HONE_E_INPUT,
                         "%s: row %zu is not {\"kind\": text, \"size\": text, \"count\": number, \"time_s\": number}",
                         label, i + 1);
    if (!rc) rc = pack(asked, count, row, err);
    if (!rc) *n = count;
    free(asked);
    json_decref(list);
    return rc;
}
