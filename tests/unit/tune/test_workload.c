/* The workload file: what a short one means, and what every wrong one is told. */
#include "base/fs.h"
#include "tap.h"
#include "tune/workload.h"

#include <unistd.h>

static hone_err e;
static char dir[64];

static hone_workload *parse(const char *text) {
    hone_workload *w = NULL;
    if (hone_workload_parse(text, strlen(text), "w.yaml", dir, &w, &e)) printf("# %s\n", e.text);
    return w;
}

/* --- what is wrong ------------------------------------------------------------------------------------------------ */

#define CMD "build: '{cc} {flags} k.c -o {out}'\nrun: '{out} {input}'\n"
#define PAR "build: '{cc} {flags} {defines} k.c -o {out}'\nrun: '{out} {input}'\nparameters:\n"
#define STATIC "build: '{cc} {flags} k.c -o {out}'\nobjectives: minimize sass.instructions\n"
#define TWO "{type: int, range: [1, 2], default: 1}\n"

static const struct bad {
    const char *name, *text, *want; /* want: parts apart by | */
} bad[] = {
    {"empty", "", "w.yaml:1:1: |empty|hone init"},
    {"not_a_map", "- a\n", "w.yaml:1:1: |map"},
    {"unknown_key", CMD "objectivs: minimize time\n", "w.yaml:3:1: |'objectivs'|did you mean 'objectives'"},
    {"newer_format", "hone: 2\n" CMD, "w.yaml:1:7: |format 2|reads format 1"},
    {"format_wrong_type", "hone: one\n" CMD, "w.yaml:1:7: |whole number"},
    {"name_with_slash", "name: a/b\n" CMD, "w.yaml:1:7: |'a/b'|'/'"},
    {"no_run", "build: '{cc} {flags} k.c -o {out}'\n", "w.yaml:1:1: |no 'run'"},
    {"no_build", "run: ./a\n", "w.yaml:1:1: |no 'build'|controls: false"},
    {"build_is_a_list", "build: [a]\nrun: ./a\n", "w.yaml:1:8: |a text"},
    {"build_empty", "build: '  '\nrun: ./a\n", "w.yaml:1:8: |white space"},
    {"build_without_out", "build: '{cc} {flags} k.c'\nrun: ./a\n", "w.yaml:1:8: |no {out}"},
    {"build_without_flags", "build: '{cc} k.c -o {out}'\nrun: ./a\n", "w.yaml:1:8: |no {flags}|controls: false"},
    {"build_without_cc", "build: 'gcc {flags} k.c -o {out}'\nrun: ./a\n", "w.yaml:1:8: |no {cc}"},
    {"compilers_without_cc", "controls: no\ncompilers: [gcc, clang-19]\nbuild: 'gcc k.c -o {out}'\nrun: ./a\n",
     "w.yaml:3:8: |no {cc}|'compilers'"},
    {"placeholder", "build: '{cc} {flag} -o {out}'\nrun: ./a\n", "w.yaml:1:8: |'{flag}' in 'build'|mean '{flags}'"},
    {"placeholder_far", "build: '{cc} {flags} {zzzzzz} -o {out}'\nrun: ./a\n",
     "w.yaml:1:8: |'{zzzzzz}'|known are {cc} {flags}|'{{zzzzzz}}'"},
    {"placeholder_elsewhere", "build: '{cc} {flags} -o {out}'\nrun: '{out} {flags}'\n",
     "w.yaml:2:6: |'{flags}' in 'run'"},
    {"compiler_twice", CMD "compilers: [gcc, gcc]\n", "w.yaml:3:18: |'gcc' is given twice"},
    {"compilers_empty", CMD "compilers: []\n", "w.yaml:3:12: |empty list"},
    {"compilers_a_map", CMD "compilers: {a: b}\n", "w.yaml:3:12: |list of texts"},
    {"controls_unknown", CMD "controls: {ltoo: true}\n", "w.yaml:3:12: |'ltoo'|'lto'"},
    {"controls_wrong_type", CMD "controls: {lto: maybe}\n", "w.yaml:3:17: |true or false|'maybe'"},
    {"controls_text", CMD "controls: some\n", "w.yaml:3:11: |true or false"},
    {"source_missing", CMD "sources: [k.c, gone.c]\n", "w.yaml:3:16: |'gone.c'|No such file"},
    {"source_pattern_empty", CMD "sources: '*.zig'\n", "w.yaml:3:10: |no file|'*.zig'"},
    {"source_pattern_in_folder", CMD "sources: '*/k.c'\n", "w.yaml:3:10: |last part"},
    {"source_too_many_stars", CMD "sources: '*a*a*a*a*a*a*b'\n", "w.yaml:3:10: |more than 6"},
    {"source_twice", CMD "sources: [k.c, k.c]\n", "w.yaml:3:16: |is given twice"},
    {"input_unknown_key", CMD "inputs: [{nam: a}]\n", "w.yaml:3:11: |'nam'|'name'"},
    {"input_negative_weight", CMD "inputs: [{args: a, weight: -1}]\n", "w.yaml:3:28: |'weight'|'-1'"},
    {"input_zero_weight", CMD "inputs: [{args: a, weight: 0}]\n", "w.yaml:3:28: |'weight'"},
    {"input_nothing", CMD "inputs: [{weight: 2}]\n", "w.yaml:3:10: |'args'"},
    {"input_name_twice", CMD "inputs:\n - {name: a, args: x}\n - {name: a, args: y}\n", "w.yaml:5:4: |'a'|line 4"},
    {"input_args_twice", CMD "inputs:\n - {name: a, args: x}\n - {name: b, args: x}\n", "w.yaml:5:4: |'a' and 'b'|'x'"},
    {"input_all_held_out", CMD "inputs: [{args: a, held_out: true}]\n", "w.yaml:3:9: |held out"},
    {"input_list_empty", CMD "inputs: []\n", "w.yaml:3:9: |0 items"},
    {"input_a_map", CMD "inputs: {a: b}\n", "w.yaml:3:9: |list"},
    {"input_not_used", "build: '{cc} {flags} -o {out}'\nrun: '{out}'\ninputs: [n=1]\n", "w.yaml:3:10: |no {input}"},
    {"metrics_source", CMD "metrics: hartness\n", "w.yaml:3:10: |'hartness'|'harness'"},
    {"metrics_harness_not_linked", CMD "metrics: harness\n", "w.yaml:3:10: |no {harness}"},
    {"metrics_name", CMD "metrics: ['a b']\n", "w.yaml:3:11: |'a b'"},
    {"metrics_name_twice", CMD "metrics: [a, a]\n", "w.yaml:3:14: |is given twice"},
    {"objective_direction", CMD "objectives: minimise time\n", "w.yaml:3:13: |did you mean 'minimize'"},
    {"objective_no_direction", CMD "objectives: [time]\n", "w.yaml:3:14: |minimize or maximize"},
    {"objective_percentile", CMD "objectives: minimize p101(time)\n", "w.yaml:3:13: |'p101'|beyond 100"},
    {"objective_aggregate", CMD "objectives: minimize medan(time)\n", "w.yaml:3:13: |'medan'|'median'"},
    {"objective_unclosed", CMD "objectives: minimize p50(time\n", "w.yaml:3:13: |')'"},
    {"objective_trailing", CMD "objectives: minimize p50(time) x\n", "w.yaml:3:13: |')'"},
    {"objective_bad_metric", CMD "objectives: minimize p50(a b)\n", "w.yaml:3:13: |'a b'"},
    {"objective_nothing", CMD "objectives: minimize\n", "w.yaml:3:13: |not a quantity"},
    {"objective_bare_percentile", CMD "objectives: minimize p99\n", "w.yaml:3:13: |p99(METRIC)"},
    {"objective_slip_in_builtin", CMD "objectives: minimize code_sise\n", "w.yaml:3:13: |'code_sise'|'code_size'"},
    {"objective_undeclared", CMD "metrics: [rate]\nobjectives: maximize rat\n", "w.yaml:4:13: |'rat'|'rate'"},
    {"objective_twice", CMD "objectives: [minimize p50(time), minimize time]\n", "w.yaml:3:34: |is given twice"},
    {"objective_both_ways", CMD "objectives: [minimize time, maximize time]\n", "w.yaml:3:29: |is given twice"},
    {"objectives_nine",
     CMD "objectives: [minimize a1, minimize a2, minimize a3, minimize a4, minimize a5, minimize a6, minimize a7,"
         " minimize a8, minimize a9]\n",
     "w.yaml:3:13: |1 to 8"},
    {"objectives_empty", CMD "objectives: []\n", "w.yaml:3:13: |1 to 8"},
    {"limit_form", CMD "limits: [time < 1 s]\n", "w.yaml:3:10: |<= BOUND"},
    {"limit_no_sign", CMD "limits: [time 1 s]\n", "w.yaml:3:10: |<= BOUND"},
    {"limit_unit", CMD "limits: [time <= 1 parsec]\n", "w.yaml:3:10: |1 parsec"},
    {"limit_time_in_bytes", CMD "limits: [time <= 1 KiB]\n", "w.yaml:3:10: |a time such as"},
    {"limit_size_in_seconds", CMD "limits: [code_size <= 1 ms]\n", "w.yaml:3:10: |a size such as"},
    {"limit_count_with_unit", CMD "limits: [instructions <= 1 ms]\n", "w.yaml:3:10: |a number"},
    {"limit_energy_unit", CMD "limits: [energy <= 1 kWh]\n", "w.yaml:3:10: |2 J"},
    {"limit_printed_unit", CMD "limits: [rate >= 1 furlong]\n", "w.yaml:3:10: |no bound for 'rate'"},
    {"limit_unknown_metric", CMD "metrics: [rate]\nlimits: [rat <= 1]\n", "w.yaml:4:10: |'rat'|'rate'"},
    {"limit_twice", CMD "limits: [time <= 1, p50(time) <= 2]\n", "w.yaml:3:21: |second limit"},
    {"limit_equal_to_a_timing", CMD "limits: [time == 1]\n", "w.yaml:3:10: |figures of the build"},
    {"limit_of_a_timing_to_baseline", CMD "limits: [time <= baseline]\n", "w.yaml:3:10: |relative to the baseline"},
    {"limit_equal_twice", CMD "limits: [code_size == 1, code_size == 2]\n", "w.yaml:3:26: |second limit"},
    {"code_metric", CMD "objectives: minimize sass.register\n", "w.yaml:3:13: |'sass.register'|mean 'sass.registers'"},
    {"code_metric_plain", CMD "objectives: minimize registers\nmetrics: [latency]\n", "w.yaml:3:13: |unknown metric"},
    {"code_metric_unit", CMD "limits: [sass.registers <= 1 KiB]\n", "w.yaml:3:10: |a number"},
    {"code_sum_of_a_timing", CMD "objectives: minimize sum(time)\n", "w.yaml:3:13: |'sum' is over kernels"},
    {"code_without_build", "controls: false\nrun: ./a\nobjectives: minimize sass.spills\n", "w.yaml:3:13: |no 'build'"},
    {"code_arch", CMD "metrics: {source: sass, arch: hopper}\n", "w.yaml:3:31: |'hopper'|sm_90"},
    {"code_weight", CMD "metrics: {source: sass, kernel: {a: 0}}\n", "w.yaml:3:37: |weight of kernel 'a'"},
    {"code_file", CMD "metrics: {source: sass, file: ../x}\n", "w.yaml:3:31: |'../x'|inside"},
    {"code_threads", CMD "metrics: {source: sass, threads: 2000}\n", "w.yaml:3:34: |'threads'|1024"},
    {"no_run_and_time", "build: '{cc} {flags} k.c -o {out}'\nobjectives: [minimize code_size, minimize time]\n",
     "w.yaml:1:1: |no 'run'|figures of the build"},
    {"no_run_and_parity", STATIC "parity: {rule: rel, tolerance: 1e-5}\n", "w.yaml:3:9: |no output"},
    {"limit_as_map", CMD "limits: {run: 1 s}\n", "w.yaml:3:9: |'stages'"},
    {"limit_seventeen",
     CMD "limits: [a<=1, b<=1, c<=1, d<=1, ee<=1, f<=1, g<=1, h<=1, i<=1, j<=1, k<=1, l<=1, m<=1, n<=1, o<=1, p<=1,"
         " q<=1]\n",
     "w.yaml:3:9: |at most 16"},
    {"parity_rule", CMD "parity: exactly\n", "w.yaml:3:9: |'exactly'|'exact'"},
    {"parity_rel_alone", CMD "parity: rel\n", "w.yaml:3:9: |{rule: rel, tolerance"},
    {"parity_no_tolerance", CMD "parity: {rule: ulp}\n", "w.yaml:3:16: |needs a 'tolerance'"},
    {"parity_needless_tolerance", CMD "parity: {rule: exact, tolerance: 1}\n", "w.yaml:3:34: |takes no tolerance"},
    {"parity_negative", CMD "parity: {rule: abs, tolerance: -1}\n", "w.yaml:3:32: |negative"},
    {"parity_command_twice", CMD "parity: {rule: exact, command: 'cmp {expected} {actual}'}\n",
     "w.yaml:3:32: |runs no"},
    {"parity_command_missing", CMD "parity: {rule: command}\n", "w.yaml:3:16: |needs a 'command'"},
    {"parity_command_blind", CMD "parity: {command: 'true'}\n", "w.yaml:3:19: |no {actual}"},
    {"parity_command_placeholder", CMD "parity: {command: 'cmp {a} {actual}'}\n", "w.yaml:3:19: |'{a}'|{expected}"},
    {"parity_output_outside", CMD "parity: {output: ../x}\n", "w.yaml:3:18: |inside the folder"},
    {"parity_twice", CMD "parity: {rule: abs, tolerance: 1}\nlimits: [max_rel_error <= 1e-5]\n",
     "w.yaml:4:10: |second"},
    {"parity_limit_from_below", CMD "limits: [max_rel_error >= 1e-5]\n", "w.yaml:3:10: |<="},
    {"fp_unknown", CMD "floating_point: fats\n", "w.yaml:3:17: |'fats'|'fast'"},
    {"fp_fast_with_exact", CMD "floating_point: fast\n", "w.yaml:3:17: |'fast' changes results|tolerance"},
    {"fp_contract_with_exact", CMD "baseline: {floating_point: strict}\nfloating_point: contract\n",
     "w.yaml:4:17: |'exact'"},
    {"fp_stricter_than_baseline", CMD "floating_point: strict\n", "w.yaml:3:17: |baseline's contract 'contract'"},
    {"numeric_with_exact", CMD "controls: {numeric: true}\n", "w.yaml:3:21: |numeric|'exact'"},
    {"baseline_key", CMD "baseline: {flag: -O2}\n", "w.yaml:3:12: |'flag'|'flags'"},
    {"stages_key", CMD "stages: {buidl: 1 s}\n", "w.yaml:3:10: |'buidl'|'build'"},
    {"stages_unit", CMD "stages: {run: 10 parsec}\n", "w.yaml:3:15: |250 ms"},
    {"stages_zero", CMD "stages: {run: 0}\n", "w.yaml:3:15: |'run'"},
    {"stages_memory", CMD "stages: {memory: 10}\n", "w.yaml:3:18: |'memory'"},
    {"budget_key", CMD "budget: {evaluation: 3}\n", "w.yaml:3:10: |'evaluation'|'evaluations'"},
    {"budget_zero", CMD "budget: {evaluations: 0}\n", "w.yaml:3:23: |'evaluations'"},
    {"budget_too_large", CMD "budget: {evaluations: 99999999999999999999}\n", "w.yaml:3:23: |at most 2^53"},
    {"budget_fraction", CMD "budget: {evaluations: 1.5}\n", "w.yaml:3:23: |whole number"},
    {"budget_target", CMD "budget: {target: 0.5}\n", "w.yaml:3:18: |'target'"},
    {"measure_floor", CMD "measure: {floor: 2}\n", "w.yaml:3:18: |'floor'"},
    {"measure_device", CMD "measure: {device: cuda9}\n", "w.yaml:3:19: |'cuda9'|cuda or opencl"},
    {"measure_device_number", CMD "measure: {device: 'opencl:x'}\n", "w.yaml:3:19: |'opencl:x'"},
    {"measure_repeats", CMD "measure: {repeats: 0}\n", "w.yaml:3:20: |'repeats'"},
    {"engine", CMD "engine: forrest\n", "w.yaml:3:9: |'forrest'|'forest'"},
    {"proof_key", CMD "proof: {min_gian: 1 %}\n", "w.yaml:3:9: |'min_gian'|'min_gain'"},
    {"proof_negative", CMD "proof: {min_gain: -1 %}\n", "w.yaml:3:19: |'min_gain'"},
    {"proof_text", CMD "proof: {min_gain: much}\n", "w.yaml:3:19: |'much'"},
    {"proof_two_variants", CMD "proof: {variants: 2}\n", "w.yaml:3:19: |'variants'"},
    {"proof_most_below_least", CMD "proof: {pairs: 200, pairs_most: 100}\n", "w.yaml:3:33: |(100)|(200)"},
    {"param_reserved", PAR "  flags: " TWO, "w.yaml:4:3: |'flags'|itself"},
    {"param_of_compiler", PAR "  gcc.x: " TWO, "w.yaml:4:3: |'gcc.x'|compiler 'gcc'"},
    {"param_unused", CMD "parameters:\n  TILE: " TWO, "w.yaml:4:3: |'TILE' reaches no"},
    {"param_no_macro", PAR "  a-b: " TWO, "w.yaml:4:3: |macro|{a-b}"},
    {"param_unknown_key", PAR "  T: {type: int, rnge: [1, 2], default: 1}\n", "w.yaml:4:|'rnge'|'range'"},
    {"constraint_of_nothing", PAR "  T: " TWO "constraints: ['TT < 2']\n", "w.yaml:5:|'TT'"},
    {"constraint_is_a_limit", PAR "  T: " TWO "constraints: ['p99(time) <= 1 ms']\n", "w.yaml:5:15: |'limits'"},
    {"constraints_alone", CMD "constraints: ['a < 1']\n", "w.yaml:3:14: |without 'parameters'"},
};

