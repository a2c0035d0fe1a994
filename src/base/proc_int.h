/* base/proc_int.h — what hone and its supervisor processes share.
 *
 * hone maps one hn_run per child (MAP_SHARED), fills the first part, and starts a supervisor, which fills the second
 * and writes the kept stdout behind the struct. The supervisor runs in a copy of a process that may have threads:
 * it calls async-signal-safe functions only and allocates nothing.
 * Two pipes: `control` tells the supervisor to stop (a byte: hn_proc_kill; end of file: hone is gone); `done` has its
 * write end in the supervisor alone, so that its end of file says the supervisor is gone, however it died.
 */
#ifndef HN_PROC_INT_H
#define HN_PROC_INT_H

#include "base/proc.h"

#include <sys/types.h>

enum { HN_ERR_TAIL_B = 4096, HN_MARK_B = 64 };

typedef struct hn_run {
    /* hone to supervisor */
    const char *const *argv, *const *env; /* complete; argv[0] is looked up in env's PATH */
    const char *cwd, *stdin_path, *stdout_path;
    char mark[HN_MARK_B]; /* NAME=value in the environment of every descendant */
    int cpu, control_fd, done_fd;
    double wall_s, cpu_s;
    uint64_t memory_b, file_b, out_b, keep_b;
    unsigned n_procs;
    bool no_aslr, count_instructions, count_energy, callgrind;
    pid_t hone;
    /* supervisor to hone */
    volatile int finished;
    pid_t child;
    hn_proc_end end;
    int status; /* as waitpid gave it */
    int fail_errno;
    const char *fail_step; /* a literal: what could not be done before exec */
    double started_s, ended_s, user_s, sys_s, instructions, energy_j;
    uint64_t max_rss_b, out_n, total_b, err_n; /* err_n: all bytes of stderr seen */
    bool oom_killed;
    char err_ring[HN_ERR_TAIL_B];
    char log[256]; /* callgrind: unfinished line of its log */
    char out[];
} hn_run;

/* The supervisor: does not return. Called in a fresh child process of hone. */
_Noreturn void hn_supervise(hn_run *run);

/* --- proc_tree.c: descendants ---------------------------------------------------------------------------------- */

typedef struct hn_tree_sum {
    size_t n;
    double cpu_s; /* of living descendants and of the children they waited for */
    uint64_t rss_b;
} hn_tree_sum;
/* Adds up what lives below this process. */
void hn_tree_add_up(hn_tree_sum *out);
/* Kills and reaps everything below this process (which is a child subreaper), until nothing is left or 10 s passed. */
void hn_tree_kill(void);
/* Kills every process whose environment holds `mark`, wherever it hangs; for use when a supervisor was lost. */
void hn_tree_kill_marked(const char *mark);

/* --- proc_count.c: instruction and energy counters ------------------------------------------------------------- */

/* Opens a counter of user-space instructions of children yet to be started; -1 when the machine has none. */
int hn_count_open(void);
double hn_count_read(int fd); /* NAN when it never ran; closes fd */
/* Package energy so far in joules summed over sockets, with the wrap-around range; NAN when there is none. */
double hn_energy_now(double *range_j);

#endif
