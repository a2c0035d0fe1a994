# What a candidate does outside its private folder is refused, and the record says so. Where the kernel offers nothing, the
# case has nothing to show and prints what it expects.
"$HONE" doctor --seconds 0.05 > doctor; grep -q '^ok *confinement' doctor || { cat "$CASES/confine.expected" | grep -v '^exit '; exit 0; }
grep -o 'write in their private folder alone' doctor
mkdir other
cat > port.py <<'P'
import socket, sys
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True); sys.stdin.read()
P
sleep 60 | python3 port.py > port & until [ -s port ]; do sleep 0.05; done
cat > hone.yaml <<'Y'
run: "case {N} in 1) true ;; 2) echo x >$HOME/mine ;; 3) echo x >{src}/other/new ;; 4) python3 -c 'import socket, sys; socket.create_connection((\"127.0.0.1\", int(sys.argv[1])))' $(cat {src}/port) ;; 5) echo x >kept && mktemp >/dev/null && rm kept ;; esac"
controls: false
parameters: {N: {type: int, range: [1, 5], default: 1}}
parity: none
stages: {memory: 1 GiB}
budget: {evaluations: 5}
Y
show() { "$HONE" results --all --json | python3 -c '
import json, sys
for t in sorted((t for t in json.load(sys.stdin)["trials"] if t["phase"] == "search"), key=lambda t: t["point"]["N"]):
    d = t.get("detail") or ""
    print(t["point"]["N"], t["class"], "refused" if "ermission" in d else "", "hint" if "stages.confine" in d else "")'; }
"$HONE" tune --new >/dev/null 2>err || cat err
show
ls mine other/new 2>/dev/null
echo "== loosened: a folder"
sed -i 's/1 GiB}/1 GiB, confine: [other]}/' hone.yaml
"$HONE" tune --new >/dev/null 2>&1; show; ls mine other/new 2>/dev/null; rm -f mine other/new
echo "== loosened: all"
sed -i 's/confine: .other./confine: false/' hone.yaml
"$HONE" tune --new >/dev/null 2>&1; show; ls mine other/new 2>/dev/null
echo "== bad values"
sed -i 's/confine: false/confine: [nowhere]/' hone.yaml; "$HONE" tune; echo "= $?"
sed -i 's/confine: .nowhere./confine: {a: b}/' hone.yaml; "$HONE" tune; echo "= $?"
kill %1 2>/dev/null; wait 2>/dev/null
