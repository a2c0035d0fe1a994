#!/usr/bin/env bash
# tests/e2e/model.t: a compiled model as its users meet it: the library's dependencies and names, a C program that loads it
# (tests/e2e/model_host.c: bits, threads, allocation, refusals), weights beside and inside, one C file. TAP.
set -u
root=${HONE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${HONE_BUILD:-$root/build}
hone=${HONE:-$build/hone}
here=$(dirname "$(readlink -f "$0")")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
cd "$top" || exit 1
tap=e2e/model_ tap_log=$top/log
. "$root/tests/helper/tap.sh"
not() { ! "$@"; }

cat > dense.ir <<'END'
ir 1
symbol n in 1..96
input %0 : f32[n, 64] "x"
input %1 : f32[64, 48] "w"
%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}
%3 = tanh %2
%4 = mul %3, %2
%5 = sum %4 {axes = [1], keep = 0}
output %4 "y"
output %5 "s"
END
cat > scale.ir <<'END'
ir 1
input %0 : f32[4] "x"
%1 = const {value = f32[4] (1, 2, 3, 4)}
%2 = mul %0, %1
output %2 "y"
END
sed 's/(1, 2, 3, 4)/(1, 2, 3, 5)/' scale.ir > other.ir

ok compiles "$hone" compile dense.ir -o dense
ok needs_libc_and_libm_only bash -c "! readelf -d dense.so | grep NEEDED | grep -vE 'lib(c|m)\.so'"
ok exports_one_name test "$(nm -D --defined-only dense.so | awk '{print $3}')" = hone_model_query
ok host_compiles gcc -std=gnu11 -O1 -w -I"$root/include" "$here/model_host.c" -o host -ldl -lpthread
if [ -x host ] && [ -f dense.so ]; then # its lines are counted on
    ./host ./dense.so > host.out 2>&1 || failed=1
    while read -r line; do
        case $line in
        ok*|not\ ok*) n=$((n + 1)); echo "$line" | sed -E "s/ok [0-9]+/ok $n/" ;;
        1..*) ;;
        *) echo "# $line" ;;
        esac
    done < host.out
fi

ok weights_lie_beside bash -c "'$hone' compile scale.ir -o a/scale && test -s a/scale.weights && '$hone' run a/scale.so --random 1"
ok weights_of_another_model_are_refused bash -c "'$hone' compile other.ir -o b/scale && cp b/scale.weights a/ && ! '$hone' run a/scale.so --random 1 > why 2>&1; grep 'another model' why"
ok cut_weights_are_refused bash -c "truncate -s 100 a/scale.weights; ! '$hone' run a/scale.so --random 1 > why 2>&1; grep 'do not have' why"
ok missing_weights_are_refused bash -c "rm a/scale.weights; ! '$hone' run a/scale.so --random 1"
ok weights_inside bash -c "'$hone' compile scale.ir -o c/scale --embed-weights && test ! -e c/scale.weights && '$hone' run c/scale.so --random 1"
cat > main.c <<'END'
#include "one.h"
#include <stdio.h>
int main(void) {
    hone_model_instance *m;
    float x[] = {1, 1, 1, 1}, y[4];
    hone_model_tensor in = {x, sizeof x, 0, 1, {4}, 0}, out = {y, sizeof y, 0, 0, {0}, 0};
    if (one_model()->create(NULL, &m) || one_model()->run(m, &in, 1, &out, 1)) return 1;
    printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
    one_model()->free(m);
    return 0;
}
END
ok one_c_file bash -c "'$hone' compile scale.ir -o one --emit=c && gcc -Wall -Werror -O1 main.c one.c -o main -lm -lpthread && ./main | grep -x '1 2 3 4'"
ok header_compiles_as_cpp bash -c "echo '#include \"one.h\"' > h.cc && g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only h.cc || ! command -v g++"
ok nothing_is_left_behind bash -c "! ls -A | grep '^\.hone'"
ok failed_compile_leaves_nothing bash -c "mkdir e; ! '$hone' compile scale.ir -o e/x --cc false; test -z \"\$(ls -A e)\""
ok names_are_no_code bash -c "sed 's/\"x\"/\"\\\\\"); int evil; \\/* %s\\\\\\\\ *\\/ ??\\/\"/' scale.ir > evil.ir && '$hone' compile evil.ir -o evil && '$hone' run evil.so --random 1 && '$hone' compile evil.ir -o evil --emit=c && gcc -Wall -Werror -fsyntax-only evil.c"

