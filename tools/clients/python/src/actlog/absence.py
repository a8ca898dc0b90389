"""Absence documents: proof of the entries of a chain in a window of log time, or that there are none.

log/FORMAT.md section 6, steps 0 to 8. The document is hostile; the question and the trust are the caller's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal, TypeVar, Union

from .encoding import (
    Json,
    JsonObject,
    Refused,
    array,
    canonical,
    canonical_text,
    count,
    exact_object,
    from_hex,
    hash_of,
    parse_json,
    same,
    string,
    strings,
)
from .notes import TreeHead
from .receipts import Link, OpenedEntry, link_on, open_entry, verify_receipt
from .tree import (
    MAX_SIBLINGS,
    ChainKey,
    Head,
    MapLeaf,
    check_key,
    check_member,
    check_non_member,
    skey_of,
)
from .trust import SKEW_MS, Trust

ABSENCE_SCHEMA = "svc-absence-witness-v1"
#: Most entries of one document.
MAX_ENTRIES = 100
#: Limits of this verifier: a full page of the largest entries with every character escaped, and room for the rest.
_MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
_MAX_LINES = 100
_MAX_MANIFESTS = 10_000

_REQUIRED = ("schema", "question", "verdict", "checkpoint", "map_head", "proof")
_OPTIONAL = ("entries", "more", "declared", "coverage", "statement", "does_not_assert", "receipt")
_MANIFEST = (
    "entity",
    "surfaces",
    "valid_from_ms",
    "valid_until_ms",
    "heartbeat_interval_ms",
    "min_detectable_gap_ms",
)

Verdict = Literal["PRESENT", "UNDECLARED", "UNDERSAMPLED", "ABSENT"]
T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """A chain and a window of log time, closed at both ends. Its members are checked in step 0."""

    key: Json | ChainKey
    from_ms: Json
    to_ms: Json
    #: Of a further page: index of the last entry of the page before.
    after: int | None = None


class Unanswered(Refused):
    """A document is valid, and answers another question than the caller's (log/FORMAT.md section 6.9)."""


@dataclass(frozen=True)
class AbsenceResult:
    """What a document proves."""

    #: UNDECLARED and UNDERSAMPLED say only that the document shows no more.
    verdict: Verdict
    proof: Literal["never", "tail", "gap"]
    #: How many entries of the window it shows; with ``more`` others follow on further pages.
    entries: int
    more: bool
    #: Time of the map head: the document speaks of the log as of then.
    as_of_ms: int
    #: The smallest interval in which the shown manifests promise heartbeats; None where they promise none.
    heartbeat_interval_ms: int | None
    #: Witnesses of the policy that cosigned in time; 0 without a policy.
    witnessed: int
    map_verified: int
    #: From the map head to the time at which the quorum was complete; None without a policy.
    lag_ms: int | None
    #: The statements of the entries shown, oldest first.
    shown: tuple[JsonObject, ...]
    #: From and to, in ms, of the window of the document, where it is wider than the one that was asked about.
    covers: tuple[int, int] | None = None
    #: Whether the log signed the checkpoint with the ML-DSA-44 key of the trust as well.
    ml_dsa: bool = False


