/* bench/bench_out.c — results: JSON lines, the table, and output data (../base/bench_data.h). */
#include "bench_int.h"

#include "../base/bench_data.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear interpolation between order statistics, as hone_stat_percentile. */
static double percentile(const double *sorted, size_t n, double p) {
    double at = p / 100 * (double)(n - 1), lo = floor(at);
    size_t i = (size_t)lo;
    if (i + 1 >= n) return sorted[n - 1];
    return sorted[i] + (at - lo) * (sorted[i + 1] - sorted[i]);
}

static double mean(const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

/* --- JSON lines ------------------------------------------------------------------------------------------------ */

static void put_text(FILE *f, const char *key, const char *text) {
    fprintf(f, ",\"%s\":\"", key);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(f, "\\%c", *p);
        else if (*p < 32 || *p >= 127)
            fprintf(f, "\\u%04x", *p); /* bytes above 127 as Latin-1: always valid JSON */
        else
            fputc(*p, f);
    }
    fputc('"', f);
}

/* In the order taken, so that drift can be seen. */
static void put_json(const hone_bench *b, const hn_bench_row *row, const double *taken) {
    FILE *f = b->json;
    fprintf(f, "{\"hone-bench\":1");
    put_text(f, "metric", row->name);
    if (*row->error)
        put_text(f, "error", row->error);
    else {
        if (*row->unit) put_text(f, "unit", row->unit);
        fprintf(f, ",\"samples\":[");
        for (size_t i = 0; i < row->n; i++) fprintf(f, "%s%.9g", i ? "," : "", taken[i]);
        fprintf(f, "],\"n\":%zu,\"calls\":%llu", row->n, (unsigned long long)row->calls);
        if (b->opt.cold) fprintf(f, ",\"cold\":true");
        fprintf(f, ",\"min\":%.9g,\"mean\":%.9g,\"max\":%.9g", row->sample[0], mean(row->sample, row->n),
                row->sample[row->n - 1]);
        for (size_t i = 0; i < b->opt.n_percentiles; i++)
            fprintf(f, ",\"p%g\":%.9g", b->opt.percentile[i], percentile(row->sample, row->n, b->opt.percentile[i]));
    }
    if (b->extra) fputs(b->extra, f);
    fprintf(f, "}\n");
    fflush(f);
}

void hn_bench_fault_line(const hone_bench *b, const char *cls, const char *detail) {
    if (!b->json) return;
    fprintf(b->json, "{\"hone-bench\":1");
    put_text(b->json, "fault", cls);
    put_text(b->json, "detail", detail);
    fprintf(b->json, "}\n");
    fflush(b->json);
}

void hn_bench_device_line(const hone_bench *b, const char *api, const char *name, const char *arch, const char *driver,
                          const char *version) {
    if (!b->json) return;
    fprintf(b->json, "{\"hone-bench\":1");
    put_text(b->json, "device", name);
    put_text(b->json, "api", api);
    put_text(b->json, "arch", arch);
    put_text(b->json, "driver", driver);
    put_text(b->json, "version", version);
    fprintf(b->json, "}\n");
    fflush(b->json);
}

void hn_bench_report(hone_bench *b, const char *metric, const char *unit, double *sample, size_t n, uint64_t calls,
                     const char *error) {
    hn_bench_row *grown = realloc(b->row, (b->n_rows + 1) * sizeof *grown);
    double *taken = malloc((n ? n : 1) * sizeof *taken);
    if (!grown || !taken) hn_bench_die(b, "out of memory");
    b->row = grown;
    hn_bench_row *row = &b->row[b->n_rows++];
    *row = (hn_bench_row){.sample = sample, .n = n, .calls = calls};
    snprintf(row->name, sizeof row->name, "%s", metric && *metric ? metric : "unnamed");
    snprintf(row->unit, sizeof row->unit, "%s", unit ? unit : "");
    snprintf(row->error, sizeof row->error, "%s", error ? error : "");
    if (error) b->failed = true;
    memcpy(taken, sample, n * sizeof *taken);
    qsort(sample, n, sizeof *sample, by_value);
    locale_t before = uselocale(hn_bench_locale()); /* the program may have set one with a decimal comma */
    if (b->json) put_json(b, row, taken);
    uselocale(before);
    if (error) fprintf(stderr, "%s: hone/bench: metric '%s': %s\n", b->program, row->name, error);
    free(taken);
}

