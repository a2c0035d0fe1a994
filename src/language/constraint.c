/* constraint.c — the grammar of a request. */
#include "base/err.h"
#include "language/language_int.h"

#include <string.h>

hone_rc hn_constraint_open(hone_text *m, const hone_text_generate_options *r, hn_constraint *out, hone_err *err) {
    hn_constraint c = {0};
    hone_rc rc = HONE_OK;
    const char *name = r->constraint_name;
    if (r->grammar && r->json_schema)
        return hn_fail(err, HONE_E_USAGE, "a grammar and a JSON schema; an answer follows one of them");
    if (!r->grammar && !r->json_schema) return HONE_OK;
    if (r->grammar)
        rc = hn_grammar_gbnf(r->grammar, strlen(r->grammar), name ? name : "grammar", &c.grammar, err);
    else
        rc = hn_grammar_schema(r->json_schema, strlen(r->json_schema), name ? name : "schema", &c.grammar, err);
    if (!rc && !m->pieces) rc = hn_pieces_new(m->tokenizer, &m->pieces, err);
    if (!rc) rc = hn_places_new(c.grammar, &c.places, err);
    c.pieces = m->pieces;
    if (rc) {
        hn_constraint_close(&c);
        return rc;
    }
    *out = c;
    return HONE_OK;
}

void hn_constraint_close(hn_constraint *c) {
    hn_places_free(c->places);
    hn_grammar_free(c->grammar);
    *c = (hn_constraint){0};
}

hone_rc hn_constraint_allowed(const hn_constraint *c, int32_t place, const uint64_t **allowed, hone_err *err) {
    if (c->grammar) return hn_places_allowed(c->places, place, c->pieces, allowed, err);
    *allowed = NULL;
    return HONE_OK;
}

hone_rc hn_constraint_read(const hn_constraint *c, int32_t place, int32_t token, int32_t *out, hone_err *err) {
    if (c->grammar) return hn_places_read_token(c->places, place, c->pieces, token, out, err);
    *out = place;
    return HONE_OK;
}
