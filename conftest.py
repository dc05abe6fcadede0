"""What every test has, of the core and of the adapters: no network but loopback."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every connection fail that would leave this machine."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: socket.socket, address: Any) -> Any:
            if self.family != getattr(socket, "AF_UNIX", None):
                _require_loopback(address[0])
            return method(self, address)

        return wrapper

    def guarded_lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
        _require_loopback(host)
        return getaddrinfo(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded(connect))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded(connect_ex))
    monkeypatch.setattr(socket, "getaddrinfo", guarded_lookup)


def _require_loopback(host: Any) -> None:
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return
    try:
        inside = ipaddress.ip_address(name).is_loopback
    except ValueError:
        inside = False
    if not inside:
        raise OSError(f"a test tried to reach {name!r}: no network but loopback in tests")
