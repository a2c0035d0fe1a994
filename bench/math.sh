#!/usr/bin/env bash
# bench/math.sh — functions of floats: elements per second of hone's vectors, exact and relaxed, beside libm's.
#
# usage: bench/math.sh
#   TARGET=native      generic, x86-64-v3, x86-64-v4, x86-64-v4-vnni, x86-64-v4-bf16, aarch64
#   ROUNDS=51          each round times all three, in changing order; medians are printed
#   CC=cc              BUILD=build
set -eu
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 0 ] || usage bench/math.sh "$([ "$1" = --help ] || [ "$1" = -h ] && echo 0 || echo 2)"
need_hone
target=${TARGET:-native}
work=$OUT/math
mkdir -p "$work"
build_program bench/math_text.c "$work/text"
"$work/text" "$target" text >"$work/text.h"
# shellcheck disable=SC2046
${CC:-cc} -std=gnu11 -O2 $("$work/text" "$target" flags) -include "$work/text.h" bench/math.c -o "$work/math" -lm

header "Functions of floats" "TARGET=$target bench/math.sh"
echo
echo "4096 floats in the first-level cache, one thread; 10^9 elements per second, medians. Errors: docs/math.md."
echo
echo "| function | exact | relaxed | libm | exact / libm | relaxed / libm |"
echo "|---|---|---|---|---|---|"
"$work/math" "${ROUNDS:-51}"
