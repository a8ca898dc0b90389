"""Clients of the HTTP interface (gateway/API.md), blocking and for asyncio. They need ``pip install actlog[client]``.

Requests are retried as the service asks for it, and a POST has one Idempotency-Key for all its tries. With
``verify="always"`` and a pinned kit, no answer is used that does not hold.
"""

from .clients import AsyncClient, Client
from .flows import ApiError, ConnectionFailed, Unverified

__all__ = ["ApiError", "AsyncClient", "Client", "ConnectionFailed", "Unverified"]
