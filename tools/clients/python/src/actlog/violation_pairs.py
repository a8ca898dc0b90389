"""The rules about two logs that a finding can show to be broken (log/FORMAT.md sections 7 and 7.1).

What a log and its successor say of each other, what a successor carries over, and keys that two logs share.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .ed25519 import public_key_of_jwk
from .encoding import Json, JsonObject, Refused, same
from .notes import TreeHead, parse_vkey
from .violation_evidence import KEPT, NOT_OF_RULE, Evidence, Rule, Shown, is_count, time_of

#: An entry type by which a plugin carries (log/FORMAT.md section 1.3).
_CARRIED = re.compile(r"\.carried\.v[1-9][0-9]*\Z")
_ORIGIN = re.compile("([^\n\r\u2028\u2029]+)/log/(live|sandbox)/([1-9][0-9]{0,15})")


@dataclass(frozen=True)
class Origin:
    """The parts of ``<host>/log/<kind>/<n>``."""

    host: str
    kind: str
    number: int


def parse_origin(origin: str) -> Origin | None:
    """Takes an origin apart; None for anything else."""
    match = _ORIGIN.fullmatch(origin)
    return None if match is None else Origin(match[1], match[2], int(match[3]))


def _is_neighbour(value: Json, own: Origin, step: int) -> bool:
    """Whether a value is the origin of the next log of the kind (step 1) or of the one before it (-1)."""
    other = parse_origin(value) if isinstance(value, str) else None
    return other is not None and other.kind == own.kind and other.number == own.number + step


def _number_of(origin: str) -> Origin:
    parsed = parse_origin(origin)
    if parsed is None:
        raise Refused(KEPT)
    return parsed


@dataclass(frozen=True)
class _Earlier:
    """An entry of the first log, under the first note."""

    index: int
    leaf: bytes
    statement: JsonObject


@dataclass(frozen=True)
class _Succession:
    """A log and its direct successor."""

    older: str
    newer: str
    tree: TreeHead
    #: Entry 0 of the successor.
    opening: JsonObject
    #: Size and root that it names; None if it does not name the older log.
    claimed: tuple[int, Json] | None
    before: _Earlier | None

    def opened(self, size: int) -> str:
        return f"opened {self.newer} as the successor of {self.older} after {size} entries"

    def grown(self, size: int) -> str:
        return f"{self.opened(size)}, and signed a checkpoint of {self.tree.size} entries of {self.older}"


def _earlier(evidence: Evidence) -> _Earlier | None:
    """The entry before the last one; None if there is none."""
    if len(evidence.entries) < 2:
        return None
    before = evidence.entries[-2]
    if before.note != 0:
        raise Refused(KEPT)
    return _Earlier(before.index, before.leaf, before.read().statement)


def _opening(evidence: Evidence) -> JsonObject:
    """The last entry, which must open a log."""
    last = evidence.entries[-1]
    statement = last.read().statement
    if last.index != 0 or statement.get("type") != "log.open.v1":
        raise Refused(KEPT)
    return statement


def _succession(evidence: Evidence) -> _Succession:
    (older, _), (newer, _) = evidence.logs
    if not _is_neighbour(newer, _number_of(older), 1) or evidence.entries[-1].note != 1:
        raise Refused(KEPT)
    opening = _opening(evidence)
    named = opening.get("predecessor")
    claimed = None
    if isinstance(named, dict) and named.get("origin") == older:
        size = named.get("size")
        if isinstance(size, int) and is_count(size):
            claimed = (size, named.get("root"))
    return _Succession(older, newer, evidence.trees[0], opening, claimed, _earlier(evidence))


def _predecessor(evidence: Evidence) -> str | None:
    if len(evidence.notes) == 1:
        return _lone_opening(evidence)
    pair = _succession(evidence)
    older, newer, before = pair.older, pair.newer, pair.before
    if before is None:
        return _without_entry(pair)
    if pair.claimed is None:
        raise Refused(KEPT)
    size, _ = pair.claimed
    # A map head follows the entry that closes the log, and nothing follows the map head.
    if before.statement.get("type") == "log.closed.v1" and size > before.index + 2:
        return f"closed {older} at entry {before.index}, and {pair.opened(size)}"
    ms, own = time_of(before.statement), time_of(pair.opening)
    if ms is None or own is None or ms < own:
        raise Refused(KEPT)
    return (
        f"opened {newer} as the successor of {older} at a time that is not after that of "
        f"entry {before.index} of {older}"
    )


def _lone_opening(evidence: Evidence) -> str:
    """About entry 0 of a log alone."""
    if len(evidence.entries) != 1:
        raise Refused(NOT_OF_RULE)
    own = _number_of(evidence.trust.origin)
    named = _opening(evidence).get("predecessor")
    if own.number == 1:
        if named is None:
            raise Refused(KEPT)
        return evidence.in_tree("opens the first log of its kind and names a predecessor")
    if isinstance(named, dict) and _is_neighbour(named.get("origin"), own, -1):
        raise Refused(KEPT)
    return evidence.in_tree("opens the log and does not name the log before it")


def _without_entry(pair: _Succession) -> str | None:
    """What entry 0 of the successor and the note of the older log show; None if they do not decide."""
    older, newer, tree = pair.older, pair.newer, pair.tree
    if pair.claimed is None:
        return f"opened {newer} as the log after {older}, and its first entry does not name that log as its predecessor"
    size, root = pair.claimed
    if tree.size > size:
        return pair.grown(size)
    if tree.size < size or root == tree.root.hex():
        return None
    return (
        f"signed a checkpoint of {size} entries of {older}, and opened {newer} as its successor "
        "with another root of these entries"
    )


def _successor(evidence: Evidence) -> str:
    if len(evidence.notes) == 1:
        return _lone_closing(evidence)
    pair = _succession(evidence)
    older, newer, before = pair.older, pair.newer, pair.before
    if before is None:
        raise Refused(NOT_OF_RULE)
    statement = before.statement
    if pair.claimed is None or statement.get("type") != "log.closed.v1" or statement.get("successor") == newer:
        raise Refused(KEPT)
    return (
        f"closed {older} at entry {before.index} without naming {newer}, and opened {newer} as the successor of {older}"
    )


def _lone_closing(evidence: Evidence) -> str:
    """About the entry that closes a log alone."""
    if len(evidence.entries) != 1:
        raise Refused(NOT_OF_RULE)
    statement = evidence.entries[-1].read().statement
    named = statement.get("successor")
    keeps = named is None or _is_neighbour(named, _number_of(evidence.trust.origin), 1)
    if statement.get("type") != "log.closed.v1" or keeps:
        raise Refused(KEPT)
    return evidence.in_tree("closes the log and names a successor that is not the log after it")


def _two_logs(evidence: Evidence) -> str:
    pair = _succession(evidence)
    if pair.claimed is None or pair.before is None or pair.before.index < pair.claimed[0]:
        raise Refused(KEPT)
    return pair.grown(pair.claimed[0])


@dataclass(frozen=True)
class _Rest:
    """The entry that a carried entry names."""

    number: int
    index: int
    entry_id: str | None
    leaf_hash: str | None


def _rests_on(statement: JsonObject) -> _Rest | None:
    value = statement.get("rests_on")
    if not isinstance(value, dict):
        return None
    number, index = value.get("log_number"), value.get("index")
    entry_id, leaf_hash = value.get("entry_id"), value.get("leaf_hash")
    if not isinstance(number, int) or not isinstance(index, int) or not is_count(number) or not is_count(index):
        return None
    if number == 0 or not isinstance(entry_id, (str, type(None))) or not isinstance(leaf_hash, (str, type(None))):
        return None
    return _Rest(number, index, entry_id, leaf_hash)


def _carried(evidence: Evidence) -> str | None:
    if len(evidence.entries) != len(evidence.notes):
        raise Refused(NOT_OF_RULE)
    last = evidence.entries[-1]
    statement = last.read().statement
    name = statement.get("type")
    if not isinstance(name, str) or not _CARRIED.search(name) or last.note != len(evidence.notes) - 1:
        raise Refused(KEPT)
    own = _number_of(evidence.trust.origin)
    named = _rests_on(statement)
    before = _earlier(evidence)
    if before is None:
        if named is not None and named.number < own.number:
            raise Refused(KEPT)
        words = "no entry" if named is None else "an entry of a log that is not an earlier one"
        return evidence.in_tree(f"was carried over and names {words}")
    older, _ = evidence.logs[0]
    parsed = _number_of(older)
    if (
        named is None
        or parsed.kind != own.kind
        or parsed.number != named.number
        or parsed.number >= own.number
        or before.index > named.index
    ):
        raise Refused(KEPT)
    if before.index < named.index and before.statement.get("type") != "log.closed.v1":
        # Only the entry that closes the log shows where it ends.
        return None
    return (
        f"signed a checkpoint of {evidence.size} entries of {evidence.trust.origin} in which entry {last.index} "
        f"was carried over and names entry {named.index} of {older}"
        + _wrong_rest(named, before, direct=parsed.number == own.number - 1)
    )


def _wrong_rest(named: _Rest, before: _Earlier, *, direct: bool) -> str:
    """How the named entry differs from the one that is there."""
    if before.index < named.index:
        if named.index <= before.index + 1:
            raise Refused(KEPT)
        return f", which was closed at entry {before.index}"
    if direct and (named.entry_id is None or named.leaf_hash is None):
        return " without its id and leaf hash"
    if named.leaf_hash is not None and named.leaf_hash != before.leaf.hex():
        return " with another leaf hash"
    if named.entry_id is not None and not same(named.entry_id, before.statement.get("entry_id")):
        return " with another id"
    raise Refused(KEPT)


@dataclass(frozen=True)
class _Use:
    """What a key is for in one of two logs."""

    kind: str
    declared: bool
    key: bytes
    words: str


def _use(evidence: Evidence, note: int) -> _Use:
    """The use of the checkpoint key of a log, or of the receipt key that the entry under its note declares."""
    origin, vkey = evidence.logs[note]
    kind = _number_of(origin).kind
    shown = [entry for entry in evidence.entries if entry.note == note]
    if len(shown) > 1:
        raise Refused(NOT_OF_RULE)
    if not shown:
        return _Use(kind, False, parse_vkey(vkey).public_key, f"the checkpoint key of {origin}")
    words = f"the receipt key that entry {shown[0].index} of {origin} declares"
    return _Use(kind, True, _declared_key(shown[0]), words)


def _declared_key(shown: Shown) -> bytes:
    statement = shown.read().statement
    member = {"log.open.v1": "jwk", "log.key.v1": "key"}.get(str(statement.get("type")), "")
    jwk = statement.get(member)
    if not isinstance(jwk, dict):
        raise Refused(KEPT)
    return public_key_of_jwk(jwk)


def _key_shared(evidence: Evidence) -> str:
    one, other = _use(evidence, 0), _use(evidence, 1)
    if one.key != other.key or (one.kind == other.kind and one.declared == other.declared):
        raise Refused(KEPT)
    return f"uses one key as {one.words} and as {other.words}"


#: The rules about two logs. Some of them can also be broken by one log alone.
PAIR_RULES: dict[str, Rule] = {
    "predecessor": Rule(_predecessor, notes=(1, 2), entries=(1, 2), logs=True),
    "successor": Rule(_successor, notes=(1, 2), entries=(1, 2), logs=True),
    "two_logs": Rule(_two_logs, notes=(2, 2), entries=(2, 2), logs=True),
    "carried": Rule(_carried, notes=(1, 2), entries=(1, 2), logs=True),
    "key_shared": Rule(_key_shared, notes=(2, 2), entries=(0, 2), logs=True),
}
