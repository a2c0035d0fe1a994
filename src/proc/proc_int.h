/* proc/proc_int.h — what hone and its supervisor processes share.
 *
 * hone maps one hn_proc_running per child (shared memory), fills the first part, and starts a supervisor, which fills
 * the second and writes the kept stdout behind it. Texts lie in the same memory, as offsets: the supervisor may have it
 * at another address. It may also be a fork of a process with threads: it calls async-signal-safe functions only and
 * allocates nothing.
 * Two pipes: `control` gives the supervisor orders, a byte each (end of file: hone is gone); `done` has its
 * write end in the supervisor alone, so that its end of file says the supervisor is gone, however it died.
 */
#ifndef HN_PROC_INT_H
#define HN_PROC_INT_H

#include "proc/proc.h"

#include <sys/types.h>

enum { HN_ORDER_STOP = 'k', HN_ORDER_HOLD = 'h', HN_ORDER_GO_ON = 'g' };
enum { HN_ERR_TAIL_B = 4096, HN_MARK_B = 64, HN_CGROUP_DIR_B = 320 };

typedef struct hn_proc_running {
    /* hone to supervisor */
    uint64_t cwd_at, stdin_at, stdout_at, out_at; /* offsets of texts and of the kept stdout; 0: none */
    uint64_t write_at;                            /* of texts one behind the other, the last is "" */
    char mark[HN_MARK_B];                         /* NAME=value in the environment of every descendant */
    int cpu, control_fd, done_fd;
    double wall_s, cpu_s;
    uint64_t memory_b, file_b, out_b, keep_b;
    unsigned n_procs;
    bool no_aslr, count_instructions, count_energy, callgrind;
    unsigned char confine; /* hn_confine_means */
    pid_t hone;
    char cgroup[HN_CGROUP_DIR_B]; /* folder to be made; "" for none */
    /* supervisor to hone */
    volatile int finished;
    pid_t child;
    hn_proc_end end;
    int status; /* as waitpid gave it */
    int fail_errno;
    char fail_step[40]; /* what could not be done before exec; "" when all went well */
    double started_s, ended_s, user_s, sys_s, instructions, energy_j;
    uint64_t max_rss_b, out_n, total_b, err_n; /* err_n: all bytes of stderr seen */
    bool oom_killed, count_refused;
    unsigned confined;
    char err_ring[HN_ERR_TAIL_B];
    char log[256]; /* callgrind: unfinished line of its log */
} hn_proc_running;

static inline const char *hn_run_text(const hn_proc_running *run, uint64_t at) {
    return at ? (const char *)run + at : NULL;
}
static inline char *hn_run_out(hn_proc_running *run) { return (char *)run + run->out_at; }

/* The supervisor: does not return. Runs as a process of its own below hone: normally the program in
 * hn_supervisor_image, else a fork of hone. argv[0] is looked up in the PATH of env. */
_Noreturn void hn_supervise(hn_proc_running *run, char *const *argv, char *const *env);

/* One byte into a pipe that may have no reader any more: then nothing happens, SIGPIPE neither. */
void hn_pipe_tell(int fd, char what);

/* image.c: the supervisor as a static program, so that starting it costs the same however much memory hone has
 * (and that memory does not show up as the child's peak). Empty (n = 0) in builds that left it out. */
const void *hn_supervisor_image(size_t *n);

/* --- tree.c: descendants ---------------------------------------------------------------------------------- */

typedef struct hn_tree_sum {
    size_t n;     /* processes and threads */
    double cpu_s; /* of living descendants and of the children they waited for */
    uint64_t rss_b;
} hn_tree_sum;
/* Adds up what lives below this process. */
void hn_tree_add_up(hn_tree_sum *out);
/* Kills and reaps everything below this process (which is a child subreaper), until nothing is left or 10 s passed. */
void hn_tree_kill(void);
/* Kills every process whose environment holds `mark`, whatever its parent; for use after a supervisor died. */
void hn_tree_kill_marked(const char *mark);

/* --- cgroup.c: a cgroup for the run ----------------------------------------------------------------------- */

/* In hone, not async-signal-safe: the folder to be made, "" when there is no place for one. */
void hn_cgroup_find(const char *name, char dir[HN_CGROUP_DIR_B]);
bool hn_cgroup_offered(void);
/* In the supervisor. make: a descriptor of the folder, -1 when it cannot be. fork: as fork, inside the cgroup. */
int hn_cgroup_make(const char *path, uint64_t memory_b, unsigned n_procs);
pid_t hn_cgroup_fork(int dir);
void hn_cgroup_stop(int dir); /* prevents further forks in it; kills its processes where the kernel can */
void hn_cgroup_read(int dir, bool *oom_killed, bool *count_refused);
void hn_cgroup_remove(const char *path);

/* --- confine.c: writes and network ------------------------------------------------------------------------ */

/* In the child: from now on this process and its descendants write below `here` and `paths` (texts one behind the
 * other, the last is ""; may be NULL) alone, and have no network. Gives what holds, HN_CONFINED_…; 0: nothing does. */
unsigned hn_confine_self(unsigned char means, const char *here, const char *paths);
/* By which means: none, the best there is, or one for tests (in hone: the variable HONE_CONFINE). Does it need a
 * process that shares no memory with its parent? */
enum { HN_CONFINE_NOT, HN_CONFINE_BEST, HN_CONFINE_NAMESPACE, HN_CONFINE_REMOUNT };
unsigned char hn_confine_means(void);
bool hn_confine_forks(unsigned char means);

/* --- count.c: instruction and energy counters ------------------------------------------------------------- */

/* Opens a counter of user-space instructions of children yet to be started; -1 when the machine has none. */
int hn_count_open(void);
double hn_count_read(int fd); /* NAN when it never ran; closes fd */
/* Package energy so far in joules summed over sockets, with the wrap-around range; NAN when there is none. */
double hn_energy_now(double *range_j);

#endif
