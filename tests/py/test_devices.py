"""tests/py/test_devices.py — models for devices in a Python process: a second one is compiled while a driver is open."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy")
hone = pytest.importorskip("hone")

HONE = pathlib.Path(os.environ.get("HONE_BUILD", pathlib.Path(__file__).parents[2] / "build")) / "hone"


def opencl():
    """Whether an OpenCL driver with a device is here."""
    out = subprocess.run([HONE, "devices", "--json"], capture_output=True, text=True)
    return out.returncode == 0 and '"opencl' in json.dumps(json.loads(out.stdout))


def test_second_model_while_a_driver_is_open(tmp_path):
    """A child process of one that has a driver open cannot use devices: parity of the second model must not fork."""
    if not os.environ.get("HONE_LONG"):
        pytest.skip("two models compiled by a driver with an empty cache: with HONE_LONG")
    if not opencl():
        pytest.skip("no OpenCL device")
    code = f"""
import hone
for i in (1, 2):
    m = hone.compile(hone.generate("mlp", r"{tmp_path}/m%d.onnx" % i, batch=i), target="opencl")
    print(m(**m.random_inputs()).shape)
"""
    env = dict(os.environ, POCL_DEVICES="pthread", XDG_CACHE_HOME=str(tmp_path / "cache"))
    out = subprocess.run([sys.executable, "-c", code], env=env, text=True,
                         capture_output=True, timeout=300)  # fmt: skip
    assert out.returncode == 0, out.stderr
    assert out.stdout.split("\n")[:2] == ["(1, 10)", "(2, 10)"]
