#!/usr/bin/env bash
# tests/e2e/devices.t: models on devices: on OpenCL where a driver is (PoCL), as CUDA on the shim; sizes that are not known, a
# loop, a branch, state; memory of the device handed in; a library for several machines. TAP.
set -u
root=${HONE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${HONE_BUILD:-$root/build}
hone=${HONE:-$build/hone}
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
cd "$top" || exit 1
[ -z "${HONE_QUICK_CC:-}" ] || PATH=${HONE_QUICK_CC%/*}:$PATH # what is tried is the devices' code
export HONE_DEVICE_CACHE=$top/device ASAN_OPTIONS=detect_leaks=0
tap=e2e/devices_ tap_log=$top/log
. "$root/tests/helper/tap.sh"

cat > small.ir <<'END'
ir 1
symbol n in 1..40
input %0 : f32[n, 8] "x"
%1 = const {value = f32[8, 4] (0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5)}
%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}
%3 = tanh %2
output %3 "y"
END
cat > loop.ir <<'END'
ir 1
symbol k in 0..
input %t : i64[] "t"
input %x : f32[5] "x"
%g = const {value = bool[] (true)}
%lim = const {value = f32[] (40)}
%y, %s = loop %t, %g, %x {count = 1, defines = [k]} do (%i : i64[], %go : bool[], %a : f32[5]) {
  %b = add %a, %a
  %m = sum %b {axes = [0], keep = 0}
  %again = lt %m, %lim
  yield %again, %b, %a
}
output %y "y"
output %s "s"
END
cat > inputs.ir <<'END'
ir 1
symbol k in 0..
input %t : i64[] "t"
input %p : f32[600] "p"
input %q : f32[600] "q"
input %r : f32[600] "r"
input %x : f32[9000] "x"
input %z : f32[9000] "z"
%g = const {value = bool[] (true)}
%y, %yz, %s = loop %t, %g, %x, %z {count = 1, defines = [k]} do (%i : i64[], %go : bool[], %a : f32[9000], %c : f32[9000]) {
  %f = mul %p, %q
  %h = add %f, %r
  %m = sum %h {axes = [0], keep = 0}
  %w = broadcast %m {shape = [9000], map = []}
  %b = add %a, %w
  %d = sub %c, %b
  yield %g, %b, %d, %h
}
output %y "y"
output %yz "yz"
output %s "s"
END
cat > two.ir <<'END'
ir 1
input %0 : f32[6, 8] "x"
%1 = const {value = f32[8, 2] (0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5)}
%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}
%3 = tanh %2
%4 = sum %3 {axes = [0], keep = 0}
output %4 "y"
END
cat > large.ir <<'END'
ir 1
input %0 : f32[8, 512] "x"
input %1 : f32[512, 4] "w"
%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}
%3 = sum %2 {axes = [0], keep = 0}
output %3 "y"
END
cat > state.ir <<'END'
ir 1
symbol n in 1..8
input %0 : f32[n, 4] "x"
input %1 : f32[n, 4] "h"
%2 = add %0, %1
%3 = tanh %2
output %3 "y"
output %2 "h2"
END
cat > host.c <<'END'
#include "both.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
/* The target that the library takes; then a run from memory of the device to memory of the device. */
int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW), *symbol = library ? dlsym(library, HONE_MODEL_ENTRY) : NULL;
    hone_model_instance *i;
    float x[16], y[8] = {0};
    if (!symbol) return 1;
    const hone_model *m = ((const hone_model *(*)(void))symbol)();
    puts(m->target);
    if (argc < 3) return 0;
    if (!m->device || m->create(NULL, &i)) return puts(m->error(NULL)), 2;
    hone_model_stream *t = m->device->stream(i);
    for (int k = 0; k < 16; k++) x[k] = (float)k / 64;
    void *from = m->device->alloc(t, sizeof x), *to = m->device->alloc(t, sizeof y);
    hone_model_tensor in = {from, sizeof x, 0, 2, {2, 8}, 1}, out = {to, sizeof y, 0, 0, {0}, 1};
    if (m->device->put(t, from, x, sizeof x) || m->run(i, &in, 1, &out, 1)) return puts(m->error(i)), 3;
    if (m->device->get(t, y, to, sizeof y)) return 4;
    printf("%.4f %.4f %s\n", y[0], y[7], *m->device->about(t) ? "device" : "");
    m->device->free(t, from), m->device->free(t, to);
    m->free(i);
    return 0;
}
END

ok are_listed bash -c "'$hone' devices && '$hone' devices --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d[\"devices\"], d[\"missing\"])'"
ok unknown_place bash -c "! '$hone' verify small.ir --place nowhere 2> why && grep 'there is no place' why"
ok place_and_target bash -c "! '$hone' verify small.ir --place host --target generic 2> why && grep 'leave --target out' why"
ok the_host_is_a_place "$hone" verify small.ir --place host
ok program_has_spaces bash -c "'$hone' ir --program small.ir --target opencl -o small.prog && grep 'device 1 weights 0' small.prog && grep -c 'copy %' small.prog | grep -x 2 && '$hone' ir --program small.prog"
ok needs_a_driver bash -c "'$hone' compile small.ir --target cuda:sm_80 -o no/cuda && grep 'libcuda\|CUDA' no/cuda.manifest || '$hone' devices | grep cuda:0"

