# examples/ci/github.yml: its steps run as they stand, and GitHub would read it.
. "$CASES/bowl.inc"
mkdir keys; "$HONE" keygen keys/team > /dev/null
mkdir kernels; mv bowl.* hone.yaml kernels; "$HONE" sign kernels --key keys/team > /dev/null
run() { sed -n 's/^ *run: \(hone check\)/\1/p' "$ROOT/examples/ci/github.yml" | sed -n "$1p"; }
for i in 1 2; do
    run $i
    eval "$(run $i)" 2> /dev/null; echo "= $?"
done
grep -c '<testcase' hone.xml
echo '//' >> kernels/bowl.c; eval "$(run 1)" | sed -E 's/[0-9a-f]{32}/HASH/g'; echo "= ${PIPESTATUS[0]}"
python3 - "$ROOT/examples/ci/github.yml" <<'P'
import sys
try:
    import yaml
except ImportError:
    sys.exit()
w = yaml.safe_load(open(sys.argv[1]))
assert set(w["jobs"]) == {"check", "measure"} and all("runs-on" in j and j["steps"] for j in w["jobs"].values())
P
