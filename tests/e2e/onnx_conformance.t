#!/usr/bin/env bash
# tools/onnx-conformance with a program that passes, refuses, crashes, hangs: each case is counted once, none ends the run. TAP.
set -u
root=${HONE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
top=$(mktemp -d "${TMPDIR:-/tmp}/hone-conformance.XXXXXX")
trap 'rm -rf "$top"' EXIT
for c in a_pass b_crash c_refuse d_hang e_pass f_wrong; do
    mkdir -p "$top/cases/deep/$c/test_data_set_0"
    : > "$top/cases/deep/$c/model.onnx"
done
: > "$top/cases/light.onnx"
: > "$top/cases/light_output_0.pb"
: > "$top/cases/no_case.onnx"
cat > "$top/hone" <<'SH'
#!/usr/bin/env bash
while [ "$1" != -- ]; do shift; done
shift
for c; do
    case $c in
    *_pass | *light.onnx) s=passed ;;
    *_refuse) s=refused ;;
    *_wrong) s=wrong ;;
    *_crash) echo "words of the dying" >&2; kill -SEGV $$ ;;
    *_hang) sleep 60 ;;
    esac
    printf '{"case": "%s", "status": "%s", "reason": "because"}\n' "$c" "$s"
done
SH
chmod +x "$top/hone"

n=0
failed=0
ok() { # NAME COMMAND...
    n=$((n + 1))
    local name=$1
    shift
    if "$@"; then echo "ok $n - e2e/onnx_conformance_$name"; else echo "not ok $n - e2e/onnx_conformance_$name"; failed=1; fi
}
tool() { HONE=$top/hone "$root/tools/onnx-conformance" "$top/cases" --jobs 1 --timeout 2 "$@"; }

out=$(tool --list-failures)
rc=$?
ok fails_when_something_is_wrong [ $rc = 1 ]
ok closes_with_the_count [ "$(tail -1 <<< "$out")" = "3 passed, 4 failed" ]
ok names_the_crash grep -q '^crashed *deep/b_crash: killed by SIGSEGV: words of the dying' <<< "$out"
ok names_the_hang grep -q '^timed out *deep/d_hang: no answer in 2 s' <<< "$out"
ok names_the_refusal grep -q '^refused *deep/c_refuse: because' <<< "$out"
ok filter_takes_a_part_of_the_name [ "$(tool --filter pass | tail -1)" = "2 passed, 0 failed" ]
tool --filter c_refuse > /dev/null
ok refusals_alone_are_no_failure [ $? = 0 ]
ok json_counts [ "$(tool --json --filter '[ac]_*' | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["passed"], d["failed"], d["statuses"])')" \
    = "1 1 {'passed': 1, 'refused': 1}" ]
tool --filter nothing > /dev/null 2>&1
ok no_case_is_an_error [ $? = 1 ]
echo "1..$n"
exit $failed
