"""What every hook does: asks the gate before a tool runs, uses the permit, logs the result, and anchors what goes to a
model and what comes back. It imports no framework. gateway/API.md §8.1, §12.5; tools/AGENTS.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

import rfc8785

from ..client import ApiError, Client, ConnectionFailed, Unverified
from ..encoding import MAX_INTEGER

if TYPE_CHECKING:
    from ..client.bodies import GateBody

USE = "/api/v1/execute-gate/permits/use"
RESULT = "/api/v1/execute-gate/permits/result"
UNASKED = "/api/v1/execute-gate/unasked"
ANCHORS = "/api/v1/anchors"
#: Entries that may wait for the service. When as many wait, calls are refused, also with ``continue``.
MAX_WAITING = 10_000
#: Held acts that are remembered, so that the same call finds its release.
MAX_HELD = 10_000

Unreachable = Literal["refuse", "continue"]
FAILURES = (ApiError, ConnectionFailed, Unverified)


class Refused(Exception):
    """A call was not made. Its message can be shown to a model.

    ``outcome`` is HOLD, DENY or SILENCE; None if the gate could not be asked. ``hold_id`` is of the hold that a human
    decides about.
    """

    def __init__(
        self, message: str, *, outcome: str | None = None, permalink: str | None = None, hold_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.permalink = permalink
        self.hold_id = hold_id


@dataclass(frozen=True)
class Recorded:
    """A receipt, and what it is about: ``decision``, ``use``, ``result``, ``unasked``, ``model.request``,
    ``model.response``. ``document`` of an anchor is the text whose SHA-256 is the ``digest`` of the receipt.
    """

    about: str
    name: str
    receipt: Mapping[str, Any]
    document: str | None = None


@dataclass(frozen=True)
class Begun:
    """A call that may be made; ``permit`` is None if the gate was not asked."""

    tool: str
    permit: Mapping[str, Any] | None


@dataclass(frozen=True)
class _Entry:
    """An entry to log. A refusal with the code ``moot`` says that there is nothing to log."""

    path: str
    body: Mapping[str, Any]
    about: str
    name: str
    document: str | None = None
    moot: str | None = None
    key: str = field(default_factory=lambda: str(uuid.uuid4()))


class Recorder:
    """Asks, uses and logs. One recorder is one session; threads may share it."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        agent_id: str = "agent",
        session_id: str | None = None,
        entity: str | None = None,
        unreachable: Unreachable = "refuse",
        on_receipt: Callable[[Recorded], object] | None = None,
        client: Client | None = None,
    ) -> None:
        """
        :param url: address of the service; the environment variable ``ACTLOG_URL`` unless given
        :param key: API key of the agent, role ``carrier``; ``ACTLOG_KEY`` unless given
        :param session_id: session of the entries, such as a trace id; a new random one unless given
        :param entity: entity of the acts; the only one of the tenant unless given
        :param unreachable: what happens when the service cannot be reached. ``refuse``: the tool or model is not
            called. ``continue``: it is, and the entries follow when the service is back
        :param on_receipt: gets every receipt; what it raises is ignored
        :param client: the client to use, made of ``url`` and ``key`` unless given
        """
        self._client = client or _client_of(url, key)
        self.session_id = session_id or str(uuid.uuid4())
        self._act: dict[str, Any] = {"agent_id": agent_id, "session_id": self.session_id}
        self._entity: dict[str, Any] = {} if entity is None else {"entity": entity}
        self._unreachable = unreachable
        self._on_receipt = on_receipt
        self._held: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._waiting: deque[_Entry] = deque()
        self._lock = threading.Lock()
        self._sending = threading.Lock()

    @property
    def waiting(self) -> int:
        """How many entries wait for the service."""
        return len(self._waiting)

    def begin(self, tool: str, arguments: object) -> Begun:
        """Asks the gate about a call of a tool and uses the permit. Both entries are durable when it returns.

        :raises Refused: if the call must not be made
        """
        same_call = digest_of([tool, arguments]) or secrets.token_hex(16)
        with self._lock:
            held = self._held.pop(same_call, None)
        question = held or self._question(tool, arguments)
        try:
            answer = self._gate(same_call, held, question)
            self._tell("decision", tool, answer)
            self._flush_after_success()
            if answer["outcome"] == "HOLD" or "hold_refused" in answer["reasons"]:
                self._remember(same_call, {**question, "timestamp_ms": answer["preimage"]["timestamp_ms"]})
            if answer["outcome"] != "PERMIT":
                raise _refusal(tool, answer)
            return Begun(tool, self._use(tool, answer))
        except FAILURES as error:
            if not self._may_continue(error):
                raise Refused(f"{tool} was not called: actlog did not answer ({error})") from error
        act = {**self._question(tool, arguments), "timestamp_ms": time.time_ns() // 1_000_000}
        self._waiting.append(_Entry(UNASKED, {**act, "reason": "gate_unreachable"}, "unasked", tool))
        return Begun(tool, None)

    def end(self, begun: Begun, status: Literal["completed", "failed"], result: object = None) -> None:
        """Logs how a call ended. An entry that the service does not take now follows later."""
        if begun.permit is not None:
            self._send(_result(begun.tool, begun.permit, status, result))

    def request(self, model: str, content: object) -> str:
        """Anchors what goes to a model, before it goes. Returns the id that ties the request to its response.

        :raises Refused: if the service cannot be reached, unless ``continue`` is set
        """
        call_id = str(uuid.uuid4())
        entry = self._anchor("model.request", model, {"call_id": call_id, "part": "request"}, content)
        try:
            self._post(entry)
            self._flush_after_success()
        except FAILURES as error:
            if not self._may_continue(error):
                raise Refused(f"{model} was not called: actlog did not answer ({error})") from error
            self._waiting.append(entry)
        return call_id

    def response(self, model: str, call_id: str, status: str, content: object) -> None:
        """Anchors what came back: ``completed``, ``failed`` or ``aborted``."""
        about = {"call_id": call_id, "part": "response", "status": status}
        self._send(self._anchor("model.response", model, about, content))

    def flush(self) -> None:
        """Sends the entries that wait, in order, until the service cannot be reached.

        :raises ApiError: for an entry that the service refuses; the others are sent
        """
        refused: Exception | None = None
        with self._sending:
            while self._waiting:
                entry = self._waiting[0]
                try:
                    self._post(entry)
                except FAILURES as error:
                    if _may_be_taken_later(error):
                        break
                    if not (isinstance(error, ApiError) and error.code == entry.moot):
                        refused = refused or error
                self._waiting.popleft()
        if refused is not None:
            raise refused

    def _flush_after_success(self) -> None:
        """What the service refuses of earlier calls is no error of this one."""
        if self._waiting:
            with suppress(*FAILURES):
                self.flush()

    def _gate(self, same_call: str, held: dict[str, Any] | None, question: dict[str, Any]) -> Mapping[str, Any]:
        try:
            return self._client.gate(**cast("GateBody", question))
        except FAILURES:
            if held is not None:
                self._remember(same_call, held)
            raise

    def _use(self, tool: str, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        permit = answer["permit"]
        used = {"receipt": permit["permit_id"], "use_secret": permit["use_secret"]}
        try:
            self._post(_Entry(USE, {**answer["preimage"], **used}, "use", tool))
        except FAILURES as error:
            # Whether the permit was used is unknown. If it was, the log shall say that the call was not made with it.
            if _is_unreachable(error):
                self._waiting.append(_result(tool, used, "failed", None, moot="permit_not_used"))
            raise
        return used

    def _question(self, tool: str, arguments: object) -> dict[str, Any]:
        salt = secrets.token_bytes(16)
        text = _text_of(arguments)
        committed = "" if text is None else hashlib.sha256(salt + text).hexdigest()
        scope = f"tool:{salt.hex()}:{committed}"
        return {"action_type": f"tool.{tool}", "scope": scope, **self._act, **self._entity}

    def _remember(self, same_call: str, question: dict[str, Any]) -> None:
        with self._lock:
            if len(self._held) >= MAX_HELD:
                self._held.popitem(last=False)
            self._held[same_call] = question

    def _anchor(self, about: str, model: str, members: dict[str, Any], content: object) -> _Entry:
        digest = hashlib.sha256(content.encode()).hexdigest() if isinstance(content, str) else digest_of(content)
        known = {} if digest is None else {"content_sha256": digest}
        document = rfc8785.dumps({**members, **known, "salt": secrets.token_hex(16)})
        body = {
            "sha256": hashlib.sha256(document).hexdigest(),
            "media_type": "application/json",
            "session_id": self.session_id,
            **self._entity,
        }
        return _Entry(ANCHORS, body, about, model, document.decode())

    def _may_continue(self, error: Exception) -> bool:
        return self._unreachable == "continue" and _is_unreachable(error) and len(self._waiting) < MAX_WAITING

    def _post(self, entry: _Entry) -> None:
        answer = self._client.request("POST", entry.path, body=dict(entry.body), idempotency_key=entry.key)
        self._tell(entry.about, entry.name, answer, entry.document)

    def _send(self, entry: _Entry) -> None:
        """Sends an entry about something that is done: it can wait, but not be refused."""
        try:
            self._post(entry)
        except FAILURES as error:
            if not _may_be_taken_later(error):
                raise
            self._waiting.append(entry)

    def _tell(self, about: str, name: str, answer: Mapping[str, Any], document: str | None = None) -> None:
        receipt = answer.get("receipt")
        if self._on_receipt is None or not isinstance(receipt, Mapping):
            return
        # The secret of a permit is for the recorder alone.
        disclosures = {key: value for key, value in receipt.get("disclosures", {}).items() if key != "use_secret"}
        with suppress(Exception):
            self._on_receipt(Recorded(about, name, {**receipt, "disclosures": disclosures}, document))


def _client_of(url: str | None, key: str | None) -> Client:
    address, secret = url or os.environ.get("ACTLOG_URL"), key or os.environ.get("ACTLOG_KEY")
    if address is None or secret is None:
        raise ValueError("a hook needs url and key, or ACTLOG_URL and ACTLOG_KEY in the environment")
    return Client(address, api_key=secret, retries=2, timeout_s=10.0)


def _result(tool: str, permit: Mapping[str, Any], status: str, result: object, moot: str | None = None) -> _Entry:
    digest = None if result is None else digest_of(result)
    body = {**permit, "status": status, **({} if digest is None else {"result_sha256": digest})}
    return _Entry(RESULT, body, "result", tool, moot=moot)


def digest_of(value: object) -> str | None:
    """SHA-256 of the canonical JSON of a value, in hex; None for a value that JSON does not have."""
    text = _text_of(value)
    return None if text is None else hashlib.sha256(text).hexdigest()


def _text_of(value: object) -> bytes | None:
    """The canonical JSON (RFC 8785) of a value. Models of pydantic count as their JSON."""
    try:
        return rfc8785.dumps(json.loads(json.dumps(value, default=_dumped), parse_int=_number))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def _number(digits: str) -> int | float:
    """Numbers of RFC 8785 are doubles."""
    whole = int(digits)
    return whole if abs(whole) <= MAX_INTEGER else float(whole)


def _dumped(value: Any) -> Any:
    if not hasattr(value, "model_dump"):
        raise TypeError(f"{type(value).__name__} is no JSON")
    return value.model_dump(mode="json")


def _is_unreachable(error: Exception) -> bool:
    """Whether the service did not answer, so that nothing is decided."""
    return isinstance(error, ConnectionFailed) or (isinstance(error, ApiError) and error.status in (502, 503, 504))


def _may_be_taken_later(error: Exception) -> bool:
    return _is_unreachable(error) or (isinstance(error, ApiError) and error.status == 429)


def _refusal(tool: str, answer: Mapping[str, Any]) -> Refused:
    outcome, permalink, hold_id = answer["outcome"], answer["receipt"]["permalink"], answer.get("hold_id")
    message = f"{tool} was not called: {outcome} ({', '.join(answer['reasons'])}). Receipt: {permalink}"
    if hold_id is not None:
        message += ". It is held for a human; after the release, make the same call again."
    return Refused(message, outcome=outcome, permalink=permalink, hold_id=hold_id)
