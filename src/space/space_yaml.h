/* space/space_yaml.h — spaces from YAML nodes, for files that hold parameters among other things.
 *
 * Owns: the result.   Borrows: the document, during the call.   Errors: E_INPUT and E_LIMIT with
 * "label:line:column: ", E_NOMEM.
 */
#ifndef HN_SPACE_YAML_H
#define HN_SPACE_YAML_H

#include "base/yaml.h"

#include <hone/space.h>

/* Builds and seals a space from a `parameters:` map and a `constraints:` list as docs/space-file.md describes them.
 * Either may be NULL or an empty node: then there are none. */
hone_rc hn_space_from_yaml(const hn_yaml *doc, const hn_ynode *parameters, const hn_ynode *constraints,
                           const char *name, hone_space **out, hone_err *err);

#endif
