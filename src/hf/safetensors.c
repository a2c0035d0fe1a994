/* safetensors.c — reading safetensors files. */
#include "hf/safetensors.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/names.h"
#include "base/str.h"
#include "hf/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_B = 100000000, SHARDS = 1024 }; /* limits: of a header (the format's own), of files */

struct hn_safetensors {
    hn_arena arena;
    hn_mapping *map; /* n_map of them are ours to unmap */
    size_t n_map;
    uint64_t size_b;
    hn_st_tensor *tensor;
    size_t n, room;
    hn_names name; /* -> number + 1 */
};

static const struct {
    const char *name;
    uint64_t size_b;
} types[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
             {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"F64", 8},     {"I64", 8}, {"U64", 8}};

/* --- one file -------------------------------------------------------------------------------------------------------
 */

static uint64_t word(const uint8_t *p) {
    uint64_t x = 0;
    for (size_t i = 0; i < 8; i++) x |= (uint64_t)p[i] << 8 * i;
    return x;
}

bool hn_safetensors_sniff(const void *data, size_t n) {
    const uint8_t *p = data;
    return n > 9 && p[8] == '{' && word(p) >= 2 && word(p) <= HEADER_B;
}

static hone_rc damaged(const char *file, const char *name, const char *what, hone_err *err) {
    return hn_fail(err, HONE_E_INPUT, "%s: tensor '%s' %s; the file is damaged: fetch it again", file, name, what);
}

static bool count_of(const json_t *j, uint64_t *out) {
    if (!json_is_integer(j) || json_integer_value(j) < 0) return false;
    *out = (uint64_t)json_integer_value(j);
    return true;
}

static hone_rc read_type(hn_st_tensor *t, const json_t *j, uint64_t *size_b, hone_err *err) {
    const char *type = json_string_value(json_object_get(j, "dtype"));
    if (!type) return damaged(t->file, t->name, "has no 'dtype'", err);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, type)) {
            t->type = types[i].name;
            *size_b = types[i].size_b;
            return HONE_OK;
        }
    return hn_fail(err, HONE_E_UNSUPPORTED, "%s: tensor '%s' has element type '%.20s', which is not known", t->file,
                   t->name, type);
}

/* Invariants 2 and the first half of 3 for one tensor. */
static hone_rc read_tensor(hn_st_tensor *t, const json_t *j, const uint8_t *data, uint64_t n_data, hone_err *err) {
    const json_t *shape = json_object_get(j, "shape"), *span = json_object_get(j, "data_offsets");
    uint64_t from = 0, to = 0, size_b = 0;
    hone_rc rc = read_type(t, j, &size_b, err);
    if (rc) return rc;
    if (!json_is_array(shape)) return damaged(t->file, t->name, "has no 'shape'", err);
    t->rank = json_array_size(shape);
    if (t->rank > HN_SAFETENSORS_RANK)
        return hn_fail(err, HONE_E_UNSUPPORTED, "%s: tensor '%s' has %zu dimensions; up to %d are read", t->file,
                       t->name, t->rank, HN_SAFETENSORS_RANK);
    t->n_elements = 1;
    for (size_t d = 0; d < t->rank; d++)
        if (!count_of(json_array_get(shape, d), &t->dim[d]) ||
            __builtin_mul_overflow(t->n_elements, t->dim[d], &t->n_elements))
            return damaged(t->file, t->name, "has an extent that is no count, or too large", err);
    if (__builtin_mul_overflow(t->n_elements, size_b, &t->size_b))
        return damaged(t->file, t->name, "is too large", err);
    if (json_array_size(span) != 2 || !count_of(json_array_get(span, 0), &from) ||
        !count_of(json_array_get(span, 1), &to) || from > to)
        return damaged(t->file, t->name, "has no 'data_offsets' from and to", err);
    if (to > n_data)
        return hn_fail(err, HONE_E_INPUT,
                       "%s: tensor '%s' ends %" PRIu64 " bytes behind the header, but only %" PRIu64
                       " are there; the file was cut short: fetch it again",
                       t->file, t->name, to, n_data);
    if (to - from != t->size_b)
        return hn_fail(err, HONE_E_INPUT,
                       "%s: tensor '%s' has %" PRIu64 " bytes, but its type and shape ask for %" PRIu64
                       "; the file is damaged: fetch it again",
                       t->file, t->name, to - from, t->size_b);
    t->data = data + from;
    return HONE_OK;
}

static int by_data(const void *a, const void *b) {
    const hn_st_tensor *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return x->size_b < y->size_b ? -1 : x->size_b > y->size_b;
}

