#!/usr/bin/env bash
# tests/gpu/images.t: machine code ahead of time in libraries for CUDA: which images there are, that the library says so, and what
# happens where the compiler refuses, dies or is not installed. By an NVRTC that is played (tests/helper/fake/nvrtc.c); by the real one
# where it is installed. TAP.
set -u
root=${HONE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${HONE_BUILD:-$root/build}
hone=${HONE:-$build/hone}
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
cd "$top" || exit 1
[ -z "${HONE_QUICK_CC:-}" ] || PATH=${HONE_QUICK_CC%/*}:$PATH # what is looked at is the device's code
export ASAN_OPTIONS=detect_leaks=0 XDG_CACHE_HOME=$top/cache
real=$(python3 -c "import sys; sys.path.insert(0, '$root/tests/gpu'); import cuda_tools as t; print(t.library('libnvrtc.so') or '')")
unset HONE_NVRTC
tap=gpu/images_ tap_log=$top/log
. "$root/tests/helper/tap.sh"
compile() { # compile OUTPUT TARGETS [OPTION…]
    local output=$1 target=$2
    shift 2
    "$hone" compile small.ir --target "$target" --no-parity --no-winners -o "$output" "$@"
}
has() { # has FILE TEXT…: the file has each of them
    local file=$1
    shift
    for text; do grep -qaF -- "$text" "$file" || { echo "$file has no '$text'"; return 1; }; done
}
hasnt() { ! grep -qaF -- "$2" "$1"; }
manifest() { python3 - "$@" <<'END'
import sys
lines = open(sys.argv[1], encoding="utf-8").read().split("machine_code:\n")
assert len(lines) == 2, "no machine_code"
part = lines[1].split("\nnumeric")[0]
for want in sys.argv[2:]:
    assert want in part, f"no '{want}' in {part}"
END
}

cat > small.ir <<'END'
ir 1
symbol n in 1..40
input %0 : f32[n, 8] "x"
%1 = mul %0, %0
%2 = sum %1 {axes = [1], keep = 0}
output %2 "y"
END

if ! gcc -O1 -shared -fPIC -o libnvrtc.so "$root/tests/helper/fake/nvrtc.c"; then
    echo "1..0 # SKIP no C compiler for the NVRTC that is played"
    exit 0
fi
export HONE_NVRTC=$top/libnvrtc.so
ok of_each_architecture compile both cuda:sm_80,cuda:sm_90a
ok are_inside has both.so 'for sm_80,' 'for sm_90a,' 'for compute_90,'
ok ptx_is_of_the_last_alone hasnt both.so 'for compute_80,'
ok are_in_the_manifest manifest both.manifest 'cuda:sm_80' 'sm_90a' 'PTX of compute_90'
ok the_text_is_carried_too has both.so 'HNR_KERNEL('
ok inspect_lists_them bash -c "'$hone' inspect ./both.so | tee said && grep 'target  *cuda:sm_90a.*1 kernels' said && grep 'sm_90a .*KiB, PTX of compute_90' said && grep 'target  *cuda:sm_80' said && grep 'version  *all sizes: 1 launches' said && grep 'inputs  *x  f32' said"
ok inspect_as_data bash -c "'$hone' inspect both.so --json | python3 -c 'import json, sys; d = json.load(sys.stdin); assert [t[\"name\"] for t in d[\"targets\"]] == [\"cuda:sm_90a\", \"cuda:sm_80\"] and \"sm_80 \" in d[\"targets\"][1][\"machine_code\"] and d[\"library_b\"] > 0 and d[\"versions\"][0][\"calls\"] == 1, d'"
ok inspect_without_a_manifest bash -c "cp both.so lonely.so && '$hone' inspect lonely.so --json | grep '\"compiler\": null' && ! '$hone' inspect /bin/true 2> why && grep 'hone compile\|cannot load' why && ! '$hone' inspect both.so --context 3 2> why && grep 'leave --context out' why"
ok beside_a_processor bash -c "'$hone' compile small.ir --target generic,cuda:sm_80 --no-parity -o mixed && grep -qaF 'for compute_80,' mixed.so && ! grep -qaF 'for sm_90a,' mixed.so"
ok from_the_cache bash -c "'$hone' compile small.ir --target cuda:sm_80,sm_90a --no-parity --no-winners -o again/both | tee said && grep -q 'PTX of compute_90' said && cmp both.so again/both.so"
ok of_each_version bash -c "'$hone' compile small.ir --target cuda:sm_80 --specialize n=4 --no-parity -o fixed && test \$(grep -ao 'for sm_80,' fixed.so | wc -l) = 2"
ok a_refused_text_is_said bash -c "HONE_FAKE='refuses sm_80' '$hone' compile small.ir --target cuda:sm_80 --no-cache --no-parity -o refused | tee said && grep -q 'sm_80 none: NVRTC refuses the text (6): error: not for sm_80' said"
ok and_the_text_is_left has refused.so 'HNR_KERNEL(' 'for compute_80,'
ok no_ptx_is_said bash -c "HONE_FAKE=old '$hone' compile small.ir --target cuda:sm_80 --no-cache --no-parity -o old | grep 'NVRTC gives no PTX'"
ok a_compiler_that_dies bash -c "HONE_FAKE=ends '$hone' compile small.ir --target cuda:sm_80 --no-cache --no-parity -o dead | grep 'killed by signal 6' && grep -qa 'HNR_KERNEL(' dead.so"
ok one_not_installed bash -c "HONE_NVRTC=$top/none HONE_CUDA= CUDA_HOME= '$hone' compile small.ir --target cuda:sm_80 --no-parity -o none | tee said && grep 'NVRTC compiles the text where it is loaded' said && ! grep -qaF 'for sm_80,' none.so"
ok as_c_text_none bash -c "'$hone' compile small.ir --target cuda:sm_80 --emit=c --no-parity -o text && gcc -c -O0 -w text.c -o text.o"
ok opencl_has_none bash -c "'$hone' compile small.ir --target opencl --no-parity -o cl | tee said && ! grep '^code' said"

if [ -n "$real" ]; then
    export HONE_NVRTC=$real
    ok by_nvrtc bash -c "'$hone' compile small.ir --target cuda:sm_80,cuda:sm_90a --no-parity --no-cache -o real | tee said && grep -E 'sm_90a [0-9.]+ KiB, PTX of compute_90 [0-9.]+ KiB' said && grep -E 'cuda:sm_80: sm_80 [0-9.]+ KiB' said"
    ok is_elf_and_ptx bash -c "python3 -c 'd = open(\"real.so\", \"rb\").read(); assert d.count(b\"\\x7fELF\") >= 3 and b\".target sm_90\" in d and b\".visible .entry\" in d'"
else
    echo "ok $((n += 1)) # SKIP no libnvrtc.so: machine code by the real compiler"
fi
echo "1..$n"
exit $failed
