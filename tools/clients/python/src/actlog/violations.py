"""Findings of monitors and witnesses: signed objects that show that a log broke a rule (log/FORMAT.md section 7.1)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .ed25519 import verify
from .encoding import (
    Json,
    JsonObject,
    Refused,
    array,
    count,
    exact_object,
    from_base64,
    from_hex,
    hash_of,
    same,
    string,
    strings,
    to_base64,
    utf8,
)
from .notes import TreeHead, open_checkpoint, open_note, parse_checkpoint, parse_vkey
from .receipts import DERIVED, MAX_PATH, Entry, Line, link_on, read_entry
from .tree import ChainKey, check_consistency, check_inclusion, leaf_hash
from .trust import Trust

VIOLATION_SCHEMA = "actlog-violation-v1"

_REQUIRED = ("schema", "origin", "vkey", "rule", "detail", "proof", "found_at_ms", "notes", "entries")
_OPTIONAL = ("consistency", "vkeys", "tile", "withheld", "clock_ms")
_CONTENTS = ("entry", "entry_base64", "leaf_hash")
_MAX_NOTES = 2
_MAX_ENTRIES = 20
_MAX_WITHHELD = 100_000
_MAX_CONSISTENCY = 106
_RULE = re.compile("[a-z][a-z_]{0,39}")
_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z][a-z0-9_]*\.v[1-9][0-9]*")
_SANDBOX = re.compile(r"/log/sandbox/[1-9][0-9]*\Z")
_KEPT = "the evidence does not break the rule"


class Undecided(Exception):
    """A finding that others cannot check: neither valid nor invalid."""


@dataclass
class ViolationResult:
    """What a finding shows."""

    #: The log broke the rule.
    valid: bool = False
    #: Beside ``valid`` False: the evidence is signed, and does not decide alone.
    untold: bool = False
    #: One sentence without its period.
    summary: str = ""
    checks: list[Line] = field(default_factory=list)


@dataclass(frozen=True)
class _Shown:
    index: int
    #: Empty where the bytes are not UTF-8; None where they were withheld.
    text: str | None
    leaf: bytes
    #: None for an entry that no note commits to.
    path: list[bytes] | None

    def read(self) -> Entry:
        if self.text is None:
            raise Refused(_KEPT)
        return read_entry(self.text)


@dataclass(frozen=True)
class _Consistency:
    old: int
    new: int
    old_root: bytes
    path: list[bytes]


@dataclass
class _Evidence:
    trust: Trust
    rule: str
    notes: list[str]
    entries: list[_Shown]
    consistency: _Consistency | None
    #: The open notes; of a rule about a text, the signed text in ``texts``.
    trees: list[TreeHead] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        return self.trees[-1].size

    def in_tree(self, said: str) -> str:
        index = self.entries[-1].index
        return f"signed a checkpoint of {self.size} entries in which entry {index} {said}"


@dataclass(frozen=True)
class _Rule:
    #: What the operator did, in words; None if the evidence alone does not show it.
    broken: Callable[[_Evidence], str | None]
    notes: int = 1
    #: The least and the largest number of entries.
    entries: tuple[int, int] = (0, 0)
    consistency: bool = False
    #: The last entry but one has no path.
    stray: bool = False
    #: The signed text is not read as a checkpoint.
    any_text: bool = False


def verify_violation(document: JsonObject, trust: Trust) -> ViolationResult:
    """Checks a finding with the keys of one log.

    :raises Undecided: for a finding that others cannot check
    """
    result = ViolationResult()
    name = "form"
    try:
        evidence = _read(document, trust)
        result.checks.append(Line(name, "ok", f"a finding of the rule {evidence.rule}"))
        rule = _RULES.get(evidence.rule)
        for note in evidence.notes:
            name = "checkpoint"
            result.checks.append(Line(name, "ok", _open(evidence, note, rule)))
        if evidence.consistency is not None:
            name = "consistency"
            result.checks.append(Line(name, "ok", _check_prefix(evidence)))
        for i, entry in enumerate(evidence.entries):
            if rule is not None and rule.stray and i == len(evidence.entries) - 2:
                continue
            name = "entry"
            result.checks.append(Line(name, "ok", _check_included(evidence, entry)))
        name = "rule"
        words = None if rule is None else _broken(rule, evidence)
    except Refused as error:
        result.checks.append(Line(name, "failed", str(error)))
        result.summary = f"{name} failed: {error}"
        return result
    if words is None:
        result.untold = True
        detail = "the other entries of the log decide: actlog monitor replays them"
        result.checks.append(Line(name, "not_shown", detail))
        result.summary = (
            "the log signed what is shown, and only a replay of the log shows whether it breaks the rule "
            + evidence.rule
        )
    else:
        result.valid = True
        result.checks.append(Line(name, "ok", "the evidence breaks it"))
        result.summary = f"the operator of the log {trust.origin} {words}"
    return result


# Reading


def _read(document: JsonObject, trust: Trust) -> _Evidence:
    members = exact_object(document, "finding", _REQUIRED, _OPTIONAL)
    if members["schema"] != VIOLATION_SCHEMA:
        raise Refused("schema is another one")
    rule = string(members["rule"], "rule")
    if not _RULE.fullmatch(rule):
        raise Refused("rule is no name of a rule")
    if members["proof"] == "observed":
        raise Undecided(
            f"this finding ({rule}) is what its monitor was given or read from a clock, and no signature proves it: "
            "others cannot check it"
        )
    if members["proof"] != "signed":
        raise Refused("proof is not signed or observed")
    if "vkeys" in members:
        raise Undecided(f"this finding ({rule}) compares two logs: actlog monitor checks both of them")
    string(members["detail"], "detail")
    count(members["found_at_ms"], "found_at_ms")
    if "withheld" in members:
        strings(members["withheld"], "withheld", _MAX_WITHHELD)
    for name in ("tile", "clock_ms"):
        if name in members:
            raise Refused(f"a signed finding has no {name}")
    if members["origin"] != trust.origin:
        raise Refused("finding is of another log")
    if string(members["vkey"], "vkey") != trust.vkey:
        raise Refused("finding is of another key")
    notes = strings(members["notes"], "notes", _MAX_NOTES)
    entries = [_read_shown(one) for one in array(members["entries"], "entries", _MAX_ENTRIES)]
    if not notes:
        raise Refused("finding has no note")
    consistency = _read_consistency(members["consistency"]) if "consistency" in members else None
    return _Evidence(trust, rule, notes, entries, consistency)


def _read_consistency(value: Json) -> _Consistency:
    members = exact_object(value, "consistency", ["from", "to", "from_root", "path"])
    return _Consistency(
        count(members["from"], "from"),
        count(members["to"], "to"),
        hash_of(members["from_root"], "from_root"),
        [hash_of(node, "path") for node in array(members["path"], "path", _MAX_CONSISTENCY)],
    )


def _read_shown(value: Json) -> _Shown:
    members = exact_object(value, "entry of a finding", ["index"], (*_CONTENTS, "path"))
    index = count(members["index"], "index of an entry")
    contents = [name for name in _CONTENTS if name in members]
    if len(contents) != 1:
        raise Refused("an entry has not exactly one of entry, entry_base64 and leaf_hash")
    content = string(members[contents[0]], contents[0])
    path = None
    if "path" in members:
        path = [hash_of(node, "path of an entry") for node in strings(members["path"], "path of an entry", MAX_PATH)]
    if contents[0] == "leaf_hash":
        return _Shown(index, None, from_hex(content, 32), path)
    if contents[0] == "entry":
        return _Shown(index, content, leaf_hash(utf8(content)), path)
    data = from_base64(content)
    if _is_utf8(data):
        raise Refused("entry_base64 is UTF-8")
    return _Shown(index, "", leaf_hash(data), path)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


# Checking


def _open(evidence: _Evidence, note: str, rule: _Rule | None) -> str:
    """Opens a note. The log alone is held to what it signed, so cosigners do not matter."""
    trust = evidence.trust
    if rule is not None and rule.any_text:
        text, _ = open_note(note, [parse_vkey(trust.vkey)])
        evidence.texts.append(text)
        return "a note that the log signed"
    tree = open_checkpoint(note, origin=trust.origin, vkey=trust.vkey).tree
    evidence.trees.append(tree)
    return f"tree of {tree.size} entries"


def _check_prefix(evidence: _Evidence) -> str:
    consistency = evidence.consistency
    if consistency is None or len(evidence.trees) != 2:
        raise Refused("consistency is not that of two notes")
    older, newer = evidence.trees
    old, new = consistency.old, consistency.new
    if old != older.size or new != newer.size or old == 0 or old >= new:
        raise Refused("consistency is of other sizes")
    check_consistency(old=old, new=new, old_root=consistency.old_root, new_root=newer.root, path=consistency.path)
    return f"from {old} to {new}"


def _check_included(evidence: _Evidence, entry: _Shown) -> str:
    if not evidence.trees or entry.path is None:
        raise Refused("an entry has no path")
    tree = evidence.trees[-1]
    check_inclusion(index=entry.index, size=tree.size, leaf=entry.leaf, path=entry.path, root=tree.root)
    return f"entry {entry.index} of {tree.size}"


def _broken(rule: _Rule, evidence: _Evidence) -> str | None:
    """What broke the rule. Evidence that the rule does not need would be shown unchecked, so it is refused."""
    least, most = rule.entries
    if (
        len(evidence.notes) != rule.notes
        or not least <= len(evidence.entries) <= most
        or (evidence.consistency is not None) != rule.consistency
    ):
        raise Refused("the evidence is not that of the rule")
    if not rule.stray and any(entry.text is None for entry in evidence.entries):
        return None
    return rule.broken(evidence)


# The rules


def _kept(said: str | None) -> str:
    if said is None:
        raise Refused(_KEPT)
    return said


def _two_roots(evidence: _Evidence) -> str:
    one, other = evidence.trees
    if one.size != other.size or one.root == other.root:
        raise Refused(_KEPT)
    roots = f"{to_base64(one.root)} and {to_base64(other.root)}"
    return f"signed two different roots for the tree of {one.size} entries: {roots}"


def _inconsistent(evidence: _Evidence) -> str:
    older, newer = evidence.trees
    if evidence.consistency is None or evidence.consistency.old_root == older.root:
        raise Refused(_KEPT)
    return (
        f"signed a checkpoint of {older.size} entries and one of {newer.size} entries, "
        f"and the first {older.size} entries of the two are not the same"
    )


def _of_text(broken: Callable[[str], str | None]) -> _Rule:
    """A rule about the text that the log signed, which need not be a checkpoint."""

    def check(evidence: _Evidence) -> str:
        [text] = evidence.texts
        # The line of a successor's key can be put under the name of its predecessor, since it signs the text alone.
        if text.split("\n", 1)[0] != evidence.trust.origin:
            raise Refused(_KEPT)
        return _kept(broken(text))

    return _Rule(check, any_text=True)


def _not_a_checkpoint(text: str) -> str | None:
    try:
        parse_checkpoint(text)
    except Refused:
        return "signed a note that names the log and is not a checkpoint"
    return None


def _no_entries(text: str) -> str | None:
    return "signed a checkpoint of no entries" if parse_checkpoint(text)[1].size == 0 else None


def _two_entries(evidence: _Evidence) -> str:
    stray, committed = evidence.entries[-2:]
    if stray.path is not None or stray.index != committed.index:
        raise Refused(_KEPT)
    entry = stray.read()
    statement, index = entry.statement, committed.index
    if (
        not same(statement.get("origin"), evidence.trust.origin)
        or not same(statement.get("index"), index)
        or entry.leaf_hash == committed.leaf
    ):
        raise Refused(_KEPT)
    key, public_key = evidence.trust.key_of(string(statement.get("kid"), "kid of an entry"))
    issued_at_ms = count(statement.get("issued_at_ms"), "issued_at_ms of an entry")
    key.check_in_force(index=index, issued_at_ms=issued_at_ms, included=False)
    if not verify(public_key, entry.message, entry.signature):
        raise Refused("signature of an entry is not valid")
    return (
        f"signed an entry of the index {index}, and a checkpoint of {evidence.size} entries "
        "that has another entry at that index"
    )


def _malformed(evidence: _Evidence) -> str:
    try:
        evidence.entries[-1].read()
    except Refused:
        return evidence.in_tree("is not the text of an entry")
    raise Refused(_KEPT)


def _bad_signature(evidence: _Evidence) -> str:
    entry = evidence.entries[-1].read()
    _, public_key = evidence.trust.key_of(string(entry.statement.get("kid"), "kid of an entry"))
    if verify(public_key, entry.message, entry.signature):
        raise Refused(_KEPT)
    return evidence.in_tree("does not have a valid signature of the key that it names")


def _of_entry(broken: Callable[[JsonObject, int, _Evidence], str | None], most: int = 1) -> _Rule:
    """A rule about the statement of one entry and its index. None where the entry keeps the rule."""

    def check(evidence: _Evidence) -> str:
        *before, last = evidence.entries
        if any(one.index != 0 for one in before):
            raise Refused(_KEPT)
        return evidence.in_tree(_kept(broken(last.read().statement, last.index, evidence)))

    return _Rule(check, entries=(1, most))


@dataclass(frozen=True)
class _Placed:
    index: int
    statement: JsonObject


def _of_pair(broken: Callable[[_Placed, _Placed], str | None]) -> _Rule:
    """A rule about an entry and an earlier one."""

    def check(evidence: _Evidence) -> str:
        before, last = evidence.entries
        if before.index >= last.index:
            raise Refused(_KEPT)
        one, other = before.read().statement, last.read().statement
        said = broken(_Placed(before.index, one), _Placed(last.index, other))
        return evidence.in_tree(_kept(said))

    return _Rule(check, entries=(2, 2))


def _time(statement: JsonObject) -> int | None:
    ms = statement.get("issued_at_ms")
    return ms if isinstance(ms, int) and not isinstance(ms, bool) and 0 <= ms < 2**48 else None


def _uuid(statement: JsonObject) -> str | None:
    entry_id = statement.get("entry_id")
    return entry_id if isinstance(entry_id, str) and _UUID.fullmatch(entry_id) else None


def _entry_id(statement: JsonObject, _index: int, _evidence: _Evidence) -> str | None:
    entry_id = _uuid(statement)
    if entry_id is not None and same(int(entry_id[:8] + entry_id[9:13], 16), statement.get("issued_at_ms")):
        return None
    return "has an entry_id that is not a UUIDv7 of its time"


def _log_open(statement: JsonObject, index: int, _evidence: _Evidence) -> str | None:
    if (index == 0) == (statement.get("type") == "log.open.v1"):
        return None
    return "is the first one and does not open the log" if index == 0 else "opens the log again"


def _log_closed(before: _Placed, last: _Placed) -> str | None:
    ends = last.index == before.index + 1 and last.statement.get("type") == "log.map_head.v1"
    if before.statement.get("type") != "log.closed.v1" or ends:
        return None
    return f"follows entry {before.index}, which closed the log"


def _time_order(before: _Placed, last: _Placed) -> str | None:
    ms, own = _time(before.statement), _time(last.statement)
    if before.index != last.index - 1 or ms is None or own is None or ms <= own:
        return None
    return f"is dated before entry {before.index}"


def _time_after_map_head(before: _Placed, last: _Placed) -> str | None:
    ms, own = _time(before.statement), _time(last.statement)
    if before.statement.get("type") != "log.map_head.v1" or ms is None or own is None or ms < own:
        return None
    return f"is not dated after entry {before.index}, a map head"


def _entry_id_order(before: _Placed, last: _Placed) -> str | None:
    entry_id, own = _uuid(before.statement), _uuid(last.statement)
    if before.index != last.index - 1 or entry_id is None or own is None or entry_id < own:
        return None
    return f"does not have a greater entry_id than entry {before.index}"


def _links(evidence: _Evidence) -> str | None:
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


def _says(name: str, said: str, own: Callable[[_Evidence, int], Json]) -> _Rule:
    return _of_entry(
        lambda statement, index, evidence: None if same(statement.get(name), own(evidence, index)) else said
    )


def _matches(expression: re.Pattern[str], value: Json) -> bool:
    return isinstance(value, str) and expression.fullmatch(value) is not None


_RULES: dict[str, _Rule] = {
    "two_roots": _Rule(_two_roots, notes=2),
    "inconsistent": _Rule(_inconsistent, notes=2, consistency=True),
    "checkpoint_form": _of_text(_not_a_checkpoint),
    "checkpoint_size": _of_text(_no_entries),
    "checkpoint_map_head": _of_entry(
        lambda statement, index, evidence: (
            "is the last one and is not a map head"
            if index == evidence.size - 1 and statement.get("type") != "log.map_head.v1"
            else None
        )
    ),
    "two_entries": _Rule(_two_entries, entries=(2, _MAX_ENTRIES), stray=True),
    **dict.fromkeys(
        ("entry_size", "entry_json", "entry_canonical", "signature_form"), _Rule(_malformed, entries=(1, 1))
    ),
    "signature": _Rule(_bad_signature, entries=(1, 1)),
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
        lambda statement, _index, _evidence: "has no valid time" if _time(statement) is None else None
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
    "links": _Rule(_links, entries=(1, _MAX_ENTRIES)),
}
