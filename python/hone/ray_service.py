"""Models on a cluster of Ray: the server of `hone serve` in each replica of a Ray Serve application (docs/python-serve-ray.md)."""
from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Mapping
from typing import Any, Optional

from . import _hone
from ._options import documented, plain
from .extras import needs
from .server import PathLike, Server

# Of one connection, not of what is carried (RFC 9110, 7.6.1); lengths are told again by who writes the body.
_HOP = {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "host", "content-length"}


def _serve(models: tuple[str, ...], options: Mapping[str, Any]) -> Server:
    """A server that has all its models, or an error that says what is wrong with which."""
    server = Server(*models, **{"require_all": True, **options}).start()
    if server.broken:
        server.stop()
        raise _hone.FailedError("; ".join(f"'{name}' is not served: {why}" for name, why in server.broken.items()))
    return server


def _try(models: tuple[str, ...], options: Mapping[str, Any]) -> None:
    _serve(models, options).stop()


class _Replica:
    """One replica: a server on a port of its own, to which requests are handed on as they came."""

    def __init__(self, models: tuple[str, ...], options: Mapping[str, Any], mark: str) -> None:
        self._server = _serve(models, options)  # mark: of the files' state; a new one makes Ray replace the replicas
        self._client: Any = None

    def check_health(self) -> None:
        """Ray replaces a replica whose check fails: the server ended, or a model is broken."""
        if not self._server.running:
            raise RuntimeError("the server of this replica ended")
        try:
            urllib.request.urlopen(self._server.url + "/ready", timeout=25).close()  # Ray waits for 30 s
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode(errors="replace")) from None

    async def __call__(self, request: Any) -> Any:
        import aiohttp
        from starlette.responses import Response, StreamingResponse

        if self._client is None:
            self._client = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False,
                                                 timeout=aiohttp.ClientTimeout(total=None, sock_connect=10))  # fmt: skip
        path = request.url.path
        root = request.scope.get("root_path", "")
        if root and path.startswith(root):
            path = path[len(root):]
        target = self._server.url + (path or "/") + (f"?{request.url.query}" if request.url.query else "")
        headers = [(k, v) for k, v in request.headers.items() if k.lower() not in _HOP]
        got = await self._client.request(request.method, target, headers=headers, data=await request.body())
        told = {k: v for k, v in got.headers.items() if k.lower() not in _HOP}
        if got.headers.get("Content-Length") is not None:
            async with got:
                return Response(await got.read(), got.status, told)
        return StreamingResponse(_pieces(got), got.status, told)

    def __del__(self) -> None:
        server = getattr(self, "_server", None)
        if server is not None:
            server.stop()


async def _pieces(got: Any) -> AsyncIterator[bytes]:
    """As they come. A client that goes ends this generator, and so the connection, at which hone ends the answer."""
    try:
        async for piece in got.content.iter_any():
            yield piece
    finally:
        got.close()


def _split(model: str) -> tuple[str, str]:
    """"NAME=", if there is one, and the path."""
    name, equals, path = model.partition("=")
    return (name + equals, path) if equals and not os.path.exists(model) else ("", model)


def _absolute(model: str) -> str:
    name, path = _split(model)
    return name + os.path.abspath(path)


def _mark(models: tuple[str, ...]) -> str:
    """Sizes and times of the files, where they are on this machine: a file that was replaced under its name is another model."""
    out = []
    for model in models:
        path = _split(model)[1]
        files = sorted(os.path.join(path, f) for f in os.listdir(path)) if os.path.isdir(path) else [path]
        for file in files:
            if os.path.exists(file):
                stat = os.stat(file)
                out.append(f"{file} {stat.st_size} {stat.st_mtime_ns}")
    return "\n".join(out)


