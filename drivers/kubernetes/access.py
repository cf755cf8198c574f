"""How the API of a cluster is reached: by which kubeconfig and context, and from which network namespace.

An embedded cluster's server listens in a node's network namespace alone. Its connections are opened by a
thread that has entered that namespace; everything else is the official client's. Ids: KUBE-10 the
kubeconfig or its context, KUBE-11 the client is not installed.
"""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from dataclasses import dataclass, replace
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.schemas.validation import near_hint

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
MEND = "pip install 'bmwg-toolkit[kubernetes]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A kubeconfig (empty: the default one, in a pod its account), a context (empty: the current one), and a
    namespace's path.
    """

    kubeconfig: str = ""
    context: str = ""
    netns: str = ""

    def data(self) -> dict[str, JsonValue]:
        """Return it as builtins, for a ledger."""
        return {"kubeconfig": self.kubeconfig, "context": self.context, "netns": self.netns}


def open_api(access: Access) -> Any:
    """Return an `ApiClient` of the official client; close it.

    Raises ConfigError KUBE-10, TestbedError KUBE-11.
    """
    try:
        from kubernetes import client, config
    except ImportError as error:
        raise TestbedError("KUBE-11", "no Kubernetes client", found=str(error), hint=MEND) from error
    configuration = client.Configuration()
    try:
        if access == Access() and _in_pod():
            config.load_incluster_config(client_configuration=configuration)
        else:
            config.load_kube_config(
                config_file=os.path.expanduser(access.kubeconfig) or None,
                context=access.context or None,
                client_configuration=configuration,
            )
    except Exception as error:  # ConfigException, yaml's errors and OSError
        raise _unreadable(config, access, error) from error
    configuration.retries = False  # ours are in `client`: they know which answers may be asked again
    api = client.ApiClient(configuration)
    if access.netns:
        _from_namespace(api, access.netns)
    return api


def lasting(access: Access) -> Access:
    """Return the way to the same cluster that holds elsewhere and later: whole paths, a context by its name.

    Raises as `open_api` does.
    """
    try:
        from kubernetes import config
    except ImportError as error:
        raise TestbedError("KUBE-11", "no Kubernetes client", found=str(error), hint=MEND) from error
    files = [os.path.abspath(os.path.expanduser(one)) for one in access.kubeconfig.split(os.pathsep) if one]
    whole = replace(access, kubeconfig=os.pathsep.join(files))
    if whole.context:
        return whole
    try:
        _, current = config.list_kube_config_contexts(config_file=whole.kubeconfig)
        return replace(whole, context=str(current["name"]))
    except Exception as error:  # as above
        raise _unreadable(config, whole, error) from error


def _unreadable(config: Any, access: Access, error: Exception) -> ConfigError:
    return ConfigError(
        "KUBE-10",
        f"kubeconfig {access.kubeconfig or '(the default one)'}, context {access.context or '(current)'}",
        expected="a readable kubeconfig with that context",
        found=f"{type(error).__name__}: {error}".splitlines()[0][:300],
        hint=_near_context(config, access),
    )


def _in_pod() -> bool:
    """Whether this program runs in a pod that was given an account, and no kubeconfig."""
    named = os.environ.get("KUBECONFIG")
    return "KUBERNETES_SERVICE_HOST" in os.environ and not named and os.path.exists(_TOKEN)


def _near_context(config: Any, access: Access) -> str:
    try:
        contexts, _ = config.list_kube_config_contexts(
            config_file=os.path.expanduser(access.kubeconfig) or None
        )
    except Exception:  # the file itself is what is wrong
        return "nothing was asked of a cluster"
    names = [str(context["name"]) for context in contexts]
    return near_hint(access.context, names, f"it has {', '.join(names) or 'none'}")


def _from_namespace(api: Any, netns: str) -> None:
    """Have the client's connections opened in a network namespace, whoever asks."""
    from urllib3.connection import HTTPSConnection
    from urllib3.connectionpool import HTTPSConnectionPool

    class Connection(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return connected(netns, self.host, self.port or 443, 10.0)

    class Pool(HTTPSConnectionPool):
        ConnectionCls = Connection

    manager = api.rest_client.pool_manager
    manager.pool_classes_by_scheme = {**manager.pool_classes_by_scheme, "https": Pool}


def connected(netns: str, host: str, port: int, within_s: float) -> socket.socket:
    """Return a TCP connection that was opened in the network namespace at `netns`; OSError as usual."""
    done: list[socket.socket | BaseException] = []

    def act() -> None:  # a thread of its own, for a namespace is a thread's
        try:
            descriptor = os.open(netns, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"setns to {netns}")
            finally:
                os.close(descriptor)
            made = socket.create_connection((host, port), timeout=within_s)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made.settimeout(None)
            done.append(made)
        except BaseException as error:
            done.append(error)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(within_s + 5.0)
    if not done:
        raise TimeoutError(f"no connection to {host} port {port} within {within_s:g} s")
    if isinstance(done[0], BaseException):
        raise done[0]
    return done[0]
