"""Workers: processes that crash, hang and leave children behind; coroutines; Ray; your own."""
import asyncio
import faulthandler
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pytest

import hone
import hone.space as ss
from hone import INVALID_SCORE, Search
from hone.workers import Done, PoolWorker, RayWorker, Worker


def nasty(config):
    n = config["n"]
    if n == 0:
        raise ValueError("odd")
    if n == 1:
        faulthandler.disable()
        os.kill(os.getpid(), signal.SIGSEGV)
    if n == 2:
        time.sleep(300)
    if n == 3:
        return float("nan")
    if n == 4:
        return 1, 2
    if n == 5:
        return INVALID_SCORE
    if n == 6:
        sys.exit(3)
    if n == 7:
        os._exit(4)
    if n == 8:
        raise MemoryError
    return n


EXPECTED = {0: ("run_crash", "ValueError: odd"), 1: ("run_crash", "killed by SIGSEGV"),
            2: ("run_timeout", "ran longer than 5 s"), 3: ("no_metric", "nan"), 4: ("no_metric", "2 values, expected 1"),
            5: ("wrong_result", "INVALID_SCORE"), 6: ("run_crash", "SystemExit"), 7: ("run_crash", "exit status 4"),
            8: ("over_limit", "MemoryError"), 9: ("ok", ""), 10: ("ok", "")}


@pytest.mark.parametrize("worker", ["pool", "process", PoolWorker(start_method="spawn")], ids=["pool", "process", "spawn"])
def test_each_failure_costs_one_trial(worker):
    results = Search(nasty, {"n": ss.range(0, 10)}).start(3, 5, worker=worker)
    assert results.reason == "exhausted" and len(results) == 11
    for t in results:
        cls, text = EXPECTED[t.config["n"]]
        assert t.cls == cls and text in t.detail, t
    assert results.best.config == {"n": 9}


def alive(mark):
    """Processes with these words on their command line."""
    out = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if mark in f.read():
                    out.append(pid)
        except OSError:
            pass
    return out


def gone(mark):
    end = time.monotonic() + 20
    while alive(mark) and time.monotonic() < end:
        time.sleep(0.05)
    return not alive(mark)


@pytest.mark.parametrize("worker", ["pool", "process"])
def test_grandchildren_of_a_late_task_are_ended(worker):
    seconds = f"{300 + os.getpid() / 1e7:.7f}"

    def hangs(config):
        subprocess.Popen(["setsid", "sleep", seconds], start_new_session=True)
        subprocess.run(f"trap '' TERM; (sleep {seconds} &) ; sleep {seconds}", shell=True)

    results = Search(hangs, {"n": ss.range(0, 10)}, max_evals=2).start(2, 0.7, worker=worker)
    assert results.counts() == {"run_timeout": 2}
    assert gone(seconds.encode())


def test_what_a_task_leaves_running_is_ended_with_its_process():
    seconds = f"{400 + os.getpid() / 1e7:.7f}"

    def leaves(config):
        subprocess.Popen(["setsid", "sleep", seconds], start_new_session=True)
        return 1

    assert Search(leaves, {"n": ss.range(0, 10)}, max_evals=3).start(2, worker="process").counts() == {"ok": 3}
    assert gone(seconds.encode())


def test_workers_end_with_a_killed_search():
    seconds = f"{500 + os.getpid() / 1e7:.7f}"
    code = ("import hone, hone.space as ss, subprocess\n"
            f"def f(c): subprocess.run(['sleep', '{seconds}'])\n"
            "hone.Search(f, {'n': ss.range(0, 10)}).start(2)\n")
    process = subprocess.Popen([sys.executable, "-c", code])
    end = time.monotonic() + 20
    while not [p for p in alive(seconds.encode()) if p != str(process.pid)] and time.monotonic() < end:
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert gone(seconds.encode())


