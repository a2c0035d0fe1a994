#!/usr/bin/env python3
"""Each linter finds the fault planted for it, and nothing in the sound tree beside it. TAP."""
import os, subprocess, sys, tempfile

ROOT = os.environ.get("HONE_ROOT", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
ORDER = "<!-- rooms: order -->\n\n    ground: base\n    tuner:\n    both:\n    compiler:\n\n<!-- end of rooms -->\n"
PICTURE = "![result](https://example.org/result.svg)\n"
TOP = "# Top\n[here](docs/a.md#second-part) [all](docs/commands.md) [web](https://example.org) `[no](link.md)`\n"
SOUND = {
    "include/hone/base.h": "#include <stddef.h>\n",
    "include/hone/space.h": "#include <hone/base.h>\n",
    "src/base/str.h": "#include <hone/base.h>\ntypedef struct hn_str { char *s; } hn_str;\ntypedef int (*hn_call)(void);\n"
                      "typedef enum hn_color { HN_RED, HN_GREEN, HN_N_COLORS } hn_color;\n",
    "src/space/space.c": '#include "base/str.h"\n#include <hone/space.h>\n#include <math.h>\n',
    "src/engine/gp.c": '#include "base/str.h"\n#include <hone/search.h>\n',
    "src/target/a.c": 'static const hn_family f = {.command = "clang", .aliases = "clang++|c++"};\n',
    "src/record/store.c": "#include <sqlite3.h>\n",
    "src/bench/bench.c": '#include "bench_int.h"\n#include <hone/bench.h>\n#include <time.h>\n',
    "cli/main.c": '#include "cli.h"\n#include <hone/tune.h>\n',
    "examples/a/a.c": "#include <hone/bench.h>\n",
    "README.md": PICTURE + TOP,
    "tools/rooms.txt": "# name | wing | headers | what\nbase | ground | base | errors\n",
    "CONTRIBUTING.md": "# Contributing\n" + ORDER, "docs/style.md": "# Style\n[a](a.md)\n" + ORDER,
    "docs/design.md": "# Design\n[s](style.md)\n<!-- rooms: tuner -->\n\n| room | what lives there | public header |\n|---|---|---|\n"
                      "| `base` | errors | [hone/base.h](../include/hone/base.h) |\n\n<!-- end of rooms -->\n",
    "cli/commands.def": "CLI_COMMAND(tune)\nCLI_COMMAND(case)\n",
    "docs/commands.md": "# Commands\n| `tune` | searches |\n\n`tune`: `path`.\n",
    "docs/a.md": "# First\n## Second part\n[up](../README.md#top) [design](design.md)\n",
}
PLUG = "plug: thing\npage: docs/a.md\nown: src/thing\n"
OPTIONS = ("typedef struct hone_gen_options {\n    size_t size;\n    double budget_s;\n    uint32_t n_jobs;\n    hone_progress progress;\n"
           "} hone_gen_options;\nstatic inline hone_gen_options hone_gen_defaults(void) { return x; }\n")
LONG = "int f(void) {\n" + "    g();\n" * 99 + "}\n"
# (name, linter, file, text, what the report must hold)
FAULTS = [
    ("engine_includes_measure", "includes", "src/engine/a.c", '#include "measure/outcome.h"\n', "engine stands below measure"),
    ("base_includes_public_space", "includes", "src/base/a.c", "#include <hone/space.h>\n", "base stands below space"),
    ("harness_includes_base", "includes", "src/bench/a.c", '#include "base/str.h"\n', "nothing to do with"),
    ("harness_includes_public_base", "includes", "src/bench/a.c", "#include <hone/base.h>\n", "nothing to do with"),
    ("library_includes_harness", "includes", "src/tune/a.c", "#include <hone/bench.h>\n", "nothing to do with"),
    ("cli_includes_internal", "includes", "cli/a.c", '#include "base/str.h"\n', "only public headers"),
    ("example_includes_internal", "includes", "examples/a/b.c", '#include "space/space.h"\n', "only public headers"),
    ("cli_includes_sqlite", "includes", "cli/a.c", "#include <sqlite3.h>\n", "wrapped by record"),
    ("space_includes_libpq", "includes", "src/space/a.c", "#include <libpq-fe.h>\n", "wrapped by record"),
    ("engine_includes_yaml", "includes", "src/engine/a.c", "#include <yaml.h>\n", "wrapped by base"),
    ("public_header_upwards", "includes", "include/hone/search.h", "#include <hone/tune.h>\n", "engine stands below tune"),
    ("public_header_includes_stdio", "includes", "include/hone/search.h", "#include <stdio.h>\n", "need no more"),
    ("unknown_room", "includes", "src/attic/a.c", "#include <stdio.h>\n", "not in a known room"),
    ("compiler_includes_tuner", "includes", "src/tune_model/a.c", '#include "measure/order.h"\n', "to the tuner's"),
    ("compiler_includes_tuners_public", "includes", "src/nest/a.c", "#include <hone/tune.h>\n", "to the tuner's"),
    ("folder_of_another_room", "includes", "src/compile/a.c", '#include "backend/cpu/nest_c.h"\n', "its headers are its own"),
    ("folder_inside_a_room_upwards", "includes", "src/backend/cpu/a.c", '#include "compile/runner.h"\n', "backend stands below compile"),
    ("function_of_101_lines", "lengths", "src/base/a.c", LONG, "function 'f' has 101 lines"),
    ("long_function_in_extern_c", "lengths", "src/base/a.h", 'extern "C" {\n' + LONG + "}\n", "function 'f' has 101"),
    ("long_function_beside_texts", "lengths", "cli/a.c", 'const char *t[] = {"}{", /* } */ "{"};\n' + LONG, "'f' has 101"),
    ("long_function_returning_pointer", "lengths", "cli/a.c", "static char *\n" + LONG[4:], "function 'f' has 102"),
    ("long_test", "lengths", "tests/unit/a.c", LONG, "function 'f' has 101 lines"),
    ("file_of_1001_lines", "lengths", "src/base/a.c", "int x;\n" * 1001, "1001 lines"),
    ("many_long_functions", "lengths", "src/base/a.c", ("int f(void) {\n" + "    g();\n" * 69 + "}\n") * 9, "95th percentile"),
    ("library_prints", "calls", "src/base/a.c", 'void f(void) { printf("x"); }\n', "never prints"),
    ("library_writes_to_stderr", "calls", "src/base/a.c", 'void f(void) { fputs("x", stderr); }\n', "never prints"),
    ("library_exits", "calls", "src/tune/a.c", "void f(void) { if (g()) exit (1); }\n", "never ends the process"),
    ("library_reads_by_locale", "calls", "src/space/a.c", "double f(char *s) { return strtod(s, 0); }\n", "locale"),
    ("link_to_no_file", "docs", "docs/b.md", "[x](nowhere.md)\n", "no such file"),
    ("page_that_nothing_links", "docs", "docs/b.md", "# Alone\n", "cannot be reached"),
    ("first_page_without_a_picture", "docs", "README.md", TOP + "\n" * 40 + PICTURE, "no picture"),
    ("first_page_with_eleven_rows", "docs", "README.md", PICTURE + TOP + "| a |\n|---|\n" + "| b |\n" * 11, "11 rows of a table"),
    ("first_page_with_two_tables", "docs", "README.md", PICTURE + TOP + "| a |\n|---|\n| b |\n\n" * 2, "2 tables"),
    ("source_names_no_page", "docs", "src/base/a.c", "/* see docs/b.md */\n", "names 'docs/b.md'"),
    ("command_without_a_row", "docs", "cli/commands.def", "CLI_COMMAND(tune)\nCLI_COMMAND(best)\n", "command 'best'"),
    ("json_key_in_no_page", "docs", "cli/cmd_tune.c", 'void f(void) { cli_json_ktext(&j, "pith", x); }\n', "key 'pith'"),
    ("addition_without_its_place", "plugs", "tests/plugs/a/plug.txt", PLUG + "edit: README.md\nafter: nowhere\n+x\n", "no line with 'nowhere'"),
    ("addition_of_five_files", "plugs", "tests/plugs/a/plug.txt", PLUG + "".join(f"add: src/{c}.c README.md\n" for c in "abcde"), "more than 4"),
    ("named_in_five_files", "plugs", "tests/plugs/a/plug.txt", PLUG + "word: hone\n", "touches 6 files"),
    ("addition_with_no_page", "plugs", "tests/plugs/a/plug.txt", "plug: a\nown: src/a\n", "no 'page:'"),
    ("room_that_no_page_lists", "room_lists", "tools/rooms.txt", "base | ground | base | errors\nattic | ground | | old things\n", "docs/style.md: its list"),
    ("page_without_the_list", "room_lists", "CONTRIBUTING.md", "# Contributing\n", "CONTRIBUTING.md: no list of rooms"),
    ("identifier_that_is_nowhere", "names", "src/engine/a.c", "/* see hn_gone */\nint x;\n", "names 'hn_gone'"),
    ("file_that_is_nowhere", "names", "src/engine/a.c", "/* see base/gone.h */\nint x;\n", "the file 'base/gone.h'"),
    ("page_that_names_no_file", "names", "docs/a.md", "# First\n## Second part\n`src/base/gone.c` [d](design.md)\n", "'src/base/gone.c'"),
    ("type_of_two_headers", "names", "src/engine/a.h", "typedef struct hn_str { int n; } hn_str;\n", "type 'hn_str' is also defined"),
    ("function_type_of_two_headers", "names", "src/engine/a.h", "typedef void (*hn_call)(int x);\n", "type 'hn_call' is also"),
    ("range_of_enumerators", "names", "src/engine/a.c", "static bool f(hn_color c) { return c <= HN_GREEN; }\n", "'HN_GREEN' is compared"),
    ("range_from_an_enumerator", "names", "src/engine/a.c", "static bool f(hn_color c) { return HN_GREEN < c; }\n", "'HN_GREEN' is compared"),
    ("flag_above_target", "families", "src/tune/a.c", 'static const char *f = "-O3 -march=native";\n', "'-O3'"),
    ("compiler_above_target", "families", "src/tune/a.c", 'static const char *f = "clang-19";\n', "'clang'"),
    ("function_of_no_module", "api", "include/hone/space.h", "HONE_API void hone_keygen(int x);\n", "hone_keygen does not begin"),
    ("function_of_another_header", "api", "include/hone/space.h", "HONE_API\nvoid hone_tune_run(int x);\n", "hone_tune_run does not begin"),
    ("header_without_words", "api", "include/hone/attic.h", "#include <hone/base.h>\n", "no words for its functions"),
    ("options_without_a_size", "api", "include/hone/onnx.h", OPTIONS.replace("    size_t size;\n", ""), "does not begin with 'size_t size'"),
    ("options_without_defaults", "api", "include/hone/onnx.h", OPTIONS.replace("hone_gen_defaults(void)", "hone_gen_usual(void)"), "no hone_gen_defaults()"),
    ("jobs_of_another_type", "api", "include/hone/onnx.h", OPTIONS.replace("uint32_t", "int"), "n_jobs is int, not uint32_t"),
    ("budget_of_another_name", "api", "include/hone/onnx.h", OPTIONS.replace("budget_s", "max_s"), "max_s is called budget_s"),
    ("milliseconds", "api", "include/hone/space.h", "typedef struct hone_x { double time_ms; } hone_x;\n", "time_ms: times are in seconds"),
    ("link_to_no_heading", "docs", "docs/b.md", "[x](a.md#third)\n", "no such heading"),
]
SOUND_TOO = [
    ("even_options", "api", "include/hone/onnx.h", OPTIONS),
    ("experiment_in_both_wings", "includes", "src/tune_model/a.c", '#include "experiment/known.h"\n#include <hone/stat.h>\n'),
    ("function_of_100_lines", "lengths", "src/base/a.c", LONG.replace("    g();\n", "", 1) + "int h(void) { return 0; }\n" * 40),
    ("addition_of_four_files", "plugs", "tests/plugs/a/plug.txt", PLUG + "".join(f"add: src/{c}.c README.md\n" for c in "abcd")
     + "add: src/thing/a.c README.md\nedit: docs/a.md\nafter: # First\n+x\n"),
    ("names_that_stand_for_any", "names", "src/engine/a.c", "/* src/target/NAME.c, hn_engine_NAME, base/str.h, str.h: hn_call */\nint x;\n"),
    ("type_declared_elsewhere", "names", "src/engine/a.h", "typedef struct hn_str hn_str;\nstruct scope { hn_str *s; };\n"),
    ("end_of_a_list", "names", "src/engine/a.c", "typedef struct scope { int n; } scope;\nint f(hn_color c) { return c < HN_N_COLORS; }\n"),
    ("flag_in_a_comment", "families", "src/tune/a.c", "int a; /* -O3 of \"gcc\" */ // clang -flto\n"),
    ("flags_of_a_family", "families", "src/target/b.c", 'static const char *f = "-O3 -march=native";\n'),
    ("long_table", "lengths", "src/base/a.c", "static const int t[] = {\n" + "    1,\n" * 300 + "};\n"),
    ("long_struct", "lengths", "src/base/a.h", "typedef struct s {\n" + "    int (*f)(void);\n" * 150 + "} s;\n"),
    ("long_def_table", "lengths", "src/base/a.def", "ROW(a)\n" * 1500),
    ("calls_of_like_names", "calls", "src/base/a.c", '/* exit() */ int f(void) { return my_exit(1) + x->exit(2) + g("abort()"); }\n'),
    ("documented_json_key", "docs", "cli/cmd_tune.c", 'void f(void) { cli_json_ktext(&j, "path", x); }\n'),
    ("harness_that_prints", "calls", "src/bench/a.c", 'void f(void) { printf("x"); }\n'),
    ("header_of_its_own_folder", "includes", "src/backend/cpu/a.c", '#include "backend/cpu/nest_c.h"\n#include "nest/nest.h"\n'),
    ("header_of_its_own_room", "includes", "src/engine/a.c", '#include "engine/forest.h"\n'),
]

# (name, C source of a library that declares hone_a and hone_b, what the report must hold)
SYMBOLS = [
    ("sound", "", ""),
    ("stray_export", "__attribute__((visibility(\"default\"))) int stray(void) { return 0; }", "exports 'stray'"),
    ("undeclared_export", "__attribute__((visibility(\"default\"))) int hone_c(void) { return 0; }", "exports 'hone_c'"),
    ("unprefixed_global", "int helper(void); int helper(void) { return 0; }", "global 'helper'"),
    ("static_counter", "static int counter; int *hn_p(void); int *hn_p(void) { return &counter; }", "'counter' is writable"),
    ("thread_local", "_Thread_local int hn_t = 1;", "'hn_t' is writable"),
    ("global_table", "int hn_table[] = {1, 2};", "'hn_table' is writable"),
    ("const_table_of_pointers", "extern const char *const hn_names[]; const char *const hn_names[] = {\"a\", \"b\"};", ""),
    ("missing_function", "#define hone_b hn_b", "'hone_b' is declared HONE_API but"),
]


def symbols(text):
    """Builds a library of `text` and two public functions, and runs lint_symbols.py on it."""
    api = '__attribute__((visibility("default")))'
    with tempfile.TemporaryDirectory() as top:
        os.makedirs(os.path.join(top, "include/hone"))
        with open(os.path.join(top, "include/hone/base.h"), "w", encoding="utf-8") as f:
            f.write("#define HONE_API x\n/* HONE_API int hone_no(void); */\nHONE_API int hone_a(void);\n"
                    "HONE_API const char *hone_b(int x,\n                            int y);\n")
        with open(os.path.join(top, "a.c"), "w", encoding="utf-8") as f:
            f.write(f"{text}\n{api} int hone_a(void) {{ return 1; }}\n{api} int hone_b(void) {{ return 2; }}\n")
        for command in ("gcc -fPIC -fvisibility=hidden -c a.c -o a.o", "ar rcs libhone.a a.o",
                        "gcc -shared a.o -o libhone.so", "ar rcs libhonebench.a"):
            subprocess.run(command.split(), cwd=top, check=True)
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "lint_symbols.py"), "."], cwd=top,
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


