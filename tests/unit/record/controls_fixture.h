/* tests/unit/record/controls_fixture.h — a controls file's contents with something in every part. */
#ifndef CONTROLS_FIXTURE_H
#define CONTROLS_FIXTURE_H

#include <hone/controls.h>

#include <math.h>

static hone_pair fix_environment[] = {{"LANG", "C"}};
static hone_pair fix_rule[] = {{"build command", "{cc} {flags} softmax.c -o {out}"},
                               {"run command", "{out} {input}"},
                               {"objectives", "minimize p50(latency)"}};
static hone_pair fix_source[] = {{"softmax.c", "0123456789abcdef0123456789abcdef"},
                                 {"deep/softmax.h", "ffffffffffffffffffffffffffffffff"}};
static hone_pair fix_input[] = {{"small", "n=1024; weight 1"}, {"odd", "n=1000; weight 1; held out"}};
static hone_pair fix_tool[] = {{"family", "gcc"},
                               {"version", "gcc-12 (Debian 12.2.0-14) 12.2.0"},
                               {"hash", "00112233445566778899aabbccddeeff"},
                               {"march", "znver4+3fa1"},
                               {"path", "/usr/bin/x86_64-linux-gnu-gcc-12"}};
static hone_pair fix_machine[] = {{"cpu", "AMD EPYC 9R45"},
                                  {"features", "abcdefabcdefabcdefabcdefabcdefab"},
                                  {"driver", "none"},
                                  {"kernel", "Linux 6.1.0"},
                                  {"memory", "32 GiB"}};
static const char *fix_flag[] = {"-O3", "-march=native", "-fno-tree-slp-vectorize", "-DTILE=32", "-DNAME=\"a b\"", ""};
static hone_controls_row fix_row[] = {{"p50(latency)",
                                       "",
                                       false,
                                       {1.0711, 1.0832, 1.0954},
                                       {120, 1, 2, 3, 4, 5, 3.1, 0.2},
                                       {120, 0.9, 1.8, 2.7, 3.6, 4.5, 2.8, 0.1}},
                                      {"p50(latency)", "odd", true, {1.01, 1.02, 1.03}, {0}, {0}},
                                      {"code_size", "", false, {NAN, NAN, NAN}, {0}, {0}}};
static hone_share fix_share[] = {{"-ftree-slp-vectorize", {1.02, 1.03, 1.04}}, {"TILE", {NAN, NAN, NAN}}};

static inline hone_controls fixture(void) {
    return (hone_controls){
        .format = 1,
        .name = "softmax",
        .version = "0.1.0",
        .created = "2026-01-31T14:05:00Z",
        .compiler = "gcc-12",
        .floating_point = "strict",
        .flag = fix_flag,
        .n_flags = 6,
        .environment = fix_environment,
        .n_environment = 1,
        .point = "{\"TILE\":32,\"SCALE\":0.125,\"FAST\":true,\"ORDER\":[\"b\",\"a\"],\"NAME\":\"on\",\"compiler\":"
                 "\"gcc-12\","
                 "\"gcc-12.-O\":\"3\",\"gcc-12.-march\":\"native\",\"gcc-12.-ftree-slp-vectorize\":\"off\"}",
        .response_hash = "",
        .workload = "hone.yaml",
        .workload_hash = "5566",
        .space_hash = "7788",
        .baseline = "-O3 -march=native",
        .rule = fix_rule,
        .n_rules = 3,
        .source = fix_source,
        .n_sources = 2,
        .input = fix_input,
        .n_inputs = 2,
        .tool = fix_tool,
        .n_tool = 5,
        .machine = fix_machine,
        .n_machine = 5,
        .verdict = "p50(latency) is 1.083 times better than the baseline (95 % interval 1.071 to 1.095): kept",
        .n_pairs = 120,
        .n_variants = 10,
        .claimed = 1.12,
        .row = fix_row,
        .n_rows = 3,
        .share = fix_share,
        .n_shares = 2,
        .n_before = 63,
        .session = 12,
        .signer = "",
    };
}

#endif
