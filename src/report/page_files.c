/* report/page_files.c — carries the pages' template, style, sections, scripts and Chart.js in the library (paths:
 * Makefile). */
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
CARRY(hn_report_page_html, "src/report/report_page.html");
CARRY(hn_report_page_js, "src/report/report_page.js");
CARRY(hn_profile_page_html, "src/report/profile_page.html");
CARRY(hn_profile_page_js, "src/report/profile_page.js");
CARRY(hn_load_page_html, "src/report/load_page.html");
CARRY(hn_load_page_js, "src/report/load_page.js");
CARRY(hn_team_page_html, "src/report/team_page.html");
CARRY(hn_team_page_js, "src/report/team_page.js");
CARRY(hn_chart_js, HN_CHART_JS);
CARRY(hn_chart_licence, HN_CHART_LICENCE);
