"""`hone mcp` with the official client of the Model Context Protocol, and with lines that no client sends."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

mcp = pytest.importorskip("mcp", reason="tools/venv.sh tests puts mcp into build/venv")
anyio = pytest.importorskip("anyio")
jsonschema = pytest.importorskip("jsonschema")

HONE = os.environ.get("HONE") or os.path.join(os.environ.get("HONE_BUILD", "build"), "hone")
ENV = {k: v for k, v in os.environ.items() if k.startswith(("HONE_", "ASAN_", "UBSAN_", "XDG_", "TMPDIR", "LC_"))}
MODERN, LEGACY = "2026-07-28", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
OPTIONS = {"init": 8, "tune": 34, "status": 3, "stop": 0, "results": 6, "best": 2, "validate": 15, "minimize": 12, "explain": 5,
           "check": 8, "compile": 28, "bench": 17, "profile": 19}  # arguments that are options of the command
TOOLS = list(OPTIONS)

# A search that needs no compiler: each trial runs for as long as `sleep` says.
SLOW = """\
hone: 1
name: slow
controls: false
run: 'sleep SLEEP; A={A}; echo cost: $(( (A-700)*(A-700) + 1 ))'
parameters:
  A: {type: int, range: [0, 9999], default: 0}
metrics: {source: lines, names: [cost]}
objectives: minimize cost
parity: none
budget: {evaluations: 1000}
"""
BOWL = """\
hone: 1
name: bowl
sources: [bowl.c]
build: "{cc} {flags} {defines} bowl.c -o {out}"
run: "{out}"
compilers: [gcc]
baseline: -O1
controls: false
parameters:
  TILE: {type: int, range: [0, 9], default: 4}
metrics: {source: lines, names: [cost]}
objectives: minimize cost
parity: none
budget: {evaluations: 4}
proof: {pairs: 10, variants: 3}
"""
C = '#include <stdio.h>\nint main(void) { printf("cost: %d\\n", (TILE - 7) * (TILE - 7) + 1); return 0; }\n'


@pytest.fixture
def slow(tmp_path):
    """A folder, and the words that a process of its trials has in its command line."""
    token = f"0.05{os.getpid():07}{time.time_ns() % 1000:03}"
    (tmp_path / "hone.yaml").write_text(SLOW.replace("SLEEP", token))
    return tmp_path, f"sleep {token}"


def server(folder, *arguments):
    return mcp.StdioServerParameters(command=os.path.abspath(HONE), args=["mcp", *arguments], cwd=str(folder), env=ENV)


def talk(folder, body, **options):
    """Runs body(client) on a server of its own."""
    async def run():
        async with mcp.Client(server(folder), read_timeout_seconds=60, **options) as client:
            return await body(client)
    return anyio.run(run)


def text(result):
    return result.content[0].text


def running(words):
    """Processes with these words in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as f:
            if words in f.read().replace(b"\0", b" ").decode(errors="replace"):
                found.append(int(pid))
    return found


def seen(words):
    return any(running(words) or time.sleep(0.01) for _ in range(1000))


def gone(words, within_s=10):
    for _ in range(int(within_s / 0.05)):
        if not running(words):
            return True
        time.sleep(0.05)
    return False


def hone(folder, *words):
    return json.loads(subprocess.run([HONE, *words, "--json"], cwd=folder, capture_output=True, text=True).stdout)


# --- the handshake and the list ---