/* Invariant 3 for the tensors of one file, which are put in the order of their bytes. */
static hone_rc check_cover(hn_st_tensor *t, size_t n, const char *file, const uint8_t *data, uint64_t n_data,
                           hone_err *err) {
    uint64_t end = 0;
    if (n) qsort(t, n, sizeof *t, by_data);
    for (size_t i = 0; i < n; i++) {
        uint64_t from = (uint64_t)(t[i].data - data);
        if (from < end)
            return hn_fail(err, HONE_E_INPUT,
                           "%s: tensors '%s' and '%s' share bytes; the file is damaged: fetch it again", file,
                           t[i - 1].name, t[i].name);
        if (from > end) return damaged(file, t[i].name, "has bytes in front of it that belong to no tensor", err);
        end = from + t[i].size_b;
    }
    if (end == n_data) return HONE_OK;
    return hn_fail(err, HONE_E_INPUT,
                   "%s: the last %" PRIu64 " bytes belong to no tensor; the file is damaged: fetch it again", file,
                   n_data - end);
}

static hone_rc more_room(hn_safetensors *s, size_t n, hone_err *err) {
    if (s->n + n <= s->room) return HONE_OK;
    size_t room = s->n + n > 2 * s->room ? s->n + n : 2 * s->room;
    hn_st_tensor *t = realloc(s->tensor, (room ? room : 1) * sizeof *t);
    if (!t) return hn_fail(err, HONE_E_NOMEM, "out of memory reading tensors");
    s->tensor = t;
    s->room = room;
    return HONE_OK;
}

static hone_rc read_tensors(hn_safetensors *s, json_t *header, const char *file, const uint8_t *data, uint64_t n_data,
                            hone_err *err) {
    const char *name;
    json_t *j;
    size_t first = s->n;
    hone_rc rc = more_room(s, json_object_size(header), err);
    if (rc) return rc;
    json_object_foreach(header, name, j) {
        if (!strcmp(name, "__metadata__")) continue;
        hn_st_tensor *t = &s->tensor[s->n];
        *t = (hn_st_tensor){.name = hn_strdup(&s->arena, name), .file = file};
        if (!t->name) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", file);
        if (!json_is_object(j)) return damaged(file, name, "is no JSON object", err);
        if ((rc = read_tensor(t, j, data, n_data, err))) return rc;
        s->n++;
    }
    return check_cover(s->tensor + first, s->n - first, file, data, n_data, err);
}

static hone_rc read_file(hn_safetensors *s, const uint8_t *at, size_t n, const char *file, hone_err *err) {
    uint64_t header_b = n >= 8 ? word(at) : 0;
    json_t *header = NULL;
    if (n < 8)
        return hn_fail(err, HONE_E_INPUT, "'%s' has %zu bytes: too short for a safetensors file; fetch it again", file,
                       n);
    if (hn_is_lfs_pointer(at, n))
        return hn_fail(err, HONE_E_INPUT, "'%s' is a pointer of Git LFS, not the weights: run git lfs pull there",
                       file);
    if (header_b > HEADER_B)
        return hn_fail(err, HONE_E_LIMIT,
                       "'%s' says that its header has %" PRIu64 " bytes; a safetensors header has at most %d", file,
                       header_b, HEADER_B);
    if (header_b > n - 8)
        return hn_fail(err, HONE_E_INPUT,
                       "'%s' has a header of %" PRIu64
                       " bytes, but only %zu are there; it was cut short: fetch it again",
                       file, header_b, n - 8);
    hone_rc rc = hn_json_parse((const char *)at + 8, (size_t)header_b, file, &header, err);
    if (!rc) rc = read_tensors(s, header, file, at + 8 + header_b, n - 8 - header_b, err);
    json_decref(header);
    s->size_b += n;
    return rc;
}

/* --- a folder --------------------------------------------------------------------------------------------------------
 */

static const char one_file[] = "model.safetensors", index_file[] = "model.safetensors.index.json";

static bool has(const char *folder, const char *name) {
    char *path = hn_path_join(folder, name);
    bool there = path && hn_exists(path);
    free(path);
    return there;
}

bool hn_safetensors_are_in(const char *folder) { return has(folder, one_file) || has(folder, index_file); }

static hone_rc map_file(hn_safetensors *s, const char *folder, const char *name, hone_err *err) {
    char *joined = hn_path_join(folder, name);
    const char *path = hn_strdup(&s->arena, joined);
    hn_mapping *map = realloc(s->map, (s->n_map + 1) * sizeof *map);
    free(joined);
    if (map) s->map = map;
    if (!path || !map) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", name);
    map = &s->map[s->n_map];
    hone_rc rc = hn_map_file(path, map, err);
    if (rc) return rc;
    s->n_map++;
    return read_file(s, map->at, map->n, path, err);
}