# --- sizes whose product is no expression: 1,296 terms
cat > long.ir <<'END'
ir 1
symbol a in 0..2
symbol b in 0..2
symbol c in 0..2
symbol d in 0..2
symbol e in 0..2
symbol f in 0..2
symbol g in 0..2
symbol h in 0..2
symbol i in 0..2
symbol j in 0..2
symbol k in 0..2
symbol l in 0..2
input %0 : f32[a, b, c, d] "x"
input %1 : f32[e, f, g, h] "y"
input %2 : f32[i, j, k, l] "z"
%3 = const {value = f32[] (2)}
%4 = pad %0, %3 {low = [e + i + f, f + k, g + i, h + j], high = [g + 1, j + e + 1, k + l + 1, l + 2 + i], mode = constant}
output %4 "p"
END
ok long_sizes_are_multiplied_in_a_run "$hone" verify long.ir --size a=2,b=1,c=2,d=2,e=1,f=2,g=1,h=2,i=1,j=1,k=1,l=1

# --- one C file under a user's warnings
ok c_file_is_quiet bash -c "'$hone' compile dense.ir -o quiet --emit=c && gcc -std=c11 -Wall -Wextra -Werror -O1 -c quiet.c -o quiet.o && { ! command -v clang-19 || clang-19 -std=c11 -Wall -Wextra -Werror -fsyntax-only quiet.c; }"

