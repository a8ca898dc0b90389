"""The evidence of a finding, and what every rule needs of it (log/FORMAT.md section 7.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .encoding import Json, JsonObject, Refused
from .notes import TreeHead
from .receipts import Entry, read_entry
from .trust import Trust

#: The largest number of entries in a finding.
MAX_ENTRIES = 20
KEPT = "the evidence does not break the rule"
NOT_OF_RULE = "the evidence is not that of the rule"


@dataclass(frozen=True)
class Shown:
    index: int
    #: Empty where the bytes are not UTF-8; None where they were withheld.
    text: str | None
    leaf: bytes
    #: None for an entry that no note commits to.
    path: list[bytes] | None
    #: The number of the note that the path leads to.
    note: int

    def read(self) -> Entry:
        if self.text is None:
            raise Refused(KEPT)
        return read_entry(self.text)


@dataclass(frozen=True)
class Consistency:
    old: int
    new: int
    old_root: bytes
    path: list[bytes]


@dataclass
class Evidence:
    trust: Trust
    rule: str
    notes: list[str]
    #: Origin and verifier key of the log of each note.
    logs: list[tuple[str, str]]
    #: The document has the verifier key of each note, as a finding about two logs does.
    named: bool
    entries: list[Shown]
    consistency: Consistency | None
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
class Rule:
    #: What the operator did, in words; None if the evidence alone does not show it.
    broken: Callable[[Evidence], str | None]
    #: The least and the largest number of notes, and of entries.
    notes: tuple[int, int] = (1, 1)
    entries: tuple[int, int] = (0, 0)
    #: The notes may be of two logs.
    logs: bool = False
    consistency: bool = False
    #: The last entry but one has no path.
    stray: bool = False
    #: The signed text is not read as a checkpoint.
    any_text: bool = False


def broken_by(rule: Rule, evidence: Evidence) -> str | None:
    """What broke the rule. Evidence that the rule does not need would be shown unchecked, so it is refused."""
    if (
        not _is_within(rule.notes, len(evidence.notes))
        or not _is_within(rule.entries, len(evidence.entries))
        or (evidence.consistency is not None) != rule.consistency
        or (evidence.named and not rule.logs)
    ):
        raise Refused(NOT_OF_RULE)
    if not rule.stray and any(entry.text is None for entry in evidence.entries):
        return None
    return rule.broken(evidence)


def _is_within(span: tuple[int, int], number: int) -> bool:
    least, most = span
    return least <= number <= most


def kept(said: str | None) -> str:
    if said is None:
        raise Refused(KEPT)
    return said


def time_of(statement: JsonObject) -> int | None:
    ms = statement.get("issued_at_ms")
    return ms if isinstance(ms, int) and not isinstance(ms, bool) and 0 <= ms < 2**48 else None


def is_count(value: Json) -> bool:
    """Whether a value is an integer from 0 to 2^53 - 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
