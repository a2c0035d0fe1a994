"""hone.Server in a process; hone.serve_ray on a cluster of Ray: streams, tensors, an update, a node that is killed while requests run, and comes back;
replicas that come and go with the load."""

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import hone
import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
test_language = pytest.importorskip("test_language")
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
LONG = pytest.mark.skipif(not os.environ.get("HONE_LONG"), reason="Ray Serve takes a minute to start: make check-long")


def write_model(path, seed):
    s = test_language.MODELS["llama"]
    test_language.write(str(path), s, test_language.weights_of(s, np.random.default_rng(seed)), context=4096, template=TEMPLATE)
    return str(path)


@pytest.fixture(scope="module")
def folder():
    path = tempfile.mkdtemp(prefix="hone", dir="/tmp")  # short: Ray's sockets lie in it
    yield path
    shutil.rmtree(path, ignore_errors=True)


def call(url, body=None, timeout=60):
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as r:
        return json.loads(r.read())


def answer(url, prompt="AB a", n=8):
    return call(url + "/v1/completions", {"prompt": prompt, "max_tokens": n, "temperature": 0, "ignore_eos": True})["choices"][0]["text"]


def test_a_server_in_this_process(folder):
    path = write_model(os.path.join(folder, "a.gguf"), 1)
    server = hone.Server(path, threads=1, parity=False)
    with pytest.raises(hone.UsageError, match="not started"):
        server.url
    with server:
        assert server.running and "a.gguf" in repr(server) and server.broken == {}
        assert call(server.url + "/v1/models")["data"][0]["id"] == "a" and len(answer(server.url)) > 0
        with pytest.raises(hone.UsageError, match="runs already"):
            server.start()
        other = hone.Server(path, port=int(server.url.rpartition(":")[2]), threads=1, parity=False)
        with pytest.raises(hone.IOFailure, match="cannot listen"):
            other.start()
    assert not server.running
    server.stop()
    with server:  # a second time
        assert len(answer(server.url)) > 0
    with pytest.raises(hone.IOFailure, match="no such model"):
        hone.Server(os.path.join(folder, "none.gguf"), require_all=True).start()
    with pytest.raises(TypeError, match="no option 'speed'"):
        hone.Server(path, speed=11).start()
    with hone.Server(path, f"gone={folder}/none.gguf", threads=1, parity=False) as server:
        assert list(server.broken) == ["gone"] and "no such model" in server.broken["gone"]


def test_wrong_calls(folder):
    with pytest.raises(hone.UsageError, match="no model"):
        hone.serve_ray()
    with pytest.raises(hone.UsageError, match="exclude each other"):
        hone.serve_ray("m.gguf", replicas=2, autoscaling={"max_replicas": 3})
    with pytest.raises(TypeError, match="no option 'speed'"):
        hone.serve_ray("m.gguf", speed=11)


class Clients:
    """Threads that ask without end, as OpenAI's client does: what the server could not answer is asked again, twice at most."""

    def __init__(self, url, n, wanted, tokens=8):
        self.url, self.wanted, self.tokens, self.over = url, wanted, tokens, threading.Event()
        self.answers, self.retries, self.lost, self.wrong = 0, 0, [], []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.ask) for _ in range(n)]
        for t in self.threads:
            t.start()

    def ask(self):
        while not self.over.is_set():
            for attempt in range(3):
                try:
                    got = answer(self.url, n=self.tokens)
                except (OSError, urllib.error.HTTPError) as error:
                    with self.lock:
                        if attempt == 2:
                            self.lost.append(repr(error))
                        else:
                            self.retries += 1
                    time.sleep(0.5 * 2**attempt)
                    continue
                with self.lock:
                    self.answers += 1
                    if got not in self.wanted:
                        self.wrong.append(got)
                break

    def wait_for(self, more):
        end = time.monotonic() + 90
        until = self.answers + more
        while self.answers < until and time.monotonic() < end:
            time.sleep(0.1)
        assert self.answers >= until, (self.answers, self.lost)

    def end(self):
        self.over.set()
        for t in self.threads:
            t.join(120)