# (name, {file: text}, what the report must hold; "": it is fine)
CALLS = [
    ("calls_down", {"base/a": "int hn_a(void) { return 1; }", "tune/b": "int hn_a(void); int hn_b(void) { return hn_a(); }"}, ""),
    ("circle_in_a_room", {"base/a": "int hn_b(void); int hn_a(void) { return hn_b(); }",
                          "base/b": "int hn_a(void); int hn_b(void) { return hn_a(); }"}, ""),
    ("call_up", {"base/a": "int hn_b(void); int hn_a(void) { return hn_b(); }", "tune/b": "int hn_b(void) { return 1; }"},
     "src/base/a.c: uses hn_b of src/tune/b.c, a room above it"),
    ("table_of_a_room_above", {"space/a": "extern const int hn_t[]; int hn_a(void) { return hn_t[0]; }",
                               "tune/b": "extern const int hn_t[]; const int hn_t[] = {1, 2};"}, "uses hn_t"),
    ("circle", {"base/a": "int hn_c(void); int hn_a(void) { return hn_c(); }", "space/b": "int hn_a(void); int hn_b(void) { return hn_a(); }",
                "tune/c": "int hn_b(void); int hn_c(void) { return hn_b(); }"},
     "a circle: src/base/a.c -> src/tune/c.c -> src/space/b.c -> src/base/a.c"),
    ("folder_of_a_room", {"backend/cpu/a": "int hn_b(void); int hn_a(void) { return hn_b(); }", "compile/b": "int hn_b(void) { return 1; }"},
     "a room above it"),
    ("file_not_compiled", {"base/a": "int hn_a(void) { return 1; }", "base/b": None}, "src/base/b.c: not compiled"),
]


