"""The clients: both have the same operations, one blocking and one for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from ..absence import Question
from ..encoding import JsonObject
from ..webhooks import open_webhook, webhook_keys
from . import flows
from .flows import ConnectionFailed, Flow, Policy, Reply, Result, Send, Sleep, T

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from .bodies import BindBody, ClassifyBody, GateBody, LogKind, RestraintBody, Verify, WitnessBody

_JWKS_FRESH_S = 60.0


class _Base:
    """What both clients are made of."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        kit: Mapping[str, Any] | None = None,
        verify: Verify = "never",
        retries: int = 4,
        max_wait_s: float = 30.0,
        wait_s: int = 0,
        timeout_s: float = 40.0,
    ) -> None:
        """
        :param kit: the offline kit that the caller has kept; its logs and keys are pinned
        :param verify: ``always`` raises ``Unverified`` for an answer that does not hold; it needs a kit
        :param retries: how often a request is sent again
        :param max_wait_s: longest wait between two tries; a longer ``Retry-After`` raises the error
        :param wait_s: seconds (at most 30) that a POST waits for the checkpoint that covers its entry
        """
        if verify == "always" and kit is None:
            raise ValueError("verify='always' needs a kit, which pins the keys of the log")
        trusts = {} if kit is None else flows.pinned(kit)
        self._policy = Policy(trusts, verify == "always", retries, max_wait_s, wait_s)
        self._webhook_keys = [] if kit is None else webhook_keys(kit)
        self._jwks_until = 0.0
        headers = {"Accept": "application/json", **({} if api_key is None else {"X-API-Key": api_key})}
        self._settings: dict[str, Any] = {"base_url": base_url, "headers": headers, "timeout": timeout_s}

    def _keys_are_fresh(self) -> bool:
        """A pinned kit decides alone; else the JWKS of the service is read again after a minute."""
        return bool(self._policy.trusts) or time.monotonic() < self._jwks_until

    def _keep_keys(self, jwks: JsonObject) -> None:
        self._webhook_keys = webhook_keys(jwks)
        self._jwks_until = time.monotonic() + _JWKS_FRESH_S

    def _request_flow(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int] | None,
        body: Any,
        idempotency_key: str | None,
        verify: bool,
    ) -> Flow[JsonObject]:
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        policy = self._policy if verify else replace(self._policy, verify=False)
        return flows.request(policy, Send(method, path, params or {}, body, headers))


def _arguments(step: Send) -> dict[str, Any]:
    body: dict[str, Any] = {} if step.body is None else {"json": step.body}
    if step.content is not None:
        body = {"content": step.content}
    return {"params": dict(step.params), "headers": dict(step.headers), **body}


def _reply_of(response: httpx.Response) -> Reply:
    return Reply(response.status_code, response.headers, response.content)