def alone(path, n=8):
    with hone.Server(path, threads=1, parity=False) as server:
        return answer(server.url, n=n)


def wait_for_status(service, ready, timeout=300):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        told = service.status()
        if told["status"] == "RUNNING" and told["replicas"].get("RUNNING", 0) >= ready:
            return told
        time.sleep(0.5)
    raise AssertionError(service.status())


def add_node(ray, workers, nodes, words, n=2):
    """Ray gives up a node that has not started within 30 s, which happens on a loaded machine; then it is started again."""
    nodes.append(workers.ray_node(*words))
    end = time.monotonic() + 300
    while sum(node["Alive"] for node in ray.nodes()) < n:
        if time.monotonic() > end:
            pytest.skip("Ray did not start within the 30 s that it gives itself")
        if nodes[-1].poll() is not None:
            nodes[-1] = workers.ray_node(*words)
        time.sleep(0.5)


def started(ray, start):
    """Ray gives a node 30 s to start, the first one too; on a loaded machine it is tried again."""
    for _ in range(4):
        temp = tempfile.mkdtemp(prefix="hone", dir="/tmp")
        nodes = []
        try:
            start(temp, nodes)
            return temp, nodes
        except Exception as error:  # Ray raises nothing narrower
            if not any(text in str(error) for text in ("timed out during startup", "connect", "Could not find any running Ray", "Can't find")):
                raise
            print(f"Ray does not start: {error}", file=sys.stderr)
            ray.shutdown()
            pytest.importorskip("test_workers").end_nodes(nodes)
            shutil.rmtree(temp, ignore_errors=True)
    pytest.skip("Ray did not start within the 30 s that it gives itself")


