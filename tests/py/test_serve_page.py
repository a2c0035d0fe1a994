"""The page of hone serve in a real browser, against a real server: a chat that streams and is stopped, a key, a model of tensors, a text that would
be HTML; light, dark and narrow. HONE_KEEP=DIR keeps the screenshots."""

import contextlib
import os
import re
import shutil
import sys
import time

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
pytest.importorskip("openai")
import test_language  # noqa: E402
import test_serve  # noqa: E402

sys.path.insert(0, os.path.join(os.environ.get("HONE_ROOT", os.path.join(os.path.dirname(__file__), "../..")), "tests/e2e"))
import chromium  # noqa: E402
from pages import CONTRAST  # noqa: E402

if not shutil.which("chromium"):
    pytest.skip("needs chromium", allow_module_level=True)
KEEP = os.environ.get("HONE_KEEP")
SERVER_IS_THERE = 'document.getElementById("state").textContent.startsWith("ready")'


@pytest.fixture(scope="module")
def top(tmp_path_factory):
    if KEEP:
        os.makedirs(KEEP, exist_ok=True)
    return KEEP or str(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def browser():
    with contextlib.closing(chromium.Chromium()) as b:
        yield b


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto as T, helper as h
    folder = tmp_path_factory.mktemp("models")
    s = test_language.MODELS["llama"]
    path = str(folder / "tiny.gguf")
    test_language.write(path, s, test_language.weights_of(s, np.random.default_rng(1)), context=4096, template=test_serve.TEMPLATE)
    w = onnx.numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(3, 2), "w")
    model = h.make_model(h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"])], "g", [h.make_tensor_value_info("x", T.FLOAT, ["batch", 3])],
                                      [h.make_tensor_value_info("y", T.FLOAT, ["batch", 2])], [w]), opset_imports=[h.make_opsetid("", 17)])
    onnx.save(model, str(folder / "linear.onnx"))
    return path, str(folder / "linear.onnx")


@pytest.fixture(scope="module")
def server(models):
    with test_serve.serving(*models, "gone=/nowhere.gguf") as s:
        yield s, f"http://127.0.0.1:{s.port}/"


def until(browser, expression, seconds=180):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = browser.eval(expression)
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"never: {expression}; {browser.eval('document.body.innerText')}")


def press(browser, key, code, text=None, shift=False):
    more = {"text": text} if text else {}
    browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, modifiers=8 if shift else 0, **more)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code, modifiers=8 if shift else 0)


def ask(browser, text, tokens=30):
    browser.eval(f'document.getElementById("most").value = "{tokens}"; document.getElementById("prompt").focus()')
    browser.call("Input.insertText", text=text)
    press(browser, "Enter", 13, "\r")


def answered(browser):
    return until(browser, '/complete|limit|Stopped/.test(document.getElementById("said").textContent) && document.getElementById("send").disabled === false')


TURNS = '[...document.querySelectorAll(".turn")].map(t => [t.className, t.lastChild.textContent])'