class Client(_Base):
    """A blocking client of a service."""

    def __init__(self, base_url: str, *, transport: httpx.BaseTransport | None = None, **settings: Any) -> None:
        """Takes the settings of ``actlog.client``; ``transport`` is httpx's, for tests and proxies."""
        super().__init__(base_url, **settings)
        self._http = httpx.Client(**self._settings, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def _run(self, flow: Flow[T]) -> T:
        try:
            step = next(flow)
            while True:
                if isinstance(step, Sleep):
                    time.sleep(step.seconds)
                    step = flow.send(None)
                    continue
                try:
                    response = self._http.request(step.method, step.path, **_arguments(step))
                except httpx.TransportError as error:
                    step = flow.throw(ConnectionFailed(f"{step.method} {step.path}: {error}"))
                else:
                    step = flow.send(_reply_of(response))
        except StopIteration as end:
            value: T = end.value
            return value

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
        verify: bool = True,
    ) -> JsonObject:
        """Any operation. Under ``verify="always"`` its answer must have a receipt or document that holds;
        ``verify=False`` is for answers that have none.
        """
        return self._run(self._request_flow(method, path, params, body, idempotency_key, verify))

    def many(self, path: str, bodies: Iterable[Mapping[str, Any]]) -> list[Result]:
        """The answer of each request to an operation that has batches, such as ``/api/v1/classify``, or its error
        (``ApiError``, ``ConnectionFailed`` or ``Unverified``), in their order. The requests share batches of up to
        1,000. A member ``idempotency_key`` is the key of its request; a request without one has a random key.
        """
        return self._run(flows.many(self._policy, path, bodies))

    def classify(self, **body: Unpack[ClassifyBody]) -> JsonObject:
        """The receipt of a classification."""
        return self._run(flows.operation(self._policy, "/api/v1/classify", body, flows.classified))

    def gate(self, **body: Unpack[GateBody]) -> JsonObject:
        """Asks whether an act may be done. Do it only when ``outcome`` is PERMIT."""
        return self._run(flows.operation(self._policy, "/api/v1/execute-gate", body, flows.decided))

    def bind(self, **body: Unpack[BindBody]) -> JsonObject:
        """Binds a payment to an act."""
        return self._run(flows.operation(self._policy, "/api/v1/bind-payment", body, flows.bound))

    def restraint(self, **body: Unpack[RestraintBody]) -> JsonObject:
        """Logs an act that was not done."""
        return self._run(flows.operation(self._policy, "/api/v1/restraint", body, flows.refrained))

    def witness(self, **body: Unpack[WitnessBody]) -> JsonObject:
        """Absence documents about surfaces of an entity. A window that is not over is waited for."""
        return self._run(flows.operation(self._policy, "/api/v1/absence/witness", body, flows.witnessed))

    def lookup(self, entry_id: str, *, log: LogKind | None = None) -> JsonObject | None:
        """The answer of ``/receipt/lookup``; None when there is no such entry."""
        return self._run(flows.looked_up(self._policy, entry_id, log))

    def wait_for_proof(self, receipt: Mapping[str, Any], *, timeout_s: float = 30.0) -> JsonObject:
        """The receipt with the inclusion proof of its entry. Raises ``TimeoutError`` if no checkpoint covers it."""
        return self._run(flows.proven(self._policy, receipt, timeout_s))

    def checkpoint(self, kind: LogKind = "live") -> str:
        """The newest checkpoint of the newest log of a kind: a signed note."""
        return self._run(flows.checkpoint(self._policy, kind))

    def inclusion(self, index: int, *, kind: LogKind = "live") -> JsonObject:
        """An entry with its inclusion proof."""
        return self._run(flows.inclusion(self._policy, kind, index))

    def chain(self, key: Sequence[str], from_ms: int, to_ms: int, *, kind: LogKind = "live") -> Iterator[JsonObject]:
        """The pages of a chain in a window of log time: absence documents, the last with the rest of the entries."""
        after: int | None = None
        while True:
            question = Question(list(key), from_ms, to_ms, after)
            page = self._run(flows.chain_page(self._policy, kind, question))
            yield page
            after = flows.after_of(page)
            if after is None:
                return

    def pages(self, path: str, params: Mapping[str, str | int] | None = None) -> Iterator[JsonObject]:
        """The pages of a feed or list. Pages are not signed; under ``verify="always"`` the receipts in them hold."""
        asked = dict(params or {})
        while True:
            page = self._run(flows.request(self._policy, Send("GET", path, asked), required=False))
            yield page
            cursor = flows.next_cursor(page)
            if cursor is None:
                return
            asked["cursor"] = cursor

    def rows(self, path: str, params: Mapping[str, str | int] | None = None) -> Iterator[Any]:
        """The rows of all pages of a feed or list."""
        for page in self.pages(path, params):
            yield from page["data"]

    def open_webhook(self, headers: Mapping[str, str], body: str | bytes, *, secret: str | None = None) -> JsonObject:
        """The event of a webhook message that the service signed; raises ``Refused`` for any other."""
        if secret is None and not self._keys_are_fresh():
            self._keep_keys(self._run(flows.request(Policy(), Send("GET", "/crypto/jwks.json"))))
        return open_webhook(headers, body, keys=self._webhook_keys, secret=secret)