@pytest.mark.parametrize("mode", ["auto", "legacy", MODERN])
def test_the_client_finds_the_tools(tmp_path, mode):
    async def body(client):
        tools = (await client.list_tools()).tools
        assert [t.name for t in tools] == TOOLS
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else MODERN)
        if mode != MODERN:
            assert client.server_info.name == "hone" and "tune" in client.instructions
        for tool in tools:
            assert tool.description and tool.title and tool.annotations.destructive_hint is False
            for schema in (tool.input_schema, tool.output_schema):
                assert schema["type"] == "object"
                jsonschema.Draft202012Validator.check_schema(schema)
        return {t.name: t for t in tools}
    tools = talk(tmp_path, body, mode=mode)
    evals = tools["tune"].input_schema["properties"]["evals"]
    assert evals["type"] == "integer" and evals["minimum"] == 1
    assert tools["compile"].input_schema["required"] == ["model"]
    assert tools["bench"].input_schema["properties"]["profile"]["enum"] == ["single", "steady", "bursty"]
    assert tools["status"].annotations.read_only_hint and not tools["tune"].annotations.read_only_hint


def test_the_arguments_of_tools(tmp_path):
    """An option that is renamed is missed here: it would be left out of the tool."""
    commands = {c["name"]: {o["name"].replace("-", "_") for o in c["options"]} for c in hone(tmp_path, "help")}
    own = {"dir", "wait_s", "job", "source", "session", "from", "files", "model"}
    async def body(client):
        return {t.name: set(t.input_schema["properties"]) for t in (await client.list_tools()).tools}
    offered = talk(tmp_path, body)
    assert {name: len(arguments & commands.get(name, set())) for name, arguments in offered.items()} == OPTIONS
    assert offered["stop"] == {"job"} and offered["tune"] - commands["tune"] == {"workload", "dir", "wait_s"}
    for name, arguments in offered.items():
        assert arguments - commands.get(name, set()) <= own | {"workload"}, name


# --- calls ---


def test_init_tune_results_best(tmp_path):
    (tmp_path / "bowl.c").write_text(C)
    seen = []
    async def told(progress, total, message):
        seen.append((progress, total, message))
    async def body(client):
        made = await client.call_tool("init", {"source": "bowl.c", "output": "draft.yaml", "no_try": True})
        assert made.structured_content == {"path": "draft.yaml", "tried": False, "changes": None, "metrics": []} and (tmp_path / "draft.yaml").exists()
        again = await client.call_tool("init", {"source": "bowl.c", "output": "draft.yaml"})
        assert again.is_error and "--force replaces it" in text(again)
        (tmp_path / "hone.yaml").write_text(BOWL)
        tuned = await client.call_tool("tune", {"no_canary": True, "evals": 4, "seed": 1}, progress_callback=told)
        assert tuned.structured_content["state"] == "finished" and tuned.structured_content["session"] == 1
        result = tuned.structured_content["result"]
        assert result["trials"] == 4 and result["point"] and json.loads(tuned.content[1].text) == tuned.structured_content
        listed = (await client.call_tool("results", {"session": 1, "top": 2})).structured_content
        assert len(listed["trials"]) == 2 and listed["trials"][0]["values"]["cost"] <= listed["trials"][1]["values"]["cost"]
        best = (await client.call_tool("best")).structured_content
        assert best["session"] == 1 and "-DTILE=" in best["command"]
        status = (await client.call_tool("status")).structured_content
        assert status["record"]["state"] == "finished" and [j["state"] for j in status["jobs"]] == ["finished"]
        everything = (await client.call_tool("status", {"all": True})).structured_content
        assert [s["session"] for s in everything["sessions"]] == [1] and everything["record"] is None
    talk(tmp_path, body)
    # How many there are follows from how fast the search is: one a third of a second, and of whichever stage it is in.
    assert seen and all(a[0] < b[0] for a, b in zip(seen, seen[1:])) and all(s[2] for s in seen)