def verify_absence(document: Json, question: Question, trust: Trust, *, now_ms: int | None = None) -> AbsenceResult:
    """Checks a document, as text or parsed, against its own question, and then whether it answers the caller's.

    :param now_ms: the verifier's clock, which closes the window where there is no witness policy
    :raises Unanswered: when the document is valid and does not answer the caller's question
    :raises Refused: with the step of log/FORMAT.md section 6 and the reason
    """
    members = _step("document", lambda: _read_document(document))
    asked = _step("step 0", lambda: _check_question(question, trust))
    window = replace(_step("step 0", lambda: _own_question(members, trust)), after=asked.after)
    opened = _step("step 1", lambda: trust.open_tree(string(members["checkpoint"], "checkpoint")))
    map_head = _step("step 2", lambda: _open_map_head(trust, opened.tree, members["map_head"]))

    def close_window() -> tuple[int, int, int | None]:
        if window.to_ms > map_head.ms:
            raise Refused("window is not closed at the map head")
        seen = trust.check_witnesses(opened.cosignatures, map_head.ms - SKEW_MS)
        now = int(time.time() * 1000) if now_ms is None else now_ms
        if seen.quorum_ms is None and window.to_ms > now + SKEW_MS:
            raise Refused("window is not closed at the clock of the verifier")
        return seen.witnessed, seen.map_verified, seen.quorum_ms

    witnessed, map_verified, quorum_ms = _step("step 3", close_window)
    ground = _Ground(trust, opened.tree, map_head)
    closing = _step("step 4", lambda: _read_closing(ground, window.key, members["proof"]))
    entries = _step("step 5", lambda: _read_entries(ground, window, members, closing))
    if not entries:
        _step("step 4", lambda: _check_window_empty(closing, window))

    empty, interval_ms = _verdict_of(ground, window, members)
    proven: Verdict = "PRESENT" if entries else empty
    _step("step 8", lambda: _check_verdict(members, proven))
    _step("receipt", lambda: _check_receipt(trust, members))
    whole = asked == window
    if not whole and not _answers_part(asked, window, members, proven):
        raise Unanswered("step 0: another question")
    inside = [entry for entry in entries if asked.from_ms <= entry.ms <= asked.to_ms]
    return AbsenceResult(
        "PRESENT" if inside else empty,
        closing.type,
        len(inside),
        "more" in members,
        map_head.ms,
        interval_ms,
        witnessed,
        map_verified,
        None if quorum_ms is None else quorum_ms - map_head.ms,
        tuple(entry.statement for entry in inside),
        None if whole else (window.from_ms, window.to_ms),
        opened.ml_dsa,
    )


def _answers_part(asked: _Window, own: _Window, members: JsonObject, proven: Verdict) -> bool:
    """Whether a valid document answers a question whose window is a part of its own."""
    complete = own.after is None and "more" not in members
    inside = own.key == asked.key and own.from_ms <= asked.from_ms and asked.to_ms <= own.to_ms
    # UNDECLARED and UNDERSAMPLED say nothing of a part of the window.
    return complete and inside and proven in ("PRESENT", "ABSENT")


def _step(name: str, check: Callable[[], T]) -> T:
    try:
        return check()
    except Refused as error:
        raise Refused(f"{name}: {error}") from error


# The document, step 0 and step 2


@dataclass(frozen=True)
class _Window:
    key: ChainKey
    from_ms: int
    to_ms: int
    after: int | None


@dataclass(frozen=True)
class _Ground:
    """What every later step rests on."""

    trust: Trust
    tree: TreeHead
    map_head: OpenedEntry

    def open(self, opened: Json) -> OpenedEntry:
        return open_entry(self.trust, self.tree, opened)

    def map_root(self) -> bytes:
        return from_hex(string(self.map_head.statement.get("map_root"), "map_root"), 32)


def _read_document(document: Json) -> JsonObject:
    # A parsed document passes the same parser: what is not I-JSON has no canonical text either.
    text = document if isinstance(document, str) else canonical_text(document)
    members = exact_object(parse_json(text, max_bytes=_MAX_DOCUMENT_BYTES), "document", _REQUIRED, _OPTIONAL)
    if members["schema"] != ABSENCE_SCHEMA:
        raise Refused("schema is another one")
    if "statement" in members:
        string(members["statement"], "statement")
    if "does_not_assert" in members:
        strings(members["does_not_assert"], "does_not_assert", _MAX_LINES)
    return members


def _check_question(question: Question, trust: Trust) -> _Window:
    key = check_key(question.key, trust.kinds)
    from_ms, to_ms = count(question.from_ms, "from_ms"), count(question.to_ms, "to_ms")
    if from_ms > to_ms:
        raise Refused("window is reversed")
    return _Window(key, from_ms, to_ms, None if question.after is None else count(question.after, "after"))