static bool has_parts(const char *text, const char *parts) {
    char buf[300], *save;
    snprintf(buf, sizeof buf, "%s", parts);
    for (char *p = strtok_r(buf, "|", &save); p; p = strtok_r(NULL, "|", &save))
        if (!strstr(text, p)) return false;
    return true;
}

static void test_bad(void) {
    static char untouched;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hone_workload *w = (hone_workload *)(void *)&untouched;
        hone_rc rc = hone_workload_parse(bad[i].text, strlen(bad[i].text), "w.yaml", dir, &w, &e);
        bool left = (void *)w == &untouched;
        if (!ok(rc == HONE_E_INPUT && left && has_parts(e.text, bad[i].want), "workload/%s", bad[i].name))
            printf("#   got:  %s\n#   want: %s\n", rc ? e.text : "success", bad[i].want);
        if (!rc) hone_workload_free(w);
    }
    hone_workload *w;
    ok(hone_workload_load("/nonexistent/hone.yaml", &w, &e) == HONE_E_IO && strstr(e.text, "/nonexistent/hone.yaml"),
       "workload/missing_file");
}

/* --- what a file means -------------------------------------------------------------------------------------------- */

static void test_minimal(void) {
    hone_workload *w = parse("build: '{cc} {flags} k.c -o {out}'\nrun: '{out}'\n");
    if (!ok(w != NULL, "workload/minimal_file")) return;
    is_text(w->name, "w", "workload/name_from_the_file");
    is_text(w->compiler[0], "gcc", "workload/default_compiler");
    is_text(w->baseline, "-O3 -march=native", "workload/default_baseline");
    is_text(w->objective[0].quantity.text, "time", "workload/default_objective_is_time");
    ok(w->objective[0].quantity.source == HN_FROM_WALL && !w->objective[0].maximize, "workload/time_is_wall_time");
    ok(w->n_inputs == 1 && w->input[0].weight == 1 && !*w->input[0].args, "workload/default_input");
    ok(w->controls && w->lto && !w->pgo && !w->numeric && !w->all_controls, "workload/default_controls");
    ok(w->fp_min == HONE_FP_CONTRACT && w->fp_max == HONE_FP_CONTRACT, "workload/exact_parity_fixes_the_contract");
    ok(w->parity == HN_PARITY_EXACT && w->budget.evaluations == 200 && w->floor == 0.15 && w->repeats == 1,
       "workload/default_protocol");
    ok(w->proof.min_gain == 0.01 && w->proof.pairs == 100 && w->proof.pairs_most == 400 && w->proof.variants == 10,
       "workload/default_proof");
    ok(w->n_sources == 1 && !strcmp(w->source[0], "k.c"), "workload/sources_from_the_build_command");
    ok(hone_space_n_params(w->params) == 0 && w->dir[0] == '/' && !w->engine, "workload/no_parameters");
    hone_workload_free(w);
}

