/* hf/facts.h — what tells one state of a model's folder from another. */
#ifndef HN_HF_FACTS_H
#define HN_HF_FACTS_H

#include "base/str.h"

/* Appends name, size and time of each file that weights and sizes come from, in the order of their names. */
void hn_hf_facts(const char *folder, hn_str *out);

#endif
