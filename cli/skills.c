/* skills.c — carries the skills (the Makefile rebuilds it when one changes). */
#include "skills.h"

#include "cli.h"

#include <string.h>

#define CLI_SKILL(symbol, folder)                                                                                      \
    extern const char cli_skill_##symbol[];                                                                            \
    __asm__(".section .rodata\n"                                                                                       \
            ".hidden cli_skill_" #symbol "\n"                                                                          \
            ".globl cli_skill_" #symbol "\ncli_skill_" #symbol ":\n"                                                   \
            ".incbin \"skills/" folder "/SKILL.md\"\n"                                                                 \
            ".byte 0\n"                                                                                                \
            ".text\n");
#include "skills.def"
#undef CLI_SKILL

static const cli_skill skills[] = {
#define CLI_SKILL(symbol, folder) {folder, cli_skill_##symbol},
#include "skills.def"
#undef CLI_SKILL
};

const cli_skill *cli_skill_at(size_t i) { return i < sizeof skills / sizeof *skills ? &skills[i] : NULL; }

char *cli_skill_description(const cli_skill *s) {
    static const char key[] = "\ndescription: ";
    const char *p = strstr(s->text, key);
    return p ? cli_format("%.*s", (int)strcspn(p + strlen(key), "\n"), p + strlen(key)) : cli_strdup("");
}
