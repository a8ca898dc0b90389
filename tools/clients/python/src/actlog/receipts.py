"""Entries and receipts (log/FORMAT.md sections 2 and 6.2; gateway/API.md section 1.1)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol, TypeVar, Union

from .ed25519 import verify
from .encoding import (
    Json,
    JsonInvalid,
    JsonObject,
    Refused,
    canonical,
    canonical_text,
    count,
    exact_object,
    from_base64,
    from_hex,
    parse_json,
    same,
    string,
    strings,
    utf8,
    utf16_length,
)
from .notes import OpenedCheckpoint, TreeHead, parse_tlog_proof
from .tree import ChainKey, check_inclusion, leaf_hash
from .trust import Trust

MAX_ENTRY_BYTES = 65_535
#: Longest path of a tree whose size is at most 2^53 - 1.
MAX_PATH = 53
#: An entry with every character escaped, its disclosures and a signed note: a limit of this verifier.
_MAX_RECEIPT_BYTES = 4 * 1024 * 1024
#: A disclosed value is as deep as a request may be, three levels into the receipt.
_MAX_RECEIPT_DEPTH = 16 + 3
#: Members of a receipt beside the entry, which no entry has.
DERIVED = ("entry_hash", "permalink", "verify_url", "disclosures", "log", "ignored")

T = TypeVar("T")
Outcome = Literal["ok", "failed", "not_shown"]


# Entries


@dataclass(frozen=True)
class Entry:
    """An entry taken apart. Nothing of it is verified but its form."""

    text: str
    statement: JsonObject
    #: The signed bytes: JCS of the statement.
    message: bytes
    signature: bytes
    leaf_hash: bytes


def read_entry(text: str) -> Entry:
    """Takes the text of an entry apart: I-JSON of at most 65,535 bytes that is its own JCS, with a signature."""
    _check_size(utf16_length(text))
    value = parse_json(text)
    data = utf8(text)
    _check_size(len(data))
    if not isinstance(value, dict):
        raise JsonInvalid("entry is not an object")
    encoded = value.get("signature")
    if not isinstance(encoded, str):
        raise Refused("entry has no signature")
    signature = from_base64(encoded, 64)
    if canonical(value) != data:
        raise Refused("entry is not canonical")
    statement = {name: member for name, member in value.items() if name != "signature"}
    return Entry(text, statement, canonical(statement), signature, leaf_hash(data))


def _check_size(size: int) -> None:
    if size > MAX_ENTRY_BYTES:
        raise Refused(f"entry is {size} bytes, the limit is {MAX_ENTRY_BYTES}")


@dataclass(frozen=True)
class OpenedEntry:
    """An entry that a trusted key has signed and that is included under a tree head."""

    index: int
    #: ``issued_at_ms``: log time.
    ms: int
    type: str
    statement: JsonObject
    leaf_hash: bytes


def open_entry(trust: Trust, tree: TreeHead, opened: Json) -> OpenedEntry:
    """Opens ``{index, entry, path}`` as log/FORMAT.md section 6.2 says."""
    members = exact_object(opened, "opened entry", ["index", "entry", "path"])
    index = count(members["index"], "index of an opened entry")
    entry = read_entry(string(members["entry"], "text of an opened entry"))
    statement = entry.statement
    if not same(statement.get("index"), index):
        raise Refused("index of an opened entry is not its own")
    if statement.get("origin") != trust.origin:
        raise Refused("opened entry is of another log")
    ms = count(statement.get("issued_at_ms"), "issued_at_ms of an entry")
    kind = string(statement.get("type"), "type of an entry")
    key, public_key = trust.key_of(string(statement.get("kid"), "kid of an entry"))
    path = strings(members["path"], "path of an opened entry", MAX_PATH)
    check_inclusion(index=index, size=tree.size, leaf=entry.leaf_hash, path=path, root=tree.root)
    key.check_in_force(index=index, issued_at_ms=ms, included=True)
    if not verify(public_key, entry.message, entry.signature):
        raise Refused("signature of an opened entry is not valid")
    return OpenedEntry(index, ms, kind, statement, entry.leaf_hash)


# Links


class Placed(Protocol):
    """An entry with its index."""

    @property
    def index(self) -> int: ...

    @property
    def statement(self) -> JsonObject: ...


@dataclass(frozen=True)
class Link:
    """The link of an entry on one chain; ``prev`` is (index, ms) of the entry before it, or None."""

    seq: int
    prev: tuple[int, int] | None


def link_on(entry: Placed, key: ChainKey) -> Link:
    """The one link of an entry on a chain; refused where there is none, or several, or an incomplete one."""
    links = entry.statement.get("links")
    found = [link for link in links if _is_on(link, key)] if isinstance(links, list) else []
    if not found:
        raise Refused("entry has no link on the chain")
    if len(found) > 1:
        raise Refused("entry has several links on the chain")
    link = found[0]
    # An absent member is not null.
    index, ms = link.get("prev_index", False), link.get("prev_ms", False)
    seq = count(link.get("seq"), "seq of a link")
    if seq == 0:
        if index is not None or ms is not None:
            raise Refused("first link has an entry before it")
        return Link(0, None)
    prev = count(index, "prev_index of a link"), count(ms, "prev_ms of a link")
    if prev[0] >= entry.index:
        raise Refused("link points forward")
    return Link(seq, prev)


def _is_on(link: Json, key: ChainKey) -> bool:
    if not isinstance(link, dict):
        return False
    other = link.get("key")
    return isinstance(other, list) and tuple(other) == key


# Receipts


@dataclass(frozen=True)
class Line:
    """One check: it holds, it fails, or the document does not show it."""

    name: str
    outcome: Outcome
    detail: str


@dataclass(frozen=True)
class NotShown:
    """The result of a check that found nothing to check; it makes no document invalid."""

    detail: str


class Checks:
    """Runs checks one after the other and keeps the result of each, also after one that failed."""

    def __init__(self) -> None:
        self.all: list[Line] = []

    def run(self, name: str, check: Callable[[], Union[str, NotShown]]) -> bool:
        """Notes one check, which returns its detail; false when it failed."""
        try:
            detail = check()
        except Refused as error:
            self.all.append(Line(name, "failed", str(error)))
            return False
        if isinstance(detail, NotShown):
            self.all.append(Line(name, "not_shown", detail.detail))
        else:
            self.all.append(Line(name, "ok", detail))
        return True

    def take(self, name: str, check: Callable[[], tuple[Union[str, NotShown], T]]) -> T | None:
        """The same for a check that also has a value; None when it failed."""
        value: list[T] = []

        def run() -> Union[str, NotShown]:
            detail, found = check()
            value.append(found)
            return detail

        self.run(name, run)
        return value[0] if value else None

    def failed(self) -> Line | None:
        return next((line for line in self.all if line.outcome == "failed"), None)


@dataclass(frozen=True)
class ReceiptResult:
    """What a receipt shows."""

    #: No check failed. Whether the entry is in the log yet is the check ``inclusion``.
    valid: bool
    checks: tuple[Line, ...]
    #: What the log signed; None when the receipt has no form. Believe it only when ``valid``.
    statement: JsonObject | None = None
    entry_id: str | None = None
    index: int | None = None
    origin: str | None = None
    #: Size of the tree that the entry is shown to be in.
    size: int | None = None


def verify_receipt(receipt: Json, trust: Trust, *, tlog_proof: str | None = None) -> ReceiptResult:
    """Checks a receipt, as text or parsed.

    :param tlog_proof: a C2SP tlog-proof of the entry that came beside the receipt
    """
    checks = Checks()

    def read() -> tuple[str, _Receipt]:
        parts = _read_receipt(receipt)
        return f"entry of {len(utf8(parts.entry.text))} bytes", parts

    parts = checks.take("document_form", read)
    if parts is None:
        return ReceiptResult(False, tuple(checks.all))
    statement = parts.entry.statement
    checks.run("entry_hash", lambda: _check_hash(parts))
    checks.run("origin", lambda: _check_origin(parts, trust))
    size = _check_place(checks, trust, parts, tlog_proof)
    checks.run("signature", lambda: _check_signature(parts, trust, size is not None))
    checks.run("disclosures", lambda: _check_disclosures(parts))
    entry_id, origin = statement.get("entry_id"), statement.get("origin")
    return ReceiptResult(
        checks.failed() is None,
        tuple(checks.all),
        statement,
        entry_id if isinstance(entry_id, str) else None,
        statement["index"],
        origin if isinstance(origin, str) else None,
        size,
    )


@dataclass(frozen=True)
class _Receipt:
    """A receipt taken apart: the entry, and the members beside it."""

    entry: Entry
    derived: JsonObject
    log: JsonObject


def _read_receipt(receipt: Json) -> _Receipt:
    text = receipt if isinstance(receipt, str) else canonical_text(receipt)
    # Disclosed values may have fractions. The entry is read again without them.
    value = parse_json(text, fractions=True, max_depth=_MAX_RECEIPT_DEPTH, max_bytes=_MAX_RECEIPT_BYTES)
    if not isinstance(value, dict):
        raise Refused("receipt is not an object")
    derived = {name: member for name, member in value.items() if name in DERIVED}
    for name in ("permalink", "verify_url"):
        if name in derived:
            string(derived[name], name)
    entry = read_entry(canonical_text({name: value[name] for name in value if name not in DERIVED}))
    count(entry.statement.get("index"), "index")
    count(entry.statement.get("issued_at_ms"), "issued_at_ms")
    string(entry.statement.get("kid"), "kid")
    log: JsonObject = {}
    if "log" in derived:
        log = exact_object(derived["log"], "log", ["origin", "index"], ["checkpoint", "inclusion_proof"])
    return _Receipt(entry, derived, log)


def _check_hash(parts: _Receipt) -> str:
    claimed = from_hex(string(parts.derived.get("entry_hash"), "entry_hash"), 32)
    if claimed != parts.entry.leaf_hash:
        raise Refused("entry_hash is not the hash of the entry")
    return claimed.hex()


def _check_origin(parts: _Receipt, trust: Trust) -> str:
    statement = parts.entry.statement
    if statement.get("origin") != trust.origin:
        raise Refused("receipt is of another log")
    kind = re.search(r"/log/(live|sandbox)/[1-9][0-9]*\Z", trust.origin)
    if kind is None or statement.get("sandbox") is not (kind[1] == "sandbox"):
        raise Refused("sandbox does not agree with the log")
    log = parts.log
    if log and not (log["origin"] == statement["origin"] and same(log["index"], statement["index"])):
        raise Refused("log does not agree with the entry")
    return trust.origin


def _check_place(checks: Checks, trust: Trust, parts: _Receipt, tlog_proof: str | None) -> int | None:
    """Checkpoint, inclusion and cosignatures, by whichever proofs there are; each of them must hold."""
    log, index = parts.log, parts.entry.statement["index"]

    def checkpoint() -> tuple[Union[str, NotShown], list[OpenedCheckpoint] | None]:
        notes = []
        if "checkpoint" in log:
            notes.append(string(log["checkpoint"], "checkpoint"))
        if tlog_proof is not None:
            notes.append(parse_tlog_proof(tlog_proof).checkpoint)
        if not notes:
            return NotShown("no checkpoint"), None
        opened = [trust.open_tree(note) for note in notes]
        sizes = ", ".join(str(one.tree.size) for one in opened)
        return f"tree of {sizes} entries{trust.second_words(all(one.ml_dsa for one in opened))}", opened

    trees = checks.take("checkpoint", checkpoint)

    def inclusion() -> tuple[Union[str, NotShown], int | None]:
        paths: list[list[str] | tuple[bytes, ...]] = []
        if "inclusion_proof" in log:
            paths.append(strings(log["inclusion_proof"], "inclusion_proof", MAX_PATH))
        if tlog_proof is not None:
            proof = parse_tlog_proof(tlog_proof)
            if proof.index != index:
                raise Refused("tlog-proof is of another entry")
            paths.append(proof.path)
        if not paths:
            return NotShown("no inclusion proof"), None
        # A checkpoint may come without a path, so the two are paired from the end.
        under = (trees or [])[-len(paths) :]
        if len(under) < len(paths):
            raise Refused("inclusion proof without a good checkpoint")
        for opened, path in zip(under, paths):
            leaf = parts.entry.leaf_hash
            check_inclusion(index=index, size=opened.tree.size, leaf=leaf, path=path, root=opened.tree.root)
        size = max(opened.tree.size for opened in under)
        return f"entry {index} of {size}", size

    def cosignatures() -> Union[str, NotShown]:
        if trust.policy is None or trust.policy.quorum is None:
            return NotShown("no policy")
        if trees is None:
            return NotShown("no checkpoint")
        # Their time does not matter: a receipt claims a place in the log, not a time.
        counts = [trust.check_witnesses(opened.cosignatures, 0).witnessed for opened in trees]
        return f"{min(counts)} of the {trust.policy_source} policy"

    size = checks.take("inclusion", inclusion)
    checks.run("cosignatures", cosignatures)
    return size


def _check_signature(parts: _Receipt, trust: Trust, included: bool) -> str:
    entry = parts.entry
    key, public_key = trust.key_of(entry.statement["kid"])
    if not verify(public_key, entry.message, entry.signature):
        raise Refused("signature does not hold")
    index, issued_at_ms = entry.statement["index"], entry.statement["issued_at_ms"]
    key.check_in_force(index=index, issued_at_ms=issued_at_ms, included=included)
    return f"key {key.kid}, {key.status}"


def _check_disclosures(parts: _Receipt) -> Union[str, NotShown]:
    """Each disclosure opens the commitment of its name (log/FORMAT.md section 2.2)."""
    if "disclosures" not in parts.derived:
        return NotShown("no disclosures")
    disclosures = parts.derived["disclosures"]
    commitments = parts.entry.statement.get("commitments")
    if not isinstance(disclosures, dict) or not isinstance(commitments, dict):
        raise Refused("disclosures without commitments")
    opened = []
    for name, disclosure in disclosures.items():
        if isinstance(disclosure, dict) and "erased" in disclosure:
            _check_erased(disclosure, name in commitments)
            continue
        opened.append(name)
        members = exact_object(disclosure, "disclosure", ["salt", "value"])
        salt = from_hex(string(members["salt"], "salt"), 16)
        if sha256(salt + canonical(members["value"])).hexdigest() != commitments.get(name):
            raise Refused("a disclosure does not open its commitment")
    return ", ".join(opened) if opened else NotShown("erased")


def _check_erased(disclosure: JsonObject, committed: bool) -> None:
    """The value is gone: there is nothing to open, and nothing of it is proven here."""
    members = exact_object(disclosure, "disclosure", ["erased", "erased_at_ms", "erasure_entry_id"])
    count(members["erased_at_ms"], "erased_at_ms")
    string(members["erasure_entry_id"], "erasure_entry_id")
    if members["erased"] is not True or not committed:
        raise Refused("an erased disclosure is of no commitment")
