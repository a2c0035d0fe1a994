"""ocr.py — drawn pages of text for the detector of rapidocr-onnxruntime, and a metric for `hone compile --precision mixed`.

usage: python bench/ocr.py pages FOLDER [N [small]]  FOLDER/pages.npz (input x), exact.npz, pages.json, det.onnx
       python bench/ocr.py metric FOLDER OUTPUTS     the error of the outputs in OUTPUTS (NNNNNN.npz), less for better

The error is 1 less the mean over all drawn lines of how well each is found: 0 where its text is not read, else how far what is marked in its place (probabilities) is what
the model of floats marks there: the sum of the lesser by the sum of the greater of both. What is read is what the package's recogniser says of a box, by ONNX Runtime; it
counts where it is what was drawn, without white space. pages.json holds the drawn lines and where the model of floats finds them, exact.npz its outputs.
"""
import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np

WORDS = "alpha invoice total 2024 river 17.50 garden quick brown fox Order No. 3381 street window paper light".split()


def find(package, name):
    """A file of an installed package; None where that is not there."""
    spec = importlib.util.find_spec(package)
    return next(Path(spec.origin).parent.rglob(name), None) if spec else None


def pages(n, seed, size=(640, 256), n_words=3):
    """(sheet, its lines): lines of words, of varying sizes and greys."""
    from PIL import Image, ImageDraw, ImageFont
    face, rng = str(find("matplotlib", "DejaVuSans.ttf")), np.random.default_rng(seed)
    for _ in range(n):
        sheet = Image.new("RGB", size, tuple(map(int, rng.integers(225, 256, 3))))
        lines = []
        for i in range(size[1] // 72):
            place = (int(rng.integers(10, 60)), 24 + 72 * i)
            lines.append(" ".join(rng.choice(WORDS, n_words)))
            ink = tuple(map(int, rng.integers(0, 80, 3)))
            ImageDraw.Draw(sheet).text(place, lines[-1], ink, font=ImageFont.truetype(face, int(rng.integers(26, 38))))
        yield sheet, lines


def planes(image, size):
    x = np.asarray(image.resize(size, 2), "f4") / 255
    return ((x - 0.5) / 0.5).transpose(2, 0, 1)[None]


def boxes(p):
    """Lines of text: what the detector marks, grown as its training shrank it; from top to bottom."""
    from scipy import ndimage
    labels, _ = ndimage.label(ndimage.binary_dilation(p > 0.3, iterations=2))
    found = []
    for rows, columns in ndimage.find_objects(labels):
        grow = (rows.stop - rows.start) // 2
        if rows.stop - rows.start > 6:
            found.append((columns.start - grow, rows.start - grow, columns.stop + grow, rows.stop + grow))
    return sorted(found, key=lambda b: b[1])


def read(p, characters):
    """The best path of a connectionist classifier, without repetitions and blanks."""
    best, text, last = p.argmax(-1), "", 0
    for k in best:
        if k and k != last:
            text += characters[k]
        last = k
    return text


class Reader:
    """The recogniser, by ONNX Runtime; what it said of a box is kept in a file, as most boxes come again."""

    def __init__(self, path):
        self.path, self.session = path, None
        self.known = json.loads(path.read_text()) if path.exists() else {}

    def open(self):
        import onnxruntime
        path = str(find("rapidocr_onnxruntime", "ch_PP-OCRv4_rec_infer.onnx"))
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        listed = self.session.get_modelmeta().custom_metadata_map["character"]
        self.characters = ["", *listed.splitlines(), " "]

    def __call__(self, sheet, box, name):
        key = f"{name} {' '.join(map(str, box))}"
        if key not in self.known:
            if not self.session:
                self.open()
            crop = sheet.crop(box)
            wide = max(48 * crop.width // crop.height, 48)
            self.known[key] = read(self.session.run(None, {"x": planes(crop, (wide, 48))})[0][0], self.characters)
        return self.known[key]

    def close(self):
        if self.session:
            self.path.write_text(json.dumps(self.known))


def plain(text):
    return re.sub(r"\s", "", text)


def alike(p, q, box):
    left, top = max(box[0], 0), max(box[1], 0)
    p, q = p[0, 0, top:box[3], left:box[2]], q[0, 0, top:box[3], left:box[2]]
    return float(np.minimum(p, q).sum(dtype="f8") / np.maximum(p, q).sum(dtype="f8"))


def found(sheet, p, page, exact, reader, name):
    """How well each line of a page is found; exact: what the model of floats marks."""
    said = [plain(reader(sheet, b, name)) for b in boxes(p[0, 0])]
    return [alike(p, exact, b) if plain(t) in said else 0 for t, b in zip(page["lines"], page["boxes"])]


def make(folder, n, seed, size, n_words):
    import onnxruntime
    detector = find("rapidocr_onnxruntime", "ch_PP-OCRv4_det_infer.onnx")
    if detector is None:
        sys.exit("bench/ocr.py: package rapidocr-onnxruntime is not installed: tools/venv.sh wild")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(detector, folder / "det.onnx")
    session = onnxruntime.InferenceSession(str(detector), providers=["CPUExecutionProvider"])
    reader = Reader(folder / "read.json")
    x, y, kept = [], [], []
    for sheet, lines in pages(4 * n, seed, size, n_words):  # those on which the model of floats finds all there is
        feed = planes(sheet, sheet.size)
        marked = session.run(None, {"x": feed})[0]
        exact = boxes(marked[0, 0])
        if len(kept) == n:
            break
        if [plain(reader(sheet, b, len(kept))) for b in exact] == [plain(t) for t in lines]:
            x.append(feed)
            y.append(marked)
            kept.append({"lines": lines, "boxes": [list(map(int, b)) for b in exact]})
        else:
            reader.known = {k: v for k, v in reader.known.items() if not k.startswith(f"{len(kept)} ")}
    reader.close()
    if len(kept) < n:
        sys.exit(f"bench/ocr.py: the model of floats reads {len(kept)} of {4 * n} pages, {n} were asked for")
    np.savez(folder / "pages.npz", x=np.concatenate(x))
    np.savez(folder / "exact.npz", y=np.concatenate(y))
    (folder / "pages.json").write_text(json.dumps(kept))


def sheet_of(x):
    """The image again that a sample was made of."""
    from PIL import Image
    return Image.fromarray(np.rint((x.transpose(1, 2, 0) * 0.5 + 0.5) * 255).astype("u1"))


def error(folder, answers):
    """answers: {index: output}."""
    kept = json.loads((folder / "pages.json").read_text())
    x, y = np.load(folder / "pages.npz")["x"], np.load(folder / "exact.npz")["y"]
    reader = Reader(folder / "read.json")
    share = []
    for i, p in answers.items():
        share += found(sheet_of(x[i]), p, kept[i], y[i:i + 1], reader, i)
    reader.close()
    return 1 - float(np.mean(share))


def metric(folder, outputs):
    answers = {}
    for f in sorted(outputs.glob("*.npz")):
        held = np.load(f)
        answers[int(f.stem)] = held[held.files[0]]
    print(error(folder, answers))


def main():
    if len(sys.argv) >= 3 and sys.argv[1] == "pages":
        small = sys.argv[4:] == ["small"]
        make(Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 16, 0, (320, 160) if small else (640, 256), 2 if small else 3)
    elif len(sys.argv) == 4 and sys.argv[1] == "metric":
        metric(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
