"""What the clients do, without input and output: requests, retries, pages and the checks of answers.

A flow is a generator. It yields a ``Send`` or a ``Sleep``, is resumed with the answer (or with the error of the
connection), and returns its result. The synchronous and the asynchronous client only run flows.
"""

from __future__ import annotations

import json
import random
import re
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar, Union

from ..absence import ABSENCE_SCHEMA, Question
from ..encoding import Json, JsonObject, Refused, count, object_of, objects_of, same, to_base64
from ..findings import Document, Unanswerable, check_document, origin_of
from ..kits import origins_of, trust_from_kit
from ..notes import parse_tlog_proof
from ..receipts import verify_receipt
from ..trust import Trust

T = TypeVar("T")

#: Answers after which the same request may be sent again.
_RETRIED = frozenset({429, 502, 503, 504})
#: These append nothing or know no Idempotency-Key.
_WITHOUT_KEY = frozenset({"/signal/trigger/subscriptions"})


class ApiError(Exception):
    """The service refused a request, or could not answer it (gateway/API.md section 4.1)."""

    def __init__(self, status: int, error: Mapping[str, Any], retry_after_s: float | None) -> None:
        self.status = status
        self.code = str(error.get("code", "unknown"))
        self.type = str(error.get("type", "unknown"))
        self.param: str | None = error.get("param")
        self.request_id: str | None = error.get("request_id")
        self.retry_after_s = retry_after_s
        super().__init__(f"{status} {self.code}: {error.get('message', 'the answer is no error of the service')}")


class ConnectionFailed(Exception):
    """The service could not be reached, or the connection broke; whether it acted on the request is not known."""


class Unverified(Exception):
    """An answer does not hold, or has nothing that could be verified. The answer is not used."""


@dataclass(frozen=True)
class Send:
    method: str
    path: str
    params: Mapping[str, str | int] = field(default_factory=dict)
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Bytes that are sent in place of a JSON body.
    content: bytes | None = None


@dataclass(frozen=True)
class Sleep:
    seconds: float


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    content: bytes


Flow = Generator[Union[Send, Sleep], Any, T]


@dataclass(frozen=True)
class Policy:
    """How requests are sent and answers are checked."""

    #: The trust in each log, pinned by the caller; empty where answers are not verified.
    trusts: Mapping[str, Trust] = field(default_factory=dict)
    verify: bool = False
    retries: int = 4
    #: Longest wait between two tries; a longer ``Retry-After`` ends the request.
    max_wait_s: float = 30.0
    #: Seconds that an answer waits for the checkpoint that covers its entry (``Prefer: wait``).
    wait_s: int = 0


def pinned(kit: Mapping[str, Json]) -> dict[str, Trust]:
    """The trust that a kit gives in each of its logs."""
    return {origin: trust_from_kit(kit, origin) for origin in origins_of(kit)}


# Requests


def send(policy: Policy, request: Send) -> Flow[Reply]:
    """Sends a request until it is answered. A POST has one Idempotency-Key for all tries."""
    headers = dict(request.headers)
    repeatable = True
    if request.method == "POST":
        if request.path in _WITHOUT_KEY:
            repeatable = False
        else:
            headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
        if policy.wait_s > 0:
            headers.setdefault("Prefer", f"wait={policy.wait_s}")
    ready = Send(request.method, request.path, request.params, request.body, headers)
    tried = 0
    while True:
        last = tried >= policy.retries
        try:
            reply: Reply = yield ready
        except ConnectionFailed:
            if last or not repeatable:
                raise
            yield Sleep(_backoff(tried))
            tried += 1
            continue
        if reply.status < 400:
            return reply
        error = api_error(reply)
        wait = _backoff(tried) if error.retry_after_s is None else error.retry_after_s
        if last or not _may_repeat(error) or wait > policy.max_wait_s or not (repeatable or reply.status == 429):
            raise error
        yield Sleep(wait)
        tried += 1


def _backoff(tried: int) -> float:
    """0.25 s, doubled with each try up to 8 s, with jitter."""
    return float(min(8.0, 0.25 * 2**tried) * random.uniform(0.5, 1.0))