def test_validate_minimize_explain_check(tmp_path):
    (tmp_path / "bowl.c").write_text(C)
    (tmp_path / "hone.yaml").write_text(BOWL)
    async def body(client):
        proof = (await client.call_tool("validate", {"point": '{"TILE": 7}'})).structured_content
        assert proof["result"]["kept"] == 1 and proof["result"]["proofs"][0]["proof"]["kept"] and proof["exit"] == 0
        none = await client.call_tool("validate", {"point": '{"TILE": 4}', "out": "none.hone"})
        assert not none.is_error and none.structured_content["exit"] == 17 and none.structured_content["result"]["kept"] == 0
        less = (await client.call_tool("minimize", {"from": "bowl.hone", "no_proof": True})).structured_content["result"]
        assert less["before"] == 1 and less["after"] == 1
        why = (await client.call_tool("explain", {"from": "bowl.hone"})).structured_content["result"]
        assert why["workload"] == "bowl" and isinstance(why["sentences"], list)
        valid = (await client.call_tool("check", {"files": ["bowl.hone"]})).structured_content
        assert valid["result"]["status"] == "valid" and valid["exit"] == 0
        (tmp_path / "bowl.c").write_text(C + "\n")
        stale = (await client.call_tool("check")).structured_content
        assert stale["result"]["status"] == "stale" and stale["exit"] == 18
    talk(tmp_path, body)


def test_compile_bench_profile(tmp_path):
    (tmp_path / "m.ir").write_text('ir 1\ninput %0 : f32[64] "x"\n%1 = exp %0 : f32[64]\noutput %1 "y"\n')
    (tmp_path / "sub").mkdir()
    async def body(client):
        made = (await client.call_tool("compile", {"model": "../m.ir", "dir": "sub"})).structured_content["result"]
        assert made["output"] == "m" and (tmp_path / "sub/m.so").exists()
        timed = (await client.call_tool("bench", {"model": "sub/m.so", "time": 0.05, "threads": 1})).structured_content
        assert timed["result"]["results"][0]["runs"] > 0
        where = (await client.call_tool("profile", {"model": "m.ir", "time": "50ms", "threads": 1})).structured_content
        assert where["result"]["kernels"]
        refused = await client.call_tool("compile", {"model": "missing.onnx"})
        assert refused.is_error and "missing.onnx" in text(refused)
    talk(tmp_path, body)


def test_what_is_refused(tmp_path):
    async def body(client):
        with pytest.raises(mcp.MCPError, match="Unknown tool: tunes; did you mean tune"):
            await client.call_tool("tunes")
        for tool, arguments, words in [
                ("status", {}, "E_NOTFOUND: there is no record at '.hone'"),
                ("tune", {"evals": "5"}, "argument 'evals' of tool 'tune' is a text; it takes a whole number from 1"),
                ("tune", {"evals": 0}, "argument 'evals' of tool 'tune' is 0; it takes"),
                ("tune", {"evals": 1.5}, "it takes a whole number"),
                ("tune", {"new": "yes"}, "it takes true or false"),
                ("tune", {"evls": 5}, "did you mean 'evals'?"),
                ("tune", {"color": "always"}, "has no argument 'color'"),
                ("tune", {"workload": 5}, "argument 'workload' of tool 'tune' is a number; it takes a text"),
                ("tune", {"workload": "none.yaml"}, "E_IO: cannot open 'none.yaml'"),
                ("tune", {"workload": "--help"}, "cannot open '--help'"),
                ("tune", {"wait_s": -1}, "argument 'wait_s' of tool 'tune' takes seconds"),
                ("tune", {"dir": "nowhere"}, "there is no folder 'nowhere'"),
                ("tune", {"resume": [1]}, "is an array; it takes a whole number"),
                ("results", {"session": "1"}, "it takes a whole number"),
                ("results", {}, "E_NOTFOUND: there is no record at '.hone'"),
                ("status", {"job": 7}, "this server has no job 7"),
                ("stop", {}, "needs the argument 'job'"),
                ("check", {"files": "a.hone"}, "it takes an array of texts"),
                ("check", {"files": [1]}, "it takes an array of texts"),
                ("minimize", {"from": True}, "a whole number or a text"),
                ("compile", {}, "tool 'compile' needs the argument 'model'"),
                ("compile", {"model": "m", "emit": "elf"}, "elf"),
                ("init", {}, "'hone init' needs a C file")]:
            result = await client.call_tool(tool, arguments)
            assert result.is_error and words in text(result), (tool, arguments, text(result))
    talk(tmp_path, body)