/* --- the table ------------------------------------------------------------------------------------------------- */

static const char *value_text(double v, const char *unit, char buf[48]) {
    static const struct {
        double from;
        const char *unit;
    } scale[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    if (strcmp(unit, "s") != 0) {
        snprintf(buf, 48, "%.4g%s%s", v, *unit ? " " : "", unit);
        return buf;
    }
    size_t i = 0;
    while (i < 3 && fabs(v) < scale[i].from) i++;
    snprintf(buf, 48, "%.4g %s", v / scale[i].from, scale[i].unit);
    return buf;
}

static void put_row(const hone_bench *b, const hn_bench_row *row) {
    char text[48];
    if (*row->error) {
        printf("%-20s error: %s\n", row->name, row->error);
        return;
    }
    printf("%-20s %8zu %10llu %12s", row->name, row->n, (unsigned long long)row->calls,
           value_text(row->sample[0], row->unit, text));
    for (size_t i = 0; i < b->opt.n_percentiles; i++)
        printf(" %12s", value_text(percentile(row->sample, row->n, b->opt.percentile[i]), row->unit, text));
    printf(" %12s\n", value_text(row->sample[row->n - 1], row->unit, text));
}

void hn_bench_table(const hone_bench *b) {
    if (b->n_rows == 0) return;
    char name[16];
    printf("%-20s %8s %10s %12s", "metric", "samples", "calls", "min");
    for (size_t i = 0; i < b->opt.n_percentiles; i++) {
        snprintf(name, sizeof name, "p%g", b->opt.percentile[i]);
        printf(" %12s", name);
    }
    printf(" %12s\n", "max");
    for (size_t i = 0; i < b->n_rows; i++) put_row(b, &b->row[i]);
}

/* --- output data ----------------------------------------------------------------------------------------------- */

static const size_t element_b[] = {
    [HONE_BENCH_F32] = 4, [HONE_BENCH_F64] = 8, [HONE_BENCH_I8] = 1,  [HONE_BENCH_U8] = 1,  [HONE_BENCH_I16] = 2,
    [HONE_BENCH_U16] = 2, [HONE_BENCH_I32] = 4, [HONE_BENCH_U32] = 4, [HONE_BENCH_I64] = 8, [HONE_BENCH_U64] = 8,
};
enum { N_TYPES = sizeof element_b / sizeof *element_b };

static void put(hone_bench *b, const void *p, size_t n) {
    static const char zero[8];
    if (n > 0 && fwrite(p, 1, n, b->data) != n) b->failed = true;
    if (n % 8 && fwrite(zero, 1, 8 - n % 8, b->data) != 8 - n % 8) b->failed = true;
}

void hn_bench_data_open(hone_bench *b) {
    b->data = fopen(b->opt.data_path, "ab");
    if (!b->data) hn_bench_die_of(b, "write", b->opt.data_path);
    put(b, &(hn_data_head){HN_DATA_MAGIC, HN_DATA_ORDER, 0}, sizeof(hn_data_head));
}

void hn_bench_data_close(hone_bench *b) {
    if (!b->data) return;
    put(b, &(hn_data_record){0, HN_DATA_END, b->n_records}, sizeof(hn_data_record));
    if (fclose(b->data) != 0) b->failed = true;
    if (b->failed) fprintf(stderr, "%s: hone/bench: '%s' may be incomplete\n", b->program, b->opt.data_path);
    b->data = NULL;
}

void hone_bench_output(hone_bench *b, const char *name, const void *data, size_t n, hone_bench_type type) {
    if (!b->data) return;
    size_t len = name ? strlen(name) : 0;
    if ((unsigned)type >= N_TYPES) hn_bench_die(b, "output '%s' has an unknown type %d", name, (int)type);
    if (len == 0 || len > HN_DATA_NAME_MAX) hn_bench_die(b, "an output's name must have 1 to 255 characters");
    if (n > SIZE_MAX / 8) hn_bench_die(b, "output '%s' has too many elements", name);
    put(b, &(hn_data_record){(uint32_t)len, (uint32_t)type, n}, sizeof(hn_data_record));
    put(b, name, len);
    put(b, data, n * element_b[type]);
    b->n_records++;
}
