/* options.c — one command line parser for all commands, and the table of commands. */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CLI_COMMAND(name) extern const cli_command cli_cmd_##name;
#include "commands.def"
#undef CLI_COMMAND

static const cli_command *const commands[] = {
#define CLI_COMMAND(name) &cli_cmd_##name,
#include "commands.def"
#undef CLI_COMMAND
    NULL,
};

/* Options that every command has. */
static const cli_option common[] = {
    {"json", 0, CLI_FLAG, NULL, 0, 0, "print one JSON value on stdout instead of text"},
    {"color", 0, CLI_CHOICE, "auto|always|never", 0, 0, "colours; auto: on terminals, unless NO_COLOR is set"},
    {"help", 'h', CLI_FLAG, NULL, 0, 0, "print this help"},
    {0},
};

const cli_command *cli_command_at(size_t i) { return commands[i]; }

const cli_option *cli_option_at(const cli_command *command, size_t i) {
    size_t own = 0;
    while (command->options[own].name) own++;
    if (i < own) return &command->options[i];
    return i - own < sizeof common / sizeof *common - 1 ? &common[i - own] : NULL;
}

hone_rc cli_fail(hone_err *err, hone_rc rc, const char *fmt, ...) {
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        err->rc = rc;
        vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
    }
    return rc;
}

/* --- the nearest name ----------------------------------------------------------------------------------------- */

/* Edit distance with transpositions of neighbours (optimal string alignment), names of up to 31 characters. */
static size_t distance(const char *a, const char *b) {
    size_t d[32][32], n = strlen(a), m = strlen(b);
    if (n > 31 || m > 31) return 99;
    for (size_t i = 0; i <= n; i++) d[i][0] = i;
    for (size_t j = 0; j <= m; j++) d[0][j] = j;
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

const char *cli_nearest(const char *name, const char *const *names, size_t n) {
    const char *best = NULL;
    size_t best_d = strlen(name) < 4 ? 2 : 3; /* only names with fewer edits than this */
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(name, names[i]);
        if (d < best_d && d < strlen(names[i])) best = names[i], best_d = d;
    }
    return best;
}

hone_rc cli_command_find(const char *name, const cli_command **out, hone_err *err) {
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->name, name) == 0) return *out = commands[i], HONE_OK;
        if (commands[i]->group && n < 64) names[n++] = commands[i]->name;
    }
    const char *near = cli_nearest(name, names, n);
    if (near) return cli_fail(err, HONE_E_USAGE, "there is no command '%s'; did you mean '%s'?", name, near);
    return cli_fail(err, HONE_E_USAGE, "there is no command '%s'; `hone help` lists them", name);
}

/* --- values --------------------------------------------------------------------------------------------------- */

bool cli_parse_count(const char *text, uint64_t *out) {
    char *end;
    if (!isdigit((unsigned char)text[0])) return false;
    errno = 0;
    unsigned long long x = strtoull(text, &end, 10);
    if (*end || errno) return false;
    *out = x;
    return true;
}

static double unit_s(const char *unit, size_t n) {
    static const struct {
        const char *name;
        double s;
    } units[] = {{"", 1},   {"s", 1},    {"sec", 1},  {"ms", 1e-3},   {"us", 1e-6},
                 {"m", 60}, {"min", 60}, {"h", 3600}, {"hour", 3600}, {"d", 86400}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == n && strncmp(units[i].name, unit, n) == 0) return units[i].s;
    return NAN;
}

bool cli_parse_seconds(const char *text, double *out) {
    double sum = 0;
    const char *p = text;
    while (*p) {
        char *end;
        if (!isdigit((unsigned char)*p) && *p != '.') return false;
        double x = strtod(p, &end);
        if (end == p) return false;
        while (*end == ' ') end++;
        p = end;
        while (isalpha((unsigned char)*p)) p++;
        sum += x * unit_s(end, (size_t)(p - end));
        while (*p == ' ') p++;
    }
    if (!isfinite(sum) || sum <= 0) return false;
    *out = sum;
    return true;
}