# --- long work ---


def test_a_job_in_the_background_is_told_of_and_stopped(slow):
    folder, words = slow
    async def body(client):
        begun = (await client.call_tool("tune", {"wait_s": 0, "no_canary": True})).structured_content
        assert begun["state"] == "running" and begun["session"] == 1 and begun["result"] is None
        for _ in range(100):
            told = (await client.call_tool("status", {"job": begun["job"], "wait_s": 0.1})).structured_content["job"]
            if told["progress"] and told["progress"]["stage"] == "trial" and told["progress"]["done"] >= 2:
                break
        assert told["state"] == "running" and told["progress"]["total"] == 1000
        queued = await client.call_tool("tune", {"wait_s": 0, "new": True})
        assert queued.structured_content["state"] == "queued" and "waits until" in text(queued)
        ended = (await client.call_tool("stop", {"job": queued.structured_content["job"]})).structured_content
        assert ended["state"] == "stopped" and ended["error"]["id"] == "E_INTERRUPTED"
        stopped = await client.call_tool("stop", {"job": begun["job"]})
        assert stopped.structured_content["state"] == "stopped" and "stopped" in text(stopped)
        assert stopped.structured_content["result"]["reason"] == "interrupted"
        record = (await client.call_tool("status")).structured_content["record"]
        assert record["state"] == "interrupted" and record["trials"] >= 2
        more = (await client.call_tool("tune", {"resume": 1, "evals": record["trials"] + 1})).structured_content
        assert more["session"] == 1 and more["result"]["trials"] == record["trials"] + 1
    talk(folder, body)
    assert gone(words)


def test_two_calls_at_once(slow):
    folder, _ = slow
    async def body(client):
        results = {}
        async def tune(name, seed):
            results[name] = await client.call_tool("tune", {"evals": 3, "new": True, "seed": seed, "store": name})
        async with anyio.create_task_group() as group:
            group.start_soon(tune, "a", 1)
            group.start_soon(tune, "b", 2)
            await anyio.sleep(0.3)
            jobs = (await client.call_tool("status")).structured_content["jobs"]
            assert sorted(j["state"] for j in jobs) == ["queued", "running"]
        for r in results.values():
            assert r.structured_content["state"] == "finished" and r.structured_content["result"]["trials"] == 3
    talk(folder, body)


def test_a_cancelled_call_stops_its_job(slow):
    folder, words = slow
    async def body(client):
        with anyio.move_on_after(1.5) as scope:
            await client.call_tool("tune", {"no_canary": True})
        assert scope.cancelled_caught
        for _ in range(100):
            jobs = (await client.call_tool("status")).structured_content["jobs"]
            if jobs[0]["state"] == "stopped":
                break
            await anyio.sleep(0.1)
        assert jobs[0]["state"] == "stopped"
    talk(folder, body)
    assert gone(words) and hone(folder, "status")["state"] == "interrupted"


CLIENT = textwrap.dedent("""
    import sys, anyio, mcp
    async def main():
        server = mcp.StdioServerParameters(command=sys.argv[1], args=["mcp"], cwd=sys.argv[2], env=dict(__import__("os").environ))
        async with mcp.Client(server) as client:
            print("up", flush=True)
            await client.call_tool("tune", {"no_canary": True})
    anyio.run(main)
""")


