/* Child processes: limits, how each end is told, and that nothing is left of them. */
#include "proc/proc.h"

#include "base/clock.h"
#include "base/fs.h"
#include "proc/proc_int.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static char dir[] = "/tmp/hone-test-proc-XXXXXX", faults[64], mark[64];

static bool environment_has(const char *pid, const char *text) {
    char path[64], *env;
    size_t n;
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    if (hn_read_file(path, &env, &n, NULL)) return false;
    bool found = memmem(env, n, text, strlen(text)) != NULL;
    free(env);
    return found;
}

/* Processes alive that were started with the mark in their environment; zombies have none. */
static size_t marked(void) {
    size_t n = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));)
        if (*e->d_name >= '1' && *e->d_name <= '9') n += environment_has(e->d_name, mark);
    if (d) closedir(d);
    return n;
}

static size_t entries(const char *path) {
    size_t n = 0;
    DIR *d = opendir(path);
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

static bool no_children(void) { return waitpid(-1, NULL, WNOHANG) < 0; }

static hn_proc_result run(hn_proc_spec s) {
    hn_proc_result r = {0};
    hone_err err = {0};
    const char *env[] = {mark, NULL};
    if (!s.env) s.env = env;
    if (hn_proc_run(&s, NULL, &r, &err)) printf("# %s\n", err.text);
    return r;
}

struct fault {
    const char *name, *mode, *arg;
    hn_proc_end end;
    int detail; /* exit code or signal */
    const char *said;
};

static const struct fault fault[] = {
    {"exit_zero", "exit", "0", HN_PROC_EXITED, 0, "exit code 0"},
    {"exit_code", "exit", "7", HN_PROC_EXITED, 7, "exit code 7"},
    {"crash_segv", "segv", NULL, HN_PROC_SIGNALED, SIGSEGV, "killed by SIGSEGV"},
    {"crash_abort", "signal", "6", HN_PROC_SIGNALED, SIGABRT, "killed by SIGABRT"},
    {"crash_fpe", "signal", "8", HN_PROC_SIGNALED, SIGFPE, "killed by SIGFPE"},
    {"crash_ill", "signal", "4", HN_PROC_SIGNALED, SIGILL, "killed by SIGILL"},
    {"crash_bus", "signal", "7", HN_PROC_SIGNALED, SIGBUS, "killed by SIGBUS"},
    {"crash_kill", "signal", "9", HN_PROC_SIGNALED, SIGKILL, "killed by SIGKILL"},
    {"crash_pipe", "signal", "13", HN_PROC_SIGNALED, SIGPIPE, "killed by SIGPIPE"},
    {"own_group_killed", "killgroup", NULL, HN_PROC_SIGNALED, SIGKILL, "killed by SIGKILL"},
    {"supervisor_killed", "killparent", NULL, HN_PROC_SIGNALED, SIGKILL, "killed by SIGKILL"},
    {"daemon_left", "daemon", NULL, HN_PROC_EXITED, 0, "exit code 0"},
    {"hang", "hang", NULL, HN_PROC_WALL_LIMIT, 0, "ran longer than 1.5 s"},
    {"spin", "spin", NULL, HN_PROC_CPU_LIMIT, 0, "used more than 0.4 s of CPU time"},
    {"flood", "flood", NULL, HN_PROC_OUTPUT_LIMIT, 0, "printed more than 32 MiB"},
    {"allocate", "allocate", NULL, HN_PROC_MEMORY_LIMIT, 0, "needed more than 64 MiB of memory"},
    {"bomb", "bomb", "8", HN_PROC_COUNT_LIMIT, 0, "ran more than 20 processes at once"},
    {"bomb_of_a_thread", "thread_bomb", "8", HN_PROC_COUNT_LIMIT, 0, "ran more than 20 processes at once"},
    {"big_file", "file", "big", HN_PROC_FILE_LIMIT, 0, "wrote a file larger than 1 MiB"},
};

static void test_fault(const struct fault *f, bool by_shell) {
    const char *argv[] = {faults, f->mode, f->arg, NULL};
    char text[256], said[5000];
    snprintf(text, sizeof text, "%s %s %s; exit $?", faults, f->mode, f->arg ? f->arg : "");
    hn_proc_spec s = {.argv = by_shell ? NULL : argv, .shell = by_shell ? text : NULL, .cwd = dir, .cpu = -1};
    s.wall_s = f->end == HN_PROC_WALL_LIMIT ? 1.5 : 30;
    s.cpu_s = f->end == HN_PROC_CPU_LIMIT ? 0.4 : 0;
    s.memory_b = 64u << 20;
    s.n_procs = 20;
    s.file_b = 1u << 20;
    s.out_b = 32u << 20;
    s.keep_b = 1000;
    hn_proc_result r = run(s);
    bool good = r.end == f->end;
    if (f->end == HN_PROC_EXITED) good = good && r.code == f->detail;
    if (f->end == HN_PROC_SIGNALED) good = good && r.signal == f->detail;
    hn_proc_describe(&s, &r, said, sizeof said);
    ok(good && r.out_n <= 1000, "proc/%s%s_is_told: %s", f->name, by_shell ? "_by_shell" : "", said);
    if (f->end != HN_PROC_COUNT_LIMIT) is_text(said, f->said, "proc/described");
    ok(marked() == 0, "proc/%s%s_leaves_nothing", f->name, by_shell ? "_by_shell" : "");
    hn_proc_result_free(&r);
}

static void test_plumbing(void) {
    char path[128], in[128];
    hn_proc_result r;
    snprintf(in, sizeof in, "%s/in", dir);
    hn_write_file(in, "from a file\n", 12, NULL);
    r = run((hn_proc_spec){.shell = "cat; pwd", .cwd = dir, .stdin_path = "in", .cpu = -1});
    snprintf(path, sizeof path, "from a file\n%s\n", dir);
    is_text(r.out, path, "proc/stdin_and_cwd_are_set");
    hn_proc_result_free(&r);

    const char *env[] = {"HOME=/nowhere", "X=1 2", NULL};
    r = run((hn_proc_spec){.shell = "echo $HOME $X", .env = env, .cpu = -1});
    is_text(r.out, "/nowhere 1 2\n", "proc/environment_is_overridden");
    hn_proc_result_free(&r);

    r = run((hn_proc_spec){.shell = "echo hidden", .cwd = dir, .stdout_path = "out", .cpu = -1});
    char *text = NULL;
    size_t n;
    snprintf(path, sizeof path, "%s/out", dir);
    ok(hn_read_file(path, &text, &n, NULL) == 0 && !strcmp(text, "hidden\n") && r.out_n == 0, "proc/stdout_to_a_file");
    free(text);
    hn_proc_result_free(&r);

    const char *missing[] = {"no-such-command-here", NULL};
    r = run((hn_proc_spec){.argv = missing, .cpu = -1});
    ok(r.end == HN_PROC_NOT_STARTED && strstr(r.err_tail, "No such file"), "proc/missing_command_is_an_outcome");
    hn_proc_result_free(&r);
    r = run((hn_proc_spec){.shell = "true", .cwd = "/no/such/folder", .cpu = -1});
    ok(r.end == HN_PROC_NOT_STARTED && strstr(r.err_tail, "enter its folder"), "proc/missing_folder_is_an_outcome");
    hn_proc_result_free(&r);
    r = run((hn_proc_spec){.shell = "true", .cpu = 100000});
    ok(r.end == HN_PROC_NOT_STARTED, "proc/core_that_is_not_there");
    hn_proc_result_free(&r);
    ok(hn_proc_run(&(hn_proc_spec){.cpu = -1}, NULL, &r, NULL) == HONE_E_USAGE, "proc/no_command_is_refused");
}

static void test_output(void) {
    hn_proc_result r = run((hn_proc_spec){.shell = "printf 12345678", .keep_b = 4, .cpu = -1});
    is_text(r.out, "1234", "proc/head_of_stdout_is_kept");
    hn_proc_result_free(&r);
    r = run((hn_proc_spec){.shell = "seq 1 3000 >&2; printf 'end\\001' >&2", .cpu = -1});
    size_t n = strlen(r.err_tail);
    ok(n > 4000 && n <= 4096 && !strcmp(r.err_tail + n - 5, "end^A"), "proc/tail_of_stderr_is_kept");
    hn_proc_result_free(&r);
    r = run((hn_proc_spec){.shell = "head -c 300000 /dev/zero | tr '\\0' x", .cpu = -1});
    ok(r.end == HN_PROC_EXITED && r.out_n == 300000, "proc/more_than_a_pipe_holds");
    hn_proc_result_free(&r);
    r = run((hn_proc_spec){.shell = "env | tr '\\n' ' ' | wc -c", .stack_pad_b = 100000, .cpu = -1});
    ok(atol(r.out) > 100000, "proc/stack_is_padded");
    hn_proc_result_free(&r);
}

static void test_measures(void) {
    hn_proc_result r = run((hn_proc_spec){.shell = "sleep 0.2", .cpu = -1});
    ok(r.wall_s >= 0.2 && isnan(r.instructions) && isnan(r.energy_j), "proc/wall_time_is_measured");
    ok(r.max_rss_b > 0 && r.max_rss_b < 64u << 20, "proc/peak_memory_is_the_childs");
    hn_proc_result_free(&r);
    const char *argv[] = {"/bin/true", NULL};
    hn_proc_offer offer = hn_proc_offers();
    if (!offer.perf && !offer.callgrind) {
        skip(1, "neither perf nor valgrind here");
        return;
    }
    r = run((hn_proc_spec){.argv = argv, .count_instructions = true, .cpu = -1});
    ok(r.instructions > 1000 && r.err_tail[0] == 0 && r.out_n == 0, "proc/instructions_are_counted");
    hn_proc_result_free(&r);
}

static void test_waiting(void) {
    hn_proc *p[3] = {NULL};
    hn_proc_result r;
    hn_proc_spec slow = {.shell = "sleep 100", .cpu = -1}, quick = {.shell = "exit 5", .cpu = -1};
    hn_proc_start(&slow, &p[0], NULL);
    hn_proc_start(&quick, &p[2], NULL);
    ok(hn_proc_wait_any(p, 3, 30, NULL) == 2, "proc/the_quick_one_is_first");
    hn_proc_collect(p[2], &r);
    ok(r.code == 5, "proc/collected");
    hn_proc_result_free(&r);
    p[2] = NULL;
    ok(hn_proc_wait_any(p, 3, 0.05, NULL) == -1, "proc/wait_times_out");
    volatile int stop = 1;
    ok(hn_proc_wait_any(p, 3, -1, &stop) == -1, "proc/wait_is_interrupted");
    hn_proc_kill(p[0]);
    hn_proc_collect(p[0], &r);
    ok(r.end == HN_PROC_STOPPED, "proc/killed");
    hn_proc_result_free(&r);
    ok(hn_proc_run(&slow, &stop, &r, NULL) == 0 && r.end == HN_PROC_STOPPED, "proc/run_is_interrupted");
    hn_proc_result_free(&r);
}

/* Held, a process and its children do nothing, and no limit passes; held ones die like others. */
static void test_held(void) {
    hn_proc *p[1];
    hn_proc_result r;
    char command[200], late[120];
    snprintf(late, sizeof late, "%s/late", dir);
    snprintf(command, sizeof command, "sh -c 'sleep 0.5; echo through; : >%s'; true", late);
    hn_proc_spec spec = {.shell = command, .cpu = -1, .wall_s = 3};
    hn_proc_start(&spec, &p[0], NULL);
    hn_proc_pause(p[0], true);
    ok(hn_proc_wait_any(p, 1, 3.2, NULL) == -1, "proc/held_beyond_its_limit");
    ok(!hn_exists(late), "proc/its_children_are_held");
    hn_proc_pause(p[0], true);
    hn_proc_pause(p[0], false);
    hn_proc_collect(p[0], &r);
    ok(r.end == HN_PROC_EXITED && r.code == 0 && !strcmp(r.out, "through\n"), "proc/goes_on: %d, %s", (int)r.end,
       r.out);
    hn_proc_result_free(&r);
    ok(hn_exists(late), "proc/its_children_go_on");
    spec = (hn_proc_spec){.shell = "sleep 100", .cpu = -1, .wall_s = 0.5};
    hn_proc_start(&spec, &p[0], NULL);
    hn_proc_pause(p[0], true);
    hn_proc_kill(p[0]);
    hn_proc_collect(p[0], &r);
    ok(r.end == HN_PROC_STOPPED, "proc/killed_while_held");
    hn_proc_result_free(&r);
    hn_proc_start(&spec, &p[0], NULL);
    hn_proc_pause(p[0], true);
    hn_proc_pause(p[0], false);
    hn_proc_collect(p[0], &r);
    ok(r.end == HN_PROC_WALL_LIMIT, "proc/limited_after_it_was_held");
    hn_proc_result_free(&r);
}

/* kill -9 of the process that uses the library: all that it started goes with it. */
static void test_parent_killed(void) {
    pid_t pid = fork();
    if (pid == 0) {
        const char *env[] = {mark, NULL}, *argv[] = {faults, "bomb", "5", NULL}, *hang[] = {faults, "hang", NULL};
        hn_proc *a, *b;
        hn_proc_start(&(hn_proc_spec){.argv = argv, .env = env, .cpu = -1}, &a, NULL);
        hn_proc_start(&(hn_proc_spec){.argv = hang, .env = env, .cpu = -1}, &b, NULL);
        for (;;) pause();
    }
    double until_s = hn_now_s() + 10;
    while (marked() < 5 && hn_now_s() < until_s) usleep(2000);
    ok(marked() >= 5, "proc/descendants_live_before");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    while (marked() > 0 && hn_now_s() < until_s) usleep(2000);
    ok(marked() == 0, "proc/kill_9_takes_all_descendants");
}

/* Its supervisor is gone by then, and nobody has looked: an order to it is no SIGPIPE. */
static void test_late_order(void) {
    const char *argv[] = {"true", NULL};
    hn_proc_spec spec = {.argv = argv, .cpu = -1};
    hn_proc *p;
    hone_err err = {0};
    if (!ok(!hn_proc_start(&spec, &p, &err), "proc/late_order_starts")) return;
    siginfo_t info = {0};
    waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
    hn_proc_kill(p);
    hn_proc_result r;
    hn_proc_collect(p, &r);
    ok(r.end == HN_PROC_EXITED && r.code == 0, "proc/late_order_is_none");
    hn_proc_result_free(&r);
}

static void test_leaks(void) {
    size_t fds = entries("/proc/self/fd");
    const char *argv[] = {"/bin/true", NULL};
    int good = 0;
    for (int i = 0; i < 1000; i++) {
        hn_proc_result r = run((hn_proc_spec){.argv = argv, .cpu = -1});
        good += r.end == HN_PROC_EXITED && r.code == 0;
        hn_proc_result_free(&r);
    }
    ok(good == 1000, "proc/a_thousand_runs");
    ok(entries("/proc/self/fd") == fds && no_children(), "proc/no_descriptor_or_zombie_is_left");
}

/* Without room for the supervisor program (here: no file may be written) a fork of this process does its work. */
static void test_fork_instead(void) {
    struct rlimit was, none = {0, RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &was);
    none.rlim_max = was.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    const char *argv[] = {faults, "daemon", NULL};
    hn_proc_result r = run((hn_proc_spec){.shell = "echo out; echo err >&2; exit 3", .cpu = -1});
    hn_proc_result q = run((hn_proc_spec){.argv = argv, .cpu = -1});
    setrlimit(RLIMIT_FSIZE, &was);
    signal(SIGXFSZ, SIG_DFL);
    ok(r.end == HN_PROC_EXITED && r.code == 3 && !strcmp(r.out, "out\n") && !strcmp(r.err_tail, "err\n"),
       "proc/supervisor_as_a_fork");
    ok(q.end == HN_PROC_EXITED && marked() == 0, "proc/supervisor_as_a_fork_leaves_nothing");
    hn_proc_result_free(&r);
    hn_proc_result_free(&q);
}

static void test_cgroup(void) {
    char path[HN_CGROUP_DIR_B];
    hn_cgroup_find("test", path);
    if (!*path) strcpy(path, "/sys/fs/cgroup/unified/hone-test"); /* v2 beside v1: nothing to confine, but a cgroup */
    int fd = hn_cgroup_make(path, 0, 0);
    if (fd < 0) {
        skip(1, "no cgroup can be made here");
        return;
    }
    bool oom, refused;
    pid_t pid = hn_cgroup_fork(fd);
    if (pid == 0) _exit(9);
    int status = 0;
    waitpid(pid, &status, 0);
    hn_cgroup_stop(fd);
    hn_cgroup_read(fd, &oom, &refused);
    hn_cgroup_remove(path);
    close(fd);
    ok(WEXITSTATUS(status) == 9 && !oom && !refused && !hn_exists(path), "proc/cgroup_is_made_and_removed");
}

int main(void) {
    if (!mkdtemp(dir)) return 1;
    snprintf(faults, sizeof faults, "%s/faults", dir);
    snprintf(mark, sizeof mark, "HONE_TEST_MARK=%ld.%.0f", (long)getpid(), hn_now_s() * 1e6);
    const char *cc[] = {"cc", "-O1", "-o", faults, "tests/e2e/faults/faults.c", NULL};
    hn_proc_result r = run((hn_proc_spec){.argv = cc, .cpu = -1});
    ok(r.end == HN_PROC_EXITED && r.code == 0, "proc/fault_program_compiles: %s", r.err_tail);
    hn_proc_result_free(&r);
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++) test_fault(&fault[i], false);
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++)
        if (fault[i].end != HN_PROC_WALL_LIMIT && strcmp(fault[i].mode, "killparent")) test_fault(&fault[i], true);
    test_plumbing();
    test_output();
    test_measures();
    test_waiting();
    test_held();
    test_parent_killed();
    test_late_order();
    test_leaks();
    test_fork_instead();
    test_cgroup();
    hn_remove_tree(dir, NULL);
    return done_testing();
}
