/* quantize/output.h — where a result may go. */
#ifndef HN_QUANTIZE_OUTPUT_H
#define HN_QUANTIZE_OUTPUT_H

#include <hone/base.h>

/* E_USAGE: no output, the input itself, or a file that is there without force. */
hone_rc hn_output_check(const char *path, const char *output, bool force, hone_err *err);

#endif