@pytest.mark.parametrize("who", ["client", "server"])
def test_a_search_outlives_a_killed_client_or_server(slow, who):
    folder, words = slow
    client = subprocess.Popen([sys.executable, "-c", CLIENT, os.path.abspath(HONE), str(folder)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, start_new_session=True)
    assert client.stdout.readline() == b"up\n"
    serving = [int(p) for p in os.listdir("/proc") if p.isdigit() and parent(int(p)) == client.pid]
    assert len(serving) == 1
    for _ in range(200):
        time.sleep(0.1)
        if (folder / ".hone").exists() and hone(folder, "status").get("trials", 0) >= 2:
            break
    assert seen(words)
    os.kill(client.pid if who == "client" else serving[0], signal.SIGKILL)
    if who == "server":
        assert gone(words)
        client.kill()
    client.wait()
    client.stdout.close()
    assert gone(words), "a program of the search is left"
    assert gone_pid(serving[0]), "the server is left"
    before = hone(folder, "status")
    assert before["state"] != "finished" and before["trials"] >= 2
    async def body(client):
        return (await client.call_tool("tune", {"evals": before["trials"] + 2})).structured_content
    after = talk(folder, body)
    assert after["session"] == before["session"] == 1 and after["result"]["trials"] == before["trials"] + 2


def parent(pid):
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/stat") as f:
        return int(f.read().rsplit(")", 1)[1].split()[1])
    return 0


def gone_pid(pid):
    for _ in range(200):
        if not os.path.exists(f"/proc/{pid}"):
            return True
        time.sleep(0.05)
    return False


# --- the log ---


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_what_is_logged(slow, mode):
    folder, _ = slow
    seen = []
    async def told(message):
        seen.append((message.level, message.data))
    async def body(client):
        await client.call_tool("tune", {"evals": 2, "no_canary": True})
        quiet = len([s for s in seen if s[0] == "debug"])
        if mode == "legacy":
            await client.session.set_logging_level("debug")
        meta = None if mode == "legacy" else {"io.modelcontextprotocol/logLevel": "debug"}
        await client.call_tool("tune", {"evals": 3, "new": True, "no_canary": True}, meta=meta)
        return quiet
    assert talk(folder, body, mode=mode, logging_callback=told) == 0
    assert any(level == "debug" and data.startswith("job 2 (tune): ") for level, data in seen), seen


# --- lines that no client sends ---


class Raw:
    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen([HONE, "mcp", *arguments], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def say(self, *messages):
        for m in messages:
            self.process.stdin.write(m if isinstance(m, bytes) else json.dumps(m).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, method, _id=1, **params):
        self.say({"jsonrpc": "2.0", "id": _id, "method": method, "params": params})
        return self.hear()

    def shake(self, version):
        return self.ask("initialize", "hello", protocolVersion=version, capabilities={}, clientInfo={"name": "t", "version": "0"})

    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        words = self.process.stderr.read().decode()
        self.process.stdout.close(), self.process.stderr.close()
        assert rest == b"" and self.process.wait(20) == 0 and "ERROR" not in words, words


@pytest.mark.parametrize("version", [*LEGACY, "1999-01-01", "2030-01-01"])
def test_each_revision_gets_what_it_knows(tmp_path, version):
    raw = Raw(tmp_path)
    agreed = version if version in LEGACY else "2025-11-25"
    assert raw.shake(version)["result"]["protocolVersion"] == agreed
    assert raw.ask("ping")["result"] == {}
    tool = raw.ask("tools/list")["result"]["tools"][1]
    assert ("annotations" in tool) == (agreed >= "2025-03-26")
    assert ("outputSchema" in tool) == ("title" in tool) == (agreed >= "2025-06-18")
    answer = raw.ask("tools/call", name="status")["result"]
    assert answer["isError"] and "resultType" not in answer
    raw.say([{"jsonrpc": "2.0", "id": i, "method": "ping"} for i in (5, 6)])
    batch = raw.hear()
    if agreed <= "2025-03-26":
        assert sorted(x["id"] for x in batch) == [5, 6]
    else:
        assert batch["error"]["code"] == -32600
    assert raw.shake(version)["error"]["code"] == -32600
    raw.end()


def meta(**more):
    return {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}, **more}


def test_the_revision_without_a_handshake(tmp_path):
    raw = Raw(tmp_path)
    found = raw.ask("server/discover", _meta=meta())["result"]
    assert found["supportedVersions"] == [MODERN, *reversed(LEGACY)] and found["resultType"] == "complete"
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "hone"
    listed = raw.ask("tools/list", _meta=meta())["result"]
    assert listed["cacheScope"] == "public" and listed["ttlMs"] > 0 and len(listed["tools"]) == len(TOOLS)
    wrong = raw.ask("tools/list", _meta=meta(**{"io.modelcontextprotocol/protocolVersion": "1900-01-01"}))["error"]
    assert wrong["code"] == -32022 and wrong["data"] == {"supported": [MODERN, *reversed(LEGACY)], "requested": "1900-01-01"}
    assert raw.ask("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": MODERN})["error"]["code"] == -32602
    assert raw.ask("ping", _meta=meta())["error"]["code"] == -32601
    assert raw.ask("server/discover")["error"]["code"] == -32602
    assert raw.ask("tools/list")["error"]["code"] == -32600
    assert raw.ask("ping")["result"] == {}
    assert raw.shake("2025-06-18")["result"]["protocolVersion"] == "2025-06-18"  # both at once
    assert "resultType" not in raw.ask("tools/list")["result"] and "resultType" in raw.ask("tools/list", _meta=meta())["result"]
    raw.end()