@LONG
def test_a_cluster_of_two_nodes_with_one_killed(folder):
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.serve")
    openai = pytest.importorskip("openai")
    workers = pytest.importorskip("test_workers")
    path, newer = write_model(os.path.join(folder, "m.gguf"), 1), write_model(os.path.join(folder, "n.gguf"), 2)
    graph = os.path.join(folder, "t.ir")
    with open(graph, "w") as f:
        f.write('ir 1\nsymbol n in 1..8\ninput %0 : f32[n, 4] "x"\n%1 = exp %0\noutput %1 "y"\n')
    tensors = hone.compile(graph, output=os.path.join(folder, "t")).path
    want, want_newer = alone(path), alone(newer)
    assert want != want_newer
    second = ["", "--num-cpus=1", '--resources={"second": 1}']

    def start(temp, nodes):
        head, address = workers.start_head(temp)
        nodes.append(head)
        second[0] = f"--address={address}"
        ray.init(address=address, log_to_driver=False)

    temp, nodes = started(ray, start)
    try:
        add_node(ray, workers, nodes, second)
        options = dict(replicas=2, per_node=1, num_cpus=0.5, threads=1, parity=False, port=workers.free_port())
        service = hone.serve_ray(f"chat={path}", f"exp={tensors}", **options)
        wait_for_status(service, 2)
        assert {m["id"] for m in call(service.url + "/v1/models")["data"]} >= {"chat"}
        # a stream of OpenAI's client, unmodified, comes in pieces
        client = openai.OpenAI(base_url=service.url + "/v1", api_key="none")
        pieces = list(client.completions.create(model="chat", prompt="AB a", max_tokens=8, temperature=0, stream=True, extra_body={"ignore_eos": True}))
        assert "".join(p.choices[0].text for p in pieces if p.choices) == want and len(pieces) > 2
        got = call(service.url + "/v2/models/exp/infer",
                   {"inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 4], "data": [0, 1, 0, 0, 0, 0, 0, 0]}]})  # fmt: skip
        assert got["outputs"][0]["shape"] == [2, 4] and abs(got["outputs"][0]["data"][1] - np.e) < 1e-5
        with pytest.raises(urllib.error.HTTPError, match="404"):
            call(service.url + "/v1/nothing", {})
        # an update while requests run: none is lost, no answer is anything but one of the two models'
        service = hone.serve_ray(f"chat={path}", **options)
        clients = Clients(service.url, 4, {want, want_newer})
        clients.wait_for(20)
        hone.serve_ray(f"chat={newer}", **options)
        wait_for_status(service, 2)
        clients.wait_for(20)
        assert not clients.lost and not clients.wrong and clients.retries == 0, (clients.lost, clients.wrong, clients.retries)
        assert answer(service.url) == want_newer
        # a model that cannot be loaded replaces nothing
        bad = os.path.join(folder, "bad.gguf")
        with open(bad, "w") as f:
            f.write("no model")
        with pytest.raises(hone.Error):
            hone.serve_ray(f"chat={bad}", **options)
        assert answer(service.url) == want_newer
        # the second node dies
        os.killpg(nodes[1].pid, signal.SIGKILL)
        end = time.monotonic() + 90
        while service.status()["replicas"].get("RUNNING", 0) > 1 and time.monotonic() < end:
            time.sleep(0.2)
        assert service.status()["replicas"].get("RUNNING", 0) == 1  # its replica went with it
        clients.wait_for(40)
        assert not clients.lost and not clients.wrong, (clients.lost, clients.wrong)
        # it comes back, and gets a replica again, while requests run
        before = clients.retries
        add_node(ray, workers, nodes, second)
        wait_for_status(service, 2)
        clients.wait_for(40)
        clients.end()
        assert clients.retries == before, (before, clients.retries)  # a node that comes costs no request an answer
        assert not clients.lost and not clients.wrong, (clients.lost, clients.wrong)
        print(f"{clients.answers} answers, {clients.retries} asked again", file=sys.stderr)
        service.delete()
        with pytest.raises(hone.NotFoundError):
            service.status()
    finally:
        if "clients" in locals():
            clients.end()
        ray.shutdown()
        workers.end_nodes(nodes)
        shutil.rmtree(temp, ignore_errors=True)


@LONG
def test_replicas_come_and_go_with_the_load(folder):
    """One at first; more while eight clients ask; one again when they are gone; and no request is lost on the way."""
    ray = pytest.importorskip("ray")
    serve = pytest.importorskip("ray.serve")
    workers = pytest.importorskip("test_workers")
    path = write_model(os.path.join(folder, "s.gguf"), 3)
    want = alone(path, 200)
    temp, _ = started(ray, lambda temp, _: ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, _temp_dir=temp))
    try:
        scale = {"min_replicas": 1, "max_replicas": 3, "target_ongoing_requests": 1, "upscale_delay_s": 2, "downscale_delay_s": 4, "metrics_interval_s": 1,
                 "look_back_period_s": 4}  # fmt: skip
        service = hone.serve_ray(f"chat={path}", autoscaling=scale, num_cpus=1, threads=1, parity=False, port=workers.free_port())
        assert wait_for_status(service, 1)["replicas"] == {"RUNNING": 1}
        clients = Clients(service.url, 8, {want}, tokens=200)
        try:
            grown = wait_for_status(service, 2)
            clients.wait_for(40)
        finally:
            clients.end()
        assert not clients.lost and not clients.wrong and clients.retries == 0, (clients.lost, clients.wrong, clients.retries)
        end = time.monotonic() + 180
        while service.status()["replicas"] != {"RUNNING": 1} and time.monotonic() < end:
            time.sleep(0.5)
        assert service.status()["replicas"] == {"RUNNING": 1}
        assert answer(service.url, n=200) == want
        print(f"{grown['replicas']} under load, {clients.answers} answers", file=sys.stderr)
        service.delete()
    finally:
        serve.shutdown()
        ray.shutdown()
        shutil.rmtree(temp, ignore_errors=True)
