/* devices.h — what was measured of devices, for the commands that show it. */
#ifndef CLI_DEVICES_H
#define CLI_DEVICES_H

#include "cli.h"

#include <hone/places.h>

/* Key "measured": the rates of this device under this driver, or null. */
void cli_place_rates_json(cli_json *j, const hone_place *p);
/* In one line; free it. */
char *cli_place_rates_text(const hone_place_rates *r);

#endif