def _own_question(members: JsonObject, trust: Trust) -> _Window:
    """The question of a document, which it is checked against before that is compared with the caller's."""
    own = exact_object(members["question"], "question", ["key", "from_ms", "to_ms"])
    return _check_question(Question(own["key"], own["from_ms"], own["to_ms"]), trust)


def _open_map_head(trust: Trust, tree: TreeHead, opened: Json) -> OpenedEntry:
    entry = open_entry(trust, tree, opened)
    if entry.index != tree.size - 1:
        raise Refused("map head is not the last entry")
    if entry.type != "log.map_head.v1":
        raise Refused("map head is an entry of another type")
    if not same(entry.statement.get("covered"), entry.index):
        raise Refused("map head does not cover the tree")
    return entry


# Step 4


@dataclass(frozen=True)
class _Never:
    type: Literal["never"] = "never"


@dataclass(frozen=True)
class _Tail:
    head: Head
    type: Literal["tail"] = "tail"


@dataclass(frozen=True)
class _Gap:
    successor: OpenedEntry
    link: Link
    type: Literal["gap"] = "gap"


_Closing = Union[_Never, _Tail, _Gap]


def _read_closing(ground: _Ground, key: ChainKey, proof: Json) -> _Closing:
    """Checks a proof against the map or the tree. What it means for a window is compared later."""
    kind = proof.get("type") if isinstance(proof, dict) else None
    if kind == "never":
        _check_never(ground, key, exact_object(proof, "proof", ["type", "siblings"], ["foreign"]))
        return _Never()
    if kind == "tail":
        return _Tail(_read_tail(ground, key, exact_object(proof, "proof", ["type", "siblings", "head"])))
    if kind == "gap":
        successor = ground.open(exact_object(proof, "proof", ["type", "successor"])["successor"])
        return _Gap(successor, link_on(successor, key))
    raise Refused("proof is neither never, tail nor gap")


def _check_never(ground: _Ground, key: ChainKey, proof: JsonObject) -> None:
    root, skey = ground.map_root(), skey_of(ground.trust.origin, key)
    siblings = strings(proof["siblings"], "siblings", MAX_SIBLINGS)
    foreign = None
    if "foreign" in proof:
        leaf = exact_object(proof["foreign"], "foreign leaf", ["skey", "vhash"])
        foreign = MapLeaf(
            hash_of(leaf["skey"], "skey of the foreign leaf"), hash_of(leaf["vhash"], "vhash of the foreign leaf")
        )
    check_non_member(root=root, skey=skey, siblings=siblings, foreign=foreign)


def _read_tail(ground: _Ground, key: ChainKey, proof: JsonObject) -> Head:
    members = exact_object(proof["head"], "head", ["count", "last_index", "last_ms", "last_leaf_hash"])
    head = Head(
        count(members["count"], "count of a head"),
        count(members["last_index"], "last_index of a head"),
        count(members["last_ms"], "last_ms of a head"),
        hash_of(members["last_leaf_hash"], "last_leaf_hash of a head"),
    )
    if head.count < 1:
        raise Refused("head of a chain without entries")
    if head.last_index >= ground.map_head.index:
        raise Refused("head lies beyond the map head")
    root, leaf = ground.map_root(), MapLeaf(skey_of(ground.trust.origin, key), head.vhash())
    check_member(root=root, leaf=leaf, siblings=strings(proof["siblings"], "siblings", MAX_SIBLINGS))
    return head


def _check_window_empty(closing: _Closing, window: _Window) -> None:
    """The chain has no entry from ``from_ms`` to ``to_ms``, both included."""
    if isinstance(closing, _Tail) and closing.head.last_ms >= window.from_ms:
        raise Refused("last entry is not before the window")
    if isinstance(closing, _Gap):
        if closing.successor.ms <= window.to_ms:
            raise Refused("successor is not after the window")
        if closing.link.prev is not None and closing.link.prev[1] >= window.from_ms:
            raise Refused("entry before the successor is not before the window")


def _check_next(link: Link, entry: OpenedEntry, following: Link) -> None:
    """``following`` is the link of the entry that directly follows on the chain."""
    if following.seq != link.seq + 1 or following.prev != (entry.index, entry.ms):
        raise Refused("an entry of the chain is left out")


