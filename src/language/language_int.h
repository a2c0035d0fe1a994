/* language/language_int.h — an open language model. */
#ifndef HN_LANGUAGE_INT_H
#define HN_LANGUAGE_INT_H

#include "language/kv_pool.h"
#include "text/tokenizer.h"

#include <hone/artifact.h>
#include <hone/text.h>

struct hone_text {
    char *path, key[33];     /* key: of the library */
    hn_tokenizer *tokenizer; /* NULL: opened without */
    char *chat_template;     /* NULL: the file has none */
    size_t n_chat_template;
    hone_artifact *library; /* NULL: the tokenizer alone */
    const hone_model *model;
    hone_model_instance *instance;
    int64_t context, vocabulary, window;   /* window: last positions that any layer sees; 0: all */
    hn_kv_pool pool;                       /* of the instance's states */
    hone_text_session *sessions, *session; /* all of them; that of hone_text_generate */
    uint64_t clock;
    float *logits; /* of the rows asked for last */
    int64_t n_logits;
};

struct hone_text_session {
    hone_text *m;
    int32_t *token;   /* room for the whole context */
    size_t n, n_kept; /* tokens; those in front whose keys and values are in `block` */
    int32_t *block;
    size_t n_block, first; /* blocks in front of `first` were given back: all layers have a window */
    bool alone;            /* takes no blocks of others, and leaves none to them */
    bool busy;             /* in the step that is under way */
    uint64_t used;
    hone_text_session *next;
};

/* E_USAGE unless the model was opened with the one, the other, or both. */
hone_rc hn_language_ready(const hone_text *m, bool tokenizer, bool library, hone_err *err);

/* session.c. As many tokens as may go into one step. */
enum { HN_CHUNK = 256 };
/* The next n tokens have keys and values in their blocks. */
void hn_session_kept(hone_text_session *s, size_t n);
/* Blocks for the first n tokens of a session that has none; bytes of a token's row in state i. */
hone_rc hn_session_room(hone_text_session *s, size_t n, hone_err *err);
size_t hn_session_row_b(const hone_text *m, int32_t state);
/* Gives back what lies behind s->n, where that was set to less. */
void hn_session_cut(hone_text_session *s);
hone_rc hn_session_feed_all(hone_text *m, hone_text_feed *feed, size_t n, const volatile int *stop, hone_err *err);
/* Feeds n tokens behind those so far; the logits of the last n_want of them go to m->logits. */
hone_rc hn_session_step(hone_text_session *s, const int32_t *token, size_t n, size_t n_want, hone_err *err);
/* As many steps as it takes; the logits of the last token. */
hone_rc hn_session_feed(hone_text_session *s, const int32_t *token, size_t n, const volatile int *stop, hone_err *err);
/* Cuts the session to what it has in common with these tokens, and not all of them. Gives the tokens kept. */
size_t hn_session_keep(hone_text_session *s, const int32_t *token, size_t n);

#endif
