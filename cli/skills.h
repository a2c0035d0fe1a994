/* skills.h — the texts of skills/, carried in the program. */
#ifndef CLI_SKILLS_H
#define CLI_SKILLS_H

#include <stddef.h>

typedef struct cli_skill {
    const char *name; /* of its folder */
    const char *text; /* its SKILL.md */
} cli_skill;
/* NULL at the end. */
const cli_skill *cli_skill_at(size_t i);
/* What stands behind `description: ` at its head; malloc'ed. */
char *cli_skill_description(const cli_skill *s);

#endif