def _check_closed_by(closing: _Closing, last: OpenedEntry, link: Link) -> None:
    """The chain has no entry between the last one shown and what closes it."""
    if isinstance(closing, _Never):
        raise Refused("a chain with entries is closed by a tail or a gap")
    if isinstance(closing, _Gap):
        _check_next(link, last, closing.link)
    elif closing.head != Head(link.seq + 1, last.index, last.ms, last.leaf_hash):
        raise Refused("head of the chain is not the last entry shown")


# Step 5


def _read_entries(ground: _Ground, window: _Window, members: JsonObject, closing: _Closing) -> Sequence[OpenedEntry]:
    """The entries of the window, oldest first and without a gap."""
    if "entries" not in members:
        if "more" in members:
            raise Refused("more is given without entries")
        if window.after is not None:
            raise Refused("a further page has entries")
        return []
    more = "more" in members
    if more and members["more"] is not True:
        raise Refused("more is not true")
    entries = [ground.open(opened) for opened in array(members["entries"], "entries", MAX_ENTRIES)]
    shown = [(entry, link_on(entry, window.key)) for entry in entries]
    for i, (entry, link) in enumerate(shown):
        if not window.from_ms <= entry.ms <= window.to_ms:
            raise Refused("an entry is not in the window")
        if i > 0:
            before, link_before = shown[i - 1]
            _check_next(link_before, before, link)
        elif window.after is None:
            if link.prev is not None and link.prev[1] >= window.from_ms:
                raise Refused("first entry of the window is left out")
        elif link.prev is None or link.prev[0] != window.after:
            raise Refused("first entry of the window is left out")
    if not shown:
        raise Refused("entries is empty")
    _check_closed_by(closing, *shown[-1])
    if more and not isinstance(closing, _Gap):
        raise Refused("more is given without the next entry")
    if not more and isinstance(closing, _Gap) and closing.successor.ms <= window.to_ms:
        raise Refused("an entry of the window is left out")
    return [entry for entry, _ in shown]


# Steps 6 to 8


def _verdict_of(ground: _Ground, window: _Window, members: JsonObject) -> tuple[Verdict, int | None]:
    """The verdict about the window without its entries, and the interval of heartbeats that the manifests promise.

    Members of the document are checked even where the verdict does not need them.
    """
    if window.key[0] != "surface":
        if "declared" in members or "coverage" in members:
            raise Refused("step 6: declared and coverage need the kind surface")
        return "ABSENT", None
    declared, interval_ms = False, None
    if "declared" in members:
        declared, interval_ms = _step("step 6", lambda: _read_declared(ground, window, members["declared"]))
    heartbeat = None
    if "coverage" in members:
        heartbeat = _step("step 7", lambda: _read_coverage(ground, window, members["coverage"]))
    if not declared:
        return "UNDECLARED", interval_ms
    if interval_ms is not None and not (heartbeat is not None and heartbeat.covers(window, interval_ms)):
        return "UNDERSAMPLED", interval_ms
    return "ABSENT", interval_ms


@dataclass(frozen=True)
class _Manifest:
    """A manifest as far as the window is concerned; ``until_ms`` None is without end."""

    ms: int
    lists: bool
    from_ms: int
    until_ms: int | None
    interval_ms: int | None


def _read_declared(ground: _Ground, window: _Window, value: Json) -> tuple[bool, int | None]:
    """Whether the manifests declare the window, and the smallest heartbeat interval that one of them promises."""
    _, entity, surface = window.key
    key = ("manifest", entity)
    members = exact_object(value, "declared", ["manifests", "closing"])
    entries = [ground.open(opened) for opened in array(members["manifests"], "manifests", _MAX_MANIFESTS)]
    links = [link_on(entry, key) for entry in entries]
    for i in range(1, len(entries)):
        _check_next(links[i - 1], entries[i - 1], links[i])
    manifests = [_read_manifest(entry, entity, surface) for entry in entries]
    if sum(entry.ms < window.from_ms for entry in entries) != 1:
        raise Refused("not exactly one manifest was published before the window")
    closing = _read_closing(ground, key, members["closing"])
    _check_closed_by(closing, entries[-1], links[-1])
    if isinstance(closing, _Gap) and closing.successor.ms <= window.to_ms:
        raise Refused("successor of the last manifest is not after the window")
    intervals = [one.interval_ms for one in manifests if one.interval_ms is not None]
    declares = all(one.lists for one in manifests) and _spans(manifests, window)
    return declares, min(intervals, default=None)


