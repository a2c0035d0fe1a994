"""The server of `hone serve`, inside of a Python process."""
from __future__ import annotations

import ctypes
import os
import threading
from types import TracebackType
from typing import Any, Optional, Union

from . import _hone
from ._options import documented, plain

PathLike = Union[str, "os.PathLike[str]"]


class Server:
    """Serves models over HTTP (docs/serve.md), by a thread that does not hold the GIL, from `start` to `stop`.

    models: paths, or "NAME=PATH": GGUF files and folders of language models, ONNX files, libraries. port: 0: a free one.

        with hone.Server("model.gguf") as server:
            print(server.url)

    Options:
      {options}

    Raises:
      {raises}
    """

    def __init__(self, *models: PathLike, port: int = 0, **options: Any) -> None:
        self._models = tuple(os.fspath(m) for m in models)
        self._options = plain(options)
        self._port = port
        self._stop = ctypes.c_int(0)
        self._ready = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._error: Optional[BaseException] = None
        self._address: Optional[tuple[str, int]] = None
        #: models that answer nothing, and why
        self.broken: dict[str, str] = {}

    def start(self) -> Server:
        """Returns when all models are loaded. A server that ended can be started again."""
        if self._thread is not None:
            raise _hone.UsageError("the server runs already")
        self._stop.value = 0
        self._ready.clear()
        self._error = self._address = None
        self.broken = {}
        self._thread = threading.Thread(target=self._run, name="hone.Server", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            self._thread.join()
            self._thread = None
            raise self._error
        return self

    def _run(self) -> None:
        try:
            _hone.serve_run(self._models, self._options, self._port, self._stop, self._tell)
        except BaseException as error:  # start or stop raises it
            self._error = error
        self._ready.set()

    def _tell(self, what: str, name: str, port: int, text: str) -> None:
        if what == "broken":
            self.broken[name] = text
        else:
            self._address = (name, port)
            self._ready.set()

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def url(self) -> str:
        """As "http://127.0.0.1:8000"."""
        if self._address is None:
            raise _hone.UsageError("the server was not started")
        return "http://%s:%d" % self._address

    def stop(self) -> None:
        """Takes no more requests, waits for the answers under way (`drain_s` at most), and ends. Does nothing when it has ended."""
        self._stop.value = 1
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            if self._error is not None:
                raise self._error

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.stop()

    def __repr__(self) -> str:
        where = self.url if self.running and self._address else "not started"
        return f"<hone.Server {', '.join(self._models)}: {where}>"


documented(Server, _hone.serve_options, raises="server")