static const char full[] =
    "hone: 1\nname: soft-max\ndoc: a kernel\nsources: [k.c, '*.h', sub]\n"
    "build: '{cc} {flags} {defines} k.c {harness} -lm -o {out}'\nrun: '{out} {input} --mode={MODE}'\n"
    "train: '{out} n=4'\ncompilers: [gcc, clang-19]\nbaseline: {flags: -O2 -ffast-math}\n"
    "floating_point: fast\ncontrols: {all: true, lto: false}\n"
    "parameters:\n  TILE: {type: int, range: [8, 128], step: 8, default: 32}\n  MODE: " TWO
    "constraints: [TILE * MODE <= 200]\n"
    "inputs:\n  - {name: small, args: n=1, weight: 3}\n  - n=2\n  - {name: odd, args: n=3, held_out: true, weight: 7}\n"
    "metrics: {source: harness, names: [latency, time]}\n"
    "objectives: ['minimize p50( latency )', maximize p99.9(time), minimize code_size]\n"
    "limits: ['p99 <= 1.2 ms', 'code_size <= 64 KiB', 'time >= 3', 'energy <= 150 mJ', 'max_rel_error <= 1e-5']\n"
    "parity: {output: out.txt}\nstages: {build: 60 s, run: 10 s, cpu: 5 s, memory: 2 GiB, output: 64 MiB, file: 1 MiB,"
    " processes: 64}\nbudget: {time: 5 min, plateau: 40, target: 1.3}\n"
    "measure: {repeats: 3, min_time: 10 ms, cold: yes, floor: 0.2}\nengine: forest\n"
    "proof: {min_gain: 0.5 %, pairs: 500, variants: 5}\n";

