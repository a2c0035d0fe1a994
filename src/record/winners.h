/* record/winners.h — the fields of a winner as a table, for databases and the text alike; where winners can be kept.
 * Internal to the room. */
#ifndef HN_WINNERS_H
#define HN_WINNERS_H

#include "base/err.h"
#include "base/str.h"

#include <hone/winners.h>

enum { HN_WINNER_KEYS = 9, HN_WINNER_TEXTS = 16, HN_WINNER_NUMBERS = 7 };
typedef struct hn_winner_field {
    const char *name; /* column, and key in the text */
    size_t at;        /* in hone_winner */
} hn_winner_field;
/* Texts: the key's first, in the order in which they are hashed. Never reorder. */
extern const hn_winner_field hn_winner_text[HN_WINNER_TEXTS];
extern const hn_winner_field hn_winner_number[HN_WINNER_NUMBERS];

static inline const char **hn_winner_text_of(hone_winner *w, int i) {
    return (const char **)(void *)((char *)w + hn_winner_text[i].at);
}
static inline double *hn_winner_number_of(hone_winner *w, int i) {
    return (double *)(void *)((char *)w + hn_winner_number[i].at);
}
/* A copy that owns its texts; false: no memory. */
bool hn_winner_copy(const hone_winner *from, hone_winner *to);

/* Rows as a list that grows; takes over what is added. */
typedef struct hn_winner_list {
    hone_winner *row;
    size_t n, room;
} hn_winner_list;
bool hn_winner_list_add(hn_winner_list *l, hone_winner *w);

/* Trials as a list; its texts lie one behind the other, candidate and code of each. Failure is sticky in `texts`. */
typedef struct hn_trial_list {
    hone_winner_trial *row;
    size_t n, room;
    hn_str texts;
} hn_trial_list;
void hn_trial_list_add(hn_trial_list *l, const hone_winner_trial *t, const char *candidate, const char *code);

/* A place that keeps winners. Calls are those of hone/winners.h, with the same errors.
 * Owns: its state, from open to close.   Threads: one at a time.   A call that failed changed nothing. */
typedef struct hn_winners_kind {
    const char *scheme, *summary; /* scheme: of its URLs */
    hone_rc (*open)(const char *where, bool write, void **state, hone_err *err);
    void (*close)(void *state); /* accepts NULL */
    /* All rows or none. `import`: the rows were read from a text. n_new: how many were added or replaced others. */
    hone_rc (*put)(void *state, const hone_winner *row, size_t n, bool import, size_t *n_new, hone_err *err);
    hone_rc (*find)(void *state, const hone_winner *key, hone_winner *out, hone_err *err);
    hone_rc (*nearest)(void *state, const hone_winner *key, hone_winner *out, hone_err *err);
    hone_rc (*list)(void *state, hone_winner **out, size_t *n, hone_err *err);
    hone_rc (*remove)(void *state, const char *id, hone_err *err);
    hone_rc (*put_trial)(void *state, const char *id, const hone_winner_trial *trial, hone_err *err);
    hone_rc (*trials)(void *state, const char *id, hn_trial_list *out, hone_err *err);
    char *(*name)(const char *where); /* as messages may show it: without user and password; malloc'ed */
} hn_winners_kind;
extern const hn_winners_kind hn_winners_sqlite, hn_winners_postgresql;
const hn_winners_kind *const *hn_winners_kinds(void); /* NULL-terminated */

#endif
