"""bench/serve_long.py HONE idle N | HONE requests N: resident memory of a server with N idle connections, or over N short requests."""

import contextlib
import http.client
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
sys.path[:0] = [os.path.join(ROOT, "tests/py"), os.path.join(os.environ.get("BUILD", os.path.join(ROOT, "build")), "python")]
BODY = json.dumps({"prompt": "A", "max_tokens": 1}).encode()


def write_model(path):
    import numpy as np
    import test_language

    shape = test_language.MODELS["llama"]
    test_language.write(path, shape, test_language.weights_of(shape, np.random.default_rng(1)), context=4096)


@contextlib.contextmanager
def serving(hone):
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "tiny.gguf")
        write_model(model)
        command = [hone, "serve", model, "--port", "0", "--threads", "1", "--no-parity", "--no-admin", "--store", os.path.join(folder, "s.db"), "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process.pid, json.loads(process.stdout.readline())["port"]
            finally:
                process.kill()


def resident_kib(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize() // 1024


def ask(connection, n):
    for _ in range(n):
        connection.request("POST", "/v1/completions", BODY)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200 or not json.loads(text)["choices"]:
            sys.exit(f"a request was answered {answer.status}: {text[:200]}")


def idle(hone, n):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if n > hard - 200:
        sys.exit(f"{n} connections: a process may have {hard} descriptors here (ulimit -Hn)")
    with serving(hone) as (pid, port), contextlib.ExitStack() as held:
        other = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        ask(other, 100)
        before = resident_kib(pid)
        all_of_them = [held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=600)) for _ in range(n)]
        ask(other, 100)
        after = resident_kib(pid)
        for c in all_of_them:
            c.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            if c.recv(12) != b"HTTP/1.1 200":
                sys.exit("an idle connection was not answered")
        other.close()
    print(f"{n} idle connections: {before} KiB before, {after} KiB with them ({(after - before) / n:.1f} each); 200 others' requests and all of theirs were answered")


def requests(hone, n):
    with serving(hone) as (pid, port):
        connection, seen = http.client.HTTPConnection("127.0.0.1", port, timeout=600), []
        ask(connection, 1000)
        for i in range(11):
            seen.append(resident_kib(pid))
            if i < 10:
                ask(connection, n // 10)
        connection.close()
    print(f"{n // 10 * 10} requests, KiB at each tenth: {' '.join(map(str, seen))}; none failed")


if __name__ == "__main__":
    {"idle": idle, "requests": requests}[sys.argv[2]](sys.argv[1], int(sys.argv[3]))
