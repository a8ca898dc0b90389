"""What a check of a document comes to, in one shape for every document type, and how a document is recognised.

The lines, verdicts and sentences are those of ``actlog verify``. Recognising believes nothing: it only chooses what
is checked. Documents of plugins (clearing, compliance, AIR, COSE, mandates) are recognised and not checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .absence import ABSENCE_SCHEMA, AbsenceResult, Question, Unanswered, verify_absence
from .encoding import (
    WHITE_SPACE,
    Json,
    JsonObject,
    Refused,
    from_utf8,
    object_of,
    parse_json,
    same,
    text_of,
)
from .notes import OpenedCheckpoint, parse_tlog_proof
from .receipts import Line, open_entry, read_entry, verify_receipt
from .tree import KINDS, ChainKey, check_inclusion, is_declared_kind
from .trust import KIT_SCHEMA, Trust
from .violations import VIOLATION_SCHEMA, Undecided, verify_violation

#: A full page of the largest entries, and room for the rest.
MAX_BYTES = 24 * 1024 * 1024
#: An answer has a receipt, in which a disclosed value of 16 levels is three levels deep (gateway/API.md section 2.6).
_MAX_DEPTH = 16 + 4
STRANGE_LOG = "a log that is younger than the kit, such as a successor, needs a newer kit"
NOT_OURS = "this is not a document that this verifier checks"

_NO_DOCUMENT = "this is no receipt, absence document, kit, tlog-proof or checkpoint that actlog knows"
_STRANGE_KEY = "kid is not a trusted receipt key"
#: Schemas of documents of plugins.
_OF_PLUGINS = re.compile(
    r"svc-(clear-invoice|clearing-proof|article-12-report|article-12-system-report|naic-exhibit-pack"
    r"|air-export|air-session|carrier-pre-dispute)-v\d+"
)
#: Members of documents that are checked as a whole; no answer has one of them beside its receipt.
_OF_DOCUMENTS = (
    *("question", "verdict", "map_head", "witness", "witnesses", "document", "bundle"),
    *("entries_root", "sealed_at", "signature", "record", "records", "cose_sign1_b64", "logs"),
)

Kind = Literal["receipt", "inclusion", "absence", "checkpoint", "tlog_proof", "violation", "kit"]


class Unanswerable(Exception):
    """Nothing that can be checked, or not with what the caller brought: neither valid nor invalid."""

    def __init__(self, message: str, needs: Literal["question", "entry"] | None = None) -> None:
        super().__init__(message)
        #: What the caller could bring.
        self.needs = needs


@dataclass(frozen=True)
class Finding:
    """What a check of a document came to."""

    valid: bool
    #: The verdict of an absence document; else ``VALID`` or ``INVALID``.
    verdict: str
    #: One sentence without its period: what is shown, or what is wrong.
    summary: str
    checks: tuple[Line, ...]
    #: Further members of the JSON output.
    facts: JsonObject = field(default_factory=dict)
    #: Beside ``valid`` False where nothing is known to be wrong, and the kit is too small to tell.
    untold: bool = False


def exit_code(finding: Finding) -> int:
    """0 when everything that is shown holds, 1 when something does not, 2 when that cannot be told."""
    return 0 if finding.valid else 2 if finding.untold else 1


@dataclass(frozen=True)
class Document:
    """A document as recognised: JSON, or its text where the exact text counts."""

    kind: Kind
    value: Any
    #: A tlog-proof that came beside a receipt.
    tlog_proof: str | None = None
    #: Members of the answer around the document, which nothing checks.
    beside: tuple[str, ...] = ()


# Recognising


def recognise(data: bytes) -> list[Document]:
    """The documents in these bytes: one, or those of a witness about several surfaces.

    :raises Refused: for JSON that breaks the rules of receipts, or bytes that are not UTF-8
    :raises Unanswerable: for what this verifier does not check
    """
    if data[:1] == b"\xd2":
        raise Unanswerable(f"{NOT_OURS}: a COSE message")
    lossy = data.decode("utf-8", "replace")
    is_json = lossy.lstrip(WHITE_SPACE).startswith("{")
    is_proof = lossy.removeprefix("\ufeff").startswith("c2sp.org/tlog-proof@v1\n")
    if not is_json and not is_proof and "\n\n\u2014 " not in lossy:
        raise Unanswerable(_NO_DOCUMENT)
    text = from_utf8(data)
    if is_json:
        return _recognise_json(text)
    return [Document("tlog_proof" if is_proof else "checkpoint", text)]


def parse_document(text: str) -> Json:
    """The JSON of a text, read as strictly as receipts are."""
    return parse_json(text, fractions=True, max_bytes=MAX_BYTES, max_depth=_MAX_DEPTH)


def _recognise_json(text: str) -> list[Document]:
    value = parse_document(text)
    if not isinstance(value, dict):
        raise Unanswerable(_NO_DOCUMENT)
    schema = value.get("schema")
    if schema == KIT_SCHEMA:
        return [Document("kit", text)]
    witnesses = value.get("witnesses")
    if isinstance(witnesses, list) and "schema" not in value and "signature" not in value:
        documents = [one for one in witnesses if isinstance(one, dict)]
        if not documents:
            raise Unanswerable("this answer holds no absence document")
        beside = _beside(value, "witnesses")
        return [Document("absence", one, beside=beside) for one in documents]
    _refuse_plugins(value)
    if schema == VIOLATION_SCHEMA:
        return [Document("violation", value)]
    found = _absence(value, text) or _receipt(value, text)
    if found is not None:
        return [found]
    if isinstance(value.get("entry"), str) and isinstance(value.get("path"), list):
        return [Document("inclusion", value)]
    raise Unanswerable(_unknown(value))


def _refuse_plugins(value: JsonObject) -> None:
    schema = value.get("schema")
    if isinstance(schema, str) and _OF_PLUGINS.fullmatch(schema):
        raise Unanswerable(f"{NOT_OURS}: {schema}")
    bundle = object_of(value.get("bundle")).get("schema")
    if bundle == "svc-carrier-pre-dispute-v1" and isinstance(value.get("receipt"), dict):
        raise Unanswerable(f"{NOT_OURS}: a pre-dispute bundle with the receipt of its mandate")


def _absence(value: JsonObject, text: str) -> Document | None:
    if value.get("schema") == ABSENCE_SCHEMA:
        return Document("absence", text)
    if _is_receipt(value):
        return None
    for name in ("document", "witness"):
        document = value.get(name)
        if isinstance(document, dict) and document.get("schema") == ABSENCE_SCHEMA:
            return Document("absence", document, beside=_beside(value, name))
    return None


def _receipt(value: JsonObject, text: str) -> Document | None:
    if _is_receipt(value):
        return Document("receipt", text)
    receipt = value.get("receipt")
    if not isinstance(receipt, dict) or _is_more_than_receipt(value):
        return None
    proof = object_of(value.get("proof")).get("tlog_proof")
    if isinstance(proof, str):
        return Document("receipt", receipt, proof, _beside(value, "receipt", "proof"))
    return Document("receipt", receipt, beside=_beside(value, "receipt"))


def _is_receipt(value: JsonObject) -> bool:
    return isinstance(value.get("signature"), str) and isinstance(value.get("kid"), str)


def _is_more_than_receipt(value: JsonObject) -> bool:
    """Whether an object with a receipt in it is a document of its own.

    The author of a changed document could otherwise have it taken for an answer with a good receipt.
    """
    return isinstance(value.get("receipt"), dict) and ("schema" in value or any(one in value for one in _OF_DOCUMENTS))


def _beside(answer: JsonObject, *checked: str) -> tuple[str, ...]:
    return tuple(name for name in answer if name not in ("ok", "found", *checked))


def _unknown(value: JsonObject) -> str:
    if _is_more_than_receipt(value):
        which = "of a schema that actlog does not know" if "schema" in value else "without a schema"
        return f"this is a document {which}: the receipt in it does not speak for the rest"
    if value.get("found") is False:
        return "the service has not found that receipt: nothing to check"
    error = object_of(value.get("error"))
    code, message = error.get("code"), error.get("message")
    if isinstance(message, str):
        said = f"{code}: {message}" if isinstance(code, str) else message
        return f"the service answered with an error, nothing to check: {quoted(said[:300])}"
    return "this JSON is no receipt, absence document, proof or kit that actlog knows"


def quoted(value: Json) -> str:
    """JSON of a value that somebody else wrote, for a message."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def origin_of(document: Document) -> str | None:
    """The origin that a document claims, to choose the log of the kit; None when it claims none."""
    value = document.value
    if document.kind == "receipt":
        origin = object_of(parse_document(value) if isinstance(value, str) else value).get("origin")
        return origin if isinstance(origin, str) else None
    if document.kind == "violation":
        origin = value.get("origin")
        return origin if isinstance(origin, str) else None
    if document.kind == "tlog_proof":
        return _first_line(value[value.find("\n\n") + 2 :])
    if document.kind == "checkpoint":
        return _first_line(value)
    document_value = parse_document(value) if isinstance(value, str) else value
    return _first_line(object_of(document_value).get("checkpoint"))


