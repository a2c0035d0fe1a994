"""The operation `attend`: attention over keys and values in blocks of a pool, against NumPy, and the same bits however it is split."""

import os
import hone
import pytest

np = pytest.importorskip("numpy")
SEQUENCES, BLOCKS, POOL = 3, 11, 17  # more than one span of 128 keys
TEXT = """ir 1
symbol n in 1..64
symbol b in 1..64
symbol q in 1..64
symbol rows in {low}..
input %q : f32[n, {heads}, {size}] "q"
input %k : {type}[rows, {kv}, {size}] "k"
input %v : {type}[rows, {kv}, {size}] "v"
input %t : i64[q, b] "table"
input %s : i64[n] "sequence"
input %p : i64[n] "position"
{scales}%y = attend %q, %k, %v, %t, %s, %p{more} {{block = {block}{attributes}}}
output %y "y"
"""
SCALES = 'input %a : f32[rows, {kv}] "key_scale"\ninput %c : f32[rows, {kv}] "value_scale"\n'
CASES = {
    "f32": dict(type="f32"),
    "f16": dict(type="f16", heads=6, kv=2),
    "bf16": dict(type="bf16", heads=4, kv=4, block=32),
    "q8": dict(type="i8", heads=9, kv=3),
    "groups_of_7": dict(type="i8", heads=14, kv=2, block=32),
    "groups_of_6": dict(heads=6, kv=1, size=80, window=150),
    "groups_of_5": dict(type="f16", heads=10, kv=2, size=48),
    "odd_sizes": dict(type="f16", size=27, heads=7, kv=1, block=5),
    "odd_f32": dict(size=70, heads=2, kv=1, window=9),
    "window": dict(window=20, heads=5, kv=5),
    "cap": dict(type="i8", softcap=5.0, window=33, block=32, size=128),
}
SHORT = ["f32", "f16", "groups_of_7", "odd_sizes", "window", "cap"]


def case(type="f32", heads=3, kv=1, size=64, block=16, window=0, softcap=0.0):
    return dict(type=type, heads=heads, kv=kv, size=size, block=block, window=window, softcap=softcap)


def compiled(folder, c, **how):
    more = (", window = %d" % c["window"] if c["window"] else "") + (", softcap = %s" % float(c["softcap"]).hex() if c["softcap"] else "")
    scaled = c["type"] == "i8"
    (folder / "a.ir").write_text(TEXT.format(low=2 * c["block"], scales=SCALES.format(**c) if scaled else "", more=", %a, %c" if scaled else "",
                                             attributes=more, **c))
    return hone.compile(folder / "a.ir", parity=True, **how)


def inputs_of(c, r):
    shape = (POOL * c["block"], c["kv"], c["size"])
    x = {"table": np.stack([r.permutation(POOL)[:BLOCKS] for _ in range(SEQUENCES)]).astype(np.int64)}
    for name in "kv":
        if c["type"] == "i8":
            x[name] = r.integers(-127, 128, shape).astype(np.int8)
            x["key_scale" if name == "k" else "value_scale"] = r.uniform(0.002, 0.01, shape[:2]).astype(np.float32)
        else:
            y = r.standard_normal(shape).astype(np.float32)
            x[name] = y.astype(np.float16) if c["type"] == "f16" else y if c["type"] == "f32" else (y.view(np.uint32) >> 16).astype(np.uint16)
    return x


def turned(c, k):
    """Keys as the operation takes them: each block transposed, [kv heads, size, block]."""
    return np.ascontiguousarray(k.reshape(POOL, c["block"], c["kv"], c["size"]).transpose(0, 2, 3, 1)).reshape(k.shape)


def expected(c, x, q, sequence, position):
    scale = [x.get(s + "_scale", np.ones(1))[..., None] for s in ("key", "value")]
    wide = [(x[n].astype(np.uint32) << 16).view(np.float32) if c["type"] == "bf16" else x[n] for n in "kv"]
    k, v = (w.astype(np.float64) * s for w, s in zip(wide, scale))
    y = np.zeros(q.shape)
    for i, (s, p) in enumerate(zip(sequence, position)):
        at = np.arange(max(0, p - c["window"] + 1) if c["window"] else 0, p + 1)
        row = x["table"][s][at // c["block"]] * c["block"] + at % c["block"]
        for h in range(c["heads"]):
            g = h // (c["heads"] // c["kv"])
            z = k[row, g] @ q[i, h].astype(np.float64)
            z = c["softcap"] * np.tanh(z / c["softcap"]) if c["softcap"] else z
            e = np.exp(z - z.max())
            y[i, h] = e / e.sum() @ v[row, g]
    return y


OPTIMISED = ("groups_of_7",)
NAMES = [*(CASES if os.environ.get("HONE_LONG") else SHORT), "f16 x86-64-v3", "q8 x86-64-v3", "bf16 generic"]


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.optimised] * (name in OPTIMISED)) for name in NAMES])
def test_values_and_order(tmp_path, name):
    name, _, target = name.partition(" ")
    c = case(**CASES[name])
    m = compiled(tmp_path, c, **({"target": target} if target else {}))
    r = np.random.default_rng(len(name))
    x = inputs_of(c, r)
    n = 40
    q = (r.standard_normal((n, c["heads"], c["size"])) / np.sqrt(c["size"])).astype(np.float32)
    sequence = np.sort(r.integers(0, SEQUENCES, n))
    position = r.integers(0, BLOCKS * c["block"], n)
    position[:6] = position[0] // 2 + np.arange(6)
    want = expected(c, x, q, sequence, position)
    x["k"] = turned(c, x["k"])
    y = np.array(m(q=q, sequence=sequence, position=position, **x))
    assert np.abs(y - want).max() <= 2e-5 * np.abs(want).max()
    for some in ([0], [39], list(range(7)), list(r.permutation(n)), list(range(1, 30, 2)), [3, 3, 3, 11]):
        part = np.array(m(q=q[some], sequence=sequence[some], position=position[some], **x))
        assert (part.view(np.uint32) == y[some].view(np.uint32)).all(), some
    fewer = dict(x, table=x["table"][:, : position[sequence == 0].max() // c["block"] + 1])
    some = np.flatnonzero(sequence == 0)
    assert (np.array(m(q=q[some], sequence=sequence[some], position=position[some], **fewer)) == y[some]).all()


def test_rows_that_are_not_there(tmp_path):
    m = compiled(tmp_path, case())
    x = inputs_of(case(), np.random.default_rng(1))
    q = np.ones((1, 3, 64), np.float32)
    for fault in (dict(sequence=[3]), dict(position=[16 * BLOCKS]), dict(position=[-1]), dict(table=x["table"] * 0 + POOL)):
        with pytest.raises(hone.Error, match="index|out of range"):
            m(**(dict(x, q=q, sequence=np.array([0]), position=np.array([40])) | {k: np.array(v) for k, v in fault.items()}))
