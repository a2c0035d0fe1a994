# The pictures of a session: as a page (tests/e2e/report.t opens it in a browser) and as plots. Made-up records.
export LC_ALL=C.UTF-8
make="$(dirname "$HONE")/tests/helper/report_store"
for kind in kept pair signed hostile empty; do mkdir $kind; "$make" $kind $kind || exit 1; done
echo "== plots"
cd kept; "$HONE" results --plot; LC_ALL=C "$HONE" results --plot; cd ..
cd pair; "$HONE" results --plot | sed -n '/^trade-offs/,/^$/p'; LC_ALL=C "$HONE" results --plot | sed -n '/^trade-offs/,/^$/p'; cd ..
cd signed; "$HONE" results --plot; cd ..
cd empty; "$HONE" results --plot; cd ..
cd hostile; "$HONE" results --plot | grep -a -c -P '[\x00-\x08\x0b-\x1f]|\xc2[\x80-\x9f]'; cd ..
echo "== widths and colours"
cat > at_width.py <<'P'
import fcntl, os, pty, re, struct, sys, termios
width, argv = int(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(argv[0], argv)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
data = b""
try:
    while chunk := os.read(fd, 65536):
        data += chunk
except OSError:
    pass
os.waitpid(pid, 0)
longest = max(len(line) for line in re.sub(r"\x1b\[[0-9;]*m", "", data.decode()).splitlines())
print(width, "fits" if longest <= max(width, 40) else f"a line has {longest} columns", "coloured" if b"\x1b[" in data else "plain")
P
for width in 20 40 57 80 120 300; do for kind in kept pair signed; do
    python3 at_width.py $width /bin/sh -c "sleep 0.1; cd $kind; exec $HONE results --plot"
done; done | uniq
cd kept; NO_COLOR=1 python3 ../at_width.py 80 /bin/sh -c "sleep 0.1; exec $HONE results --plot"; cd ..
echo "== pages"
cd kept; "$HONE" report | sed 's/, .* KiB$/, SIZE/'; head -c 15 report.html; echo
"$HONE" report 1 --out - | cmp - report.html && echo same; "$HONE" report --out page.html --json > data.json; cmp page.html report.html && echo same again
python3 - <<'P'
import json, re
d = json.load(open("data.json"))
page = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', open("report.html").read(), re.S).group(1)
print(json.loads(page) == d, list(d))
print(d["standing"], len(d["trials"]), d["evaluations"], {c["name"]: c["n"] for c in d["classes"] if c["n"]}, len(d["top"]))
print(d["winner"]["argv"], d["winner"]["settings"])
print([(b["input"], b["held_out"], b["gain"]["mid"]) for b in d["inputs"]], d["inputs_proven"])
print([(s["name"], s["gain"]["mid"]) for s in d["shares"]["row"]], d["shares"]["before"], "before")
print([t["best"] for t in d["trials"]] == sorted(t["best"] for t in d["trials"]), d["session"]["seed"])
P
cd ../pair; "$HONE" report --json > data.json
python3 - <<'P'
import json
d = json.load(open("data.json"))
front = [t for t in d["trials"] if t["front"]]
beats = lambda a, b: all(x <= y for x, y in zip(a["value"], b["value"])) and a["value"] != b["value"]
print(len(front) > 3, not any(beats(a, b) for a in front for b in front), d["shares"], d["proof"], d["winner"]["argv"], "|", d["winner"]["no_argv"])
P
cd ../hostile; "$HONE" report -o - | python3 -c '
import re, sys
page = sys.stdin.buffer.read().decode("utf-8")
data = page[page.index("id=\"data\""):page.index("Chart.js v")]
print(page.count("<script"), page.count("</script>"), data.count("<"), "\u2028" in data, "<img" in page)'
cd ../empty; "$HONE" report -o /dev/null --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["standing"], d["winner"], d["trials"])'
echo "== bad input"
cd ../kept
"$HONE" report --out /nonexistent/x.html; echo "= $?"
"$HONE" report 9; echo "= $?"
"$HONE" report --controls nothing.hone; echo "= $?"
"$HONE" report --json -o -; echo "= $?"
echo "hone: [" > hone.yaml; "$HONE" report > /dev/null; echo "= $?"
"$HONE" report -w hone.yaml > /dev/null; echo "= $?"
"$HONE" results --plot --csv; echo "= $?"; "$HONE" results --plot --json; echo "= $?"
mkdir ../nowhere; cd ../nowhere; "$HONE" report; echo "= $?"
