/* bench/gpu_nvml.c — clocks, throttle reasons and energy of an NVIDIA device, read by NVML
 * (docs.nvidia.com/deploy/nvml-api). Nothing is set. */
#include "gpu_int.h"

#include <math.h>
#include <string.h>

enum { CLOCK_SM = 1 };

typedef struct nvml_table {
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver)(char *text, unsigned n);
    int (*by_bus)(const char *bus, void **device);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*reasons)(void *device, unsigned long long *bits);
    int (*energy)(void *device, unsigned long long *mj);
} nvml_table;

static const hn_gpu_symbol symbols[] = {
    {"nvmlInit_v2", "nvmlInit", offsetof(nvml_table, init), false},
    {"nvmlShutdown", NULL, offsetof(nvml_table, shutdown), false},
    {"nvmlSystemGetDriverVersion", NULL, offsetof(nvml_table, driver), false},
    {"nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId", offsetof(nvml_table, by_bus), false},
    {"nvmlDeviceGetClockInfo", NULL, offsetof(nvml_table, clock), false},
    {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",
     offsetof(nvml_table, reasons), true},
    {"nvmlDeviceGetTotalEnergyConsumption", NULL, offsetof(nvml_table, energy), true},
};

struct hn_nvml {
    nvml_table f;
    void *device;
};

static const char *const libraries[] = {"libnvidia-ml.so.1", NULL};

hn_nvml *hn_nvml_open(const char *bus, char driver[64]) {
    hn_nvml *v = calloc(1, sizeof *v);
    char why[300];
    if (!v) return NULL;
    if (!hn_gpu_library(libraries, symbols, sizeof symbols / sizeof *symbols, &v->f, why, sizeof why) || v->f.init()) {
        free(v);
        return NULL;
    }
    if (v->f.driver(driver, 64)) driver[0] = 0;
    if (v->f.by_bus(bus, &v->device)) {
        hn_nvml_close(v);
        return NULL;
    }
    return v;
}

bool hn_nvml_clock(const hn_nvml *v, double *mhz, unsigned long long *reasons) {
    unsigned now = 0;
    *reasons = 0;
    if (v->f.clock(v->device, CLOCK_SM, &now)) return false;
    *mhz = now;
    if (v->f.reasons && v->f.reasons(v->device, reasons)) *reasons = 0;
    return true;
}

double hn_nvml_energy(const hn_nvml *v) {
    unsigned long long mj = 0;
    return v->f.energy && !v->f.energy(v->device, &mj) ? 1e-3 * (double)mj : NAN;
}

void hn_nvml_close(hn_nvml *v) {
    if (!v) return;
    v->f.shutdown();
    free(v);
}
