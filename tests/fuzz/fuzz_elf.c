/* Fuzzes measure/elf.h and measure/readers.h: any bytes give an answer for each state, with its reason where it is not
 * known. */
#include "measure/elf.h"
#include "measure/readers.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    hn_onlooker r[HN_N_STATES];
    hn_elf e;
    hn_elf_section s;
    hn_readers_of(data, n, r);
    for (int k = 0; k < HN_N_STATES; k++) {
        if (memchr(r[k].symbol, 0, sizeof r[k].symbol) == NULL) abort();
        if (r[k].reading == HN_READS && (!r[k].word || !*r[k].symbol)) abort();
        if (r[k].reading == HN_READS_UNKNOWN && !r[k].why) abort();
    }
    for (uint64_t i = 0; hn_elf_open(&e, data, n) && i < e.n && i < 64; i++)
        if (hn_elf_section_at(&e, i, &s) && strlen(s.name) > n) abort();
    return 0;
}
