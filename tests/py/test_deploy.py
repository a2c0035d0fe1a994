"""examples/deploy: its options are those of hone serve, its times fit, Kubernetes' schemas accept it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("HONE_ROOT", Path(__file__).resolve().parents[2]))
FOLDER = ROOT / "examples" / "deploy"
HONE = os.path.join(os.environ.get("HONE_BUILD", "build"), "hone")


def options():
    text = subprocess.run([HONE, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", text, re.M))


def test_options_are_those_of_hone_serve():
    known = options()
    assert {"--host", "--drain"} <= known
    for file in FOLDER.iterdir():
        lines = [m.group(0) for m in re.finditer(r'ENTRYPOINT .*|args: .*|`--[\w-]+`', file.read_text())]
        used = {o for line in lines for o in re.findall(r"--[\w-]+", line)}
        assert used <= known, (file.name, used - known)
        assert used or file.name == "podmonitor.yaml"


def seconds(text):
    return float(text.rstrip("s"))


def test_the_image():
    text = (FOLDER / "Containerfile").read_text()
    assert len(re.findall(r"^FROM ", text, re.M)) == 2 and re.search(r"^USER 10001", text, re.M)
    assert "http://127.0.0.1:8000/health" in text and "EXPOSE 8000" in text and '"--port", "8000"' in text
    named = {word for line in (ROOT / "tools" / "deps.txt").read_text().splitlines() if not line.startswith("#") for word in line.split()[:1]}
    built = re.search(r"AS build\n(.*?)^COPY", text, re.S | re.M).group(1)
    assert set(re.findall(r"\blib[\w.+-]+-dev\b", built)) <= named
    linked = set(re.findall(r"\blib[\w.+-]+", subprocess.run(["ldd", HONE], capture_output=True, text=True).stdout))
    run = text[text.rindex("FROM "):]
    for library, package in (("libevent_core", "libevent-core"), ("libjansson", "libjansson4"), ("libzip", "libzip4"), ("libyaml", "libyaml-0"),
                             ("libsqlite3", "libsqlite3-0"), ("libsodium", "libsodium23"), ("libpcre2-8", "libpcre2-8-0"),
                             ("libutf8proc", "libutf8proc2"), ("libprotobuf-c", "libprotobuf-c1"), ("libevent_extra", "libevent-extra"),
                             ("libevent_openssl", "libevent-openssl"), ("libssl", "libssl3")):
        assert package in run or not any(x.startswith(library) for x in linked), package


def test_winners_of_other_machines():
    """The image has libpq, and the URL comes from a Secret that may be missing, never from the manifest."""
    text = (FOLDER / "Containerfile").read_text()
    assert "libpq-dev" in text[:text.rindex("FROM ")] and "libpq5" in text[text.rindex("FROM "):]
    (one,) = [e for e in documents("hone.yaml")[0]["spec"]["template"]["spec"]["containers"][0]["env"] if e["name"] == "HONE_WINNERS"]
    assert one["valueFrom"]["secretKeyRef"]["optional"] is True and "value" not in one
    assert not any("postgresql://" in f.read_text() for f in FOLDER.glob("*.yaml"))


def documents(name):
    yaml = pytest.importorskip("yaml")
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def test_times_probes_and_rights():
    deployment, service, budget = documents("hone.yaml")
    pod = deployment["spec"]["template"]["spec"]
    (box,) = pod["containers"]
    argument = dict(zip(box["args"], box["args"][1:]))
    stop = float(box["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > seconds(argument["--drain"]) + stop
    assert {p: box[p]["httpGet"]["path"] for p in ("startupProbe", "readinessProbe", "livenessProbe")} == {
        "startupProbe": "/ready", "readinessProbe": "/ready", "livenessProbe": "/health"}
    assert box["ports"][0]["containerPort"] == int(argument["--port"]) and argument["--threads"] == box["resources"]["limits"]["cpu"]
    assert pod["securityContext"]["runAsNonRoot"] and box["securityContext"]["readOnlyRootFilesystem"]
    assert set(m["name"] for m in box["volumeMounts"]) == set(v["name"] for v in pod["volumes"])
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert labels == deployment["spec"]["selector"]["matchLabels"] == service["spec"]["selector"] == budget["spec"]["selector"]["matchLabels"]
    (monitor,) = documents("podmonitor.yaml")
    assert monitor["spec"]["selector"]["matchLabels"] == labels
    assert monitor["spec"]["podMetricsEndpoints"][0]["port"] == box["ports"][0]["name"] == service["spec"]["ports"][0]["targetPort"]


def test_schemas_of_kubernetes():
    validate = pytest.importorskip("kubernetes_validate")
    for document in documents("hone.yaml"):
        validate.validate(document, "1.30", strict=True)
    broken = documents("hone.yaml")[0]
    broken["spec"]["replicas"] = "two"
    with pytest.raises(validate.ValidationError):
        validate.validate(broken, "1.30", strict=True)
