/* sketch/constants.h — the tuned constants of the sketches, from constants.def, as HN_NAME. */
#ifndef HN_CONSTANTS_H
#define HN_CONSTANTS_H

enum {
#define HN_SHARE(name, value, unit, machines, command, meaning)
#define HN_COUNT(name, value, unit, machines, command, meaning) HN_##name = value,
#include "sketch/constants.def"
#undef HN_COUNT
#undef HN_SHARE
};
#define HN_COUNT(name, value, unit, machines, command, meaning)
#define HN_SHARE(name, value, unit, machines, command, meaning) static const double HN_##name = value;
#include "sketch/constants.def"
#undef HN_COUNT
#undef HN_SHARE

#endif