def test_bad_lines(tmp_path):
    raw = Raw(tmp_path)
    raw.shake("2025-11-25")
    for line, code in [(b"{nope\n", -32700), (b"\xff\xfe\n", -32700), (b'{"jsonrpc": "2.0", "id": 1, "method": "\\u0000"}\n', -32700),
                       (b"[" * 100000 + b"\n", -32700), (b"x" * (5 << 20) + b"\n", -32700), (b"[]\n", -32600), (b"7\n", -32600),
                       (b'"text"\n', -32600), ({"id": 1, "method": "ping"}, -32600), ({"jsonrpc": "2.0", "id": 1}, -32600),
                       ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600), ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, -32600),
                       ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, -32600), ({"jsonrpc": "2.0", "id": 1, "method": 7}, -32600),
                       ({"jsonrpc": "2.0", "id": 1, "method": "none"}, -32601),
                       ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}, -32602),
                       ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}, -32602),
                       ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "tune", "arguments": 5}}, -32602),
                       ({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "2"}}, -32602),
                       ({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "loud"}}, -32602)]:
        raw.say(line)
        answer = raw.hear()
        assert answer["error"]["code"] == code and answer["error"]["message"], (line[:60] if isinstance(line, bytes) else line, answer)
    for quiet in [b"\n", b"  \r\n", {"jsonrpc": "2.0", "method": "notifications/nothing"}, {"jsonrpc": "2.0", "id": 9, "result": {}},
                  {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
                  {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": []},
                  {"jsonrpc": "2.0", "method": "notifications/cancelled"}]:
        raw.say(quiet)
    assert raw.ask("ping", 77) == {"jsonrpc": "2.0", "id": 77, "result": {}}
    raw.end()


def test_answers_that_are_ready_are_given_after_the_end_of_input(tmp_path):
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
    lines = [hello] + [{"jsonrpc": "2.0", "id": i, "method": "tools/list"} for i in range(1, 9)]  # more than a pipe holds
    process = subprocess.Popen([HONE, "mcp"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
    process.stdin.close()
    time.sleep(0.2)
    answers = [json.loads(line) for line in process.stdout.read().splitlines()]
    process.stdout.close()
    assert process.wait(20) == 0 and [a["id"] for a in answers] == list(range(9))


def test_an_id_is_used_once_at_a_time(slow):
    folder, words = slow
    raw = Raw(folder)
    raw.shake("2025-11-25")
    raw.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "tune"}})
    assert raw.ask("ping", 1)["error"]["code"] == -32600
    raw.end()  # in the middle of a search
    assert gone(words, 1)
