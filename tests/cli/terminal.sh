# On a terminal every line of a table fits its width, whatever the width.
cat > at_width.py <<'P'
import fcntl, os, pty, struct, sys, termios
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
import re
text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", data.decode())
longest = max(len(line) for line in text.splitlines())
print(width, "fits" if longest <= width else f"a line has {longest} columns")
print("coloured" if b"\x1b[" in data else "plain")
P
export LC_ALL=C.UTF-8
for width in 40 60 80 120 200; do python3 at_width.py $width /bin/sh -c "sleep 0.1; exec $HONE engines"; done
NO_COLOR=1 python3 at_width.py 80 /bin/sh -c "sleep 0.1; exec $HONE engines"
python3 at_width.py 80 /bin/sh -c "sleep 0.1; TERM=dumb exec $HONE engines"
python3 at_width.py 12 /bin/sh -c "sleep 0.1; exec $HONE engines" > narrow; echo "narrow: $?"
