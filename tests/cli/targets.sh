# needs: gcc
# Compilers found here; counting a compiler's controls is left to the tests of the target room.
# quick
"$HONE" targets --json > out.json; echo "exit $?"
python3 - <<'P'
import json
t = json.load(open("out.json"))
gcc = [x for x in t if x["family"] == "gcc"]
print(bool(gcc), all(len(x["hash"]) == 32 and x["path"].startswith("/") for x in t if "problem" not in x))
print(sorted(gcc[0]))
P
"$HONE" targets | head -n 1 | tr -s ' '
printf '#!/bin/sh\necho not a compiler\n' > fake; chmod +x fake
"$HONE" targets ./fake; echo "= $?"
# compilers for GPUs are found outside PATH, too
mkdir empty; PATH=empty "$HONE" targets 2>&1 | grep -cE "^(gcc|clang|rustc) "; true
