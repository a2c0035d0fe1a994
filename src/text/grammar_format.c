/* grammar_format.c — formats of strings in JSON schemas as phrases of GBNF. A format gives texts that are valid by it,
 * not all of them: addresses of the web alone, hosts in small letters. */
#include "text/grammar_json.h"

#include <string.h>

#define DATE                                                                                                           \
    "[12] [0-9]{3} \"-\" ((\"0\" [13578] | \"10\" | \"12\") \"-\" (\"0\" [1-9] | [12] [0-9] | \"3\" [01]) | (\"0\" "   \
    "[469] | \"11\") \"-\" (\"0\" [1-9] | [12] [0-9] | \"30\") | \"02-\" (\"0\" [1-9] | \"1\" [0-9] | \"2\" [0-8]))"
#define TIME                                                                                                           \
    "([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9] \":\" [0-5] [0-9] (\".\" [0-9]{1,6})? (\"Z\" | [+-] ([01] [0-9] | "  \
    "\"2\" [0-3]) \":\" [0-5] [0-9])"
#define BYTE "(\"25\" [0-5] | \"2\" [0-4] [0-9] | \"1\" [0-9] [0-9] | [1-9]? [0-9])"

#define LABEL "([a-z0-9] ([a-z0-9-]{0,30} [a-z0-9])?)"
#define HOST LABEL " (\".\" " LABEL "){0,5}"
#define ATOM "[A-Za-z0-9_+-]{1,32}"
#define INSIDE "([A-Za-z0-9._~!$&'()*+,;=:@-] | \"%\" [0-9A-F] [0-9A-F])"
#define HEX "[0-9a-f]{1,4}"
#define FRONT(n) HEX " (\":\" " HEX "){" #n "} \"::\""
#define REST(n) " (" HEX " (\":\" " HEX "){0," #n "})?"
#define N "[0-9]{1,9} "

#define CLOCK "\"T\" (" N "\"H\" (" N "\"M\" (" N "\"S\")?)? | " N "\"M\" (" N "\"S\")? | " N "\"S\")"

/* "": any text. */
static const struct {
    const char *name, *gbnf;
} formats[] = {
    {"date", DATE},
    {"time", TIME},
    {"date-time", "(" DATE ") \"T\" " TIME},
    {"duration", "\"P\" (" N "\"W\" | (" N "\"Y\" (" N "\"M\" (" N "\"D\")?)? | " N "\"M\" (" N "\"D\")? | " N
                 "\"D\") (" CLOCK ")? | " CLOCK ")"},
    {"uuid", "[0-9a-f]{8} \"-\" [0-9a-f]{4} \"-\" [0-9a-f]{4} \"-\" [0-9a-f]{4} \"-\" [0-9a-f]{12}"},
    {"email", ATOM " (\".\" " ATOM "){0,3} \"@\" " LABEL " (\".\" " LABEL "){1,4}"},
    {"hostname", HOST},
    {"uri", "\"http\" \"s\"? \"://\" " HOST " (\":\" [1-9] [0-9]{0,3})? (\"/\" " INSIDE "*)* (\"?\" (" INSIDE
            " | [/?])*)? (\"#\" (" INSIDE " | [/?])*)?"},
    {"ipv4", BYTE "\".\"" BYTE "\".\"" BYTE "\".\"" BYTE},
    {"ipv6",
     "(" HEX " \":\"){7} " HEX " | \"::\"" REST(6) " | " HEX " \"::\"" REST(5) " | " FRONT(1) REST(4) " | " FRONT(2)
         REST(3) " | " FRONT(3) REST(2) " | " FRONT(4) REST(1) " | " FRONT(5) REST(0) " | " FRONT(6)},
    {"password", ""},
    {"binary", ""},
};

const char *hn_json_format(const char *name) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(name, formats[i].name)) return formats[i].gbnf;
    return NULL;
}

const char *hn_json_format_at(size_t i) { return i < sizeof formats / sizeof *formats ? formats[i].name : NULL; }
