/* record/winners.h — the fields of a winner as a table, for the database and the text alike. Internal to the room. */
#ifndef HN_WINNERS_H
#define HN_WINNERS_H

#include "base/err.h"

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

#endif
