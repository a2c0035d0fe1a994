/* hone/text.h — language models: a file is opened, compiled where that has not been done, and answers.
 *
 *     hone_text *m;
 *     if (hone_text_open("model.gguf", NULL, &m, &err)) …
 *     hone_text_generate_options ask = hone_text_generate_defaults();
 *     ask.prompt = "The capital of France is";
 *     hone_text_generate(m, &ask, &answer, &err);
 *
 * Owns:    a model owns its library, tokenizer and cache of keys and values.
 * Units:   seconds, bytes, tokens; log-probabilities are natural logarithms.
 * Threads: a model is used by one thread at a time; functions that take a const model may run beside it, in others.
 * Errors:  those of hone_import_model and hone_compile_model; E_NOTFOUND (no tokenizer in the file), E_LIMIT (a context
 * that overflows: says its length), E_INTERRUPTED (*stop). Repeat:  the same request gives the same tokens.
 */
#ifndef HONE_TEXT_H
#define HONE_TEXT_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_text hone_text;

typedef struct hone_text_options {
    size_t size;
    uint32_t n_threads;     /* 0: processors */
    int64_t context;        /* tokens at most, prompt and answer together; 0: the model's own, at most 8,192 */
    const char *compiler;   /* NULL: cc */
    const char *target;     /* NULL: "native" */
    bool no_parity;         /* compile without holding kernels against the interpreter */
    hone_progress progress; /* of a compilation */
    const volatile int *stop;
    bool no_tokenizer; /* tokens in, tokens out: a file's tokenizer is not read, and there need be none */
    const char *cache; /* keys and values are kept as "f32", "f16", "bf16" or "q8"; NULL: f16, of exact models f32 */
    int64_t cached_tokens;   /* of all sessions together, at least the context; 0: 16 contexts */
    bool exact;              /* products with packed weights round nothing; else they round as `activations` says */
    bool chat;               /* E_NOTFOUND, before anything is compiled, if the model has no chat template */
    const char *activations; /* as hone_import_options */
    int64_t kept_tokens;     /* of ended sessions, for prompts that begin alike, at most cached_tokens; 0: cached_tokens
                                where that is given, else 512 MiB of them */
} hone_text_options;
static inline hone_text_options hone_text_defaults(void) {
    hone_text_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

/* options: NULL for the defaults. */
HONE_API hone_rc hone_text_open(const char *path, const hone_text_options *options, hone_text **out, hone_err *err);
HONE_API void hone_text_close(hone_text *m);
/* The next hone_text_open compiles the model again, as after its kernels were tuned. */
HONE_API hone_rc hone_text_renew(const char *path, hone_err *err);
/* Makes FOLDER: the model of `path` with its kernels as they are tuned now. It opens as any model does, compiles to a
 * library of its own, and holds a link to the model, not the model. So both can run side by side (hone deploy). E_IO:
 * the folder has one already, or cannot be written. */
HONE_API hone_rc hone_text_tuned(const char *path, const char *folder, hone_err *err);
/* Removes the library that hone_text_open compiled for this path and these options, where there is one; what has it
 * open goes on. The next hone_text_open compiles again. E_IO: the path, or the model that a folder leads to, is gone.
 */
HONE_API hone_rc hone_text_forget(const char *path, const hone_text_options *options, hone_err *err);
HONE_API int64_t hone_text_context(const hone_text *m);
HONE_API size_t hone_text_vocabulary(const hone_text *m);

/* The tokenizer alone, without compiling anything. */
HONE_API hone_rc hone_text_open_tokenizer(const char *path, hone_text **out, hone_err *err);
/* frame: with the tokens that begin (and end) a text, where the model has them. control: <|names|> of control tokens
 * stand for them. *ids: hone_free. */
HONE_API hone_rc hone_text_encode(const hone_text *m, const char *text, size_t n, bool frame, bool control,
                                  int32_t **ids, size_t *n_ids, hone_err *err);
/* *text: NUL-terminated UTF-8, what is no character as U+FFFD; hone_free. E_USAGE: a token that there is not. */
HONE_API hone_rc hone_text_decode(const hone_text *m, const int32_t *ids, size_t n_ids, bool control, char **text,
                                  size_t *n, hone_err *err);

typedef struct hone_text_bias {
    int32_t token;
    float add; /* to the token's logit; -infinity: it never comes */
} hone_text_bias;

typedef struct hone_text_generate_options {
    size_t size;
    const char *prompt;   /* text, in which control tokens' names stand for them */
    const int32_t *token; /* or tokens, as they are; NULL: the prompt */
    size_t n_token;
    uint32_t max_tokens; /* of the answer; 0: as many as the context holds */
    double temperature;  /* 0: the most likely token */
    int32_t top_k;       /* 0: all */
    double top_p, min_p, typical_p;
    double repeat_penalty, frequency_penalty, presence_penalty;
    int32_t penalty_window; /* -1: all tokens so far */
    int32_t mirostat;       /* 0 or 2 */
    double mirostat_tau, mirostat_eta;
    uint64_t seed;
    const char *const *stop_text; /* the answer ends in front of any of these */
    size_t n_stop_text;
    bool ignore_end; /* go on behind the token that ends a text */
    /* Text as it comes, whole characters; false ends the answer. NULL: none. */
    bool (*on_text)(void *arg, const char *text, size_t n);
    void *on_text_arg;
    const volatile int *stop;
    /* Which texts the answer may be: a grammar in llama.cpp's GBNF, or a JSON schema; NULL: all. Tokens that end a text
     * come where the grammar has an end, and nowhere else. constraint_name: of the file, for messages; may be NULL. */
    const char *grammar, *json_schema, *constraint_name;
    const hone_text_bias *bias;
    size_t n_bias;
    uint32_t n_top; /* the most likely tokens at each place, into the answer's `top` */
    /* Beam search, where n_beams is above 1: the sequences of the largest sum of log-probabilities, divided by the
     * number of tokens to the power of length_penalty. Nothing is drawn. early_stop: ends with the first n_beams that
     * came to an end; else when none better can come. */
    uint32_t n_beams;
    double length_penalty;
    bool early_stop;
    /* Speculation: tokens are guessed, and computed together; those that the model would not have given are taken back.
     * The answer is the same, token by token, with any guess; guessing stops while it slows. */
    uint32_t lookup;   /* guess at most so many tokens by what followed the last ones earlier; 0: no */
    hone_text *draft;  /* a small model of the same vocabulary guesses; NULL: none */
    uint32_t n_draft;  /* at most so many tokens; 0: 8 */
    bool always_guess; /* do not look at the time that it takes */
    size_t n_prompt;   /* bytes of the prompt, which may hold U+0000 then; 0: up to its end */
    bool no_logprobs;  /* those of the answer's tokens are left 0, which saves a pass over the logits */
} hone_text_generate_options;
/* Sampling as llama.cpp has it, seed 0, 256 tokens. */
static inline hone_text_generate_options hone_text_generate_defaults(void) {
    hone_text_generate_options o = HONE_ZERO;
    o.size = sizeof o;
    o.max_tokens = 256;
    o.temperature = 0.8, o.top_k = 40, o.top_p = 0.95, o.min_p = 0.05, o.typical_p = 1;
    o.repeat_penalty = 1, o.penalty_window = 64;
    o.mirostat_tau = 5, o.mirostat_eta = 0.1;
    o.length_penalty = 1;
    return o;
}

typedef enum hone_text_end {
    HONE_TEXT_LENGTH,
    HONE_TEXT_EOS,
    HONE_TEXT_STOP,
    HONE_TEXT_STOPPED,
    HONE_TEXT_GRAMMAR /* the text is whole: the grammar has nothing that could follow */
} hone_text_end;
HONE_API const char *hone_text_end_name(hone_text_end end); /* "length", "eos", "stop", "stopped", "grammar" */

typedef struct hone_text_top {
    int32_t token;
    double logprob;
} hone_text_top;

/* One result of a beam search. */
typedef struct hone_text_beam {
    char *text;
    size_t n_text;
    int32_t *token;
    double *logprob;
    size_t n;
    double score;
    hone_text_end end;
} hone_text_beam;

typedef struct hone_text_answer {
    char *text; /* NUL-terminated, of n_text bytes */
    size_t n_text;
    int32_t *token;
    double *logprob; /* of each token, by the model's logits as they are */
    size_t n;
    size_t n_prompt;
    hone_text_end end;
    double prompt_s, generate_s; /* the prompt, to its last token's logits; all further tokens */
    double first_s;              /* to the first token */
    uint32_t n_top;
    hone_text_top *top;   /* [n, n_top], the most likely first */
    hone_text_beam *beam; /* of a beam search: the best first, which is the answer, too */
    size_t n_beams;
    size_t n_guessed, n_right; /* tokens guessed, and those of them that came */
} hone_text_answer;
/* *out: hone_text_answer_free, after a success. */
HONE_API hone_rc hone_text_generate(hone_text *m, const hone_text_generate_options *options, hone_text_answer *out,
                                    hone_err *err);
HONE_API void hone_text_answer_free(hone_text_answer *answer);
/* n requests, HONE_TEXT_AT_ONCE of them in each step: the same answers as one by one, with fewer readings of the
 * weights. Beams, and requests with guesses, go one by one. why[i].rc: HONE_OK, or why out[i] is no answer; where
 * options[i] is NULL it stays. A failure of the whole leaves no answers. */
enum { HONE_TEXT_AT_ONCE = 16 };
HONE_API hone_rc hone_text_generate_all(hone_text *m, const hone_text_generate_options *const *options, size_t n,
                                        hone_text_answer *out, hone_err *why, hone_err *err);

/* --- sessions: tokens and what the model computed of them, kept for those that come behind ---
 *
 * A model may have many; what one gives does not depend on the others. Close them before the model. */
typedef struct hone_text_session hone_text_session;

HONE_API hone_rc hone_text_session_open(hone_text *m, hone_text_session **out, hone_err *err);
HONE_API void hone_text_session_close(hone_text_session *s);
/* Feeds n tokens behind those so far. *logits: of the last n_want (1 to n) of them, [n_want, hone_text_logits], until
 * the model is used next. After a failure the session is as before. E_LIMIT: the context overflows. */
HONE_API hone_rc hone_text_session_feed(hone_text_session *s, const int32_t *token, size_t n, size_t n_want,
                                        const float **logits, hone_err *err);
/* The same for several sessions at once, each given once: they share the reading of the weights. What a session gives
 * does not depend on the others. n_want may be 0. After a failure all are as before. */
typedef struct hone_text_feed {
    hone_text_session *session;
    const int32_t *token;
    size_t n, n_want;
    const float *logits; /* out */
} hone_text_feed;
HONE_API hone_rc hone_text_feed_all(hone_text *m, hone_text_feed *feed, size_t n, hone_err *err);
/* A vector for n tokens, into `out`, hone_text_width floats, of length 1: the last layer's states behind the model's
 * last norm, of all tokens on average, or of the last one. E_LIMIT: more tokens than the context holds. */
typedef enum hone_text_pooling { HONE_TEXT_MEAN, HONE_TEXT_LAST } hone_text_pooling;
HONE_API size_t hone_text_width(const hone_text *m);
HONE_API hone_rc hone_text_embed(hone_text *m, const int32_t *token, size_t n, hone_text_pooling pooling, float *out,
                                 hone_err *err);
/* Another session with the same tokens; they part from here on. */
HONE_API hone_rc hone_text_session_fork(const hone_text_session *s, hone_text_session **out, hone_err *err);
/* Forgets all but the first n tokens. */
HONE_API hone_rc hone_text_session_truncate(hone_text_session *s, size_t n, hone_err *err);
/* As a file, with a note (NULL: none), and back; *note: hone_free (NULL: not wanted). What is loaded goes on with the
 * same bits. E_MISMATCH: the file is of another model, or of another build of it (cache, compiler, target, hone);
 * E_INPUT: it is damaged. */
HONE_API hone_rc hone_text_session_save(hone_text_session *s, const char *note, const char *path, hone_err *err);
HONE_API hone_rc hone_text_session_load(hone_text *m, const char *path, hone_text_session **out, char **note,
                                        hone_err *err);
/* The tokens so far, until the session is used next. */
HONE_API const int32_t *hone_text_session_tokens(const hone_text_session *s, size_t *n);
/* Logits per token: the vocabulary, and what pads it. */
HONE_API size_t hone_text_logits(const hone_text *m);

/* The prompt of a conversation by the model's own chat template. messages: JSON, a list of {"role": "user", "content":
 * "..."}; answer: the text ends where the model's answer begins. *prompt: hone_free.
 * *n_prompt: its bytes, without the NUL behind it; NULL: a text with U+0000 is refused. E_NOTFOUND: the model has no
 * template; E_INPUT: it refuses these messages, or cannot be read (says the line). */
HONE_API hone_rc hone_text_prompt(const hone_text *m, const char *messages, bool answer, char **prompt,
                                  size_t *n_prompt, hone_err *err);
/* The same with further names that the template may use: a JSON object, {"tools": [...]}. */
HONE_API hone_rc hone_text_prompt_with(const hone_text *m, const char *messages, const char *names, bool answer,
                                       char **prompt, size_t *n_prompt, hone_err *err);
/* Whether the chat template has this text in it ("tools"); false where there is no template. */
HONE_API bool hone_text_template_names(const hone_text *m, const char *word);

/* The log-probability of each of tokens 1 .. n-1 behind those in front of it, into logprob[n-1]. Longer than the
 * context: E_LIMIT. */
HONE_API hone_rc hone_text_score(hone_text *m, const int32_t *token, size_t n, double *logprob,
                                 const volatile int *stop, hone_err *err);

/* Bytes that the keys and values of one token take. */
HONE_API uint64_t hone_text_cache_b(const hone_text *m);

#ifdef __cplusplus
}
#endif
#endif
