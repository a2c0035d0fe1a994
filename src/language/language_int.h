/* language/language_int.h — an open language model. */
#ifndef HN_LANGUAGE_INT_H
#define HN_LANGUAGE_INT_H

#include "base/hash.h"
#include "base/str.h"
#include "language/kv_pool.h"
#include "text/grammar.h"
#include "text/sampler.h"
#include "text/tokenizer.h"

#include <hone/artifact.h>
#include <hone/text.h>

struct hone_text {
    char *path, key[33];     /* key: of the library */
    char *stamp;             /* of a folder that hone_text_tuned made; NULL: the file's own */
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
    float *logits, *hidden; /* of the rows asked for last: [rows, vocabulary], [rows, width] */
    int64_t n_logits, width;
    hn_pieces *pieces; /* made when a grammar asks for them */
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

/* chat.c: E_NOTFOUND. */
hone_rc hn_no_template(const hone_text *m, hone_err *err);

/* renew.c: what hone_text_renew says of a file. */
void hn_language_stamp(hn_hash *h, const char *real);
/* The model that a folder of hone_text_tuned leads to, with the folder's stamp; any other path is itself, without one.
 * Both to be freed. E_IO: the model is gone. */
hone_rc hn_language_resolve(const char *path, char **real, char **stamp, hone_err *err);

/* session.c. As many tokens as may go into one step. */
enum { HN_CHUNK = 256 };
/* The next n tokens have keys and values in their blocks. */
void hn_session_kept(hone_text_session *s, size_t n);
/* Blocks for the first n tokens of a session that has none; bytes of a token's row in state i. */
hone_rc hn_session_room(hone_text_session *s, size_t n, hone_err *err);
size_t hn_session_row_b(const hone_text *m, int32_t state);
/* Gives back what lies behind s->n, where that was set to less. */
void hn_session_cut(hone_text_session *s);
/* E_LIMIT: n tokens behind those there are overflow the context. */
hone_rc hn_session_fits(const hone_text *m, size_t have, size_t n, hone_err *err);
hone_rc hn_session_feed_all(hone_text *m, hone_text_feed *feed, size_t n, const volatile int *stop, hone_err *err);
/* Feeds n tokens behind those so far; the logits of the last n_want of them go to m->logits. */
hone_rc hn_session_step(hone_text_session *s, const int32_t *token, size_t n, size_t n_want, hone_err *err);
/* As many steps as it takes; the logits of the last token. */
hone_rc hn_session_feed(hone_text_session *s, const int32_t *token, size_t n, const volatile int *stop, hone_err *err);
/* Cuts the session to what it has in common with these tokens, and not all of them. Gives the tokens kept. */
size_t hn_session_keep(hone_text_session *s, const int32_t *token, size_t n);
/* An empty session takes what the pool has of these tokens (n fit), but for the last one. Gives the tokens taken. */
size_t hn_session_begin(hone_text_session *s, const int32_t *token, size_t n);

/* --- what answers are made of ------------------------------------------------------------------------------------ */

/* constraint.c: the grammar of a request. Zeroed: none. */
typedef struct hn_constraint {
    hn_grammar *grammar;
    hn_places *places;
    const hn_pieces *pieces;
} hn_constraint;
hone_rc hn_constraint_open(hone_text *m, const hone_text_generate_options *r, hn_constraint *out, hone_err *err);
void hn_constraint_close(hn_constraint *c);
/* *allowed is NULL where there is no grammar. E_EMPTY: no token fits. */
hone_rc hn_constraint_allowed(const hn_constraint *c, int32_t place, const uint64_t **allowed, hone_err *err);
hone_rc hn_constraint_read(const hn_constraint *c, int32_t place, int32_t token, int32_t *out, hone_err *err);
static inline bool hn_constraint_over(const hn_constraint *c, int32_t place) {
    return c->grammar && hn_places_must_end(c->places, place);
}

/* said.c: the text of tokens, as far as it is certain, and where it stops. Zeroed: empty. */
typedef struct hn_answer_text {
    hn_detokenizer d;
    hn_str text;
    size_t n_given; /* bytes that on_text has had */
    bool stopped;   /* at a stop text: nothing comes behind it */
    bool refused;   /* on_text said no */
} hn_answer_text;
hone_rc hn_answer_text_push(hn_answer_text *s, const hone_text *m, const hone_text_generate_options *r, int32_t token,
                            hone_err *err);
hone_rc hn_answer_text_end(hn_answer_text *s, const hone_text_generate_options *r, hone_err *err);
hone_rc hn_answer_text_copy(const hn_answer_text *s, hn_answer_text *out, hone_err *err);

/* embed.c: one vector of many tokens, step by step, so that others' answers go on in between. Owns a session. */
typedef struct hn_embedding hn_embedding;
/* The tokens, n > 0, are borrowed. E_LIMIT: too many for the context. */
hone_rc hn_embedding_open(hone_text *m, const int32_t *token, size_t n, hone_text_pooling pooling, hn_embedding **out,
                          hone_err *err);
hone_rc hn_embedding_step(hn_embedding *e, hone_err *err);
/* Whether the next step needs no blocks that other sessions have. */
bool hn_embedding_fits(const hn_embedding *e);
bool hn_embedding_over(const hn_embedding *e);
/* hone_text_width floats, of length 1 (0 where all are 0), once it is over. */
void hn_embedding_take(const hn_embedding *e, float *out);
void hn_embedding_close(hn_embedding *e);

/* generate.c: the prompt's tokens, *token to be freed. */
hone_rc hn_prompt_of(const hone_text *m, const hone_text_generate_options *r, int32_t **token, size_t *n,
                     hone_err *err);
/* Whether text stood in front, so that a space at the answer's beginning is one. */
bool hn_prompt_has_text(const hone_text *m, const int32_t *token, size_t n);

/* guess.c: tokens that may come next. */
typedef struct hn_guesser {
    const hone_text_generate_options *r;
    hone_text *m;
    uint32_t most, now;        /* tokens: at most, and by how it went lately */
    double plain_s, guessed_s; /* seconds a token lately; 0: not known */
    uint32_t since;            /* tokens since the other way was tried */
} hn_guesser;
hone_rc hn_guesser_open(hone_text *m, const hone_text_generate_options *r, hn_guesser *out, hone_err *err);
/* Up to `room` tokens behind those of the session and `last`. */
hone_rc hn_guess(hn_guesser *g, hn_sampler *sampler, const hn_constraint *c, int32_t place, int32_t last, size_t room,
                 int32_t *token, size_t *n, hone_err *err);
/* What a step of so many guessed tokens gave, and the seconds it took, guesses included. */
void hn_guesser_learn(hn_guesser *g, size_t guessed, size_t right, double s);
enum { HN_MOST_GUESSED = 64 };

/* bandwidth.c: memory of so many bytes (1 GiB at most), and how fast so many threads read it: bytes per second, 0 where
 * threads cannot be started. E_NOMEM. */
typedef struct hn_memory_reader hn_memory_reader;
hone_rc hn_memory_reader_open(double size_b, uint32_t n_threads, hn_memory_reader **out, hone_err *err);
double hn_memory_reader_speed(const hn_memory_reader *r);
void hn_memory_reader_close(hn_memory_reader *r);

/* beam.c: fills in all but the times. */
hone_rc hn_beam_search(hone_text *m, const hone_text_generate_options *r, const hn_constraint *c, const int32_t *prompt,
                       size_t n_prompt, hone_text_answer *out, hone_err *err);

#endif
