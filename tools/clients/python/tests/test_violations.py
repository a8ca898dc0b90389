"""Findings of monitors and witnesses: the vectors, and every character of the evidence."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest

from actlog import Finding, Unanswerable, check_document, recognise, trust_from_kit
from conftest import REPOSITORY

VECTORS = json.loads((REPOSITORY / "test/vectors/violation.json").read_text())
KIT = VECTORS["kit"]
TRUSTS = {log["origin"]: trust_from_kit(KIT, log["origin"]) for log in KIT["logs"]}


def named(part):
    return [pytest.param(one, id=one["name"]) for one in VECTORS[part]]


def check(doc) -> Finding | None:
    """What the verifier says of a document; None where it is neither valid nor invalid."""
    [document] = recognise(json.dumps(doc).encode())
    assert document.kind == "violation"
    try:
        finding = check_document(document, TRUSTS[doc["origin"]])
    except Unanswerable:
        return None
    return None if finding.untold else finding


@pytest.mark.parametrize("vector", named("documents"))
def test_proves(vector):
    finding = check(vector["doc"])
    assert finding is not None and finding.valid
    assert finding.summary == vector["summary"]


@pytest.mark.parametrize("vector", named("undecided"))
def test_decides_nothing(vector):
    assert check(vector["doc"]) is None


@pytest.mark.parametrize("vector", named("refused"))
def test_refuses(vector):
    finding = check(vector["doc"])
    assert finding is not None and not finding.valid
    assert [line.name for line in finding.checks if line.outcome == "failed"] == [vector["check"]]


def changes(source: random.Random, value) -> Iterator[object]:
    """Copies of a value, each with one character or number changed."""
    if isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        for _ in range(min(6, len(value))):
            at = source.randrange(len(value))
            yield value[:at] + ("B" if value[at] == "A" else "A") + value[at + 1 :]
    elif isinstance(value, list):
        for i, element in enumerate(value):
            for changed in changes(source, element):
                yield [*value[:i], changed, *value[i + 1 :]]
    elif isinstance(value, dict):
        for name, member in value.items():
            for changed in changes(source, member):
                yield {**value, name: changed}


@pytest.mark.parametrize("vector", named("documents"))
def test_proves_nothing_with_changed_evidence(vector):
    source = random.Random(27)
    doc = vector["doc"]
    for name in ("notes", "entries", "consistency"):
        for changed in changes(source, doc.get(name)):
            finding = check({**doc, name: changed})
            assert finding is None or not finding.valid, (name, changed)