def _first_line(note: object) -> str | None:
    return note.split("\n", 1)[0] if isinstance(note, str) else None


def log_of(document: Document, origins: Sequence[str]) -> str:
    """The log of a kit that a document is of. One that claims none fails the check of any log: the first is taken."""
    claimed = origin_of(document)
    if claimed is None and origins:
        return origins[0]
    if claimed in origins:
        return claimed or ""
    raise Unanswerable(f"the kit does not know the log {quoted((claimed or '')[:200])}: {STRANGE_LOG}")


# Checking


def check_document(
    document: Document,
    trust: Trust,
    *,
    question: Question | None = None,
    receipt: str | None = None,
    tlog_proof: str | None = None,
    now_ms: int | None = None,
) -> Finding:
    """Checks a document against one log that is trusted.

    :param question: what an absence document must answer
    :param receipt: a receipt, or the exact text of an entry, that a tlog-proof is of
    :param tlog_proof: a tlog-proof that came beside a receipt
    :raises Unanswerable: when the caller has to bring more
    """
    value, part = document.value, "its receipt"
    if document.kind == "receipt":
        beside = document.tlog_proof
        finding = _check_receipt(value, trust, tlog_proof if beside is None else beside)
    elif document.kind == "inclusion":
        finding = _single("inclusion", lambda: _check_inclusion(value, trust))
    elif document.kind == "checkpoint":
        finding = _single("checkpoint", lambda: _check_checkpoint(value, trust))
    elif document.kind == "tlog_proof":
        finding = _check_tlog_proof(value, trust, receipt)
    elif document.kind == "absence":
        part = "its absence document"
        finding = _check_absence(value, trust, question, now_ms)
    elif document.kind == "violation":
        finding = _check_violation(value, trust)
    else:
        raise Unanswerable(f"no verifier checks documents of kind {document.kind}")
    checks = finding.checks + _beside_lines(part, document.beside)
    hint = None if finding.valid else _untold(checks)
    if hint is None:
        return replace(finding, checks=checks)
    return replace(finding, checks=checks, untold=True, summary=f"{finding.summary}; {hint}")