class AsyncClient(_Base):
    """A client of a service for asyncio."""

    def __init__(self, base_url: str, *, transport: httpx.AsyncBaseTransport | None = None, **settings: Any) -> None:
        """Takes the settings of ``actlog.client``; ``transport`` is httpx's, for tests and proxies."""
        super().__init__(base_url, **settings)
        self._http = httpx.AsyncClient(**self._settings, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _run(self, flow: Flow[T]) -> T:
        try:
            step = next(flow)
            while True:
                if isinstance(step, Sleep):
                    await asyncio.sleep(step.seconds)
                    step = flow.send(None)
                    continue
                try:
                    response = await self._http.request(step.method, step.path, **_arguments(step))
                except httpx.TransportError as error:
                    step = flow.throw(ConnectionFailed(f"{step.method} {step.path}: {error}"))
                else:
                    step = flow.send(_reply_of(response))
        except StopIteration as end:
            value: T = end.value
            return value

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
        verify: bool = True,
    ) -> JsonObject:
        """Any operation. Under ``verify="always"`` its answer must have a receipt or document that holds;
        ``verify=False`` is for answers that have none.
        """
        return await self._run(self._request_flow(method, path, params, body, idempotency_key, verify))

    async def many(self, path: str, bodies: Iterable[Mapping[str, Any]]) -> list[Result]:
        """The answer of each request to an operation that has batches, such as ``/api/v1/classify``, or its error
        (``ApiError``, ``ConnectionFailed`` or ``Unverified``), in their order. The requests share batches of up to
        1,000. A member ``idempotency_key`` is the key of its request; a request without one has a random key.
        """
        return await self._run(flows.many(self._policy, path, bodies))

    async def classify(self, **body: Unpack[ClassifyBody]) -> JsonObject:
        """The receipt of a classification."""
        return await self._run(flows.operation(self._policy, "/api/v1/classify", body, flows.classified))

    async def gate(self, **body: Unpack[GateBody]) -> JsonObject:
        """Asks whether an act may be done. Do it only when ``outcome`` is PERMIT."""
        return await self._run(flows.operation(self._policy, "/api/v1/execute-gate", body, flows.decided))

    async def bind(self, **body: Unpack[BindBody]) -> JsonObject:
        """Binds a payment to an act."""
        return await self._run(flows.operation(self._policy, "/api/v1/bind-payment", body, flows.bound))

    async def restraint(self, **body: Unpack[RestraintBody]) -> JsonObject:
        """Logs an act that was not done."""
        return await self._run(flows.operation(self._policy, "/api/v1/restraint", body, flows.refrained))

    async def witness(self, **body: Unpack[WitnessBody]) -> JsonObject:
        """Absence documents about surfaces of an entity. A window that is not over is waited for."""
        return await self._run(flows.operation(self._policy, "/api/v1/absence/witness", body, flows.witnessed))

    async def lookup(self, entry_id: str, *, log: LogKind | None = None) -> JsonObject | None:
        """The answer of ``/receipt/lookup``; None when there is no such entry."""
        return await self._run(flows.looked_up(self._policy, entry_id, log))

    async def wait_for_proof(self, receipt: Mapping[str, Any], *, timeout_s: float = 30.0) -> JsonObject:
        """The receipt with the inclusion proof of its entry. Raises ``TimeoutError`` if no checkpoint covers it."""
        return await self._run(flows.proven(self._policy, receipt, timeout_s))

    async def checkpoint(self, kind: LogKind = "live") -> str:
        """The newest checkpoint of the newest log of a kind: a signed note."""
        return await self._run(flows.checkpoint(self._policy, kind))

    async def inclusion(self, index: int, *, kind: LogKind = "live") -> JsonObject:
        """An entry with its inclusion proof."""
        return await self._run(flows.inclusion(self._policy, kind, index))

    async def chain(
        self, key: Sequence[str], from_ms: int, to_ms: int, *, kind: LogKind = "live"
    ) -> AsyncIterator[JsonObject]:
        """The pages of a chain in a window of log time: absence documents, the last with the rest of the entries."""
        after: int | None = None
        while True:
            question = Question(list(key), from_ms, to_ms, after)
            page = await self._run(flows.chain_page(self._policy, kind, question))
            yield page
            after = flows.after_of(page)
            if after is None:
                return

    async def pages(self, path: str, params: Mapping[str, str | int] | None = None) -> AsyncIterator[JsonObject]:
        """The pages of a feed or list. Pages are not signed; under ``verify="always"`` the receipts in them hold."""
        asked = dict(params or {})
        while True:
            page = await self._run(flows.request(self._policy, Send("GET", path, asked), required=False))
            yield page
            cursor = flows.next_cursor(page)
            if cursor is None:
                return
            asked["cursor"] = cursor

    async def rows(self, path: str, params: Mapping[str, str | int] | None = None) -> AsyncIterator[Any]:
        """The rows of all pages of a feed or list."""
        async for page in self.pages(path, params):
            for row in page["data"]:
                yield row

    async def open_webhook(
        self, headers: Mapping[str, str], body: str | bytes, *, secret: str | None = None
    ) -> JsonObject:
        """The event of a webhook message that the service signed; raises ``Refused`` for any other."""
        if secret is None and not self._keys_are_fresh():
            self._keep_keys(await self._run(flows.request(Policy(), Send("GET", "/crypto/jwks.json"))))
        return open_webhook(headers, body, keys=self._webhook_keys, secret=secret)