# --- several targets in one library, several versions
cat > sizes.ir <<'END'
ir 1
symbol n in 1..
input %0 : f32[n, 64] "x"
input %1 : f32[64, 48] "w"
%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}
%3 = tanh %2
output %3 "y"
END
near() { # near A B: lines of numbers agree within 1e-4, others are left out
    paste <(grep -E '^(-|[0-9])' "$1") <(grep -E '^(-|[0-9])' "$2") |
        awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-4) bad++ } END { exit !(NR > 40 && !bad) }'
}
only() { # only COMMAND… -- NAME…: false, with a skipped line for every name, where a command is missing
    local missing=
    while [ "$1" != -- ]; do
        command -v "$1" >/dev/null || missing=$1
        shift
    done
    shift
    [ -n "$missing" ] || return 0
    for name; do
        n=$((n + 1))
        echo "ok $n - e2e/model_$name # SKIP $missing is not here"
    done
    return 1
}
sizes() { "$hone" compile sizes.ir -o "$1/sizes" --target "$2" "${@:3}"; }
ok which_compiles gcc -std=gnu11 -w -I"$root/include" "$here/model_which.c" -o which -ldl
ok versions_compile sizes versions generic --specialize n=4,7
./which ./versions/sizes.so 1 4 7 5 > versions.out
ok versions_are_taken_by_size test "$(grep generic versions.out | tr '\n' '|')" = 'generic [] 1|generic [n=4] 4|generic [n=7] 7|generic [] 5|'
ok versions_are_in_the_manifest grep -q 'sizes: "n=4"' versions/sizes.manifest
ok versions_agree_with_the_interpreter "$hone" verify sizes.ir --specialize n=4 --size n=4
cat > table.ir <<'END'
ir 1
symbol batch in 0..
symbol seq in 0..4
input %0 : f32[batch, seq, 2] "x"
%1 = const {value = f32[1, 4, 2] (1, 2, 3, 4, 5, 6, 7, 8)}
%2 = slice %1 {shape = [1, seq, 2], start = [0, 0, 0], step = [1, 1, 1]}
%3 = broadcast %2 {shape = [batch, seq, 2], map = [0, 1, 2]}
%4 = add %0, %3
output %4 "y"
END
ok version_of_a_sliced_constant "$hone" compile table.ir -o table --specialize seq=2
ok version_of_a_sliced_constant_has_a_schedule not grep declined table.manifest
# the example of docs/model-api.md, as it stands there, in C and in C++
"$hone" gen mlp mlp.onnx >/dev/null
ok model_of_the_documented_example "$hone" compile mlp.onnx -o doc/model --target generic --no-parity
documented() {
    echo '#include <stdio.h>'
    sed -n '/^```c$/,/^```$/p' "$root/docs/model-api.md" | sed '/^```/d' |
        sed '/^#include/a static float x[784], y[10];\nint main(void) {\n    y[0] = -1;'
    echo '    return y[0] < 0; }'
}
documented > doc/example.c
ok documented_example_runs bash -c 'cd doc && gcc -std=c11 -Wall -Wextra -Werror example.c ./model.so -o example && ./example'
ok documented_example_in_cpp bash -c 'cd doc && ! command -v g++ || { g++ -std=c++20 -x c++ example.c -x none ./model.so -o example && ./example; }'
mkdir tmp
TMPDIR=$top/tmp "$hone" bench scale.ir --time 100s >/dev/null 2>&1 &
for _ in $(seq 300); do [ -n "$(ls tmp)" ] && break; sleep 0.1; done
ok bench_has_a_folder test -n "$(ls tmp)"
kill -9 $!
wait $! 2>/dev/null
for _ in $(seq 150); do [ -z "$(ls tmp)" ] && break; sleep 0.1; done
ok killed_bench_leaves_nothing test -z "$(ls tmp)"
if [ "$(uname -m)" = x86_64 ]; then
    ok targets_compile sizes targets generic,x86-64-v4,x86-64-v3
    HONE_MODEL_TARGET=generic ./which ./targets/sizes.so 5 > generic.out
    ok target_by_name grep -q '^generic' generic.out
    ok target_alone sizes v4 x86-64-v4 --no-parity
    if only qemu-x86_64 -- target_of_an_old_processor target_of_a_newer_one target_that_is_not_offered target_asked_for_is_not_offered; then
        qemu-x86_64 -cpu qemu64 ./which ./targets/sizes.so 5 > old.out 2>/dev/null
        qemu-x86_64 -cpu Haswell,-avx512f ./which ./targets/sizes.so 5 > newer.out 2>/dev/null
        qemu-x86_64 -cpu qemu64 ./which ./v4/sizes.so 5 > alone.out 2>/dev/null
        HONE_MODEL_TARGET=x86-64-v3 qemu-x86_64 -cpu qemu64 ./which ./targets/sizes.so 5 > asked.out 2>/dev/null
        ok target_of_an_old_processor cmp old.out generic.out
        ok target_of_a_newer_one grep -q '^x86-64-v3' newer.out
        ok target_that_is_not_offered grep -qx "error 7 this processor does not offer 'x86-64-v4'" alone.out
        ok target_asked_for_is_not_offered grep -q "^error 7 this processor does not offer 'x86-64-v3'" asked.out
    fi
    ok targets_of_two_processors_are_refused bash -c "! '$hone' compile sizes.ir --target x86-64-v3,aarch64 2> why; grep 'different processors' why"
    if only aarch64-linux-gnu-gcc qemu-aarch64 -- aarch64_compiles aarch64_parity_holds aarch64_runs aarch64_agrees aarch64_c_file; then
        ok aarch64_compiles sizes arm aarch64 --specialize n=7
        ok aarch64_parity_holds bash -c "! grep -E 'parity: (none|skipped|differs|crashed)' arm/sizes.manifest"
        arm=$(dirname "$(dirname "$(realpath "$(aarch64-linux-gnu-gcc -print-file-name=libc.so.6)")")")
        aarch64-linux-gnu-gcc -std=gnu11 -w -I"$root/include" "$here/model_which.c" -o which-arm -ldl
        qemu-aarch64 -L "$arm" ./which-arm ./arm/sizes.so 5 7 > arm.out
        ok aarch64_runs test "$(grep aarch64 arm.out | tr '\n' '|')" = 'aarch64 [] 5|aarch64 [n=7] 7|'
        ./which ./versions/sizes.so 5 7 > here.out
        ok aarch64_agrees near arm.out here.out
        mkdir arm-c && cp main.c arm-c
        ok aarch64_c_file bash -c "'$hone' compile scale.ir -o arm-c/one --target aarch64 --emit=c && cd arm-c && aarch64-linux-gnu-gcc -Wall -Werror -O1 main.c one.c -o main -lm -lpthread && qemu-aarch64 -L '$arm' ./main | grep -x '1 2 3 4'"
    fi
fi
echo "1..$n"
exit $failed