static void test_full(void) {
    hone_workload *w = parse(full);
    if (!ok(w != NULL, "workload/full_file")) return;
    is_text(w->objective[0].quantity.text, "median(latency)", "workload/p50_is_the_median");
    is_text(w->objective[1].quantity.text, "p99.9(time)", "workload/fractional_percentile");
    ok(w->objective[1].quantity.source == HN_FROM_HARNESS && w->objective[1].maximize,
       "workload/a_declared_metric_hides_the_built_in");
    ok(w->objective[2].quantity.source == HN_FROM_CODE_SIZE, "workload/built_in_metric");
    is_text(w->limit_rule[0].text, "p99(latency) <= 0.0012", "workload/bare_percentile_is_of_the_first_objective");
    ok(w->n_limit_rules == 4 && w->limit_rule[1].bound == 65536 && w->limit_rule[2].at_least &&
           w->limit_rule[3].bound == 0.15,
       "workload/limits");
    ok(w->parity == HN_PARITY_REL && w->parity_tol == 1e-5, "workload/max_rel_error_sets_the_parity_rule");
    is_text(w->parity_output, "out.txt", "workload/parity_output");
    ok(w->fp_baseline == HONE_FP_FAST && w->fp_min == HONE_FP_STRICT && w->numeric && w->pgo && !w->lto &&
           w->all_controls,
       "workload/contract_of_the_baseline_flags");
    ok(w->input[0].weight == 0.75 && w->input[1].weight == 0.25 && w->input[2].weight == 1 && w->input[2].held_out,
       "workload/weights_sum_to_one");
    is_text(w->input[1].name, "n=2", "workload/input_as_text");
    ok(w->param_define[hone_space_find(w->params, "TILE")] && !w->param_define[hone_space_find(w->params, "MODE")],
       "workload/a_named_parameter_is_no_macro");
    ok(w->n_sources == 4 && !strcmp(w->source[0], "a.h") && !strcmp(w->source[3], "sub/x/y.h"),
       "workload/sources_by_pattern_and_folder");
    ok(w->limits.cpu_s == 5 && w->limits.memory_b == 2147483648u && w->limits.n_procs == 64 && !w->budget.evaluations &&
           w->budget.seconds == 300 && w->cold && w->repeats == 3,
       "workload/fields");
    ok(w->proof.min_gain == 0.005 && w->proof.pairs == 500 && w->proof.pairs_most == 500 && w->proof.variants == 5,
       "workload/proof");
    bool maximize = false;
    ok(hone_workload_n_objectives(w) == 3 && !hone_workload_objective(w, 3, NULL) &&
           hone_workload_objective(w, 1, &maximize) && maximize,
       "workload/objectives_are_listed");
    hone_workload_free(w);
}