def test_a_chat(server, browser, top):
    s, url = server
    browser.open(url)
    until(browser, 'document.getElementById("state").textContent.startsWith("degraded")')
    browser.eval('document.getElementById("temperature").value = "0"')
    hostile = '<img src=x onerror="alert(1)"><b>A</b>'
    ask(browser, hostile)
    answered(browser)
    turns = browser.eval(TURNS)
    assert [t[0] for t in turns] == ["turn user", "turn assistant"] and turns[0][1] == hostile
    assert browser.eval('document.querySelectorAll("img, #log b").length') == 0
    assert [browser.eval(f'document.getElementById("{i}").textContent') != "–" for i in ("rate", "first", "between", "count")] == [True] * 4
    ask(browser, "B A", 40)
    answered(browser)
    assert len(browser.eval(TURNS)) == 4
    until(browser, 'document.querySelectorAll("#latencies tbody tr").length >= 3')
    text = browser.eval("document.body.innerText")
    assert "there is no such model" in text and "tiny" in text and "language model" in text and "batch" not in text and "x FP32 [any, 3]" in text
    assert "None under way." in text and re.search(r"Waiting\n+0 of 256", text)
    assert not browser.errors and all(r.startswith(url) or r == "data:," for r in browser.requests), (browser.errors, browser.requests)
    for dark in (False, True):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        worst = browser.eval(CONTRAST)
        assert worst[0] >= 4.5, worst
        ground = browser.eval("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == dark
        browser.screenshot(os.path.join(top, f"page-{'dark' if dark else 'light'}.png"))
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
    assert browser.eval("[document.documentElement.scrollWidth, innerWidth]") == [390, 390]
    browser.screenshot(os.path.join(top, "page-phone.png"))
    browser.eval('document.getElementById("clear").click()')
    assert browser.eval(TURNS) == []


def test_an_answer_is_stopped(server, browser):
    s, url = server
    c = s.client()
    long = next(p for p in test_serve.prompts(40) if c.chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": p.strip() or "A"}], max_tokens=3500, temperature=0).choices[0].finish_reason == "length")
    browser.open(url)
    until(browser, 'document.getElementById("model").value')
    browser.eval('document.getElementById("temperature").value = "0"')
    for how in ("button", "key"):
        before = s.figures()["hone_serve_cancelled_total"]
        for _ in range(10):  # a slow browser may come too late
            browser.eval('document.getElementById("clear").click()')
            ask(browser, long.strip() or "A", 3500)
            until(browser, '!!document.querySelector(".turn.assistant") || document.getElementById("error").textContent')
            if how == "button":
                browser.eval('document.getElementById("stop").click()')
            else:
                press(browser, "Escape", 27)
            until(browser, 'document.getElementById("send").disabled === false')
            assert browser.eval('document.getElementById("error").textContent') == ""
            if browser.eval('document.getElementById("said").textContent') == "Stopped." and s.figures()["hone_serve_cancelled_total"] > before:
                break
        else:
            raise AssertionError("never stopped")
    assert not browser.errors


def test_keys_and_errors(models, browser, tmp_path, top):
    keys = tmp_path / "keys"
    keys.write_text("secret-key-1 alice\n")
    with test_serve.serving(models[0], "--api-key-file", str(keys)) as s:
        url = f"http://127.0.0.1:{s.port}/"
        browser.open(url)
        until(browser, 'document.getElementById("state").textContent.includes("A key is needed")')
        browser.eval('(k => { k.focus(); k.value = "secret-key-1"; k.dispatchEvent(new Event("change")); })(document.getElementById("key"))')
        until(browser, SERVER_IS_THERE)
        ask(browser, "A")
        answered(browser)
        assert browser.eval("JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie") == "{}{}"
        browser.eval('document.getElementById("temperature").value = "-3"')
        browser.eval('document.getElementById("prompt").value = "A"; document.getElementById("chat").dispatchEvent(new Event("submit", {cancelable: true}))')
        until(browser, 'document.getElementById("error").textContent.includes("temperature")')
        browser.screenshot(os.path.join(top, "page-error.png"))
        s.end()
        until(browser, 'document.getElementById("state").textContent === "The server does not answer."')


def test_a_model_of_tensors(server, browser, top):
    s, url = server
    browser.open(url)
    until(browser, 'document.getElementById("model").value')
    browser.eval('(m => { m.value = "linear"; m.dispatchEvent(new Event("change")); })(document.getElementById("model"))')
    assert "x: FP32 [any, 3]" in browser.eval('document.getElementById("inputs").innerText')
    browser.eval('document.getElementById("shape-0").value = "2, 3"; document.getElementById("data-0").value = "[[1, 0, 0], [0, 1, 1]]"; '
                 'document.querySelector("#infer button").click()')
    until(browser, '!!document.querySelector("#outputs pre")')
    assert browser.eval('[document.querySelector("#outputs h2").textContent, document.querySelector("#outputs pre").textContent]') == ["y: FP32 [2, 2]", "0, 1, 6, 8"]
    browser.screenshot(os.path.join(top, "page-tensors.png"))
    for data, told in (("1, 2", "x has 2 numbers; its shape wants 6."), ("1, two", "cannot be read")):
        browser.eval(f'document.getElementById("data-0").value = "{data}"; document.querySelector("#infer button").click()')
        until(browser, f'document.getElementById("infer-error").textContent.includes("{told}")')
    assert not browser.errors


def test_its_policy(server):
    s, url = server
    status, text, head = s.call("GET", "/")
    policy = head["Content-Security-Policy"]
    assert status == 200 and head["Content-Type"] == "text/html; charset=utf-8" and "default-src 'none'" in policy and "unsafe" not in policy
    assert len(re.findall(r"'sha256-[\w+/]{43}='", policy)) == 2 and "@SCRIPT@" not in text.decode() and not re.search(rb'(src|href)="(https?:)?//', text)
