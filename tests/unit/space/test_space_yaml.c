/* The YAML form: what each line means, and where errors point. */
#include "base/yaml.h"
#include "space/space_yaml.h"
#include "tap.h"

#include <hone/space.h>

#include <math.h>
#include <unistd.h>

#define HEAD "hone-space: 1\nparameters:\n"

static hone_rc parse(const char *text, hone_space **s, hone_err *err) {
    return hone_space_parse(text, strlen(text), "s.yaml", s, err);
}

/* Input after HEAD, and what printing gives after HEAD. */
static const struct {
    const char *name, *in, *out;
} print_row[] = {
    {"int", "  A: {type: int, range: [8, 128], step: 8, default: 32, doc: rows of a tile}\n",
     "  A: {type: int, range: [8, 128], step: 8, default: 32, doc: \"rows of a tile\"}\n"},
    {"int_default_is_low_end", "  A: {type: int, range: [3, 9]}\n", "  A: {type: int, range: [3, 9], default: 3}\n"},
    {"float", "  A: {type: float, range: [1e-3, 1], log: true, default: 0.1, seed: [0.01, 0.2]}\n",
     "  A: {type: float, range: [0.001, 1], log: true, seed: [0.01, 0.2], default: 0.1}\n"},
    {"ordinal", "  A: {type: ordinal, values: [1, 2, 4, 8], default: 2}\n",
     "  A: {type: ordinal, values: [1, 2, 4, 8], default: 2}\n"},
    {"values_keep_their_text", "  A: [08, 0x10, 1e3]\n",
     "  A: {type: ordinal, values: [08, 0x10, 1e3], default: 08}\n"},
    {"short_numbers", "  A: [1, 2.5]\n", "  A: {type: ordinal, values: [1, 2.5], default: 1}\n"},
    {"short_texts", "  A: [1, auto]\n", "  A: {type: choice, values: [1, auto], default: 1}\n"},
    {"choice_of_on_off", "  -f: {type: choice, values: [on, off], optional: true}\n",
     "  \"-f\": {type: choice, values: [\"on\", \"off\"], optional: true, knockout: 0.5}\n"},
    {"flag", "  A: {type: flag, default: yes, tag: numeric}\n", "  A: {type: flag, default: on, tag: numeric}\n"},
    {"permutation", "  A: {type: permutation, values: [i, j, k]}\n", "  A: {type: permutation, values: [i, j, k]}\n"},
    {"permutation_present",
     "  A: {type: permutation, values: [i, j], default: [i, j], optional: true, knockout: 0.25}\n",
     "  A: {type: permutation, values: [i, j], optional: true, knockout: 0.25, default: [i, j]}\n"},
    {"literal", "  A: {type: literal, value: v1}\n", "  A: {type: literal, value: v1}\n"},
    {"absent_by_default", "  A: {type: flag, optional: true, knockout: 0.25, default: absent}\n",
     "  A: {type: flag, optional: true, knockout: 0.25}\n"},
    {"present_by_default", "  A: {type: flag, optional: true, knockout: 0, default: off}\n",
     "  A: {type: flag, optional: true, knockout: 0, default: off}\n"},
    {"value_called_absent", "  A: {type: choice, values: [a, absent], optional: true, default: \"absent\"}\n",
     "  A: {type: choice, values: [a, \"absent\"], optional: true, knockout: 0.5, default: \"absent\"}\n"},
    {"doc_of_lines", "  A:\n    type: flag\n    doc: |\n      one\n      two\n",
     "  A: {type: flag, default: off, doc: \"one two\"}\n"},
    {"constraint", "  A: [1, 2]\nconstraints:\n  - A > 1\n  - \"A != 'x'\" \n", NULL},
    {"nested",
     "  A: {type: flag}\n  in:\n    type: space\n    when: A\n    parameters:\n      B: {type: flag}\n      C: {type: "
     "flag, when: B and A}\n      deep: {type: space, parameters: {D: [1, 2]}, constraints: [D > 0]}\n",
     "  A: {type: flag, default: off}\n  in.B: {type: flag, default: off, when: A}\n"
     "  in.C: {type: flag, default: off, when: \"(A) and (in.B and A)\"}\n"
     "  in.deep.D: {type: ordinal, values: [1, 2], default: 1, when: A}\nconstraints:\n"
     "  - \"not (A) or (in.deep.D > 0)\"\n"},
};

