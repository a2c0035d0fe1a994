/* base/options.c — option structs carry their size, so that fields can be added at their ends. */
#include "base/options.h"

#include "base/err.h"

#include <string.h>

hone_rc hn_options_read(void *out, size_t size, const void *given, const char *name, hone_err *err) {
    size_t has;
    if (!given) return HONE_OK;
    memcpy(&has, given, sizeof has);
    if (has <= sizeof has)
        return hn_fail(err, HONE_E_USAGE, "the size in hone_%s_options is %zu; fill the struct by hone_%s_defaults()",
                       name, has, name);
    if (has > size)
        return hn_fail(err, HONE_E_USAGE,
                       "the size in hone_%s_options is %zu, and this library knows %zu; fill the struct by "
                       "hone_%s_defaults(), or use a library as new as the header",
                       name, has, size, name);
    memcpy(out, given, has);
    memcpy(out, &size, sizeof size);
    return HONE_OK;
}

hone_rc hn_device_check(int32_t device, hone_err *err) {
    if (device == 0) return HONE_OK;
    return hn_fail(err, HONE_E_UNSUPPORTED,
                   "there is no device %d: this version runs models on this machine's processor, device 0", device);
}