def _may_repeat(error: ApiError) -> bool:
    """Whether the same request may succeed after this refusal."""
    return error.status in _RETRIED or error.code in ("idempotency_key_in_use", "window_not_closed")


def api_error(reply: Reply) -> ApiError:
    try:
        value = json.loads(reply.content)
    except ValueError:
        value = None
    return ApiError(reply.status, object_of(object_of(value).get("error")), _retry_after(reply.headers))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after")
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=timezone.utc)
    return max(0.0, (at - datetime.now(timezone.utc)).total_seconds())


def json_of(reply: Reply) -> JsonObject:
    try:
        value = json.loads(reply.content)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ApiError(reply.status, {"message": "the answer is not a JSON object"}, None)
    return value


def request(policy: Policy, sent: Send, *, required: bool = True) -> Flow[JsonObject]:
    """The answer to any request. Where answers are verified, each receipt and absence document in it holds.

    :param required: whether an answer without any of them is refused
    """
    answer = json_of((yield from send(policy, sent)))
    if policy.verify:
        _verified(policy, sent.path, answer, required=required)
    return answer


def _verified(policy: Policy, path: str, answer: JsonObject, *, required: bool = True) -> None:
    if verify_answer(answer, policy.trusts) == 0 and required:
        raise Unverified(f"the answer of {path} has nothing that could be verified")


# Operations, and what their receipts must say about the request

Check = Callable[[JsonObject, Mapping[str, Any]], None]


def operation(
    policy: Policy, path: str, body: Mapping[str, Any], check: Check | None, key: str | None = None
) -> Flow[JsonObject]:
    """A POST whose answer has receipts; ``check`` compares what they say with the request and the answer."""
    headers = {} if key is None else {"Idempotency-Key": key}
    answer = yield from request(policy, Send("POST", path, body=dict(body), headers=headers))
    if policy.verify and check is not None:
        check(answer, body)
    return answer


def classified(answer: JsonObject, body: Mapping[str, Any]) -> None:
    _is_of("classify", answer)
    if not same(_disclosed(answer, "message"), body["message"]):
        raise Unverified("the receipt does not show that it is of this message")


def decided(answer: JsonObject, body: Mapping[str, Any]) -> None:
    receipt = _is_of("gate", object_of(answer.get("receipt")))
    for name in ("outcome", "action_ref"):
        if not same(answer.get(name), receipt.get(name)):
            raise Unverified(f"{name} is not that of the receipt")
    preimage = object_of(_disclosed(receipt, "preimage"))
    if any(not same(preimage.get(name), body[name]) for name in ("action_type", "agent_id")):
        raise Unverified("the receipt does not show that it is of this act")


def bound(answer: JsonObject, body: Mapping[str, Any]) -> None:
    receipt = _is_of("pdtr", object_of(answer.get("receipt")))
    asked = str(body.get("payment_hash", "")).removeprefix("0x").removeprefix("sha256:")
    if re.fullmatch("[0-9A-Fa-f]{64}", asked) and receipt.get("payment_hash") != asked.lower():
        raise Unverified("the receipt is of another payment")


def refrained(answer: JsonObject, body: Mapping[str, Any]) -> None:
    receipt = _is_of("restraint", object_of(answer.get("receipt")))
    if not same(_disclosed(receipt, "action_not_taken"), body["action_not_taken"]):
        raise Unverified("the receipt does not show that it is of this act")


# Batches (gateway/API.md section 4.5)

#: Most lines of a batch, and most bytes of its body, well below the default of MAX_BATCH_BYTES.
_MAX_LINES = 1000
_MAX_BYTES = 2 * 1024 * 1024


#: What became of one of many requests: its answer, or why there is none.
Result = Union[JsonObject, ApiError, ConnectionFailed, Unverified]


