"""A headless Chromium driven over the DevTools protocol through a pipe: nothing to install beside the browser."""
import base64, fcntl, json, os, select, shutil, signal, subprocess, tempfile, time


class Failed(Exception):
    pass


class Chromium:
    """One browser with one page. Events that pages must not cause are kept in `errors`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="chromium-")
        to_r, to_w = os.pipe()
        from_r, from_w = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_r, from_w)]  # clear of 3 and 4, which the browser wants
        os.close(to_r), os.close(from_w)
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
                 f"--user-data-dir={self.folder}", "--remote-debugging-pipe", "about:blank"]
        command = ["bash", "-c", f'exec "$0" "$@" 3<&{high[0]} 4>&{high[1]} {high[0]}<&- {high[1]}>&-', shutil.which("chromium")] + flags
        self.log = open(os.path.join(self.folder, "log"), "wb")
        self.child = subprocess.Popen(command, pass_fds=high, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                      start_new_session=True, env=dict(os.environ, HOME=self.folder))
        for fd in high:
            os.close(fd)
        self.write, self.read, self.buffer, self.n, self.session = to_w, from_r, b"", 0, None
        self.errors, self.requests, self.events = [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        if self.child.poll() is None:
            try:
                os.killpg(self.child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.child.wait()
        os.close(self.write), os.close(self.read)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _message(self, until):
        while b"\0" not in self.buffer:
            if not select.select([self.read], [], [], max(0, until - time.monotonic()))[0]:
                raise Failed("the browser does not answer")
            data = os.read(self.read, 1 << 20)
            if not data:
                raise Failed("the browser ended")
            self.buffer += data
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def _note(self, m):
        method, p = m.get("method"), m.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            self.errors.append("exception: " + json.dumps(p["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            self.errors.append("console: " + json.dumps(p["args"])[:500])
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.errors.append("log: " + p["entry"]["text"][:500])
        elif method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])

    def call(self, method, **params):
        self.n += 1
        m = {"id": self.n, "method": method, "params": params}
        if self.session:
            m["sessionId"] = self.session
        os.write(self.write, json.dumps(m).encode() + b"\0")
        until = time.monotonic() + 90
        while True:
            answer = self._message(until)
            if answer.get("id") == self.n:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def open(self, path, width=1200, height=900, dark=False, phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.errors.clear(), self.requests.clear(), self.events.clear()
        self.call("Page.navigate", url=path if path.startswith("http") else "file://" + os.path.realpath(path))
        until = time.monotonic() + 60
        while "Page.loadEventFired" not in self.events:
            self._note(self._message(until))

    def eval(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failed(json.dumps(answer["exceptionDetails"])[:800])
        return answer["result"].get("value")

    def screenshot(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def pdf(self, path):
        data = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))