static const struct {
    const char *name, *in, *want; /* in: after HEAD unless it starts with '!' */
} error_row[] = {
    {"no_space_file", "!name: x\n", "s.yaml:1:1: this is no space file: 'hone-space: 1' is missing"},
    {"version", "!hone-space: 2\nparameters: {}\n", "s.yaml:1:13: space file version 2; this hone reads version 1"},
    {"unknown_key", "!hone-space: 1\nparametres: {}\n",
     "s.yaml:2:1: unknown key 'parametres' in a space file; did you mean 'parameters'?"},
    {"no_parameters", "!hone-space: 1\n", "s.yaml:1:1: the space has no parameters"},
    {"parameters_list", "!hone-space: 1\nparameters: [a]\n", "s.yaml:2:13: parameters must be a map of names"},
    {"scalar", "  A: 3\n",
     "s.yaml:3:6: parameter 'A' must be a map such as {type: int, range: [1, 8]} or a list of values"},
    {"no_type", "  A: {range: [1, 2]}\n",
     "s.yaml:3:3: parameter 'A' has no type; one of flag, int, float, choice, ordinal, permutation, literal, space"},
    {"type_slip", "  A: {typ: int}\n", "s.yaml:3:7: unknown key 'typ' in a parameter; did you mean 'type'?"},
    {"unknown_type", "  A: {type: flot}\n", "s.yaml:3:13: unknown type 'flot'; did you mean 'float'?"},
    {"key_of_other_type", "  A: {type: flag, range: [1, 2]}\n", "s.yaml:3:19: unknown key 'range' in flag;"},
    {"key_slip", "  A: {type: int, range: [1, 2], defualt: 1}\n",
     "s.yaml:3:33: unknown key 'defualt' in int; did you mean 'default'?"},
    {"no_range", "  A: {type: int}\n", "s.yaml:3:3: parameter 'A' has no range; write range: [lowest, highest]"},
    {"range_of_one", "  A: {type: int, range: [1]}\n", "s.yaml:3:25: expected two numbers, [lowest, highest]"},
    {"range_of_half", "  A: {type: int, range: [1, 2.5]}\n", "s.yaml:3:29: expected a whole number, found '2.5'"},
    {"range_reversed", "  A: {type: int, range: [2, 1]}\n",
     "s.yaml:3:3: parameter 'A': range 2..1 is empty; swap its ends"},
    {"step_zero", "  A: {type: int, range: [1, 2], step: 0}\n", "s.yaml:3:39: a step must be above 0"},
    {"default_outside", "  A: {type: int, range: [1, 2], default: 3}\n",
     "s.yaml:3:3: parameter 'A': default 3 is not a value of its range"},
    {"default_unknown", "  A: {type: choice, values: [row, col], default: rwo}\n",
     "s.yaml:3:50: default 'rwo' of 'A' is not among its values; did you mean 'row'?"},
    {"default_absent", "  A: {type: flag, default: absent}\n",
     "s.yaml:3:3: parameter 'A': its default is absent, but it is not optional"},
    {"default_of_permutation", "  A: {type: permutation, values: [i, j], default: [j, i]}\n",
     "s.yaml:3:51: the default of permutation 'A' is the order of its values; reorder them instead"},
    {"values_missing", "  A: {type: choice}\n", "s.yaml:3:3: parameter 'A' needs a list of values"},
    {"values_nested", "  A: [[1]]\n", "s.yaml:3:7: expected a text, found a list"},
    {"duplicate", "  A: {type: flag}\n  A: {type: flag}\n", "s.yaml:4:3: key 'A' is given twice (first on line 3)"},
    {"nested_clash", "  in.B: [1]\n  in: {type: space, parameters: {B: [2]}}\n",
     "s.yaml:4:3: parameter 'in.B' is given twice in space ''; rename one"},
    {"condition_syntax", "  A: [1, 2]\n  B: {type: flag, when: A >}\n",
     "s.yaml:4:25: condition 'A >': column 4: expected a value, found the end"},
    {"condition_name", "  AB: [1, 2]\n  B: {type: flag, when: 'AC > 1'}\n",
     "s.yaml:4:25: condition 'AC > 1': column 1: unknown parameter 'AC'; did you mean 'AB'?"},
    {"condition_cycle", "  A: {type: flag, when: B}\n  B: {type: flag, when: A}\n",
     "s.yaml:3:25: condition 'B': the condition of 'A' ('B') depends on itself through other conditions; break the "
     "cycle"},
    {"constraint_name", "  AB: [1, 2]\nconstraints:\n  - AB > 0\n  - 2 > AC\n",
     "s.yaml:6:5: constraint '2 > AC': column 5: unknown parameter 'AC'; did you mean 'AB'?"},
    {"constraint_map", "  AB: [1, 2]\nconstraints: {a: b}\n", "s.yaml:4:14: constraints must be a list of expressions"},
    {"nested_constraint", "  in:\n    type: space\n    parameters: {B: [1]}\n    constraints: [B > , B < 9]\n",
     "s.yaml:6:19: constraint 'B >': column 4: expected a value, found the end"},
    {"nested_condition", "  in:\n    type: space\n    when: zz > 1\n    parameters: {B: [1]}\n",
     "s.yaml:5:11: condition 'zz > 1': column 1: unknown parameter 'zz'; a text is written in quotes"},
    {"nested_key", "  in: {type: space, parameters: {}, default: 1}\n",
     "s.yaml:3:37: unknown key 'default' in a nested space;"},
};