/* The index's word for a shard: a plain name, so that nothing outside the folder is opened. */
static hone_rc check_shard_name(const char *folder, const char *tensor, const json_t *j, hone_err *err) {
    const char *name = json_string_value(j);
    if (name && name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) == json_string_length(j))
        return HONE_OK;
    return hn_fail(err, HONE_E_INPUT, "%s/%s: tensor '%s' is not in a file of this folder, but in '%.60s'", folder,
                   index_file, tensor, name ? name : "no text");
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Invariant 4, once all shards are open. */
static hone_rc check_index(hn_safetensors *s, const char *folder, json_t *map, hone_err *err) {
    const char *name;
    json_t *j;
    for (size_t i = 0; i < s->n; i++)
        if (!json_object_get(map, s->tensor[i].name))
            return hn_fail(err, HONE_E_INPUT, "%s: tensor '%s' is not in '%s'; fetch the files again",
                           s->tensor[i].file, s->tensor[i].name, index_file);
    json_object_foreach(map, name, j) {
        const hn_st_tensor *t = hn_safetensors_named(s, name);
        if (!t || strcmp(file_name(t->file), json_string_value(j)) != 0)
            return hn_fail(err, HONE_E_INPUT, "%s/%s: tensor '%s' is not in '%s', where the index has it", folder,
                           index_file, name, json_string_value(j));
    }
    return HONE_OK;
}

static hone_rc index_names(hn_safetensors *s, hone_err *err) {
    for (size_t i = 0; i < s->n; i++) {
        const hn_st_tensor *t = &s->tensor[i];
        if (!hn_names_put(&s->name, &s->arena, t->name, (void *)(uintptr_t)(i + 1)) && hn_arena_ok(&s->arena))
            return hn_fail(err, HONE_E_INPUT, "%s: a second tensor '%s'; the first is in '%s'", t->file, t->name,
                           hn_safetensors_named(s, t->name)->file);
    }
    return hn_arena_ok(&s->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory reading tensors");
}

static hone_rc open_shards(hn_safetensors *s, const char *folder, hone_err *err) {
    json_t *index = NULL, *map, *j, *seen = json_object();
    const char *name;
    hone_rc rc = hn_json_read(folder, index_file, &index, err);
    map = rc ? NULL : json_object_get(index, "weight_map");
    if (!rc && !json_object_size(map))
        rc = hn_fail(err, HONE_E_INPUT, "%s/%s has no 'weight_map'; fetch it again", folder, index_file);
    if (!rc) json_object_foreach(map, name, j) {
            if ((rc = check_shard_name(folder, name, j, err))) break;
            if (json_object_get(seen, json_string_value(j))) continue;
            if (json_object_size(seen) == SHARDS)
                rc = hn_fail(err, HONE_E_LIMIT, "%s/%s names more than %d files", folder, index_file, SHARDS);
            if (!rc && json_object_set_new(seen, json_string_value(j), json_true()))
                rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", folder);
            if (!rc) rc = map_file(s, folder, json_string_value(j), err);
            if (rc) break;
        }
    if (!rc) rc = index_names(s, err);
    if (!rc) rc = check_index(s, folder, map, err);
    json_decref(seen);
    json_decref(index);
    return rc;
}

static hone_rc finish(hn_safetensors *s, hone_rc rc, hn_safetensors **out) {
    if (rc)
        hn_safetensors_close(s);
    else
        *out = s;
    return rc;
}

hone_rc hn_safetensors_open(const char *folder, hn_safetensors **out, hone_err *err) {
    hn_safetensors *s = calloc(1, sizeof *s);
    hone_rc rc;
    if (!s) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", folder);
    if (has(folder, index_file))
        rc = open_shards(s, folder, err);
    else if (!has(folder, one_file))
        rc = hn_fail(err, HONE_E_NOTFOUND, "'%s' has neither '%s' nor '%s'; convert the weights to safetensors", folder,
                     one_file, index_file);
    else if (!(rc = map_file(s, folder, one_file, err)))
        rc = index_names(s, err);
    return finish(s, rc, out);
}

hone_rc hn_safetensors_open_memory(const void *data, size_t n, hn_safetensors **out, hone_err *err) {
    hn_safetensors *s = calloc(1, sizeof *s);
    if (!s) return hn_fail(err, HONE_E_NOMEM, "out of memory reading tensors");
    hone_rc rc = read_file(s, data, n, "safetensors in memory", err);
    if (!rc) rc = index_names(s, err);
    return finish(s, rc, out);
}

void hn_safetensors_close(hn_safetensors *s) {
    if (!s) return;
    for (size_t i = 0; i < s->n_map; i++) hn_unmap(&s->map[i]);
    free(s->map);
    free(s->tensor);
    hn_arena_free(&s->arena);
    free(s);
}

uint64_t hn_safetensors_size_b(const hn_safetensors *s) { return s->size_b; }
size_t hn_safetensors_count(const hn_safetensors *s) { return s->n; }
const hn_st_tensor *hn_safetensors_at(const hn_safetensors *s, size_t i) { return i < s->n ? &s->tensor[i] : NULL; }

const hn_st_tensor *hn_safetensors_named(const hn_safetensors *s, const char *name) {
    size_t at = (size_t)(uintptr_t)hn_names_get(&s->name, name);
    return at ? &s->tensor[at - 1] : NULL;
}