static void test_contracts(void) {
    static const struct {
        const char *name, *text;
        hone_fp baseline, min, max;
        bool numeric;
    } row[] = {
        {"tolerance_admits_contract", CMD "parity: {rule: rel, tolerance: 1e-6}\n", HONE_FP_CONTRACT, HONE_FP_STRICT,
         HONE_FP_CONTRACT, false},
        {"fast_when_asked", CMD "parity: {rule: ulp, tolerance: 4}\nfloating_point: fast\n", HONE_FP_CONTRACT,
         HONE_FP_STRICT, HONE_FP_FAST, true},
        {"fast_without_numeric", CMD "parity: none\nfloating_point: fast\ncontrols: {numeric: no}\n", HONE_FP_CONTRACT,
         HONE_FP_STRICT, HONE_FP_FAST, false},
        {"gcc_iso_mode_is_strict", "build: '{cc} -std=c11 {flags} k.c -o {out}'\nrun: '{out}'\n", HONE_FP_STRICT,
         HONE_FP_STRICT, HONE_FP_STRICT, false},
        {"clang_iso_mode_is_not", "compilers: clang-19\nbuild: '{cc} -std=c11 {flags} k.c -o {out}'\nrun: '{out}'\n",
         HONE_FP_CONTRACT, HONE_FP_CONTRACT, HONE_FP_CONTRACT, false},
        {"strict_as_shipped", CMD "baseline: {flags: -O2, floating_point: strict}\nfloating_point: strict\n",
         HONE_FP_STRICT, HONE_FP_STRICT, HONE_FP_STRICT, false},
        {"off_in_the_flags", CMD "baseline: -O2 -ffp-contract=off\n", HONE_FP_STRICT, HONE_FP_STRICT, HONE_FP_STRICT,
         false},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hone_workload *w = parse(row[i].text);
        ok(w && w->fp_baseline == row[i].baseline && w->fp_min == row[i].min && w->fp_max == row[i].max &&
               w->numeric == row[i].numeric,
           "workload/contract_%s", row[i].name);
        hone_workload_free(w);
    }
}

