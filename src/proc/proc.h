/* proc/proc.h — child processes under limits, whose descendants cannot outlive them.
 *
 * Every child runs below a small supervisor process that is a child subreaper (PR_SET_CHILD_SUBREAPER) and dies with
 * hone (PR_SET_PDEATHSIG): whatever ends a run — exit, limit, kill -9 of hone — all descendants are killed, also those
 * that ignore SIGTERM, changed their process group or session, or were orphaned. Where a cgroup (v2) can be made the
 * child gets one (memory, pids); else setrlimit and sums over /proc are used.
 *
 * Owns: a hn_proc, from start to collect.   Units: seconds, bytes.   Threads: one at a time per hn_proc.
 */
#ifndef HN_PROC_H
#define HN_PROC_H

#include <hone/base.h>

typedef struct hn_proc_spec {
    const char *const *argv;  /* NULL-terminated; argv[0] is looked up in PATH. Required */
    const char *shell;        /* instead of argv: a text for /bin/sh -c */
    const char *const *env;   /* extra "NAME=value" texts on top of the inherited ones, NULL-terminated; may be NULL */
    const char *cwd;          /* NULL: inherited */
    const char *stdin_path;   /* NULL: /dev/null */
    const char *stdout_path;  /* file for the whole stdout (subject to file_b); NULL: captured, up to out_b */
    int cpu;                  /* core to pin to, -1: none */
    size_t stack_pad_b;       /* grow the environment by this many bytes, to move the stack */
    double wall_s, cpu_s;     /* limits, 0 = none */
    uint64_t memory_b;        /* 0 = none */
    uint64_t file_b;          /* largest file it may write, 0 = none */
    uint64_t out_b;           /* most stdout + stderr it may print before it is ended; 0 = 64 MiB */
    uint64_t keep_b;          /* most stdout kept (the head); 0 = 16 MiB. Of stderr the last 4 KiB are kept */
    unsigned n_procs;         /* most processes and threads at once; 0 = none */
    bool no_aslr;             /* personality(ADDR_NO_RANDOMIZE) */
    bool count_instructions;  /* user-space instructions of all descendants, by perf_event_open, else callgrind */
    bool count_energy;        /* RAPL package energy over the run */
    bool confine;             /* no writes but below cwd and `write`, no network, as far as the kernel can; needs cwd */
    const char *const *write; /* files and folders, NULL-terminated; what is not there is passed over; may be NULL */
} hn_proc_spec;

/* How far a run is confined, and by what. */
enum { HN_CONFINED_WRITES = 1, HN_CONFINED_NETWORK = 2, HN_BY_LANDLOCK = 4, HN_BY_NAMESPACE = 8 };

typedef enum hn_proc_end {
    HN_PROC_EXITED,   /* see code */
    HN_PROC_SIGNALED, /* see signal */
    HN_PROC_WALL_LIMIT,
    HN_PROC_CPU_LIMIT,
    HN_PROC_MEMORY_LIMIT,
    HN_PROC_FILE_LIMIT,
    HN_PROC_OUTPUT_LIMIT,
    HN_PROC_NOT_STARTED, /* exec failed: err_tail says why */
    HN_PROC_STOPPED,     /* ended by hn_proc_kill */
    HN_PROC_COUNT_LIMIT, /* more processes and threads at once than n_procs */
} hn_proc_end;

typedef struct hn_proc_result {
    hn_proc_end end;
    int code, signal;
    double wall_s, user_s,
        sys_s; /* wall: from exec to exit as the supervisor saw it; cpu: of all waited-for descendants */
    uint64_t max_rss_b;
    double instructions, energy_j; /* NAN when not asked for or not available */
    unsigned confined;             /* HN_CONFINED_… */
    char *out;                     /* kept stdout, NUL-terminated */
    size_t out_n;
    char err_tail[4097]; /* last of stderr, NUL-terminated, control characters made visible */
} hn_proc_result;

typedef struct hn_proc hn_proc;

/* Starts a child. Fails only when hone itself cannot fork or open pipes (E_IO, E_NOMEM): a bad command is an outcome.
 */
hone_rc hn_proc_start(const hn_proc_spec *spec, hn_proc **out, hone_err *err);
/* Reads pending output; true once the child and all its descendants have ended. Never blocks. */
bool hn_proc_poll(hn_proc *proc);
/* Blocks until one of n is done, or until timeout_s passed (negative: no limit), or *stop (may be NULL) became
 * non-zero: gives the index of a finished one or -1. NULL entries are skipped. */
int hn_proc_wait_any(hn_proc *const *procs, size_t n, double timeout_s, const volatile int *stop);
/* Stops its process group, or continues it; the time stopped does not count towards wall_s. Takes effect soon, not at
 * once. */
void hn_proc_pause(hn_proc *proc, bool held);
/* Ends it and its descendants now. */
void hn_proc_kill(hn_proc *proc);
/* Takes the result of a finished one (waits when it is not) and frees the hn_proc. */
void hn_proc_collect(hn_proc *proc, hn_proc_result *out);
void hn_proc_result_free(hn_proc_result *result);

/* start, wait, collect. *stop as above: then the end is HN_PROC_STOPPED. */
hone_rc hn_proc_run(const hn_proc_spec *spec, const volatile int *stop, hn_proc_result *out, hone_err *err);
/* One line for a person: "exit code 1", "killed by SIGSEGV", "ran longer than 10 s" … */
const char *hn_proc_describe(const hn_proc_spec *spec, const hn_proc_result *result, char *buf, size_t n);

/* What this machine offers for counting and confining. */
typedef struct hn_proc_offer {
    bool perf;      /* instructions by perf_event_open */
    bool callgrind; /* valgrind is in PATH */
    bool rapl;      /* energy */
    bool cgroup;    /* a cgroup can be made for a child */
} hn_proc_offer;
hn_proc_offer hn_proc_offers(void);
/* Does the processor record the branches that a program takes? */
bool hn_proc_offers_branches(void);
/* How far this machine can confine a run, tried out in a process of its own. *version: Landlock's, 0 for none. */
unsigned hn_proc_confines(int *version);

#endif