static void test_print(void) {
    for (size_t k = 0; k < sizeof print_row / sizeof *print_row; k++) {
        char in[1000], out[1000], name[100], *text = NULL;
        hone_space *s = NULL;
        hone_err err = {0};
        snprintf(in, sizeof in, HEAD "%s", print_row[k].in);
        snprintf(out, sizeof out, HEAD "%s", print_row[k].out ? print_row[k].out : "");
        snprintf(name, sizeof name, "space_yaml/print_%s", print_row[k].name);
        hone_rc rc = parse(in, &s, &err);
        if (!rc) rc = hone_space_print(s, &text, &err);
        if (print_row[k].out)
            is_text(rc ? err.text : text, out, name);
        else
            ok(rc == HONE_E_INPUT, "%s", name); /* 'x' is no value of A */
        hone_free(text);
        hone_space_free(s);
    }
}

static void test_errors(void) {
    for (size_t k = 0; k < sizeof error_row / sizeof *error_row; k++) {
        char in[1000];
        hone_space *s = NULL;
        hone_err err = {0};
        bool whole = *error_row[k].in == '!';
        snprintf(in, sizeof in, "%s%s", whole ? "" : HEAD, error_row[k].in + whole);
        hone_rc rc = parse(in, &s, &err);
        bool good = rc == HONE_E_INPUT && !s && !strncmp(err.text, error_row[k].want, strlen(error_row[k].want));
        ok(good, "space_yaml/error_%s", error_row[k].name);
        if (!good) printf("# got:  %s\n# want: %s\n", err.text, error_row[k].want);
    }
}