/* --- hashes ------------------------------------------------------------------------------------------------------- */

static void test_hash(void) {
    static const struct {
        const char *name, *text;
        bool same;
    } row[] = {
        {"comments_and_order", "# x\nrun:   \"{out} {input}\"\nbuild: >-\n  {cc} {flags} k.c -o {out}\n", true},
        {"name_budget_engine", CMD "name: b\ndoc: d\nbudget: {time: 1 s}\nengine: random\nproof: {pairs: 20}\n", true},
        {"defaults", CMD "objectives: [minimize p50(time)]\nparity: {rule: exact}\nmeasure: {repeats: 1}\n", true},
        {"build", "build: '{cc} {flags} -g k.c -o {out}'\nrun: '{out} {input}'\n", false},
        {"run", "build: '{cc} {flags} k.c -o {out}'\nrun: '{out}  -v {input}'\n", false},
        {"input", CMD "inputs: [n=1]\n", false},
        {"objective", CMD "objectives: minimize p90(time)\n", false},
        {"direction", CMD "objectives: maximize time\n", false},
        {"limit", CMD "limits: [code_size <= 1 MiB]\n", false},
        {"parity", CMD "parity: none\n", false},
        {"baseline", CMD "baseline: -O2\n", false},
        {"train", CMD "train: '{out}'\n", false},
        {"min_time", CMD "measure: {min_time: 1 ms}\n", false},
        {"run_limit", CMD "stages: {run: 1 s}\n", false},
    };
    hone_workload *w = parse(CMD);
    char base[33], hash[33];
    hone_workload_hash(w, base);
    hone_workload_free(w);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        w = parse(row[i].text);
        if (w) hone_workload_hash(w, hash);
        ok(w && !strcmp(hash, base) == row[i].same, "workload/hash_%s_%s", row[i].same ? "ignores" : "sees",
           row[i].name);
        hone_workload_free(w);
    }
    char path[128], one[33], two[33];
    w = parse(CMD "sources: [k.c]\n");
    hn_workload_source_hash(w, one, &e);
    snprintf(path, sizeof path, "%s/k.c", dir);
    hn_write_file(path, "int main(void) { return 1; }\n", 29, NULL);
    hn_workload_source_hash(w, two, &e);
    ok(strcmp(one, two) != 0, "workload/source_hash_sees_a_change");
    unlink(path);
    ok(hn_workload_source_hash(w, two, &e) == HONE_E_IO && strstr(e.text, "k.c"), "workload/source_gone");
    hone_workload_free(w);
}

