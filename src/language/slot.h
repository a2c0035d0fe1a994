/* language/slot.h — a request under way, for who decides what each step of the model takes.
 *
 *     hn_slot_open(m, &options, &t, err);
 *     while (!hn_slot_over(t)) {
 *         hn_slot_next(t, 256, &feed);           as many as are wanted, of several slots
 *         hone_text_feed_all(m, &feed, 1, err);
 *         hn_slot_take(t, &feed, err);
 *     }
 *     hn_slot_close(t, &answer, err);
 *
 * The answer is that of hone_text_generate, whatever the steps are and who shares them. No beams and no guesses.
 * Owns: its session and its answer; what the options point to must stay.   Threads: those of the model.
 */
#ifndef HN_LANGUAGE_SLOT_H
#define HN_LANGUAGE_SLOT_H

#include <hone/text.h>

typedef struct hn_slot hn_slot;
hone_rc hn_slot_open(hone_text *m, const hone_text_generate_options *options, hn_slot **out, hone_err *err);
/* What goes into the next step: at most `most` tokens of the prompt (true), or the last token drawn (false). */
bool hn_slot_next(hn_slot *t, size_t most, hone_text_feed *feed);
/* Behind a step that was fed so: draws where the prompt is all in. */
hone_rc hn_slot_take(hn_slot *t, const hone_text_feed *fed, hone_err *err);
bool hn_slot_over(const hn_slot *t);
/* As far as it has come; without its text. */
const hone_text_answer *hn_slot_answer(const hn_slot *t);
size_t hn_slot_found(const hn_slot *t); /* tokens of the prompt that were computed before */
/* Blocks of keys and values that sessions have, and as many as there may be. */
void hn_slot_memory(const hone_text *m, size_t *used, size_t *most);
/* out NULL: the answer is not wanted. */
hone_rc hn_slot_close(hn_slot *t, hone_text_answer *out, hone_err *err);

#endif
