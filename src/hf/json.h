/* hf/json.h — JSON files of a model's folder: read with limits, errors that name file, line and key. */
#ifndef HN_HF_JSON_H
#define HN_HF_JSON_H

#include <hone/base.h>

#include <jansson.h>

/* A file whose text is an object. E_NOTFOUND: there is no such file. *out: json_decref. */
hone_rc hn_json_read(const char *folder, const char *name, json_t **out, hone_err *err);
/* As above of text in memory; label: what it is called in messages. Keys that are there twice are an error. */
hone_rc hn_json_parse(const char *text, size_t n, const char *label, json_t **out, hone_err *err);

#endif
