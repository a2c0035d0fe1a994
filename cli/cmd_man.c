/* cmd_man.c — `hone man`: manual pages in man(7), made from the table of commands. Hidden; `make` uses it. */
#include "cli.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MANUAL_DATE                                                                                                    \
    "November 21, 2026" /* of the last change to the texts: pages must not depend on the day of a build */

/* Text with roff's special characters made plain; `literal` in bold; lines are broken at spaces, since roff fills
 * them anyway. A line must not start with a dot or a quote. */
static void put(FILE *f, const char *text, size_t n) {
    bool bold = false;
    int column = 0;
    for (size_t i = 0; i < n; i++) {
        bool first = i == 0 || column == 0;
        column++;
        if (text[i] == '`')
            fputs((bold = !bold) ? "\\fB" : "\\fR", f);
        else if (text[i] == '\\')
            fputs("\\e", f);
        else if (text[i] == '-')
            fputs("\\-", f);
        else if ((text[i] == '.' || text[i] == '\'') && first)
            fprintf(f, "\\&%c", text[i]);
        else if (text[i] == '\n' || (text[i] == ' ' && !bold && column > 60))
            fputc('\n', f), column = 0;
        else
            fputc(text[i], f);
    }
}

static void put_paragraphs(FILE *f, const char *text) {
    while (*text) {
        const char *end = strstr(text, "\n\n");
        put(f, text, end ? (size_t)(end - text) : strlen(text));
        if (!end) break;
        fputs("\n.PP\n", f);
        text = end + 2;
    }
    fputc('\n', f);
}

static void put_title(FILE *f, const char *name) {
    fprintf(f, ".TH %s 1 \"%s\" \"hone %s\" \"hone manual\"\n", name, MANUAL_DATE, hone_version());
}

