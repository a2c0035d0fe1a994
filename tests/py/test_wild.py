"""Trained models from PyPI packages, on real data: speech, an image with text, files of this repository. The answers (segments of
speech, text, labels) are those of ONNX Runtime. Long: tools/venv.sh wild installs the packages, without what they depend on."""
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import hone
import pytest

if not os.environ.get("HONE_LONG"):
    pytest.skip("for make check-long", allow_module_level=True)
np = pytest.importorskip("numpy")
ort = pytest.importorskip("onnxruntime")
signal = pytest.importorskip("scipy.signal")
ndimage = pytest.importorskip("scipy.ndimage")

ROOT = Path(os.environ.get("HONE_ROOT", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "bench"))
from ocr import boxes, pages, planes, read  # noqa: E402


def path_of(package, name):
    spec = importlib.util.find_spec(package)
    if spec is None:
        pytest.skip(f"package {package} is not installed (tools/venv.sh wild)")
    return next(Path(spec.origin).parent.rglob(name))


def both(path):
    """The model compiled, and by ONNX Runtime, each as feeds -> outputs."""
    ours, theirs = hone.compile(path), ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [o.name for o in theirs.get_outputs()]
    return (lambda feeds: [ours.run(feeds)[n] for n in names]), (lambda feeds: theirs.run(None, feeds))


# --- speech

VOWELS = {"a": (730, 1090, 2440), "e": (530, 1840, 2480), "i": (270, 2290, 3010), "o": (570, 840, 2410), "u": (300, 870, 2240)}


def resonator(x, f, width, rate):
    r = np.exp(-np.pi * width / rate)
    turn = 2 * r * np.cos(2 * np.pi * f / rate)
    return signal.lfilter([1 - turn + r * r], [1, -turn, r * r], x)


def vowel(c, rate, rng):
    """Pulses of a voice through the formants of a vowel, then a little noise."""
    n = int(0.18 * rate)
    pitch = 120 + 15 * np.sin(6 * np.pi * np.arange(n) / rate) + 10 * rng.standard_normal(n)
    x = np.diff(np.floor(np.cumsum(pitch) / rate), prepend=0) + 0.003 * rng.standard_normal(n)
    x = signal.lfilter([1], [1, -0.95], x)
    for f, width in zip(VOWELS[c], (80, 100, 120)):
        x = resonator(x, f, width, rate)
    return np.concatenate([x * np.hanning(n) ** 0.3, 0.02 * rng.standard_normal(int(0.05 * rate))])