def calls(sources):
    """Compiles the sources of a tree and runs lint_rooms.py on it."""
    with tempfile.TemporaryDirectory() as top:
        for name, text in sources.items():
            for kind in ("src", "obj/src"):
                os.makedirs(os.path.dirname(os.path.join(top, kind, name)), exist_ok=True)
            with open(os.path.join(top, "src", name + ".c"), "w", encoding="utf-8") as f:
                f.write(text or "")
            if text:
                subprocess.run(["gcc", "-c", f"src/{name}.c", "-o", f"obj/src/{name}.o"], cwd=top, check=True)
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "lint_rooms.py"), "."], cwd=top,
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def run(linter, extra):
    with tempfile.TemporaryDirectory() as top:
        for path, text in {**SOUND, **extra}.items():
            os.makedirs(os.path.join(top, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(top, path), "w", encoding="utf-8") as f:
                f.write(text)
        script = "rooms.py" if linter == "room_lists" else f"lint_{linter}.py"
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", script), top],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def main():
    n = failed = 0
    cases = [(f"symbols_{name}", "symbols", text, bool(want), want) for name, text, want in SYMBOLS]
    cases += [(f"rooms_{name}", "rooms", sources, bool(want), want) for name, sources, want in CALLS]
    cases += [(f"{l}_sound_tree", l, {}, 0, "") for l in ("includes", "calls", "lengths", "names", "plugs", "docs", "room_lists", "api")]
    cases += [(f"{l}_accepts_{name}", l, {path: text}, 0, "") for name, l, path, text in SOUND_TOO]
    cases += [(f"{l}_finds_{name}", l, {path: text}, 1, want) for name, l, path, text, want in FAULTS]
    for name, linter, extra, status, want in cases:
        n += 1
        got, out = {"symbols": symbols, "rooms": calls}.get(linter, lambda x: run(linter, x))(extra)
        good = got == status and want in out
        failed += not good
        print(f"{'' if good else 'not '}ok {n} - lint/{name}")
        if not good:
            print(f"# exit {got}, wanted {status} and '{want}'\n" + "".join(f"# {l}\n" for l in out.splitlines()))
    print(f"1..{n}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
