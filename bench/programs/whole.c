/* whole.c — drivers of bench/whole-programs.sh: a realistic run of one library, with a checksum of what it made as
 * output.
 *
 * WHOLE_NAME (a macro) chooses the program. Arguments: FILE TURNS, the text that is worked on and how often. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t sum = 14695981039346656037u;

static void note(const void *data, size_t n) {
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i += 1 + n / 4096) sum = (sum ^ p[i]) * 1099511628211u;
    sum ^= n;
}

static void check(int fine, const char *what) {
    if (fine) return;
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

/* Compressors: there and back. */
#if defined WHOLE_ZLIB
#include "zlib.h"
static void turn(const char *text, size_t n, char *packed, size_t room, char *back, int k) {
    uLongf n_packed = room, n_back = n;
    check(compress2((Bytef *)packed, &n_packed, (const Bytef *)text, n, k % 2 ? 6 : 3) == Z_OK, "compress2");
    check(uncompress((Bytef *)back, &n_back, (Bytef *)packed, n_packed) == Z_OK && n_back == n, "uncompress");
    note(packed, n_packed);
    sum ^= crc32(0, (Bytef *)back, (uInt)n);
}
#elif defined WHOLE_LZ4
#include "lz4.h"
#include "lz4hc.h"
static void turn(const char *text, size_t n, char *packed, size_t room, char *back, int k) {
    int n_packed = k % 4 ? LZ4_compress_default(text, packed, (int)n, (int)room)
                         : LZ4_compress_HC(text, packed, (int)n, (int)room, 9);
    check(n_packed > 0, "compress");
    for (int i = 0; i < 4; i++) check(LZ4_decompress_safe(packed, back, n_packed, (int)n) == (int)n, "decompress");
    note(packed, (size_t)n_packed);
}
#elif defined WHOLE_BROTLI
#include <brotli/decode.h>
#include <brotli/encode.h>
static void turn(const char *text, size_t n, char *packed, size_t room, char *back, int k) {
    size_t n_packed = room, n_back = n;
    check(BrotliEncoderCompress(k % 2 ? 5 : 2, 20, BROTLI_MODE_TEXT, n, (const uint8_t *)text, &n_packed,
                                (uint8_t *)packed),
          "compress");
    for (int i = 0; i < 4; i++, n_back = n)
        check(BrotliDecoderDecompress(n_packed, (uint8_t *)packed, &n_back, (uint8_t *)back) ==
                  BROTLI_DECODER_RESULT_SUCCESS,
              "decompress");
    note(packed, n_packed);
}
#elif defined WHOLE_ZSTD
#include "zstd.h"
static void turn(const char *text, size_t n, char *packed, size_t room, char *back, int k) {
    size_t n_packed = ZSTD_compress(packed, room, text, n, k % 2 ? 3 : 6);
    check(!ZSTD_isError(n_packed), "compress");
    for (int i = 0; i < 4; i++) check(ZSTD_decompress(back, n, packed, n_packed) == n, "decompress");
    note(packed, n_packed);
}
#elif defined WHOLE_EXPAT
#include "expat.h"
static void begin(void *ctx, const XML_Char *name, const XML_Char **attr) {
    (void)ctx;
    note(name, strlen(name));
    for (; *attr; attr++) note(*attr, strlen(*attr));
}
static void data(void *ctx, const XML_Char *s, int n) {
    (void)ctx;
    note(s, (size_t)n);
}
/* The text's words as elements. */
static void turn(const char *text, size_t n, char *xml, size_t room, char *back, int k) {
    size_t at = (size_t)snprintf(xml, room, "<?xml version=\"1.0\"?>\n<all>");
    (void)back;
    for (size_t i = 0; i < n && at + 400 < room; i += 24)
        at += (size_t)snprintf(xml + at, room - at,
                               "<item id=\"%zu\" kind=\"%c%d\"><name>%x</name> &lt;%x &amp; </item>\n", i,
                               'a' + text[i] % 26, k, text[i] & 255, text[i / 2] * 77 & 0xffff);
    at += (size_t)snprintf(xml + at, room - at, "</all>");
    XML_Parser p = XML_ParserCreate(NULL);
    XML_SetElementHandler(p, begin, NULL);
    XML_SetCharacterDataHandler(p, data);
    check(XML_Parse(p, xml, (int)at, 1) == XML_STATUS_OK, "parse");
    XML_ParserFree(p);
}
#elif defined WHOLE_SQLITE
#include "sqlite3.h"
static int row(void *ctx, int n, char **value, char **name) {
    (void)ctx, (void)name;
    for (int i = 0; i < n; i++) note(value[i] ? value[i] : "", value[i] ? strlen(value[i]) : 0);
    return 0;
}
static void run(sqlite3 *db, const char *sql) { check(sqlite3_exec(db, sql, row, NULL, NULL) == SQLITE_OK, sql); }
static void turn(const char *text, size_t n, char *packed, size_t room, char *back, int k) {
    sqlite3 *db;
    sqlite3_stmt *put;
    (void)packed, (void)room, (void)back, (void)k;
    check(sqlite3_open(":memory:", &db) == SQLITE_OK, "open");
    run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, kind INT, word TEXT); CREATE INDEX k ON t(kind, word); BEGIN");
    check(sqlite3_prepare_v2(db, "INSERT INTO t(kind, word) VALUES(?, ?)", -1, &put, NULL) == SQLITE_OK, "prepare");
    for (size_t i = 0; i + 12 < n; i += 24) {
        sqlite3_bind_int(put, 1, text[i] & 63);
        sqlite3_bind_text(put, 2, text + i, 12, SQLITE_STATIC);
        check(sqlite3_step(put) == SQLITE_DONE && sqlite3_reset(put) == SQLITE_OK, "insert");
    }
    sqlite3_finalize(put);
    run(db,
        "COMMIT; SELECT kind, count(*), min(word), max(length(word)) FROM t GROUP BY kind ORDER BY 2 DESC LIMIT 20");
    run(db, "SELECT a.word, b.id FROM t a JOIN t b ON a.kind = b.kind AND a.id = b.id + 7 WHERE a.word LIKE '%in%' "
            "LIMIT 500");
    run(db, "UPDATE t SET word = upper(word) || kind WHERE kind % 3 = 1; DELETE FROM t WHERE id % 5 = 2");
    run(db, "SELECT count(DISTINCT word), sum(kind), total(id) FROM t");
    sqlite3_close(db);
}
#elif defined WHOLE_QUICKJS
#include "quickjs.h"
static void turn(const char *text, size_t n, char *packed, size_t room, char *back, int k) {
    JSRuntime *rt = JS_NewRuntime();
    JSContext *ctx = JS_NewContext(rt);
    (void)packed, (void)room, (void)back, (void)k;
    JSValue v = JS_Eval(ctx, text, n, "whole.js", JS_EVAL_TYPE_GLOBAL);
    const char *said = JS_ToCString(ctx, v);
    check(said && !JS_IsException(v), "JS_Eval");
    note(said, strlen(said));
    JS_FreeCString(ctx, said);
    JS_FreeValue(ctx, v);
    JS_FreeContext(ctx);
    JS_FreeRuntime(rt);
}
#endif

int main(int argc, char **argv) {
    FILE *f = argc > 2 ? fopen(argv[1], "rb") : NULL;
    enum { MOST = 1 << 19 };
    char *text = calloc(1, MOST + 1), *packed = malloc(4 * MOST), *back = malloc(MOST + 1);
    check(f && text && packed && back, "opening the text");
    size_t n = fread(text, 1, MOST, f);
    fclose(f);
    for (int k = 0, turns = atoi(argv[2]); k < turns; k++) turn(text, n, packed, 4 * MOST, back, k);
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