if g++ --version > /dev/null 2>&1; then
    ok model_on_the_shim "$hone" verify small.ir --place shim --inputs 1
    ok replayed_on_the_shim "$hone" verify two.ir --place shim --inputs 4 --no-parity
    ok loop_on_the_shim "$hone" verify loop.ir --place shim --inputs 1 --no-parity
    ok loop_of_several_inputs_on_the_shim "$hone" verify inputs.ir --place shim --inputs 1 --no-parity
else
    echo "ok $((n += 1)) # SKIP no g++"
fi
if "$hone" devices --json | grep -q '"opencl:0"'; then
    ok model_on_opencl bash -c "'$hone' verify small.ir --place opencl:0 --inputs 1"
    ok loop_on_opencl bash -c "'$hone' verify loop.ir --place opencl --inputs 1 --no-parity"
    ok state_on_opencl bash -c "'$hone' verify state.ir --place opencl --inputs 1 --no-parity --state h=h2 --steps 3"
    # Figures by which small kernels are faster on the device and large ones on the host.
    mkdir -p split/hone
    "$hone" devices --json | python3 -c 'import json, sys
d = json.load(sys.stdin)["devices"][0]
print("\n".join(("- " if k == "device" else "  ") + k + ": " + json.dumps(d[n]) for k, n in (("device", "name"), ("arch", "arch"), ("driver", "driver"), ("version", "version"))))
print("  f32_flops: 1e15\n  read_bps: 1e15\n  put_bps: 1e15\n  get_bps: 1e15\n  put_s: 1e-9\n  get_s: 1e-9\n  launch_s: 1e-9")' > split/hone/devices.yaml
    export XDG_CACHE_HOME=$top/split
    ok split_is_said bash -c "'$hone' compile large.ir --target opencl --split opencl:0 -o s/large | tee said && grep '^split .*1 kernels on the device, 1 on the host, 2 copies, because .*measured figures' said && grep 'parity .*2 of 2 hold' said && grep -A1 '^split:' s/large.manifest && grep '\"on_host\|on_host:' s/large.manifest"
    ok split_runs "$hone" verify large.ir --place opencl:0+host --inputs 2
    ok split_with_state "$hone" verify state.ir --place opencl:0+host --inputs 1 --no-parity --state h=h2 --steps 3
    ok split_with_a_loop "$hone" verify inputs.ir --place opencl+host --inputs 1 --no-parity
    ok split_program bash -c "'$hone' ir --program large.ir --target opencl --split auto -o large.prog && grep 'kernel 0 .* host' large.prog && grep -c 'copy %' large.prog | grep -x 2 && '$hone' ir --program large.prog"
    ok split_in_a_profile bash -c "'$hone' profile large.ir --place opencl:0+host --time 0.1s | grep '^split .*1 on the host'"
    ok split_as_data bash -c "'$hone' compile large.ir --target opencl --split auto -o s/large --json | grep '\"split\": \"1 kernels'"
    ok not_split bash -c "'$hone' compile large.ir --target opencl -o s/whole | tee said && ! grep '^split' said && grep '2 of 2 kernels' said"
    ok assumed_figures bash -c "XDG_CACHE_HOME=$top/none '$hone' compile large.ir --target opencl --split auto --no-cache -o s/assumed | grep '^split .*assumed figures of a device; hone doctor'"
    ok auto_without_a_gpu bash -c "'$hone' verify small.ir --place auto | tee said && { grep ' ran on host' said || '$hone' devices --json | grep '\"cpu\": false'; }"
    ok no_such_share bash -c "! '$hone' verify small.ir --place host+host 2> why && grep 'opencl:0+host' why"
    unset XDG_CACHE_HOME
    ok no_such_device bash -c "! '$hone' verify small.ir --place opencl:77 2> why && grep 'opencl:77' why"
    ok profile_shows_copies bash -c "'$hone' profile small.ir --place opencl --time 0.1s > out && grep 'to device' out && grep 'to host' out"
    ok several_machines bash -c "'$hone' compile small.ir --target generic,opencl -o both | tee said && grep '1 of 1 kernels' said"
    ok host_program bash -c "gcc -O1 -I. host.c -o host -ldl"
    ok takes_the_processor_here bash -c "./host ./both.so | grep -x generic || '$hone' devices --json | grep '\"cpu\": false'"
    ok takes_the_device_asked_for bash -c "HONE_MODEL_PLACE=opencl ./host ./both.so | grep -x opencl"
    ok memory_of_the_device bash -c "HONE_MODEL_PLACE=opencl ./host ./both.so run | tee said && grep '^0.2153 0.6161 device' said"
    ok sizes_made_for bash -c "'$hone' compile small.ir --target opencl --specialize n=2 -o made/both | tee said && grep 'parity .*n=2' said && ! grep 'not checked' said"
    ok take_their_version bash -c "HONE_MODEL_PLACE=opencl ./host made/both.so run | tee said && grep '^0.2153 0.6161 device' said"
    ok sizes_made_for_others bash -c "'$hone' compile small.ir --target opencl --specialize n=3 -o made/other && HONE_MODEL_PLACE=opencl ./host made/other.so run | tee said && grep '^0.2153 0.6161 device' said"
    ok bench_says_which bash -c "HONE_MODEL_PLACE=opencl '$hone' bench both.so --time 0.1s | grep '^target opencl'"
else
    echo "ok $((n += 1)) # SKIP no OpenCL device"
fi
echo "1..$n"
exit $failed
