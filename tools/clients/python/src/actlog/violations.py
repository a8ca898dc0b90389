"""Findings of monitors and witnesses: signed objects that show that a log broke a rule (log/FORMAT.md section 7.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

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
    string,
    strings,
    utf8,
)
from .notes import open_checkpoint, open_note, parse_vkey
from .receipts import MAX_PATH, Line
from .tree import check_consistency, check_inclusion, leaf_hash
from .trust import Trust
from .violation_evidence import MAX_ENTRIES, Consistency, Evidence, Rule, Shown, broken_by
from .violation_pairs import parse_origin
from .violation_rules import RULES

VIOLATION_SCHEMA = "actlog-violation-v1"

_REQUIRED = ("schema", "origin", "vkey", "rule", "detail", "proof", "found_at_ms", "notes", "entries")
_OPTIONAL = ("consistency", "vkeys", "tile", "withheld", "clock_ms")
_CONTENTS = ("entry", "entry_base64", "leaf_hash")
_MAX_NOTES = 2
_MAX_WITHHELD = 100_000
_MAX_CONSISTENCY = 106
_RULE = re.compile("[a-z][a-z_]{0,39}")


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


def verify_violation(document: JsonObject, trust: Trust) -> ViolationResult:
    """Checks a finding with the keys of one log.

    :raises Undecided: for a finding that others cannot check
    """
    result = ViolationResult()
    name = "form"
    try:
        evidence = _read(document, trust)
        result.checks.append(Line(name, "ok", f"a finding of the rule {evidence.rule}"))
        rule = RULES.get(evidence.rule)
        for note, log in zip(evidence.notes, evidence.logs):
            name = "checkpoint"
            result.checks.append(Line(name, "ok", _open(evidence, note, log, rule)))
        if evidence.consistency is not None:
            name = "consistency"
            result.checks.append(Line(name, "ok", _check_prefix(evidence)))
        for i, entry in enumerate(evidence.entries):
            if rule is not None and rule.stray and i == len(evidence.entries) - 2:
                continue
            name = "entry"
            result.checks.append(Line(name, "ok", _check_included(evidence, entry)))
        name = "rule"
        words = None if rule is None else broken_by(rule, evidence)
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
        first, _ = evidence.logs[0]
        logs = f"log {trust.origin}" if first == trust.origin else f"logs {first} and {trust.origin}"
        result.summary = f"the operator of the {logs} {words}"
    return result


# Reading


def _read(document: JsonObject, trust: Trust) -> Evidence:
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
    if not notes:
        raise Refused("finding has no note")
    named = "vkeys" in members
    entries = [_read_shown(one, len(notes), named) for one in array(members["entries"], "entries", MAX_ENTRIES)]
    consistency = _read_consistency(members["consistency"]) if "consistency" in members else None
    logs = _read_logs(members, trust, len(notes)) if named else [(trust.origin, trust.vkey)] * len(notes)
    return Evidence(trust, rule, notes, logs, named, entries, consistency)


def _read_logs(members: JsonObject, trust: Trust, notes: int) -> list[tuple[str, str]]:
    """Reads the verifier keys of a finding about two logs. The last one is that of the log of the finding.

    :raises Undecided: for a log that the verifier does not know, or that may have another operator
    """
    vkeys = strings(members["vkeys"], "vkeys", _MAX_NOTES)
    if len(vkeys) != notes:
        raise Refused("vkeys are not those of the notes")
    if vkeys[-1] != trust.vkey:
        raise Refused("finding is of another key")
    logs = []
    for vkey in vkeys:
        origin = vkey.split("+", 1)[0]
        known = trust.vkey if origin == trust.origin else trust.logs.get(origin)
        if known is None:
            raise Undecided(
                f"this finding ({members['rule']}) is also about a log that the kit does not know: a log that is "
                "younger than the kit, such as a successor, needs a newer kit"
            )
        if known != vkey:
            raise Refused("finding is of another key")
        own, other = parse_origin(trust.origin), parse_origin(origin)
        if own is None or other is None or own.host != other.host:
            raise Undecided(
                f"this finding ({members['rule']}) is about logs of two hosts, and no signature proves that they have "
                "one operator"
            )
        logs.append((origin, vkey))
    return logs


def _read_consistency(value: Json) -> Consistency:
    members = exact_object(value, "consistency", ["from", "to", "from_root", "path"])
    return Consistency(
        count(members["from"], "from"),
        count(members["to"], "to"),
        hash_of(members["from_root"], "from_root"),
        [hash_of(node, "path") for node in array(members["path"], "path", _MAX_CONSISTENCY)],
    )


def _read_shown(value: Json, notes: int, named: bool) -> Shown:
    """Reads an entry. ``named``: the finding names the keys of its notes, and its entries may name their note."""
    optional = (*_CONTENTS, "path", "note") if named else (*_CONTENTS, "path")
    members = exact_object(value, "entry of a finding", ["index"], optional)
    index = count(members["index"], "index of an entry")
    note = count(members["note"], "note of an entry") if "note" in members else notes - 1
    if note >= notes:
        raise Refused("an entry names a note that is not there")
    contents = [name for name in _CONTENTS if name in members]
    if len(contents) != 1:
        raise Refused("an entry has not exactly one of entry, entry_base64 and leaf_hash")
    content = string(members[contents[0]], contents[0])
    path = None
    if "path" in members:
        path = [hash_of(node, "path of an entry") for node in strings(members["path"], "path of an entry", MAX_PATH)]
    if contents[0] == "leaf_hash":
        return Shown(index, None, from_hex(content, 32), path, note)
    if contents[0] == "entry":
        return Shown(index, content, leaf_hash(utf8(content)), path, note)
    data = from_base64(content)
    if _is_utf8(data):
        raise Refused("entry_base64 is UTF-8")
    return Shown(index, "", leaf_hash(data), path, note)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


# Checking


def _open(evidence: Evidence, note: str, log: tuple[str, str], rule: Rule | None) -> str:
    """Opens a note. The log alone is held to what it signed, so cosigners do not matter."""
    origin, vkey = log
    if rule is not None and rule.any_text:
        text, _ = open_note(note, [parse_vkey(vkey)])
        evidence.texts.append(text)
        return "a note that the log signed"
    tree = open_checkpoint(note, origin=origin, vkey=vkey).tree
    evidence.trees.append(tree)
    return f"tree of {tree.size} entries"


def _check_prefix(evidence: Evidence) -> str:
    consistency = evidence.consistency
    if consistency is None or len(evidence.trees) != 2:
        raise Refused("consistency is not that of two notes")
    older, newer = evidence.trees
    old, new = consistency.old, consistency.new
    if old != older.size or new != newer.size or old == 0 or old >= new:
        raise Refused("consistency is of other sizes")
    check_consistency(old=old, new=new, old_root=consistency.old_root, new_root=newer.root, path=consistency.path)
    return f"from {old} to {new}"


def _check_included(evidence: Evidence, entry: Shown) -> str:
    if not evidence.trees or entry.path is None:
        raise Refused("an entry has no path")
    tree = evidence.trees[entry.note]
    check_inclusion(index=entry.index, size=tree.size, leaf=entry.leaf, path=entry.path, root=tree.root)
    return f"entry {entry.index} of {tree.size}"