class RayService:
    """What `hone.serve_ray` started: an application of Ray Serve."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self.url = url  #: where OpenAI's calls (`/v1`) and those of tensor models (`/v2`) go

    def status(self) -> dict[str, Any]:
        """`status` (RUNNING, DEPLOYING, DEPLOY_FAILED, UNHEALTHY ...), `message`, `replicas`: how many in each state."""
        serve = needs("ray.serve", "hone.RayService")
        app = serve.status().applications.get(self.name)
        if app is None:
            raise _hone.NotFoundError(f"no application '{self.name}' runs on this cluster")
        deployment = app.deployments.get("hone")
        return {"status": str(getattr(app.status, "value", app.status)), "message": (deployment.message if deployment else "") or app.message,
                "replicas": {str(getattr(k, "value", k)): n for k, n in deployment.replica_states.items()} if deployment else {}}  # fmt: skip

    def delete(self) -> None:
        """Ends the application when the answers under way are out; the cluster stays."""
        needs("ray.serve", "hone.RayService").delete(self.name)

    def __repr__(self) -> str:
        return f"<hone.RayService {self.name}: {self.url}>"


def serve_ray(
    *models: PathLike,
    name: str = "hone",
    replicas: Optional[int] = None,
    autoscaling: Optional[Mapping[str, Any]] = None,
    num_cpus: float = 1,
    resources: Optional[Mapping[str, float]] = None,
    per_node: Optional[int] = None,
    max_requests: int = 64,
    route_prefix: str = "/",
    host: str = "127.0.0.1",
    port: int = 8000,
    proxy_location: str = "HeadOnly",
    address: Optional[str] = None,
    check: bool = True,
    **options: Any,
) -> RayService:
    """Deploys models on Ray Serve: each replica runs the server of `hone serve`, with its calls, batching and caches.

    models: as of `hone.Server`; the files, and hone, must be on every node. Called again with the same `name` it replaces the
    models without losing a request: replica after replica is drained and replaced.

    name: of the application. replicas: their number (1). autoscaling: instead of a number, Ray Serve's settings, as
    {"min_replicas": 1, "max_replicas": 8}; target_ongoing_requests is 16 unless given. num_cpus, resources: that Ray reserves for
    a replica; `threads` of its kernels is num_cpus unless given. per_node: replicas of one node at most; 1 spreads them, so that a
    node that dies takes one. max_requests: at once in a replica, its queue included; more wait
    at Ray's proxy. host, port, route_prefix: where the cluster listens; the address is that of the first call.
    proxy_location: "HeadOnly": the head's node listens; "EveryNode": each node with a replica does, for a load balancer in front of
    them; nodes of one machine would share the port then, and a node that dies take connections with it. address: of the cluster;
    Ray's own rules unless given. check: load the models once, in a task of the cluster, before any replica is replaced.

    Other options are those of `hone.Server`.

    Raises:
      {raises}
    """
    paths = tuple(_absolute(os.fspath(m)) for m in models)
    if not paths:
        raise _hone.UsageError("there is no model to serve")
    if replicas is not None and autoscaling is not None:
        raise _hone.UsageError("replicas and autoscaling exclude each other: give one")
    known = {row[0] for row in _hone.serve_options}
    for option in options:
        if option not in known - {"host"}:
            raise TypeError(f"hone.serve_ray has no option '{option}'")
    settings = {"threads": max(1, int(num_cpus)), **plain(options)}
    ray, serve = needs("ray", "hone.serve_ray"), needs("ray.serve", "hone.serve_ray")
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    if check:
        _check(ray, paths, settings, resources)
    drain_s = float(settings.get("drain_s") or 30)
    scale = {"num_replicas": replicas or 1} if autoscaling is None else {"autoscaling_config": {"target_ongoing_requests": 16, **autoscaling}}
    deployment = serve.deployment(_Replica, name="hone").options(
        max_ongoing_requests=max_requests, graceful_shutdown_timeout_s=drain_s + 5, graceful_shutdown_wait_loop_s=0.5, health_check_period_s=5,
        max_replicas_per_node=per_node,
        ray_actor_options={"num_cpus": num_cpus, **({"resources": dict(resources)} if resources else {})}, **scale)  # fmt: skip
    serve.start(http_options={"host": host, "port": port}, proxy_location=proxy_location)
    serve.run(deployment.bind(paths, settings, _mark(paths)), name=name, route_prefix=route_prefix)
    return RayService(name, f"http://{host}:{port}{route_prefix.rstrip('/')}")


def _check(ray: Any, paths: tuple[str, ...], settings: Mapping[str, Any], resources: Optional[Mapping[str, float]]) -> None:
    task = ray.remote(_try).options(num_cpus=0, max_retries=0, resources=dict.fromkeys(resources or {}, 0.001) or None)
    try:
        ray.get(task.remote(paths, settings))
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise (cause if isinstance(cause, _hone.Error) else _hone.FailedError(str(cause))) from None


documented(serve_ray, raises="serve_ray")
