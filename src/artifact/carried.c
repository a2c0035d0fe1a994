/* carried.c — texts that artifacts are made of, taken into the library as they stand in the tree. */
#include "artifact/artifact.h"

#define CARRY(name, path)                                                                                              \
    extern const char hn_carried_text_##name[];                                                                        \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".globl hn_carried_text_" #name "\n.hidden hn_carried_text_" #name "\n"                                    \
            "hn_carried_text_" #name ":\n.incbin \"" path "\"\n.byte 0\n"                                              \
            ".popsection\n");                                                                                          \
    const char *hn_carried_##name(void) { return hn_carried_text_##name; }

CARRY(entry, "src/artifact/entry.h")
CARRY(instance, "src/artifact/instance.h")
CARRY(model_h, "include/hone/model.h")
CARRY(state, "src/artifact/state.h")
CARRY(plan, "src/plan/plan.h")
CARRY(part, "src/artifact/part.h")
CARRY(place, "src/plan/place.c")
CARRY(remote_order, "src/backend/cpu/remote_order.h")
CARRY(runner, "src/backend/cpu/runner.h")
CARRY(instance_device, "src/artifact/instance_device.h")
CARRY(device_driver, "src/backend/gpu/rt/driver.h")
CARRY(driver_cache, "src/backend/gpu/rt/cache.h")
CARRY(driver_opencl, "src/backend/gpu/rt/driver_opencl.h")
CARRY(driver_cuda, "src/backend/gpu/rt/driver_cuda.h")
CARRY(driver_shim, "src/backend/gpu/rt/driver_shim.h")
CARRY(graph, "src/backend/gpu/rt/graph.h")
CARRY(device, "src/backend/gpu/rt/device.h")