def finding_of(
    checks: Sequence[Line], summary: str, facts: JsonObject | None = None, verdict: str = "VALID"
) -> Finding:
    """The finding of these checks: ``summary`` and ``verdict`` hold when none of them failed."""
    bad = next((line for line in checks if line.outcome == "failed"), None)
    if bad is None:
        return Finding(True, verdict, summary, tuple(checks), facts or {})
    said = f"{bad.name.replace('_', ' ')} failed: {bad.detail}"
    return Finding(False, "INVALID", said, tuple(checks), facts or {})


@dataclass(frozen=True)
class _Held:
    """What a document of one check shows when it holds."""

    detail: str
    summary: str
    verdict: str = "VALID"
    facts: JsonObject = field(default_factory=dict)
    lines: tuple[Line, ...] = ()


def _single(name: str, check: Callable[[], _Held]) -> Finding:
    try:
        held = check()
    except Refused as error:
        return Finding(False, "INVALID", str(error), (Line(name, "failed", str(error)),))
    return finding_of((Line(name, "ok", held.detail), *held.lines), held.summary, held.facts, held.verdict)


def _check_receipt(receipt: Json, trust: Trust, tlog_proof: str | None) -> Finding:
    result = verify_receipt(receipt, trust, tlog_proof=tlog_proof)
    facts: JsonObject = {"entry_id": result.entry_id, "index": result.index, "origin": result.origin}
    summary = "the log signed this entry; without an inclusion proof it is not shown to be in the log"
    if result.size is not None:
        facts["size"] = result.size
        summary = f"the log signed this entry, and it is in the tree of {result.size} entries"
    return finding_of(result.checks, summary, facts)