/* What does not change a point's meaning does not change the hash; all else does. */
static void test_hash(void) {
    static const struct {
        const char *text;
        bool same;
    } row[] = {
        {"  A: {type: int, range: [1, 9], default: 3, doc: x, tag: y, seed: [1, 2], log: true, step: 1}\n  B: [1, 2]\n",
         true},
        {"  A: {type: int, range: [1, 9], optional: true}\n  B: [1, 2]\n", false},
        {"  A: {type: int, range: [1, 8]}\n  B: [1, 2]\n", false},
        {"  A: {type: int, range: [1, 9], step: 2}\n  B: [1, 2]\n", false},
        {"  A: {type: float, range: [1, 9], step: 1}\n  B: [1, 2]\n", false},
        {"  A2: {type: int, range: [1, 9]}\n  B: [1, 2]\n", false},
        {"  A: {type: int, range: [1, 9]}\n  B: [2, 1]\n", false},
        {"  A: {type: int, range: [1, 9]}\n  B: {type: choice, values: [1, 2]}\n", false},
        {"  B: [1, 2]\n  A: {type: int, range: [1, 9]}\n", false},
        {"  A: {type: int, range: [1, 9]}\n  B: {type: ordinal, values: [1, 2], when: A > 2}\n", false},
        {"  A: {type: int, range: [1, 9]}\n  B: [1, 2]\nconstraints: [A > B]\n", false},
        {"  A: {type: int, range: [1, 9]}\n  B: [1, 2]\n", true},
    };
    char first[33] = "";
    size_t n = sizeof row / sizeof *row;
    for (size_t k = n; k-- > 0;) {
        char in[1000], hex[33] = "";
        hone_space *s = NULL;
        hone_err err;
        snprintf(in, sizeof in, HEAD "%s", row[k].text);
        if (!parse(in, &s, &err)) hone_space_hash(s, hex);
        if (k == n - 1) strcpy(first, hex);
        ok(strlen(hex) == 32 && !strcmp(hex, first) == row[k].same, "space_yaml/hash_of_variant_%zu", k);
        hone_space_free(s);
    }
    is_text(first, "a08b7ac0f67e6553506b4102ada1b747", "space_yaml/hash_is_stable"); /* stored: never change it */
}

/* The workload file's way in. */
static void test_nodes(void) {
    static const char text[] = "x:\n  a: [1, 2]\ny: [a > 1]\n";
    hn_yaml *doc;
    hone_space *s = NULL;
    hone_err err;
    if (hn_yaml_parse(text, strlen(text), "w.yaml", &doc, &err)) return;
    const hn_ynode *root = hn_yaml_root(doc);
    ok(!hn_space_from_yaml(doc, hn_yaml_get(root, "x"), hn_yaml_get(root, "y"), "w", &s, &err) &&
           hone_space_n_constraints(s) == 1 && !strcmp(hone_space_name(s), "w"),
       "space_yaml/from_nodes");
    hone_space_free(s);
    s = NULL;
    ok(!hn_space_from_yaml(doc, NULL, NULL, "w", &s, &err) && hone_space_n_params(s) == 0, "space_yaml/from_nothing");
    hone_space_free(s);
    hn_yaml_free(doc);
}

static void test_file(void) {
    char path[] = "/tmp/hone-space-XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = HEAD "  A: [1, 2, 4]\n";
    hone_space *s = NULL;
    hone_err err;
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    ok(written && !hone_space_load(path, &s, &err) && hone_space_n_params(s) == 1, "space_yaml/load");
    hone_space_free(s);
    unlink(path);
    s = NULL;
    ok(hone_space_load(path, &s, &err) == HONE_E_IO && strstr(err.text, path) && !s, "space_yaml/load_missing");
}

/* A hundred thousand parameters: refused, and soon. */
static void test_huge(void) {
    enum { N = 100000, LINE = 40 };
    char *text = malloc((size_t)N * LINE + sizeof HEAD), *at = text + sprintf(text, HEAD);
    for (int k = 0; k < N; k++) at += sprintf(at, "  p%d: {type: flag, when: p0}\n", k);
    hone_space *s = NULL;
    hone_err err;
    ok(hone_space_parse(text, (size_t)(at - text), "huge.yaml", &s, &err) == HONE_E_LIMIT &&
           strstr(err.text, "huge.yaml:65539:3: ") && strstr(err.text, "more than 65536"),
       "space_yaml/huge_refused");
    printf("# %s\n", err.text);
    free(text);
}

int main(void) {
    test_print();
    test_errors();
    test_hash();
    test_nodes();
    test_file();
    test_huge();
    return done_testing();
}