static void put_option(FILE *f, const cli_option *o) {
    fputs(".TP\n", f);
    if (o->letter) fprintf(f, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", f);
    put(f, o->name, strlen(o->name));
    fputs("\\fR", f);
    if (o->value) {
        fprintf(f, "%s\\fI", o->kind == CLI_MAYBE ? "[=" : " ");
        put(f, o->value, strlen(o->value));
        fprintf(f, "\\fR%s", o->kind == CLI_MAYBE ? "]" : "");
    }
    fputc('\n', f);
    put_paragraphs(f, o->help);
}

static void put_examples(FILE *f, const char *examples) {
    for (const char *p = examples; *p;) {
        size_t n = strcspn(p, "\t"), m = strcspn(p + n, "\n");
        fputs(".TP\n.B ", f);
        put(f, p, n);
        fputc('\n', f);
        put(f, p + n + 1, m ? m - 1 : 0);
        fputc('\n', f);
        p += n + m;
        p += *p == '\n';
    }
}

static void put_exit_codes(FILE *f) {
    fputs(".SH EXIT STATUS\n", f);
    for (int rc = HONE_OK; strcmp(hone_rc_name((hone_rc)rc), "E_UNKNOWN") != 0; rc++)
        fprintf(f, ".TP\n%d\n%s\n", hone_rc_exit((hone_rc)rc), hone_rc_text((hone_rc)rc));
}

static void put_command(FILE *f, const cli_command *m) {
    char name[40] = "HONE-";
    for (size_t i = 0; m->name[i] && i < 30; i++) name[5 + i] = (char)(m->name[i] - 'a' + 'A');
    put_title(f, name);
    fprintf(f, ".SH NAME\nhone\\-%s \\- ", m->name);
    put(f, m->summary, strlen(m->summary));
    fprintf(f, "\n.SH SYNOPSIS\n\\fBhone %s\\fR ", m->name);
    put(f, m->operands, strlen(m->operands));
    fprintf(f, "%s[\\fIOPTION\\fR]...\n.SH DESCRIPTION\n", *m->operands ? " " : "");
    put_paragraphs(f, m->description);
    fputs(".SH OPTIONS\n", f);
    for (size_t i = 0; cli_option_at(m, i); i++) put_option(f, cli_option_at(m, i));
    put_exit_codes(f);
    if (*m->examples) fputs(".SH EXAMPLES\n", f);
    put_examples(f, m->examples);
    fputs(".SH SEE ALSO\n\\fBhone\\fR(1)\n", f);
}

static void put_overview(FILE *f) {
    const char *group = "";
    put_title(f, "HONE");
    fputs(".SH NAME\nhone \\- finds the compiler controls that make one workload fast\n", f);
    fputs(".SH SYNOPSIS\n\\fBhone\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR]... [\\fIOPTION\\fR]...\n", f);
    fputs(".SH DESCRIPTION\n", f);
    put_paragraphs(f,
                   "hone tunes the flags and parameters of compilers, and parameters of the program itself, for one "
                   "workload: a build command, a run command, inputs, a measure of what is better and a rule of what "
                   "is still correct. All of it stands in one file, hone.yaml. Every measurement is recorded below "
                   ".hone/ beside that file.\n\nData is printed on standard output, words on standard error. With "
                   "`--json` standard output holds one JSON value.");
    for (size_t i = 0; cli_command_at(i); i++) {
        const cli_command *m = cli_command_at(i);
        if (!m->group) continue;
        if (strcmp(group, m->group) != 0) fprintf(f, ".SS %s\n", group = m->group);
        fprintf(f, ".TP\n\\fBhone\\-%s\\fR(1)\n", m->name);
        put_paragraphs(f, m->summary);
    }
    fputs(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nIf set and not empty, output has no colours.\n", f);
    fputs(".TP\n.B XDG_CACHE_HOME\nBelow it, else below ~/.cache, is what hone has found out about each compiler.\n",
          f);
    put_exit_codes(f);
    fputs(".SH FILES\n.TP\n.I hone.yaml\nThe workload file.\n.TP\n.I .hone/hone.db\nThe record.\n", f);
}

static hone_rc write_page(const char *dir, const cli_command *m, hone_err *err) {
    char path[4096];
    snprintf(path, sizeof path, "%s/hone%s%s.1", dir, m ? "-" : "", m ? m->name : "");
    FILE *f = fopen(path, "w");
    if (!f) return cli_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
    if (m)
        put_command(f, m);
    else
        put_overview(f);
    bool bad = ferror(f);
    if (fclose(f) || bad) return cli_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
    return HONE_OK;
}

static hone_rc write_all(const char *dir, hone_err *err) {
    if (mkdir(dir, 0777) && errno != EEXIST)
        return cli_fail(err, HONE_E_IO, "cannot make the folder '%s': %s", dir, strerror(errno));
    hone_rc rc = write_page(dir, NULL, err);
    for (size_t i = 0; !rc && cli_command_at(i); i++)
        if (cli_command_at(i)->group) rc = write_page(dir, cli_command_at(i), err);
    return rc;
}

static hone_rc run_man(cli *c, hone_err *err) {
    const cli_command *m;
    if (c->json) return cli_fail(err, HONE_E_USAGE, "a manual page has no JSON form; `hone help --json` has the facts");
    if (cli_given(c, "output")) return write_all(cli_text(c, "output", "."), err);
    if (!c->n_args) return put_overview(stdout), HONE_OK;
    hone_rc rc = cli_command_find(c->arg[0], &m, err);
    if (!rc) put_command(stdout, m);
    return rc;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, "DIR", 0, 0, "write every page into DIR"},
    {0},
};

const cli_command cli_cmd_man = {
    "man",
    NULL,
    "[COMMAND]",
    "print a manual page",
    "Prints the manual page of a command, or of hone, in the man(7) language.",
    options,
    "hone man tune | man -l -\tshow a page without installing it\n",
    0,
    1,
    run_man,
};
