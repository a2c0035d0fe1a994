/* report/page_files.c — carries the page's template, style, script and Chart.js in the library (paths: Makefile). */
#include "report/report_int.h"

#define CARRY(symbol, path)                                                                                            \
    __asm__(".section .rodata\n"                                                                                       \
            ".hidden " #symbol "\n"                                                                                    \
            ".globl " #symbol "\n" #symbol ":\n"                                                                       \
            ".incbin \"" path "\"\n"                                                                                   \
            ".byte 0\n"                                                                                                \
            ".text\n")

CARRY(hn_page_html, "src/report/page.html");
CARRY(hn_page_css, "src/report/page.css");
CARRY(hn_page_js, "src/report/page.js");
CARRY(hn_chart_js, HN_CHART_JS);
CARRY(hn_chart_licence, HN_CHART_LICENCE);
