/* onnx/choices.h — conditions whose branches do not fit each other.
 *
 * An `If` of the graph IR needs branches whose results have one type and rank. Exporters write others: `squeeze` is
 * "if this size is 1, without it, else as it is", and what stands behind it fits one of the two. So the model is read
 * under choices: at such an If reading ends (hn_choices_open), and the search reads the model again with each branch in
 * its place, to the end. Where one reading alone succeeds, that branch is taken and the condition becomes a rule of the
 * model, which every run checks. Where both do, the If takes the nodes behind it into its branches: two versions, and a
 * run takes one of them.
 *
 * Reading is a function of the choices alone: an If is known by its number among those that nothing decides.
 */
#ifndef HN_CHOICES_H
#define HN_CHOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hn_importer;

typedef enum hn_take {
    HN_TAKE_OPEN, /* not chosen */
    HN_TAKE_ELSE,
    HN_TAKE_THEN,
    HN_TAKE_BOTH, /* two versions of what stands behind */
} hn_take;

enum { HN_CHOICES_MOST = 32 };
typedef struct hn_choices {
    struct {
        uint32_t at; /* number of the If */
        hn_take take;
    } list[HN_CHOICES_MOST];
    size_t n;
    uint32_t n_if;   /* met in this reading */
    uint32_t n_both; /* of list */
    bool open;       /* this reading ended at an If without a choice: number `at`, which is called `shown` */
    uint32_t at;
    const char *shown; /* lives as long as the import */
    size_t n_readings;
} hn_choices;

/* The choice for the next If that nothing decides; its number is stored in *at. */
hn_take hn_choices_next(struct hn_importer *im, uint32_t *at);
/* Ends this reading: If number `at` needs a choice. */
void hn_choices_open(struct hn_importer *im, uint32_t at, const char *shown);
/* Reads the model until it stands, or until no choice is left: then the refusals of all readings are in im->report. */
void hn_choices_search(struct hn_importer *im, bool (*read)(struct hn_importer *im));

#endif