def _read_manifest(entry: OpenedEntry, entity: str, surface: str) -> _Manifest:
    statement = entry.statement
    if entry.type != "astl.manifest.v1":
        raise Refused("declared shows an entry of another type")
    if statement.get("entity") != entity:
        raise Refused("a manifest is of another entity")
    own = {name: statement[name] for name in _MANIFEST if name in statement}
    if sha256(canonical(own)).hexdigest() != statement.get("surface_manifest_hash"):
        raise Refused("surface_manifest_hash of a manifest is wrong")
    surfaces, until, interval = own.get("surfaces"), "valid_until_ms" in own, "heartbeat_interval_ms" in own
    return _Manifest(
        entry.ms,
        isinstance(surfaces, list) and surface in surfaces,
        max(count(own.get("valid_from_ms"), "valid_from_ms"), entry.ms),
        count(own["valid_until_ms"], "valid_until_ms") if until else None,
        count(own["heartbeat_interval_ms"], "heartbeat_interval_ms") if interval else None,
    )


def _spans(manifests: Sequence[_Manifest], window: _Window) -> bool:
    """Whether each millisecond of the window is in the span of one manifest, both ends of a span included."""
    uncovered = window.from_ms
    for i, manifest in enumerate(manifests):
        ends = [] if manifest.until_ms is None else [manifest.until_ms]
        if i + 1 < len(manifests):
            ends.append(manifests[i + 1].ms)
        until = min(ends, default=window.to_ms)
        if manifest.from_ms <= uncovered <= until:
            uncovered = until + 1
    return uncovered > window.to_ms


@dataclass(frozen=True)
class _Heartbeat:
    ms: int
    interval_ms: int
    run_since_ms: int

    def covers(self, window: _Window, interval_ms: int) -> bool:
        return (
            self.interval_ms <= interval_ms
            and self.run_since_ms <= window.from_ms + interval_ms
            and self.ms >= window.to_ms - interval_ms
        )


def _read_coverage(ground: _Ground, window: _Window, value: Json) -> _Heartbeat:
    _, entity, surface = window.key
    entry = ground.open(exact_object(value, "coverage", ["heartbeat"])["heartbeat"])
    if entry.type != "astl.heartbeat.v1":
        raise Refused("coverage is not a heartbeat")
    link_on(entry, ("heartbeat", entity, surface))
    statement = entry.statement
    if statement.get("entity") != entity or statement.get("surface") != surface:
        raise Refused("the heartbeat is of another surface")
    interval_ms = count(statement.get("interval_ms"), "interval_ms of the heartbeat")
    return _Heartbeat(entry.ms, interval_ms, count(statement.get("run_since_ms"), "run_since_ms of the heartbeat"))


def _check_verdict(members: JsonObject, verdict: Verdict) -> None:
    if members["verdict"] != verdict:
        raise Refused("verdict is not what the document proves")


def _check_receipt(trust: Trust, members: JsonObject) -> None:
    """``receipt`` is of an entry that commits to the document without it."""
    if "receipt" not in members:
        return
    receipt = members["receipt"]
    if not isinstance(receipt, dict):
        raise Refused("receipt is not an object")
    result = verify_receipt(receipt, trust)
    if not result.valid or result.statement is None:
        raise Refused("receipt is not valid")
    rest = {name: member for name, member in members.items() if name != "receipt"}
    if result.statement.get("document_sha256") != sha256(canonical(rest)).hexdigest():
        raise Refused("receipt is of another document")