def many(policy: Policy, path: str, bodies: Iterable[Mapping[str, Any]]) -> Flow[list[Result]]:
    """The answer of each request, or its error, in the order of the requests.

    Requests are sent as batches. Each has an Idempotency-Key, its member ``idempotency_key`` if it has one; a request
    whose line has no final answer is sent alone with it.
    """
    results: list[Result] = []
    calls = [_keyed(body) for body in bodies]
    for batch in _batches(calls):
        answers = yield from _lines(policy, path, batch)
        for number, (body, key) in enumerate(batch, 1):
            results.append((yield from _settled(policy, path, body, key, answers.get(number))))
    return results


def _keyed(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    rest = {name: value for name, value in body.items() if name != "idempotency_key"}
    return rest, str(body.get("idempotency_key", uuid.uuid4()))


def _settled(policy: Policy, path: str, body: Mapping[str, Any], key: str, line: JsonObject | None) -> Flow[Result]:
    """What a line says of its request; the request is sent alone if it says nothing final."""
    status, answer = (0, {}) if line is None else (line.get("status"), dict(object_of(line.get("body"))))
    check = CHECKS.get(path)
    if isinstance(status, int) and status >= 400:
        error = ApiError(status, object_of(answer.get("error")), None)
        if not _may_repeat(error):
            return error
    try:
        if not isinstance(status, int) or not 0 < status < 400:
            return (yield from operation(policy, path, body, check, key))
        if policy.verify:
            _verified(policy, path, answer)
            if check is not None:
                check(answer, body)
        return answer
    except (ApiError, ConnectionFailed, Unverified) as error:
        return error


def _lines(policy: Policy, path: str, batch: list[tuple[Mapping[str, Any], str]]) -> Flow[dict[int, JsonObject]]:
    """The lines of the answer to a batch by their numbers; none if it was not answered."""
    if len(batch) == 1:
        return {}
    content = b"".join(_line_of(body, key) for body, key in batch)
    headers = {"Content-Type": "application/x-ndjson"}
    if policy.wait_s > 0:
        headers["Prefer"] = f"wait={policy.wait_s}"
    try:
        reply: Reply = yield Send("POST", f"{path}/batch", headers=headers, content=content)
    except ConnectionFailed:
        return {}
    if reply.status in (401, 403):
        raise api_error(reply)
    lines = {}
    for text in reply.content.split(b"\n") if reply.status < 400 else []:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and isinstance(line.get("line"), int):
            lines[line["line"]] = line
    return lines


def _line_of(body: Mapping[str, Any], key: str) -> bytes:
    return json.dumps({**body, "idempotency_key": key}, ensure_ascii=False).encode("utf-8") + b"\n"


def _batches(calls: list[tuple[Mapping[str, Any], str]]) -> Iterator[list[tuple[Mapping[str, Any], str]]]:
    batch: list[tuple[Mapping[str, Any], str]] = []
    size = 0
    for body, key in calls:
        length = len(_line_of(body, key))
        if batch and (len(batch) == _MAX_LINES or size + length > _MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((body, key))
        size += length
    if batch:
        yield batch


def _is_of(plugin: str, receipt: Mapping[str, Any]) -> Mapping[str, Any]:
    if not str(receipt.get("type", "")).startswith(f"{plugin}."):
        raise Unverified(f"the answer has no receipt of {plugin}")
    return receipt


def _disclosed(receipt: Mapping[str, Any], name: str) -> Json:
    """The value behind a commitment of a receipt that holds; None when it is not disclosed."""
    value: Json = object_of(object_of(receipt.get("disclosures")).get(name)).get("value")
    return value


def witnessed(answer: JsonObject, body: Mapping[str, Any]) -> None:
    """The documents are about the surfaces and the whole window that were asked about."""
    documents = [*objects_of([answer.get("witness")]), *objects_of(answer.get("witnesses"))]
    surfaces = [body["surface"]] if "surface" in body else list(body.get("surfaces", []))
    missing = set(surfaces)
    for document in documents:
        question = object_of(document.get("question"))
        key = question.get("key")
        if not isinstance(key, list) or len(key) != 3 or key[:2] != ["surface", body["entity"]]:
            raise Unverified("a document is about another chain")
        if surfaces and key[2] not in surfaces:
            raise Unverified("a document is about another surface")
        missing.discard(key[2])
    if missing or not documents:
        raise Unverified("no document answers the question")
    for surface in {document["question"]["key"][2] for document in documents}:
        parts = [one["question"] for one in documents if one["question"]["key"][2] == surface]
        _check_window(sorted((part["from_ms"], part["to_ms"]) for part in parts), body)


def _check_window(parts: list[tuple[int, int]], body: Mapping[str, Any]) -> None:
    """After a successor log each log has its part of the window; together they leave nothing out."""
    covered = body["from_ms"] - 1
    for from_ms, to_ms in parts:
        if from_ms < body["from_ms"] or to_ms > body["to_ms"]:
            raise Unverified("a document is about another window")
        if from_ms > covered + 1:
            break
        covered = max(covered, to_ms)
    if covered < body["to_ms"]:
        raise Unverified("the documents leave out a part of the window")


#: What the receipts of an operation must say about its request.
CHECKS: Mapping[str, Check] = {
    "/api/v1/absence/witness": witnessed,
    "/api/v1/bind-payment": bound,
    "/api/v1/classify": classified,
    "/api/v1/execute-gate": decided,
    "/api/v1/restraint": refrained,
}


def looked_up(policy: Policy, entry_id: str, log: str | None) -> Flow[JsonObject | None]:
    """The answer of ``/receipt/lookup``; None when the service has not found the entry."""
    params: dict[str, str | int] = {"entry_id": entry_id, **({} if log is None else {"log": log})}
    answer = json_of((yield from send(policy, Send("GET", "/receipt/lookup", params))))
    if answer.get("found") is not True:
        return None
    if policy.verify:
        verify_answer(answer, policy.trusts)
        if object_of(answer.get("receipt")).get("entry_id") != entry_id:
            raise Unverified("the receipt is of another entry")
    return answer


def proven(policy: Policy, receipt: Mapping[str, Any], timeout_s: float) -> Flow[JsonObject]:
    """The receipt with the inclusion proof of its entry, as soon as a published checkpoint covers it."""
    entry_id = receipt.get("entry_id")
    if not isinstance(entry_id, str):
        raise ValueError("the receipt has no entry_id")
    log = "sandbox" if receipt.get("sandbox") is True else None
    until = time.monotonic() + timeout_s
    while True:
        answer = yield from looked_up(policy, entry_id, log)
        found = object_of(object_of(answer).get("receipt"))
        place = _place_of(found, object_of(object_of(answer).get("proof")).get("tlog_proof"))
        if place is not None:
            if found.get("entry_hash") != receipt.get("entry_hash"):
                raise Unverified("the service has another entry under this id")
            proved = {**receipt, **found, "log": place}
            if policy.verify and _check_receipt(proved, policy.trusts, None) is None:
                raise Unverified("the proof does not show where the entry is")
            return proved
        if time.monotonic() >= until:
            raise TimeoutError(f"no checkpoint covers entry {entry_id} yet")
        yield Sleep(min(0.5, max(0.05, until - time.monotonic())))


def _place_of(found: Mapping[str, Any], tlog_proof: Json) -> JsonObject | None:
    """The member ``log`` of a receipt with its inclusion proof, of its own or of the tlog-proof beside it."""
    place = object_of(found.get("log"))
    if "inclusion_proof" in place:
        return dict(place)
    if not isinstance(tlog_proof, str):
        return None
    try:
        proof = parse_tlog_proof(tlog_proof)
    except Refused as error:
        raise Unverified(str(error)) from None
    path = [to_base64(node) for node in proof.path]
    return {
        "origin": found.get("origin"),
        "index": proof.index,
        "checkpoint": proof.checkpoint,
        "inclusion_proof": path,
    }


def checkpoint(policy: Policy, kind: str) -> Flow[str]:
    """The newest checkpoint of the newest log of a kind."""
    reply: Reply = yield from send(policy, Send("GET", f"/log/{kind}/checkpoint"))
    note = reply.content.decode("utf-8")
    if policy.verify:
        _check(Document("checkpoint", note), policy.trusts)
    return note


def inclusion(policy: Policy, kind: str, index: int) -> Flow[JsonObject]:
    answer = json_of((yield from send(policy, Send("GET", f"/log/{kind}/proof/inclusion", {"index": index}))))
    if policy.verify:
        if not same(answer.get("index"), index):
            raise Unverified("the proof is of another entry")
        _check(Document("inclusion", answer), policy.trusts)
    return answer


def chain_page(policy: Policy, kind: str, question: Question) -> Flow[JsonObject]:
    """One page of the entries of a chain in a window, with the proof that none is left out."""
    params: dict[str, str | int] = {
        "key": json.dumps(question.key, ensure_ascii=False),
        "from_ms": count(question.from_ms, "from_ms"),
        "to_ms": count(question.to_ms, "to_ms"),
    }
    if question.after is not None:
        params["after"] = question.after
    answer = json_of((yield from send(policy, Send("GET", f"/log/{kind}/proof/lookup", params))))
    if policy.verify:
        _check(Document("absence", answer), policy.trusts, question)
    return answer


def after_of(page: JsonObject) -> int | None:
    """What the next page of a chain comes after; None at the end."""
    entries = objects_of(page.get("entries"))
    return entries[-1]["index"] if page.get("more") is True and entries else None


# Pages


def next_cursor(page: JsonObject) -> str | None:
    """The cursor of the next page; None at the end. Feeds keep a cursor at their end, for what will come later."""
    return page["next_cursor"] if page.get("has_more") is True else None


# Checks of answers


def verify_answer(answer: JsonObject, trusts: Mapping[str, Trust]) -> int:
    """Checks each receipt and absence document in an answer, and returns how many there were.

    :raises Unverified: for the first that does not hold
    """
    found = 0
    for value, proof in _signed_in(answer):
        found += 1
        if value.get("schema") == ABSENCE_SCHEMA:
            asked = object_of(value.get("question"))
            question = Question(asked.get("key"), asked.get("from_ms"), asked.get("to_ms"))
            _check(Document("absence", value), trusts, question)
        else:
            _check_receipt(value, trusts, proof)
    return found


def _signed_in(value: Any, proof: str | None = None) -> Iterator[tuple[JsonObject, str | None]]:
    """Receipts and absence documents, wherever in an answer they are; a tlog-proof belongs to the receipt beside it."""
    if isinstance(value, list):
        for one in value:
            yield from _signed_in(one)
        return
    if not isinstance(value, dict):
        return
    is_receipt = all(isinstance(value.get(name), str) for name in ("signature", "kid", "entry_hash"))
    if is_receipt or value.get("schema") == ABSENCE_SCHEMA:
        yield value, proof
        return
    beside = object_of(value.get("proof")).get("tlog_proof")
    for name, member in value.items():
        yield from _signed_in(member, beside if name == "receipt" and isinstance(beside, str) else None)


def _check_receipt(receipt: JsonObject, trusts: Mapping[str, Trust], proof: str | None) -> int | None:
    """The size of the tree that the entry is shown to be in; None when its place is not shown."""
    result = verify_receipt(receipt, _trust(receipt.get("origin"), trusts), tlog_proof=proof)
    for line in result.checks:
        if line.outcome == "failed":
            raise Unverified(f"a receipt does not hold: {line.name.replace('_', ' ')}: {line.detail}")
    return result.size


def _check(document: Document, trusts: Mapping[str, Trust], question: Question | None = None) -> None:
    try:
        finding = check_document(document, _trust(origin_of(document), trusts), question=question)
    except (Refused, Unanswerable) as error:
        raise Unverified(str(error)) from None
    if not finding.valid:
        raise Unverified(f"the answer does not hold: {finding.summary}")


def _trust(origin: Any, trusts: Mapping[str, Trust]) -> Trust:
    trust = trusts.get(origin) if isinstance(origin, str) else None
    if trust is None:
        raise Unverified(f"the answer is of a log that is not pinned: {json.dumps(origin)[:200]}")
    return trust
