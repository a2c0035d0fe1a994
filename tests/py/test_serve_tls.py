"""hone serve and hone load over TLS: OpenAI's client, versions, certificates that are read anew, clients that stall."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
openai = pytest.importorskip("openai")
import httpx  # noqa: E402
import test_serve  # noqa: E402
from test_serve_robust import write_model  # noqa: E402

if not shutil.which("openssl"):
    pytest.skip("needs openssl", allow_module_level=True)


def certificate(folder, name, locked=False):
    """A self-signed certificate of 127.0.0.1 and localhost, its key."""
    cert, key = str(folder / f"{name}.pem"), str(folder / f"{name}-key.pem")
    lock = ["-passout", "pass:secret"] if locked else ["-nodes"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout", key, "-out", cert, "-days", "2",
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", *lock], check=True, capture_output=True)
    return cert, key


@pytest.fixture(scope="module")
def top(tmp_path_factory):
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def path(top):
    return write_model(str(top / "tiny.gguf"))


@pytest.fixture(scope="module")
def pair(top):
    return certificate(top, "first")


@contextlib.contextmanager
def serving(path, pair, *arguments):
    with test_serve.serving(path, "--tls-cert", pair[0], "--tls-key", pair[1], *arguments) as s:
        yield s


def connect(s, cert, lowest=None, highest=None):
    c = ssl.create_default_context(cafile=cert)
    if highest:
        c.minimum_version, c.maximum_version = lowest or ssl.TLSVersion.TLSv1, highest
        c.set_ciphers("ALL:@SECLEVEL=0")
    return c.wrap_socket(socket.create_connection(("127.0.0.1", s.port), timeout=30), server_hostname="127.0.0.1")


def ask(c, path="/health", close=False):
    c.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{'Connection: close' if close else 'X: y'}\r\n\r\n".encode())
    r = http.client.HTTPResponse(c)
    r.begin()
    return r.status, r.read()


def test_openai_s_client(path, pair):
    with serving(path, pair) as s:
        def client(context):
            return openai.OpenAI(base_url=f"https://127.0.0.1:{s.port}/v1", api_key="none", max_retries=0, http_client=httpx.Client(verify=context))

        c = client(ssl.create_default_context(cafile=pair[0]))
        whole = c.completions.create(model="tiny", prompt="A", max_tokens=300, temperature=0).choices[0].text
        pieces = list(c.completions.create(model="tiny", prompt="A", max_tokens=300, temperature=0, stream=True))
        assert "".join(p.choices[0].text for p in pieces) == whole
        with pytest.raises(openai.APIConnectionError):
            client(ssl.create_default_context()).models.list()
        stream = c.completions.create(model="tiny", prompt="A", max_tokens=4000, stream=True, extra_body={"ignore_eos": True})
        next(iter(stream))
        stream.close()  # that the client goes is seen through TLS, too
        with connect(s, pair[0]) as own:
            for _ in range(400):
                status, text = ask(own, "/metrics")
                if re.search(rb'hone_serve_cancelled_total\{[^}]*\} [1-9]', text):
                    break
                time.sleep(0.05)
            else:
                raise AssertionError("the answer went on")
        with socket.create_connection(("127.0.0.1", s.port), timeout=30) as plain:  # no TLS: ended, and nobody is hurt
            plain.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                assert not plain.recv(100).startswith(b"HTTP")
        assert c.models.list().data[0].id == "tiny"
        assert s.end()[0] == 0


@pytest.mark.filterwarnings("ignore:.*TLSv1")
def test_versions(path, pair):
    with serving(path, pair) as s:
        for version, name in ((ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")):
            with connect(s, pair[0], version, version) as c:
                assert c.version() == name and ask(c)[0] == 200
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connect(s, pair[0], ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1)


def test_the_certificate_is_read_anew(path, pair, top):
    own, other = [str(top / n) for n in ("now.pem", "now-key.pem")], certificate(top, "second")
    for i in (0, 1):
        shutil.copy(pair[i], own[i])
    log = top / "log"
    with serving(path, own, "--log", str(log)) as s, connect(s, pair[0]) as old:
        assert ask(old)[0] == 200
        os.rename(log, top / "log.1")
        for i in (0, 1):
            shutil.copy(other[i], own[i])
        s.process.send_signal(signal.SIGHUP)
        assert s.process.stderr.readline() == f"read '{own[0]}' anew\n"
        assert ask(old, "/v1/models")[0] == 200  # its connection goes on
        with connect(s, other[0]) as new:
            assert ask(new, "/v1/models")[0] == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(s, pair[0])
        assert len(log.read_text().splitlines()) == 2
        shutil.copy(pair[1], own[1])  # a key of another certificate
        s.process.send_signal(signal.SIGHUP)
        assert "is not the key of the certificate" in s.process.stderr.readline()
        with connect(s, other[0]) as new:  # what was there stays
            assert ask(new)[0] == 200
        assert ask(old)[0] == 200


def test_a_client_that_stalls_in_the_handshake(path, pair):
    with serving(path, pair, "--read-timeout", "1s") as s:
        stalled = [socket.create_connection(("127.0.0.1", s.port), timeout=20) for _ in range(3)]
        stalled[1].sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")  # a handshake's first bytes
        with connect(s, pair[0]) as slow, connect(s, pair[0]) as idle:
            slow.sendall(b"GET /he")
            for c in stalled:
                with contextlib.suppress(ConnectionError):
                    assert c.recv(1) == b""
                c.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                assert slow.recv(1) == b""
            assert ask(idle)[0] == 200  # its handshake was over, and no byte of a request had come


def test_many_connections_leave_nothing(path, pair):
    with serving(path, pair) as s:
        def memory():
            with open(f"/proc/{s.process.pid}/statm") as f:
                return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def some(n):
            for _ in range(n):
                with connect(s, pair[0]) as c:
                    assert ask(c, close=True)[0] == 200
            time.sleep(0.6)

        some(50)
        before = memory()
        some(150)
        assert memory() - before < 150 * 16384, memory() - before  # a connection's state alone takes 20 KiB


def test_bad_files(path, pair, top):
    other, locked = certificate(top, "third"), certificate(top, "locked", locked=True)
    junk = top / "junk.pem"
    junk.write_text("no certificate")
    for cert, key, code, said in ((pair[0], other[1], 3, f"'{other[1]}' is not the key of the certificate '{pair[0]}'"),
                                  (str(junk), pair[1], 3, f"'{junk}' holds no certificate"), (pair[0], str(junk), 3, f"'{junk}' holds no private key"),
                                  ("/nowhere.pem", pair[1], 4, "cannot read the certificate '/nowhere.pem': No such file"),
                                  (pair[0], "/nowhere.pem", 4, "cannot read the key '/nowhere.pem': No such file"),
                                  locked + (3, "has a passphrase; give a key without one")):
        done = subprocess.run([test_serve.HONE, "serve", path, "--port", "0", "--tls-cert", cert, "--tls-key", key], capture_output=True, text=True,
                              timeout=60, stdin=subprocess.DEVNULL)
        assert done.returncode == code and said in done.stderr, done.stderr
    for half in ("--tls-cert", "--tls-key"):
        done = subprocess.run([test_serve.HONE, "serve", path, "--port", "0", half, pair[0]], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "go together" in done.stderr


def test_load(path, pair, top):
    other = certificate(top, "fourth")
    with serving(path, pair) as s:
        def load(*arguments, host="127.0.0.1"):
            done = subprocess.run([test_serve.HONE, "load", f"https://{host}:{s.port}", "--requests", "6", "--rounds", "1", "--clients", "3", "--tokens", "5",
                                   "--prompt", "5", "--json", *arguments], capture_output=True, text=True, timeout=60)
            return done.returncode, json.loads(done.stdout or "null"), done.stderr

        for trust in (["--ca", pair[0]], ["--insecure"]):
            code, told, why = load(*trust)
            assert code == 0, why
            assert (told["servers"][0]["failed"], told["servers"][0]["tokens"]) == (0, 30)
        assert load("--ca", pair[0], host="localhost")[0] == 0
        for arguments in ([], ["--ca", other[0]]):
            code, _, why = load(*arguments)
            assert code == 4 and "is not trusted: self-signed certificate" in why and "--insecure" in why
        assert load("--ca", "/nowhere.pem")[0] == 4 and load("--ca", path)[0] == 3
        code, _, why = load("--ca", pair[0], host="127.0.0.2")
        assert code == 4 and ("IP address mismatch" in why or "nobody answers" in why)