def _check_inclusion(value: JsonObject, trust: Trust) -> _Held:
    checkpoint, _, _ = _witnessed(trust, text_of(value.get("checkpoint")))
    tree = checkpoint.tree
    opened = {name: value.get(name) for name in ("index", "entry", "path")}
    entry = open_entry(trust, tree, opened)
    return _Held(
        f"entry {entry.index} of {tree.size}{trust.second_words(checkpoint.ml_dsa)}",
        f"the log signed this entry, and it is in the tree of {tree.size} entries",
    )


def _check_checkpoint(note: str, trust: Trust) -> _Held:
    checkpoint, witnessed, monitors = _witnessed(trust, note)
    size, second = checkpoint.tree.size, trust.second_words(checkpoint.ml_dsa)
    return _Held(
        f"tree of {size} entries, {witnessed} witnesses, {monitors} monitors{second}",
        f"the log signed this checkpoint of {size} entries",
    )


def _check_violation(value: JsonObject, trust: Trust) -> Finding:
    try:
        result = verify_violation(value, trust)
    except Undecided as error:
        raise Unanswerable(str(error)) from None
    rule = value.get("rule")
    facts: JsonObject = {"rule": rule if isinstance(rule, str) else None, "origin": trust.origin}
    verdict = "VALID" if result.valid else "UNKNOWN" if result.untold else "INVALID"
    return Finding(result.valid, verdict, result.summary, tuple(result.checks), facts, result.untold)


def _check_tlog_proof(proof: str, trust: Trust, receipt: str | None) -> Finding:
    entry = (receipt or "").strip(WHITE_SPACE)
    if entry == "":
        raise Unanswerable(
            "a tlog-proof shows that some entry has a place: the receipt or the entry must come with it", "entry"
        )
    try:
        value = parse_document(entry)
    except Refused as error:
        raise Unanswerable(f"what came with the tlog-proof is no receipt and no entry: {error}") from None
    if isinstance(value, dict) and "entry_hash" in value:
        return _check_receipt(entry, trust, proof)

    def check() -> _Held:
        parts, parsed = read_entry(entry), parse_tlog_proof(proof)
        index = parsed.index
        if not same(parts.statement.get("index"), index):
            raise Refused("proof is of another entry")
        checkpoint, _, _ = _witnessed(trust, parsed.checkpoint)
        tree, second = checkpoint.tree, trust.second_words(checkpoint.ml_dsa)
        check_inclusion(index=index, size=tree.size, leaf=parts.leaf_hash, path=parsed.path, root=tree.root)
        return _Held(f"entry {index} of {tree.size}{second}", f"the entry is in the tree of {tree.size} entries")

    return _single("inclusion", check)


