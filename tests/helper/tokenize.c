/* tokenize MODEL.gguf|FOLDER [frame] [control] <LINES: each line of stdin, as hexadecimal bytes, to its ids on a line
 * of stdout; behind a tab the text that they give back, as hexadecimal bytes. An error goes to stderr, exit status 1.
 */
#include "base/fs.h"
#include "gguf/tokenizer_of.h"
#include "hf/tokenizer_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int nibble(int c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

static void print_back(const hn_tokenizer *t, const int32_t *ids, size_t n, bool control) {
    hn_detokenizer d = {0};
    char end[12];
    size_t k;
    putchar('\t');
    for (size_t i = 0; i < n; i++) {
        char *out = malloc(hn_detokenizer_room(t, ids[i]));
        hn_detokenizer_push(&d, t, ids[i], control, out, &k);
        for (size_t j = 0; j < k; j++) printf("%02x", (unsigned char)out[j]);
        free(out);
    }
    hn_detokenizer_end(&d, end, &k);
    for (size_t j = 0; j < k; j++) printf("%02x", (unsigned char)end[j]);
    putchar('\n');
}

static int failed(const hone_err *err) {
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

int main(int argc, char **argv) {
    hn_gguf *g = NULL;
    hn_tokenizer *t = NULL;
    hone_err err = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    bool frame = false, control = false;
    for (int i = 2; i < argc; i++) {
        frame |= !strcmp(argv[i], "frame");
        control |= !strcmp(argv[i], "control");
    }
    bool folder = argc > 1 && hn_is_folder(argv[1]);
    if (argc < 2 || (folder ? hn_hf_tokenizer(argv[1], &t, &err)
                            : hn_gguf_open(argv[1], &g, &err) || hn_gguf_tokenizer(g, &t, &err)))
        return failed(&err);
    while ((n = getline(&line, &room, stdin)) > 0) {
        int32_t *ids;
        size_t n_ids, k = 0;
        for (ssize_t i = 0; i + 1 < n; i += 2) line[k++] = (char)(nibble(line[i]) << 4 | nibble(line[i + 1]));
        if (hn_tokenizer_encode(t, line, k, frame, control, &ids, &n_ids, &err)) return failed(&err);
        for (size_t i = 0; i < n_ids; i++) printf("%s%d", i ? " " : "", ids[i]);
        print_back(t, ids, n_ids, control);
        free(ids);
    }
    free(line);
    hn_tokenizer_free(t);
    hn_gguf_close(g);
    return 0;
}