def test_a_pool_uses_its_processes_again():
    results = Search(lambda c: os.getpid(), {"n": ss.range(0, 100)}, max_evals=30, engine="random").start(2, worker="pool")
    assert len({t.score for t in results}) == 2 and os.getpid() not in {t.score for t in results}
    fresh = Search(lambda c: os.getpid(), {"n": ss.range(0, 100)}, max_evals=6, engine="random").start(2, worker="process")
    assert len({t.score for t in fresh}) == 6


def test_no_process_and_no_descriptor_is_left():
    def children():
        with open(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/children") as f:
            return f.read().split()

    before, had = len(os.listdir("/proc/self/fd")), children()
    for worker in ("pool", "process"):
        Search(nasty, {"n": ss.range(0, 10)}).start(3, 5, worker=worker)
    assert len(os.listdir("/proc/self/fd")) == before and children() == had


@pytest.mark.parametrize("worker", ["pool", "process"])
def test_what_objectives_print_is_printed_once(worker):
    code = ("import hone, hone.space as ss\n"
            "print('before')\n"
            f"hone.Search(lambda c: print(f'n {{c[\"n\"]}}\\n', end=''), {{'n': ss.range(0, 4)}}).start(2, worker='{worker}')\n"
            "print('after')\n")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert sorted(out.splitlines()) == ["after", "before", *(f"n {n}" for n in range(5))]


def test_a_search_inside_of_a_worker():
    def outer(config):
        return Search(lambda c: c["m"] + config["n"], {"m": ss.range(0, 5)}).start(2, 20).best.score

    assert sorted(t.score for t in Search(outer, {"n": ss.range(0, 3)}).start(2, 60)) == [0, 1, 2, 3]


def test_pools_of_several_threads_see_their_own_crashes():
    def crashes(config):
        if config["n"] % 3 == 0:
            os._exit(4)
        return config["n"]

    counts = []

    def body():
        counts.append(Search(crashes, {"n": ss.range(0, 11)}).start(2, worker="process").counts())

    threads = [threading.Thread(target=body) for _ in range(3)]
    [t.start() for t in threads]
    [t.join(120) for t in threads]
    assert counts == [{"run_crash": 4, "ok": 8}] * 3


def test_spawn_says_what_it_cannot_send():
    with pytest.raises(hone.UsageError, match="pickle"):
        Search(lambda c: 1, {"n": ss.range(0, 9)}).start(worker=PoolWorker(start_method="spawn"))


def test_inline_refuses_a_time_out():
    with pytest.raises(hone.UsageError, match="task_timeout"):
        Search(nasty, {"n": ss.range(0, 9)}).start(task_timeout=1, worker="inline")
    with pytest.raises(hone.UsageError, match="no worker 'cluster'"):
        Search(nasty, {"n": ss.range(0, 9)}).start(worker="cluster")


# --- coroutines ---


async def sleepy(config):
    if config["n"] == 0:
        raise ValueError("odd")
    await asyncio.sleep(300 if config["n"] == 1 else 0.05)
    return config["n"]


def test_coroutines_run_side_by_side():
    start = time.monotonic()
    results = Search(sleepy, {"n": ss.range(0, 40)}).start(41, 3)
    assert results.counts() == {"ok": 39, "run_crash": 1, "run_timeout": 1} and results.best.score == 2
    assert time.monotonic() - start < 20


def test_coroutines_run_in_a_notebook_too():
    async def cell():
        return Search(sleepy, {"n": ss.range(2, 9)}).start(4)

    assert asyncio.run(cell()).counts() == {"ok": 8}


def test_coroutines_run_in_processes():
    assert Search(sleepy, {"n": ss.range(2, 5)}).start(2, worker="pool").counts() == {"ok": 4}


def test_asyncio_wants_a_coroutine_function():
    with pytest.raises(hone.UsageError, match="coroutine"):
        Search(nasty, {"n": ss.range(0, 9)}).start(worker="asyncio")


# --- your own ---


class Reversed(Worker):
    """Collects four tasks and answers the last one first."""

    def start(self, job):
        self.job, self.tasks = job, []

    def free(self):
        return 4 - len(self.tasks)

    def submit(self, task):
        self.tasks.append(task)

    def wait(self, timeout):
        done = [Done(t.id, self.job.evaluate(t.config)) for t in reversed(self.tasks)]
        self.tasks = []
        return done

    def stop(self):
        self.tasks = []


@pytest.mark.parametrize("worker", [Reversed, Reversed()])
def test_a_worker_of_your_own(worker):
    results = Search(lambda c: c["n"], {"n": ss.range(0, 9)}).start(worker=worker)
    assert sorted(t.score for t in results) == list(range(10))


# --- Ray ---


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ray_node(*arguments):
    """One `ray start --block`: a node as a process group of its own."""
    environment = dict(os.environ, RAY_DISABLE_IMPORT_WARNING="1", RAY_DEDUP_LOGS="0", PYTHONMALLOC="malloc",
                       RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="1", RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled")
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats",
               "--object-store-memory=80000000", *arguments]
    return subprocess.Popen(command, env=environment, start_new_session=True, stdout=subprocess.DEVNULL,
                            stderr=subprocess.STDOUT)


def on_ray(config):
    time.sleep(0.3)
    return config["n"]


def wait_for_nodes(ray, n):
    end = time.monotonic() + 90
    while sum(node["Alive"] for node in ray.nodes()) < n and time.monotonic() < end:
        time.sleep(0.5)
    alive_now = sum(node["Alive"] for node in ray.nodes())
    assert alive_now >= n


def start_head(folder):
    """The first node, and its address: Ray uses the machine's own address for nodes on loopback."""
    from ray.util import get_node_ip_address

    address = f"{get_node_ip_address()}:{free_port()}"
    head = ray_node("--head", f"--port={address.rpartition(':')[2]}", "--include-dashboard=false",
                    f"--temp-dir={folder}", "--num-cpus=1")
    end = time.monotonic() + 90
    while time.monotonic() < end and head.poll() is None:
        with socket.socket() as s:
            if s.connect_ex((address.rpartition(":")[0], int(address.rpartition(":")[2]))) == 0:
                break
        time.sleep(0.5)
    return head, address


def end_nodes(nodes):
    for number, wait in ((signal.SIGTERM, 20), (signal.SIGKILL, None)):
        for node in nodes:
            try:
                os.killpg(node.pid, number)
            except ProcessLookupError:
                pass
        for node in nodes:
            try:
                node.wait(wait)
            except subprocess.TimeoutExpired:
                pass


@pytest.mark.skipif(not os.environ.get("HONE_LONG"), reason="Ray's cluster takes a minute: make check-long")
def test_a_ray_cluster_loses_a_node_and_no_trial():
    ray = pytest.importorskip("ray", reason="Ray is not installed: tools/venv.sh python puts it into build/venv")
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    folder = tempfile.mkdtemp(prefix="hone", dir="/tmp")  # short: sockets lie in it
    head, address = start_head(folder)
    second = [f"--address={address}", "--num-cpus=1", '--resources={"tpu": 4}']
    nodes = [head, ray_node(*second)]

    def kill_one(trial):
        if trial.id == 8:
            os.killpg(nodes[1].pid, signal.SIGKILL)

    try:
        ray.init(address=address, log_to_driver=False)
        wait_for_nodes(ray, 2)
        search = Search(on_ray, {"n": ss.range(0, 29)}, callbacks=[kill_one])
        results = search.start(4, worker=RayWorker(num_cpus=0.5))
        assert results.counts() == {"ok": 30} and results.reason == "exhausted"
        assert sorted(t.score for t in results) == list(range(30))
        nodes.append(ray_node(*second))
        wait_for_nodes(ray, 2)  # regained: tasks that need what only it has run again
        results = Search(nasty, {"n": ss.range(0, 10)}).start(2, 2, worker=RayWorker(num_cpus=0.5, resources={"tpu": 1}))
        assert {t.config["n"]: t.cls for t in results} == {n: cls for n, (cls, _) in EXPECTED.items()}
    finally:
        ray.shutdown()
        end_nodes(nodes)
        shutil.rmtree(folder, ignore_errors=True)