def speech(rate):
    rng, gap = np.random.default_rng(0), np.zeros(rate // 4)
    x = np.concatenate([gap, gap, *[vowel(c, rate, rng) if c in VOWELS else gap for c in "aieou aoeiu uaoie"], gap, gap])
    return (0.5 * x / abs(x).max()).astype("f4")


def probabilities(run, x, rate, has_rate):
    size, before = rate // 500 * 16, rate // 250
    state, context, found = np.zeros((2, 1, 128), "f4"), np.zeros(before, "f4"), []
    for i in range(0, len(x) - size + 1, size):
        feeds = {"input": np.concatenate([context, x[i:i + size]])[None], "state": state}
        if has_rate:
            feeds["sr"] = np.array(rate, "i8")
        p, state = run(feeds)
        context = x[i + size - before:i + size]
        found.append(float(np.ravel(p)[0]))
    return np.array(found)


def segments(p):
    """Starts and ends of runs above one half."""
    edge = np.diff(np.concatenate([[0], p > 0.5, [0]]).astype(int))
    return list(zip(np.flatnonzero(edge > 0), np.flatnonzero(edge < 0)))


@pytest.mark.parametrize("name,rate", [("silero_vad", 16000), ("silero_vad", 8000), ("silero_vad_half", 16000),
                                       ("silero_vad_16k_op15", 16000), ("silero_vad_op18_ifless", 16000),
                                       ("silero_vad_openvino_16k", 16000)])
def test_speech(name, rate):
    path = path_of("silero_vad", name + ".onnx")
    ours, theirs = both(path)
    has_rate = "half" not in name and "openvino" not in name
    x = speech(rate)
    p, q = probabilities(ours, x, rate, has_rate), probabilities(theirs, x, rate, has_rate)
    assert np.allclose(p, q, atol=2e-3)
    assert segments(p) == segments(q)
    assert len(segments(p)) >= 3 or rate == 8000  # three words


def test_speech_as_a_sequence():
    ours, theirs = both(path_of("silero_vad", "silero_vad_16k_sequence.onnx"))
    x = speech(16000)
    chunks = np.stack([np.concatenate([x[max(i - 64, 0):i], np.zeros(64 - min(i, 64), "f4"), x[i:i + 512]])[-576:]
                       for i in range(0, len(x) - 511, 512)])
    feeds = {"input": chunks, "h": np.zeros((1, 1, 128), "f4"), "c": np.zeros((1, 1, 128), "f4")}
    p, q = ours(feeds)[0], theirs(feeds)[0]
    assert np.allclose(p, q, atol=2e-3) and segments(p) == segments(q) and len(segments(p)) >= 3


def test_speech_of_a_length_that_does_not_fit():
    """The decoder takes one frame: what the condition in front of it decided is a rule of the model."""
    m = hone.compile(path_of("silero_vad", "silero_vad_half.onnx"))
    with pytest.raises(hone.Error, match="must equal|= 1"):
        m.run({"input": np.zeros((1, 2000), "f4"), "state": np.zeros((2, 1, 128), "f4")})


# --- an image with text

LINES = ["The quick brown fox", "jumps over 13 lazy dogs", "Invoice 2024-07-31"]


def page():
    image = pytest.importorskip("PIL.Image")
    draw, font = pytest.importorskip("PIL.ImageDraw"), pytest.importorskip("PIL.ImageFont")
    face = path_of("matplotlib", "DejaVuSans.ttf")
    sheet = image.new("RGB", (640, 256), (250, 248, 240))
    for i, text in enumerate(LINES):
        draw.Draw(sheet).text((30, 24 + 72 * i), text, (20, 20, 30), font.truetype(str(face), 36))
    return sheet


def test_text_in_an_image():
    sheet = page()
    rec = path_of("rapidocr_onnxruntime", "ch_PP-OCRv4_rec_infer.onnx")
    listed = ort.InferenceSession(str(rec)).get_modelmeta().custom_metadata_map["character"].splitlines()
    characters = ["", *listed, " "]
    said = []
    detectors = both(path_of("rapidocr_onnxruntime", "ch_PP-OCRv4_det_infer.onnx"))
    turned = both(path_of("rapidocr_onnxruntime", "ch_ppocr_mobile_v2.0_cls_infer.onnx"))
    readers = both(rec)
    for detect, turn, reader in zip(detectors, turned, readers):
        found = boxes(detect({"x": planes(sheet, sheet.size)})[0][0, 0])
        lines = []
        for box in found:
            crop = sheet.crop(box)
            up, down = turn({"x": planes(crop, (192, 48))})[0][0], turn({"x": planes(crop.rotate(180), (192, 48))})[0][0]
            wide = max(48 * crop.width // crop.height, 48)
            lines.append((read(reader({"x": planes(crop, (wide, 48))})[0][0], characters), int(up.argmax()), int(down.argmax())))
        said.append((found, lines))
    assert said[0] == said[1]
    assert [re.sub(r"\s", "", text) for text, _, _ in said[0][1]] == [re.sub(r"\s", "", text) for text in LINES]
    assert [turns for _, *turns in said[0][1]] == [[0, 1]] * len(LINES)


def test_text_found_in_8_bits(tmp_path):
    """The detector in 8 bits, chosen on 16 pages, finds the lines of others: the same text is read in them."""
    np.savez(tmp_path / "pages.npz", x=np.concatenate([planes(s, s.size) for s, _ in pages(16, 0)]))
    detector = path_of("rapidocr_onnxruntime", "ch_PP-OCRv4_det_infer.onnx")
    subprocess.run([os.environ.get("HONE", "hone"), "compile", str(detector), "--precision", "int8", "--data", "pages.npz", "-o", "det"],
                   cwd=tmp_path, check=True, capture_output=True)
    narrow, exact = hone.load(str(tmp_path / "det.so")), ort.InferenceSession(str(detector), providers=["CPUExecutionProvider"])
    rec = ort.InferenceSession(str(path_of("rapidocr_onnxruntime", "ch_PP-OCRv4_rec_infer.onnx")), providers=["CPUExecutionProvider"])
    characters = ["", *rec.get_modelmeta().custom_metadata_map["character"].splitlines(), " "]

    def lines(sheet, p):
        crops = [sheet.crop(b) for b in boxes(p[0, 0])]
        return [read(rec.run(None, {"x": planes(c, (max(48 * c.width // c.height, 48), 48))})[0][0], characters) for c in crops]

    n = 0
    for sheet in [page(), *(s for s, _ in pages(8, 9))]:
        x = planes(sheet, sheet.size)
        want = lines(sheet, exact.run(None, {"x": x})[0])
        assert lines(sheet, narrow(x)) == want
        n += len(want)
    assert n >= 24


def test_precision_by_what_is_read(tmp_path):
    """--precision mixed with a metric of its own on drawn pages: a front, and a choice that is proven on pages held out."""
    pytest.importorskip("PIL.Image")
    path_of("rapidocr_onnxruntime", "ch_PP-OCRv4_det_infer.onnx"), path_of("matplotlib", "DejaVuSans.ttf")
    ocr = [sys.executable, str(ROOT / "bench" / "ocr.py")]
    subprocess.run([*ocr, "pages", str(tmp_path), "12", "small"], check=True)
    done = subprocess.run([os.environ.get("HONE", "hone"), "compile", "det.onnx", "--precision", "mixed", "--data", "pages.npz", "--calibrate", "minmax",
                           "--points", "8", "--max-error", "5%", "--metric", " ".join([*ocr, "metric", str(tmp_path)]), "-o", "mixed", "--json"],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    front = json.loads(done.stdout)["front"]
    assert front["samples"] == 9 and front["held_out"] == 3 and len(front["points"]) >= 6, front
    chosen = next(p for p in front["points"] if p["chosen"])
    assert chosen["narrow"] >= 1 and chosen["proven"] and chosen["held_bound"] <= 0.05 and front["points"][0]["error"] < 1e-3
    narrow, x = hone.load(str(tmp_path / "mixed.so")), np.load(tmp_path / "pages.npz")["x"]
    answers = tmp_path / "answers"
    answers.mkdir()
    for i in range(3, 12, 4):
        np.savez(answers / f"{i:06d}.npz", y=narrow(x[i:i + 1]))
    said = subprocess.run([*ocr, "metric", str(tmp_path), str(answers)], check=True, capture_output=True, text=True)
    assert float(said.stdout) <= 0.05


# --- files

FILES = ["README.md", "src/onnx/lower_if.c", "tests/py/test_wild.py", "Makefile", "tools/lint.sh", "src/report/load_page.html", "build/hone"]


def beginning_and_end(data):
    """As magika's configuration says: 1,024 bytes of each end without white space, padded by 256."""
    head, tail = data[:4096].lstrip()[:1024], data[-4096:].rstrip()[-1024:]
    return [*head, *[256] * (1024 - len(head)), *[256] * (1024 - len(tail)), *tail]


def test_kinds_of_files():
    ours, theirs = both(path_of("magika", "standard_v3_3/model.onnx"))
    here = [ROOT / f for f in FILES if (ROOT / f).is_file()]
    x = np.array([beginning_and_end(f.read_bytes()) for f in here], "i4")
    p, q = ours({"bytes": x})[0], theirs({"bytes": x})[0]
    assert len(here) >= 5 and np.allclose(p, q, atol=1e-4)
    assert list(p.argmax(1)) == list(q.argmax(1)) and len(set(p.argmax(1))) >= 4