/* --- device code -------------------------------------------------------------------------------------------------- */

static void test_code(void) {
    hone_workload *w =
        parse(STATIC "metrics: {kernel: {softmax: 3, '*gemm*': 1}, arch: sm_90a, threads: 128, shared: 8 KiB}\n"
                     "limits: [sass.spills == 0, sass.registers <= 128, sass.occupancy >= default,\n"
                     "         max(sass.instructions) <= 9, sum(sass.instructions) <= 10]\n");
    if (ok(w, "code/parses: %s", e.text)) {
        const hn_limit_rule *l = w->limit_rule;
        ok(!*w->run && w->parity == HN_PARITY_NONE && w->fp_max == w->fp_baseline, "code/runs_nothing");
        ok(w->code.n == 2 && w->code.weight[0] == 3 && w->code.sm == 90 && w->code.threads == 128 &&
               w->code.shared_b == 8192,
           "code/choice");
        is_text(w->objective[0].quantity.text, "sass.instructions", "code/objective");
        ok(w->objective[0].quantity.source == HN_FROM_CODE && w->objective[0].quantity.aggregate == HN_AGG_SUM,
           "code/instructions_are_summed");
        is_text(l[0].text, "sass.spills == 0", "code/equal");
        is_text(l[2].text, "sass.occupancy >= baseline", "code/of_baseline");
        ok(l[1].quantity.aggregate == HN_AGG_MAX && l[2].quantity.aggregate == HN_AGG_MIN, "code/folds");
        ok(l[4].quantity.slot == w->objective[0].quantity.slot && l[3].quantity.slot != l[4].quantity.slot &&
               w->code.n_slots == 5,
           "code/equal_quantities_share_a_slot: %zu", w->code.n_slots);
    }
    hone_workload_free(w);
    w = parse("build: '{cc} {flags} k.c -o {out}'\nmetrics: sass\nlimits: [spills == 0]\n");
    if (ok(w, "code/plain_names: %s", e.text)) {
        is_text(w->objective[0].quantity.text, "sass.instructions", "code/default_objective");
        is_text(w->limit_rule[0].text, "sass.spills == 0", "code/plain_name_is_completed");
    }
    hone_workload_free(w);
    w = parse(CMD "objectives: [minimize instructions]\n");
    ok(w && w->objective[0].quantity.source == HN_FROM_INSTRUCTIONS, "code/host_metric_keeps_its_name");
    hone_workload_free(w);
}

int main(void) {
    static const char *const file[] = {"k.c", "a.h", "sub/b.h", "sub/x/y.h", "sub/.hidden"};
    strcpy(dir, "/tmp/hone-workload-XXXXXX");
    if (!mkdtemp(dir)) return 1;
    char path[128];
    snprintf(path, sizeof path, "%s/sub/x", dir);
    hn_make_dirs(path, NULL);
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, file[i]);
        hn_write_file(path, "int main(void) { return 0; }\n", 29, NULL);
    }
    test_bad();
    test_minimal();
    test_full();
    test_contracts();
    test_hash();
    test_code();
    hn_remove_tree(dir, NULL);
    return done_testing();
}
