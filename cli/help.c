/* help.c — the overview and each command's help, made from the table of commands. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static int text_width(FILE *f) {
    int width = cli_width(f);
    return !width || width > 100 ? 100 : width;
}

static void heading(FILE *f, bool color, const char *text) {
    fprintf(f, "\n%s%s%s\n", cli_paint(color, CLI_BOLD), text, cli_paint(color, CLI_PLAIN));
}

void cli_print_overview(const cli *c, FILE *f) {
    bool color = f == stdout ? c->color_out : c->color_err;
    const char *group = "";
    fprintf(f, "hone %s: finds the compiler controls that make one workload fast\n\n", hone_version());
    fprintf(f, "usage: hone COMMAND [ARGUMENT]... [OPTION]...\n");
    for (size_t i = 0; cli_command_at(i); i++) {
        const cli_command *m = cli_command_at(i);
        if (!m->group) continue;
        if (strcmp(group, m->group) != 0) heading(f, color, group = m->group);
        fprintf(f, "  %-11s ", m->name);
        cli_put(c, f, m->summary, (size_t)(text_width(f) > 24 ? text_width(f) - 14 : 10));
        fputc('\n', f);
    }
    heading(f, color, "First steps");
    cli_wrap(
        f,
        "`hone init kernel.c` writes hone.yaml; read it and say there what \"better\" means. `hone tune` searches. "
        "`hone best` prints what was found.\n\n`hone help COMMAND` explains a command, `hone doctor` this machine.",
        2, text_width(f), color);
}

/* "  -j, --jobs N  " into buf. */
static int option_text(const cli_option *o, char *buf, size_t n) {
    const char *gap = o->value ? (o->kind == CLI_MAYBE ? "[=" : " ") : "";
    char letter[8] = "    ";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    return snprintf(buf, n, "%s--%s%s%s%s", letter, o->name, gap, o->value ? o->value : "",
                    o->kind == CLI_MAYBE ? "]" : "");
}

static int longest_option(const cli_command *m) {
    char text[100];
    int most = 0;
    for (size_t i = 0; cli_option_at(m, i); i++) {
        int n = option_text(cli_option_at(m, i), text, sizeof text);
        if (n > most && n <= 30) most = n;
    }
    return most;
}

static void put_options(const cli_command *m, FILE *f, int width, bool color) {
    int column = 2 + longest_option(m) + 2;
    for (size_t i = 0; cli_option_at(m, i); i++) {
        char text[100];
        int n = 2 + option_text(cli_option_at(m, i), text, sizeof text);
        fprintf(f, "  %s", text);
        if (n + 2 > column || width - column < 20) fprintf(f, "\n%*s", column, ""), n = column;
        fprintf(f, "%*s", column - n, "");
        size_t size = 0;
        char *block = NULL;
        FILE *mem = open_memstream(&block, &size);
        if (!mem) continue;
        cli_wrap(mem, cli_option_at(m, i)->help, column, width - column < 20 ? column + 40 : width, color);
        fclose(mem);
        fputs(block + column, f); /* the first line stands behind the option's name */
        free(block);
    }
}

/* "command\tmeaning\n" lines. */
static void put_examples(const char *examples, FILE *f, int width, bool color) {
    for (const char *p = examples; *p;) {
        size_t n = strcspn(p, "\t"), m = strcspn(p + n, "\n");
        char *meaning = cli_format("%.*s", (int)(m ? m - 1 : 0), p + n + 1);
        fprintf(f, "  %s%.*s%s\n", cli_paint(color, CLI_BOLD), (int)n, p, cli_paint(color, CLI_PLAIN));
        cli_wrap(f, meaning, 6, width, color);
        free(meaning);
        p += n + m;
        p += *p == '\n';
    }
}

void cli_print_help(const cli *c, const cli_command *m, FILE *f) {
    bool color = f == stdout ? c->color_out : c->color_err;
    int width = text_width(f);
    fprintf(f, "usage: hone %s%s%s [OPTION]...\n\n", m->name, *m->operands ? " " : "", m->operands);
    cli_wrap(f, m->description, 0, width, color);
    heading(f, color, "Options");
    put_options(m, f, width, color);
    if (!*m->examples) return;
    heading(f, color, "Examples");
    put_examples(m->examples, f, width, color);
}