def _witnessed(trust: Trust, note: str) -> tuple[OpenedCheckpoint, int, int]:
    opened = trust.open_tree(note)
    seen = trust.check_witnesses(opened.cosignatures, 0)
    return opened, seen.witnessed, seen.map_verified


def _beside_lines(part: str, beside: Sequence[str]) -> tuple[Line, ...]:
    """A line about what nothing checks. The author of the answer chose the names: only plain ones are repeated."""
    if not beside:
        return ()
    plain = [name for name in beside if re.fullmatch("[a-z][a-z0-9_]{0,39}", name)][:3]
    such = f", such as {', '.join(plain)}," if plain else ""
    return (Line("answer", "not_shown", f"the answer's other members{such} are not checked: only {part}"),)


def _untold(checks: Sequence[Line]) -> str | None:
    """Why an invalid finding tells nothing; None where something does not hold.

    A key that the kit does not have may be a forger's, or the log's own and younger than the kit.
    """
    failed = [line.detail for line in checks if line.outcome == "failed"]
    strange = any(detail.endswith(_STRANGE_KEY) for detail in failed)
    only = all(detail.endswith(_STRANGE_KEY) or detail.startswith("without a good receipt") for detail in failed)
    return "a key that is younger than the kit needs a newer kit" if strange and only else None


# Absence documents in words. The words come from the result alone, never from those of the document.


def _check_absence(document: Json, trust: Trust, question: Question | None, now_ms: int | None) -> Finding:
    if question is None:
        raise Unanswerable("an absence document proves nothing of a question that you have not asked", "question")

    members = object_of(parse_document(document) if isinstance(document, str) else document)
    _knows_kind(object_of(members.get("question")).get("key"), trust)
    _knows_kind(question.key, trust)

    def check() -> _Held:
        try:
            result = verify_absence(document, question, trust, now_ms=now_ms)
        except Unanswered as error:
            raise Unanswerable(f"the document does not answer this question ({error})") from error
        shown: list[JsonObject] = [
            {name: statement.get(name) for name in ("index", "entry_id", "type", "issued_at_ms")}
            for statement in result.shown
        ]
        asked: JsonObject = {
            "key": list(question.key) if isinstance(question.key, (list, tuple)) else [],
            "from_ms": question.from_ms,
            "to_ms": question.to_ms,
        }
        if question.after is not None:
            asked["after"] = question.after
        facts: JsonObject = {"question": asked}
        if result.covers is not None:
            facts["covers"] = {"from_ms": result.covers[0], "to_ms": result.covers[1]}
        facts |= {
            "verdict": result.verdict,
            "proof": result.proof,
            "entries": result.entries,
            "more": result.more,
        }
        if shown:
            facts["shown"] = shown
        facts |= {
            "as_of_ms": result.as_of_ms,
            "heartbeat_interval_ms": result.heartbeat_interval_ms,
            "witnessed": result.witnessed,
            "map_verified": result.map_verified,
            "lag_ms": result.lag_ms,
        }
        lines = (*(_entry_line(one) for one in shown), *_vouched_lines(result))
        second = trust.second_words(result.ml_dsa)
        detail = f"proof of type {result.proof}, log as of {time_words(result.as_of_ms)}{second}"
        return _Held(detail, absence_words(asked, result, trust.origin), result.verdict, facts, lines)

    return _single("document", check)


def _knows_kind(key: Json | ChainKey, trust: Trust) -> None:
    """A chain kind that an entry type declares and that the verifier does not know: the caller can name it."""
    if not isinstance(key, (list, tuple)) or not key:
        return
    kind = key[0]
    if not isinstance(kind, str) or kind in KINDS or kind in trust.kinds or not is_declared_kind(kind):
        return
    members = len(key) - 1
    raise Unanswerable(
        f"the chain kind {kind} is declared by a plugin, and this verifier does not know it: "
        f"give --chain {kind}={members} if it has {members} members"
    )


