/* text/template.h — chat templates: the part of Jinja that models' templates use.
 *
 * Rendered as the field does: blocks are trimmed (trim_blocks, lstrip_blocks), nothing is escaped, undefined names
 * print as nothing, raise_exception(text) is an error with that text. Known: output, for (with if, else, break,
 * continue), if, set, macros, namespace(), comments, raw; the filters, tests and methods of template_call.c. What is
 * not known is refused with its line. A template that never ends is ended: steps and output are counted. Owns: nothing
 * between calls.   Threads: re-entrant. Errors:  E_INPUT (names the line of the template), E_LIMIT, E_NOMEM. Source:
 * Jinja's documentation (jinja.palletsprojects.com, template designer); held against the package jinja2 by tests/py.
 */
#ifndef HN_TEMPLATE_H
#define HN_TEMPLATE_H

#include "base/str.h"

#include <jansson.h>

/* context: an object; its members are the template's names (messages, bos_token, add_generation_prompt, tools ...).
 * Appends to out. now_s: Unix time that strftime_now shows. */
hone_rc hn_template_render(const char *text, size_t n, const json_t *context, double now_s, hn_str *out, hone_err *err);

#endif
