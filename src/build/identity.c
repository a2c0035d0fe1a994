/* build/identity.c — which compiler exactly, in one line. */
#include "build/build.h"

#include <hone/target.h>

#include <string.h>

const char *hn_identity_text(hn_arena *a, const char *cc, char family[16], hone_err *err) {
    hone_identity id;
    if (hone_target_identity(cc, NULL, &id, err)) return NULL;
    memcpy(family, id.family, 16);
    const char *version = strchr(id.version, ' '); /* without the name by which it was called: cc, gcc, gcc-12 */
    return hn_format(a, "%s%s; %s", id.family, version ? version : id.version, id.hash);
}