def _entry_line(shown: JsonObject) -> Line:
    when = time_words(shown["issued_at_ms"])
    detail = f"{shown['index']}, logged {when}: {_named(shown['type'])} {_named(shown['entry_id'])}"
    return Line("entry", "ok", detail)


def _named(value: Json) -> str:
    """A log may sign what the format forbids: nothing of it reaches a terminal but names."""
    return value if isinstance(value, str) and re.fullmatch("[A-Za-z0-9_.-]{1,256}", value) else "?"


def _vouched_lines(result: AbsenceResult) -> tuple[Line, Line]:
    """What the checkpoint of the document shows of others than the log itself."""
    witnesses = Line("witnesses", "not_shown", "no policy: the log vouches for itself")
    if result.lag_ms is not None:
        detail = f"{result.witnessed}, the last needed {result.lag_ms} ms after the map head"
        witnesses = Line("witnesses", "ok", detail)
    detail = f"{result.map_verified} have checked every rule up to this size"
    return witnesses, Line("monitors", "ok" if result.map_verified > 0 else "not_shown", detail)


def absence_words(question: JsonObject, result: AbsenceResult, origin: str) -> str:
    """One sentence or two about what a document proves, for people."""
    kind, *members = question["key"]
    chain = f"the chain {kind} {' '.join(members)}"
    if kind == "surface":
        chain = f"surface {members[1]} of entity {members[0]}"
    window = f"from {time_words(question['from_ms'])} to {time_words(question['to_ms'])} of log time"
    about = f"{chain} {window} in log {origin}"
    if result.verdict == "PRESENT":
        shown = "1 entry is" if result.entries == 1 else f"{result.entries} entries are"
        page = f", after entry {question['after']}" if "after" in question else ""
        if result.more:
            page += ", and more of it follow on further pages"
        return f"PRESENT: {shown} shown of {about}{page}. Each is in the log, and the chain has no entry between them."
    nothing = f"{result.verdict}: nothing was logged for {about}: {_reason(result)}."
    if result.verdict == "UNDECLARED":
        return (
            f"{nothing} The document does not show that a manifest declared the surface all along, "
            "so the absence of acts is not_established (field visibility)."
        )
    if result.verdict == "UNDERSAMPLED":
        return (
            f"{nothing} The surface was declared, but no unbroken run of heartbeats covers the window as its "
            "manifest promises, so the absence of acts is not_established (observation completeness)."
        )
    if kind != "surface":
        return nothing
    watched = "no heartbeats were promised, so that it was watched is not_established (observation completeness)"
    if result.heartbeat_interval_ms is not None:
        interval = result.heartbeat_interval_ms
        watched = f"the heartbeats that were promised, one in {interval} ms, cover the window"
    return f"{nothing} A manifest in force declared the surface all along; {watched}."


def _reason(result: AbsenceResult) -> str:
    """Why nothing can be in the window."""
    if result.covers is None:
        return _REASONS[result.proof]
    window = f"from {time_words(result.covers[0])} to {time_words(result.covers[1])}"
    return f"the document covers the log time {window}, and shows no entry in the part that was asked about"


_REASONS = {
    "never": "the log has no entry of it at all",
    "tail": "its last entry is before the window",
    "gap": "the entry after the window names one before it as its predecessor, or none",
}


def time_words(ms: int) -> str:
    """A time as ISO 8601 in UTC; as its milliseconds where that is no date of ECMAScript."""
    if ms > 8_640_000_000_000_000:
        return f"{ms} ms"
    # Days to a civil date, since datetime ends with the year 9999.
    days, rest = divmod(ms, 86_400_000)
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5 - 1
    month += 3 if month < 10 else -9
    year += era * 400 + (1 if month <= 2 else 0)
    seconds, milliseconds = divmod(rest, 1000)
    named = f"{year:04d}" if year <= 9999 else f"+{year:06d}"
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{named}-{month:02d}-{day:02d}T{clock}.{milliseconds:03d}Z"