static hone_rc wrong_value(const cli_option *o, const char *text, hone_err *err, const char *want) {
    return cli_fail(err, HONE_E_USAGE, "option '--%s' takes %s, not '%s'", o->name, want, text);
}

static hone_rc read_count(const cli_option *o, const char *text, cli_value *v, hone_err *err) {
    char want[100];
    double hi = o->hi > 0 ? o->hi : INFINITY;
    if (cli_parse_count(text, &v->count) && (double)v->count >= o->lo && (double)v->count <= hi) return HONE_OK;
    if (o->hi > 0)
        snprintf(want, sizeof want, "a whole number from %.0f to %.0f", o->lo, o->hi);
    else
        snprintf(want, sizeof want, "a whole number of at least %.0f", o->lo);
    return wrong_value(o, text, err, want);
}

static bool among(const char *words, const char *text) {
    size_t n = strlen(text);
    for (const char *p = words; *p;) {
        size_t len = strcspn(p, "|");
        if (len == n && strncmp(p, text, n) == 0) return true;
        p += len + (p[len] == '|');
    }
    return false;
}

static hone_rc read_value(const cli_option *o, const char *text, cli_value *v, hone_err *err) {
    char want[200];
    v->text = text;
    switch (o->kind) {
    case CLI_COUNT:
    case CLI_MAYBE: return read_count(o, text, v, err);
    case CLI_SECONDS:
        if (cli_parse_seconds(text, &v->seconds)) return HONE_OK;
        return wrong_value(o, text, err, "a time such as 90s, 10m or 1h30m");
    case CLI_CHOICE:
        if (among(o->value, text)) return HONE_OK;
        snprintf(want, sizeof want, "one of %s", o->value);
        return wrong_value(o, text, err, want);
    case CLI_TEXT:
        if (*text) return HONE_OK;
        return cli_fail(err, HONE_E_USAGE, "option '--%s' needs a value (%s)", o->name, o->value);
    default: return HONE_OK;
    }
}

/* --- the command line ----------------------------------------------------------------------------------------- */

static size_t find_long(const cli_command *command, const char *name, size_t n) {
    for (size_t i = 0; cli_option_at(command, i); i++) {
        const cli_option *o = cli_option_at(command, i);
        if (strlen(o->name) == n && strncmp(o->name, name, n) == 0) return i;
    }
    return SIZE_MAX;
}

static hone_rc unknown_option(const cli_command *command, const char *word, size_t n, hone_err *err) {
    const char *names[CLI_MAX_OPTIONS];
    char name[64];
    size_t k = 0;
    snprintf(name, sizeof name, "%.*s", (int)(n < 60 ? n : 60), word);
    for (size_t i = 0; cli_option_at(command, i) && k < CLI_MAX_OPTIONS; i++)
        names[k++] = cli_option_at(command, i)->name;
    const char *near = cli_nearest(name, names, k);
    if (near)
        return cli_fail(err, HONE_E_USAGE, "'hone %s' has no option '--%s'; did you mean '--%s'?", command->name, name,
                        near);
    return cli_fail(err, HONE_E_USAGE, "'hone %s' has no option '--%s'; `hone help %s` lists its options",
                    command->name, name, command->name);
}

typedef struct words {
    char **argv;
    int argc, at;
} words;

/* Takes option i with its value: attached text, or else the next word where the kind needs one. */
static hone_rc take(cli *c, size_t i, const char *attached, words *w, hone_err *err) {
    const cli_option *o = cli_option_at(c->command, i);
    cli_value *v = &c->value[i];
    if (v->given && o->kind != CLI_FLAG)
        return cli_fail(err, HONE_E_USAGE,
                        "option '--%s' is given twice; give it once, several values separated by commas where its help "
                        "shows a list",
                        o->name);
    v->given = true;
    if (o->kind == CLI_FLAG)
        return attached
                   ? cli_fail(err, HONE_E_USAGE, "option '--%s' takes no value, but '%s' is given", o->name, attached)
                   : HONE_OK;
    if (!attached && o->kind == CLI_MAYBE) return HONE_OK;
    if (!attached && w->at >= w->argc)
        return cli_fail(err, HONE_E_USAGE, "option '--%s' needs a value (%s)", o->name, o->value);
    return read_value(o, attached ? attached : w->argv[w->at++], v, err);
}

