/* proc/count.c — counting instructions (perf events) and energy (RAPL) of a run. Async-signal-safe. */
#include "proc/proc_int.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* On this process, which counts nothing itself: the event is off until an exec, and is inherited by children, whose
 * counts are added when they end. */
int hn_count_open(void) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_HW_INSTRUCTIONS,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .disabled = 1,
        .inherit = 1,
        .enable_on_exec = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

bool hn_proc_offers_branches(void) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_HW_CPU_CYCLES,
        .sample_period = 1000000,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK,
        .branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

/* Scaled up where the kernel had to share the counter (enabled / running). */
double hn_count_read(int fd) {
    uint64_t v[3] = {0};
    ssize_t n = read(fd, v, sizeof v);
    close(fd);
    if (n != (ssize_t)sizeof v || v[2] == 0) return NAN;
    return (double)v[0] * ((double)v[1] / (double)v[2]);
}

static double read_number(const char *path) {
    char buf[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NAN;
    ssize_t n = read(fd, buf, sizeof buf);
    close(fd);
    double v = 0;
    if (n <= 0 || buf[0] < '0' || buf[0] > '9') return NAN;
    for (ssize_t i = 0; i < n && buf[i] >= '0' && buf[i] <= '9'; i++) v = v * 10 + (buf[i] - '0');
    return v;
}

/* Sockets are /sys/class/powercap/intel-rapl:0, :1 … (AMD's too); their sub-domains are part of the package. */
double hn_energy_now(double *range_j) {
    char path[] = "/sys/class/powercap/intel-rapl:0/max_energy_range_uj";
    char *digit = strchr(path, ':') + 1, *leaf = digit + 2;
    double sum = 0, range = 0;
    int n = 0;
    for (; n < 8; n++) {
        *digit = (char)('0' + n);
        strcpy(leaf, "energy_uj");
        double uj = read_number(path);
        if (isnan(uj)) break;
        strcpy(leaf, "max_energy_range_uj");
        double max_uj = read_number(path);
        sum += uj;
        range = isnan(max_uj) ? 0 : max_uj;
    }
    *range_j = range * 1e-6;
    return n > 0 ? sum * 1e-6 : NAN;
}
