"""ML-DSA-44 keys and cosignatures, by the vectors that all verifiers share (C2SP tlog-cosignature, type 06)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actlog import Refused, Trust, open_checkpoint
from actlog.notes import open_note, parse_vkey

VECTORS = json.loads((Path(__file__).parents[4] / "test/vectors/ml-dsa.json").read_text())
CHECKPOINT = VECTORS["checkpoint"]
COSIGNERS = [parse_vkey(CHECKPOINT[name]) for name in ("witness", "witness_ml_dsa", "log_ml_dsa")]


def opened(note):
    return open_checkpoint(note, origin=CHECKPOINT["origin"], vkey=CHECKPOINT["log"], cosigners=COSIGNERS)


def opened_by_log(note, *, second=CHECKPOINT["log_ml_dsa"], cosigners=COSIGNERS[:2]):
    log = {"origin": CHECKPOINT["origin"], "vkey": CHECKPOINT["log"]}
    return open_checkpoint(note, **log, vkey_ml_dsa=second, cosigners=cosigners)


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


def second_line():
    lines = CHECKPOINT["note"].split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith(f"— {CHECKPOINT['origin']} ") and len(line) > 1000)
    return len(lines) - 2 - at, lines[at]


def test_second_signature_of_the_log_is_found():
    found = opened_by_log(CHECKPOINT["note"])
    assert found.ml_dsa
    assert len(found.cosignatures) == 2
    number, line = second_line()
    with pytest.raises(Refused, match="not valid"):
        opened_by_log(changed(CHECKPOINT["note"], number))
    assert not opened_by_log(CHECKPOINT["note"].replace(f"{line}\n", "")).ml_dsa


def test_second_key_is_of_the_log_and_of_no_witness():
    for second in (CHECKPOINT["witness_ml_dsa"], CHECKPOINT["log"]):
        with pytest.raises(Refused, match="vkey_ml_dsa is not an ML-DSA-44 key of the log"):
            opened_by_log(CHECKPOINT["note"], second=second, cosigners=())
    with pytest.raises(Refused, match="another name"):
        opened_by_log(CHECKPOINT["note"], cosigners=COSIGNERS)


def test_trust_can_require_it():
    note = CHECKPOINT["note"]
    trust = Trust(
        CHECKPOINT["origin"], CHECKPOINT["log"], (), vkey_ml_dsa=CHECKPOINT["log_ml_dsa"], require_ml_dsa=True
    )
    assert trust.open_tree(note).ml_dsa
    _, line = second_line()
    with pytest.raises(Refused, match="no ML-DSA-44 signature"):
        trust.open_tree(note.replace(f"{line}\n", ""))