static hone_rc take_long(cli *c, const char *word, words *w, hone_err *err) {
    const char *eq = strchr(word, '=');
    size_t n = eq ? (size_t)(eq - word) : strlen(word);
    size_t i = find_long(c->command, word, n);
    if (i == SIZE_MAX) return unknown_option(c->command, word, n, err);
    return take(c, i, eq ? eq + 1 : NULL, w, err);
}

/* "-qj4", "-j 4": letters of flags may be joined; the first that takes a value takes the rest of the word. */
static hone_rc take_short(cli *c, const char *word, words *w, hone_err *err) {
    for (const char *p = word; *p; p++) {
        size_t i = 0;
        while (cli_option_at(c->command, i) && cli_option_at(c->command, i)->letter != *p) i++;
        const cli_option *o = cli_option_at(c->command, i);
        if (!o)
            return cli_fail(err, HONE_E_USAGE, "'hone %s' has no option '-%c'; `hone help %s` lists its options",
                            c->command->name, isprint((unsigned char)*p) ? *p : '?', c->command->name);
        if (o->kind != CLI_FLAG) return take(c, i, p[1] ? p + 1 : NULL, w, err);
        c->value[i].given = true;
    }
    return HONE_OK;
}

static hone_rc check_operands(const cli *c, hone_err *err) {
    const cli_command *m = c->command;
    if (m->max_args >= 0 && c->n_args > (size_t)m->max_args)
        return cli_fail(err, HONE_E_USAGE, "'hone %s' has no use for '%s'; usage: hone %s%s%s [OPTION]...", m->name,
                        c->arg[m->max_args], m->name, *m->operands ? " " : "", m->operands);
    if (c->n_args < (size_t)m->min_args)
        return cli_fail(err, HONE_E_USAGE, "'hone %s' needs %s; usage: hone %s %s [OPTION]...", m->name, m->operands,
                        m->name, m->operands);
    return HONE_OK;
}

hone_rc cli_parse(cli *c, int argc, char **argv, const char **room, hone_err *err) {
    words w = {argv, argc, 0};
    bool plain = false;
    hone_rc rc = HONE_OK;
    c->arg = room;
    c->n_args = 0;
    while (!rc && w.at < argc) {
        const char *word = argv[w.at++];
        if (plain || word[0] != '-' || !word[1])
            c->arg[c->n_args++] = word;
        else if (strcmp(word, "--") == 0)
            plain = true;
        else if (word[1] == '-')
            rc = take_long(c, word + 2, &w, err);
        else
            rc = take_short(c, word + 1, &w, err);
    }
    if (!rc && !cli_given(c, "help")) rc = check_operands(c, err);
    return rc;
}

static const cli_value *value_of(const cli *c, const char *option) {
    size_t i = find_long(c->command, option, strlen(option));
    return i == SIZE_MAX ? NULL : &c->value[i];
}
bool cli_given(const cli *c, const char *option) {
    const cli_value *v = value_of(c, option);
    return v && v->given;
}
const char *cli_text(const cli *c, const char *option, const char *dflt) {
    const cli_value *v = value_of(c, option);
    return v && v->given && v->text ? v->text : dflt;
}
uint64_t cli_count(const cli *c, const char *option, uint64_t dflt) {
    const cli_value *v = value_of(c, option);
    return v && v->given && v->text ? v->count : dflt;
}
double cli_seconds(const cli *c, const char *option, double dflt) {
    const cli_value *v = value_of(c, option);
    return v && v->given ? v->seconds : dflt;
}
