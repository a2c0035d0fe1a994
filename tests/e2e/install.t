#!/usr/bin/env bash
# tests/e2e/install.t: what `make install` puts down is enough to build programs from outside with pkg-config, against the
# shared and the static library, in C and in C++ (clang-19). TAP.
set -u
root=${HONE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${HONE_BUILD:-$root/build}
here=$(dirname "$(readlink -f "$0")")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
tap=e2e/ tap_log=$top/log
. "$root/tests/helper/tap.sh"

dest=$top/dest
prefix=/opt/hone
ok install make -s -C "$root" BUILD="$build" DESTDIR="$dest" PREFIX=$prefix install
lib=$dest$prefix/lib
for f in bin/hone include/hone/space.h include/hone/bench.h lib/libhone.a lib/libhone.so lib/libhone.so.3 lib/libhonebench.a \
    lib/pkgconfig/hone.pc share/man/man1/hone.1 share/man/man1/hone-tune.1 share/man/man1/hone-gpu-bench.1; do
    ok "installed_$f" test -s "$dest$prefix/$f"
done

page_has_every_option() { # the page of hone-gpu-bench is written by hand
    local option
    while read -r option; do
        sed 's/\\-/-/g; s/\\f[BRI]//g' "$dest$prefix/share/man/man1/hone-gpu-bench.1" | grep -q -- "^$option\b" || { echo "no $option"; return 1; }
    done < <(grep -o -- '"--hone-[a-z-]*"' "$root/src/bench/bench_options.c" | tr -d '"')
}
ok gpu_bench_page_has_every_option page_has_every_option

export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest
version=$(sed -n 's/^#define HONE_VERSION "\(.*\)"/\1/p' "$root/include/hone/base.h")
ok pkgconfig_version test "$(pkg-config --modversion hone)" = "$version"
ok pkgconfig_prefix_of_the_install test "$(PKG_CONFIG_SYSROOT_DIR='' pkg-config --variable=prefix hone)" = $prefix
read -ra shared <<< "$(pkg-config --cflags --libs hone)"
read -ra static <<< "$(pkg-config --static --cflags --libs hone | sed "s|-lhone |$lib/libhone.a |")"
# Packages of the system are found without the sysroot.
read -ra requires <<< "$(env -u PKG_CONFIG_SYSROOT_DIR -u PKG_CONFIG_PATH pkg-config --libs yaml-0.1 jansson sqlite3 libsodium liblzma libprotobuf-c libpcre2-8 libutf8proc libevent_core libevent_extra libevent_openssl libssl libcrypto)"

warn=(-Wall -Wextra -Wpedantic -Werror)
ok compile_shared gcc -std=c11 "${warn[@]}" "$here/ask_tell.c" -o "$top/shared" "${shared[@]}"
ok runs_with_the_shared_library env LD_LIBRARY_PATH="$lib" "$top/shared"
ok needs_the_soname sh -c "objdump -p '$top/shared' | grep -q 'NEEDED *libhone.so.3\$'"
ok needs_nothing_else_of_hone sh -c "! objdump -p '$top/shared' | grep NEEDED | grep -qE 'yaml|jansson|sqlite|sodium|lzma'"
ok soname sh -c "objdump -p '$lib/libhone.so' | grep -q 'SONAME *libhone.so.3\$'"
ok exports_only_hone sh -c "! nm -D --defined-only '$lib/libhone.so' | awk '\$2 ~ /[TDBR]/ {print \$3}' | grep -v '^hone_'"
ok compile_static gcc -std=c11 "${warn[@]}" "$here/ask_tell.c" -o "$top/static" "${static[@]}" "${requires[@]}"
ok runs_with_the_static_library "$top/static"
if command -v clang-19 >/dev/null; then
    ok compile_as_cxx clang-19 -x c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only "${shared[@]:0:1}" "$here/all_headers.c"
else
    n=$((n + 1))
    echo "ok $n # SKIP e2e/compile_as_cxx: needs clang-19"
fi
ok compile_all_headers gcc -std=c11 "${warn[@]}" -fsyntax-only "${shared[@]:0:1}" "$here/all_headers.c"
ok installed_program_runs sh -c "'$dest$prefix/bin/hone' --version | grep -q '$version'"
ok harness_links_alone sh -c "printf '%s\n' '#include <hone/bench.h>' 'static void f(void *p) { *(volatile int *)p += 1; }' \
    'int main(int c, char **v) { int x = 0; hone_bench *b = hone_bench_open(c, v); hone_bench_run(b, \"t\", f, &x); return hone_bench_close(b); }' \
    > '$top/h.c' && gcc -std=c11 -I'$dest$prefix/include' '$top/h.c' '$lib/libhonebench.a' -lm -o '$top/h' && '$top/h' | grep -q t"
ok uninstall make -s -C "$root" BUILD="$build" DESTDIR="$dest" PREFIX=$prefix uninstall
ok uninstall_leaves_nothing sh -c "! find '$dest' -type f -o -type l | grep ."
echo "1..$n"
exit $failed
