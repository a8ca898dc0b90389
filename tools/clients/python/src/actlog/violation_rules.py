"""The rules that a finding can show to be broken, each with what is recomputed from its evidence.

log/FORMAT.md section 7.1. Those about two logs are in ``violation_pairs``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .ed25519 import verify
from .encoding import Json, JsonObject, Refused, count, same, string, to_base64
from .notes import parse_checkpoint
from .receipts import DERIVED, link_on
from .tree import ChainKey
from .violation_evidence import KEPT, MAX_ENTRIES, Evidence, Rule, kept, time_of
from .violation_pairs import PAIR_RULES

_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z][a-z0-9_]*\.v[1-9][0-9]*")
_SANDBOX = re.compile(r"/log/sandbox/[1-9][0-9]*\Z")


def _two_roots(evidence: Evidence) -> str:
    one, other = evidence.trees
    if one.size != other.size or one.root == other.root:
        raise Refused(KEPT)
    roots = f"{to_base64(one.root)} and {to_base64(other.root)}"
    return f"signed two different roots for the tree of {one.size} entries: {roots}"


def _inconsistent(evidence: Evidence) -> str:
    older, newer = evidence.trees
    if evidence.consistency is None or evidence.consistency.old_root == older.root:
        raise Refused(KEPT)
    return (
        f"signed a checkpoint of {older.size} entries and one of {newer.size} entries, "
        f"and the first {older.size} entries of the two are not the same"
    )


def _of_text(broken: Callable[[str], str | None]) -> Rule:
    """A rule about the text that the log signed, which need not be a checkpoint."""

    def check(evidence: Evidence) -> str:
        [text] = evidence.texts
        # The line of a successor's key can be put under the name of its predecessor, since it signs the text alone.
        if text.split("\n", 1)[0] != evidence.trust.origin:
            raise Refused(KEPT)
        return kept(broken(text))

    return Rule(check, any_text=True)


def _not_a_checkpoint(text: str) -> str | None:
    try:
        parse_checkpoint(text)
    except Refused:
        return "signed a note that names the log and is not a checkpoint"
    return None


def _no_entries(text: str) -> str | None:
    return "signed a checkpoint of no entries" if parse_checkpoint(text)[1].size == 0 else None


def _two_entries(evidence: Evidence) -> str:
    stray, committed = evidence.entries[-2:]
    if stray.path is not None or stray.index != committed.index:
        raise Refused(KEPT)
    entry = stray.read()
    statement, index = entry.statement, committed.index
    if (
        not same(statement.get("origin"), evidence.trust.origin)
        or not same(statement.get("index"), index)
        or entry.leaf_hash == committed.leaf
    ):
        raise Refused(KEPT)
    key, public_key = evidence.trust.key_of(string(statement.get("kid"), "kid of an entry"))
    issued_at_ms = count(statement.get("issued_at_ms"), "issued_at_ms of an entry")
    key.check_in_force(index=index, issued_at_ms=issued_at_ms, included=False)
    if not verify(public_key, entry.message, entry.signature):
        raise Refused("signature of an entry is not valid")
    return (
        f"signed an entry of the index {index}, and a checkpoint of {evidence.size} entries "
        "that has another entry at that index"
    )


def _malformed(evidence: Evidence) -> str:
    try:
        evidence.entries[-1].read()
    except Refused:
        return evidence.in_tree("is not the text of an entry")
    raise Refused(KEPT)


def _bad_signature(evidence: Evidence) -> str:
    entry = evidence.entries[-1].read()
    _, public_key = evidence.trust.key_of(string(entry.statement.get("kid"), "kid of an entry"))
    if verify(public_key, entry.message, entry.signature):
        raise Refused(KEPT)
    return evidence.in_tree("does not have a valid signature of the key that it names")


def _of_entry(broken: Callable[[JsonObject, int, Evidence], str | None], most: int = 1) -> Rule:
    """A rule about the statement of one entry and its index. None where the entry keeps the rule."""

    def check(evidence: Evidence) -> str:
        *before, last = evidence.entries
        if any(one.index != 0 for one in before):
            raise Refused(KEPT)
        return evidence.in_tree(kept(broken(last.read().statement, last.index, evidence)))

    return Rule(check, entries=(1, most))


@dataclass(frozen=True)
class _Placed:
    index: int
    statement: JsonObject


def _of_pair(broken: Callable[[_Placed, _Placed], str | None]) -> Rule:
    """A rule about an entry and an earlier one."""

    def check(evidence: Evidence) -> str:
        before, last = evidence.entries
        if before.index >= last.index:
            raise Refused(KEPT)
        one, other = before.read().statement, last.read().statement
        said = broken(_Placed(before.index, one), _Placed(last.index, other))
        return evidence.in_tree(kept(said))

    return Rule(check, entries=(2, 2))


def _uuid(statement: JsonObject) -> str | None:
    entry_id = statement.get("entry_id")
    return entry_id if isinstance(entry_id, str) and _UUID.fullmatch(entry_id) else None


def _entry_id(statement: JsonObject, _index: int, _evidence: Evidence) -> str | None:
    entry_id = _uuid(statement)
    if entry_id is not None and same(int(entry_id[:8] + entry_id[9:13], 16), statement.get("issued_at_ms")):
        return None
    return "has an entry_id that is not a UUIDv7 of its time"


def _log_open(statement: JsonObject, index: int, _evidence: Evidence) -> str | None:
    if (index == 0) == (statement.get("type") == "log.open.v1"):
        return None
    return "is the first one and does not open the log" if index == 0 else "opens the log again"


def _log_closed(before: _Placed, last: _Placed) -> str | None:
    ends = last.index == before.index + 1 and last.statement.get("type") == "log.map_head.v1"
    if before.statement.get("type") != "log.closed.v1" or ends:
        return None
    return f"follows entry {before.index}, which closed the log"


def _time_order(before: _Placed, last: _Placed) -> str | None:
    ms, own = time_of(before.statement), time_of(last.statement)
    if before.index != last.index - 1 or ms is None or own is None or ms <= own:
        return None
    return f"is dated before entry {before.index}"


def _time_after_map_head(before: _Placed, last: _Placed) -> str | None:
    ms, own = time_of(before.statement), time_of(last.statement)
    if before.statement.get("type") != "log.map_head.v1" or ms is None or own is None or ms < own:
        return None
    return f"is not dated after entry {before.index}, a map head"


def _entry_id_order(before: _Placed, last: _Placed) -> str | None:
    entry_id, own = _uuid(before.statement), _uuid(last.statement)
    if before.index != last.index - 1 or entry_id is None or own is None or entry_id < own:
        return None
    return f"does not have a greater entry_id than entry {before.index}"


def _links(evidence: Evidence) -> str | None:
    if len(evidence.entries) != 2:
        return None
    before, last = evidence.entries
    if before.index >= last.index:
        return None
    try:
        one, other = before.read().statement, last.read().statement
    except Refused:
        return None
    links = one.get("links")
    for link in links if isinstance(links, list) else []:
        chain = link.get("key") if isinstance(link, dict) else None
        if not isinstance(chain, list) or not chain or not all(isinstance(part, str) for part in chain):
            continue
        if _leaves_out(tuple(chain), _Placed(before.index, one), _Placed(last.index, other)):
            return evidence.in_tree(f"leaves out entry {before.index} of a chain that both are on")
    return None


def _leaves_out(chain: ChainKey, earlier: _Placed, later: _Placed) -> bool:
    """Whether the later entry names no entry of a chain, or one before the earlier entry."""
    try:
        link_on(earlier, chain)
        link = link_on(later, chain)
    except Refused:
        return False
    return link.prev is None or link.prev[0] < earlier.index


def _says(name: str, said: str, own: Callable[[Evidence, int], Json]) -> Rule:
    return _of_entry(
        lambda statement, index, evidence: None if same(statement.get(name), own(evidence, index)) else said
    )


def _matches(expression: re.Pattern[str], value: Json) -> bool:
    return isinstance(value, str) and expression.fullmatch(value) is not None


#: The rules that the evidence alone can show to be broken.
RULES: dict[str, Rule] = {
    "two_roots": Rule(_two_roots, notes=(2, 2)),
    "inconsistent": Rule(_inconsistent, notes=(2, 2), consistency=True),
    "checkpoint_form": _of_text(_not_a_checkpoint),
    "checkpoint_size": _of_text(_no_entries),
    "checkpoint_map_head": _of_entry(
        lambda statement, index, evidence: (
            "is the last one and is not a map head"
            if index == evidence.size - 1 and statement.get("type") != "log.map_head.v1"
            else None
        )
    ),
    "two_entries": Rule(_two_entries, entries=(2, MAX_ENTRIES), stray=True),
    **dict.fromkeys(
        ("entry_size", "entry_json", "entry_canonical", "signature_form"), Rule(_malformed, entries=(1, 1))
    ),
    "signature": Rule(_bad_signature, entries=(1, 1)),
    "member_forbidden": _of_entry(
        lambda statement, _index, _evidence: (
            "has a member that no entry may have" if any(name in statement for name in DERIVED) else None
        )
    ),
    "type_form": _of_entry(
        lambda statement, _index, _evidence: (
            None if _matches(_TYPE, statement.get("type")) else "has no well-formed type"
        )
    ),
    "issued_at_ms": _of_entry(
        lambda statement, _index, _evidence: "has no valid time" if time_of(statement) is None else None
    ),
    "origin": _says("origin", "names another log", lambda evidence, _index: evidence.trust.origin),
    "sandbox": _says(
        "sandbox",
        "does not say truly whether the log is a sandbox",
        lambda evidence, _index: _SANDBOX.search(evidence.trust.origin) is not None,
    ),
    "index": _says("index", "names another index", lambda _evidence, index: index),
    "entry_id": _of_entry(_entry_id),
    "log_open": _of_entry(_log_open, 2),
    "log_closed": _of_pair(_log_closed),
    "time_order": _of_pair(_time_order),
    "time_after_map_head": _of_pair(_time_after_map_head),
    "entry_id_order": _of_pair(_entry_id_order),
    "links": Rule(_links, entries=(1, MAX_ENTRIES)),
    **PAIR_RULES,
}
