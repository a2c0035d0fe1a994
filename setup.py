"""Builds the package: libhone.a by make, then the extension hone._hone, which links it. Everything else stands in pyproject.toml.

HONE_BUILD: make's build folder (default: build); CC as usual.
"""
import os
import re
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.path.join(ROOT, os.environ.get("HONE_BUILD", "build")))
PACKAGES = ["yaml-0.1", "jansson", "sqlite3", "libsodium", "liblzma", "libprotobuf-c", "libpcre2-8", "libutf8proc", "libevent_core", "libevent_extra", "libevent_openssl",
            "libssl", "libcrypto"]


def version():
    with open(os.path.join(ROOT, "include/hone/base.h"), encoding="utf-8") as f:
        return re.search(r'#define HONE_VERSION "(.*)"', f.read()).group(1)


def sources():
    folder = os.path.join("python", "src")
    return sorted(os.path.join(folder, name) for name in os.listdir(os.path.join(ROOT, folder)) if name.endswith(".c"))


def libraries():
    words = subprocess.check_output(["pkg-config", "--libs", *PACKAGES], text=True).split()
    words = [w for w in words if w != "-levent"]  # libevent_openssl asks for all of libevent, where core and extra will do
    return [*words, "-lm", "-lpthread"]


class BuildExt(build_ext):
    def run(self):
        jobs = str(os.cpu_count() or 1)
        subprocess.check_call(["make", "-s", "-C", ROOT, "-j" + jobs, "BUILD=" + BUILD, "lib"])
        for extension in self.extensions:
            extension.extra_objects = [os.path.join(BUILD, "libhone.a")]
            extension.extra_link_args = ["-s", *libraries()]
        super().run()


setup(
    version=version(),
    cmdclass={"build_ext": BuildExt},
    ext_modules=[
        Extension(
            "hone._hone",
            sources(),
            include_dirs=["include"],
            extra_compile_args=["-std=c11", "-D_GNU_SOURCE", "-fvisibility=hidden", "-Wall", "-Wextra", "-g0"],
        )
    ],
)
