"""ML-DSA-44 keys and cosignatures, by the vectors that all verifiers share (C2SP tlog-cosignature, type 06)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actlog import Refused, open_checkpoint
from actlog.notes import open_note, parse_vkey

VECTORS = json.loads((Path(__file__).parents[4] / "test/vectors/ml-dsa.json").read_text())
CHECKPOINT = VECTORS["checkpoint"]
COSIGNERS = [parse_vkey(CHECKPOINT[name]) for name in ("witness", "witness_ml_dsa", "log_ml_dsa")]


def opened(note):
    return open_checkpoint(note, origin=CHECKPOINT["origin"], vkey=CHECKPOINT["log"], cosigners=COSIGNERS)


def changed(note, line):
    lines = note.split("\n")
    text = lines[-2 - line]
    lines[-2 - line] = text[:-8] + ("B" if text[-8] == "A" else "A") + text[-7:]
    return "\n".join(lines)


def test_torchwood_signature_holds():
    vector = VECTORS["torchwood"]
    _, verified = open_note(vector["note"], [parse_vkey(vector["vkey"])])
    assert [one.time_s for one in verified] == [0]


def test_cosignatures_count_where_they_have_a_time():
    assert [one.time_s for one in opened(CHECKPOINT["note"]).cosignatures] == CHECKPOINT["times"]


@pytest.mark.parametrize("line", [0, 2])
def test_changed_signature_refuses_the_note(line):
    with pytest.raises(Refused):
        opened(changed(CHECKPOINT["note"], line))
