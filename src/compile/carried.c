/* carried.c — texts that artifacts are made of, taken into the library as they stand in the tree. */
#include "compile/compile_int.h"

#define CARRY(name, path)                                                                                              \
    extern const char hn_carried_text_##name[];                                                                        \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".globl hn_carried_text_" #name "\n.hidden hn_carried_text_" #name "\n"                                    \
            "hn_carried_text_" #name ":\n.incbin \"" path "\"\n.byte 0\n"                                              \
            ".popsection\n");                                                                                          \
    const char *hn_carried_##name(void) { return hn_carried_text_##name; }

CARRY(entry, "src/compile/entry.h")
CARRY(instance, "src/compile/instance.h")
CARRY(model_h, "include/hone/model.h")
CARRY(plan, "src/plan/plan.h")
CARRY(part, "src/compile/part.h")
CARRY(place, "src/plan/place.c")
CARRY(remote_order, "src/compile/remote_order.h")
CARRY(runner, "src/compile/runner.h")
