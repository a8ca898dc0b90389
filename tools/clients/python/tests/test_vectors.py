"""The published vectors: of this repository, and those of others where they are at hand."""

from __future__ import annotations

import base64
import json

import pytest

from actlog import (
    Question,
    Refused,
    Unanswerable,
    Unanswered,
    canonical,
    check_consistency,
    check_document,
    check_inclusion,
    leaf_hash,
    open_checkpoint,
    parse_json,
    recognise,
    verify_absence,
)
from actlog.cli import main
from actlog.ed25519 import verify
from actlog.tree import Head, MapLeaf, root_of, skey_of
from actlog.vectors import trust_of
from conftest import absence_vectors, shared

VECTORS = absence_vectors()


@pytest.mark.parametrize("vector", VECTORS["documents"], ids=lambda vector: vector["name"])
def test_absence_document_has_its_verdict(vector):
    doc = vector["doc"]
    question = Question(*(doc["question"][name] for name in ("key", "from_ms", "to_ms")))
    result = verify_absence(json.dumps(doc), question, trust_of(VECTORS))
    expected = {name: value for name, value in vector["result"].items() if hasattr(result, name)}
    assert {name: getattr(result, name) for name in expected} == expected
    assert result.verdict == doc["verdict"]


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["name"])
def test_absence_document_is_refused(vector):
    question = Question(*(vector["question"][name] for name in ("key", "from_ms", "to_ms")))
    with pytest.raises(Refused):
        verify_absence(vector.get("text") or json.dumps(vector["doc"]), question, trust_of(VECTORS))


@pytest.mark.parametrize("vector", VECTORS["documents"], ids=lambda vector: vector["name"])
def test_absence_document_answers_for_a_part_of_its_window(vector):
    doc, trust = vector["doc"], trust_of(VECTORS)
    key, from_ms, to_ms = (doc["question"][name] for name in ("key", "from_ms", "to_ms"))
    whole = verify_absence(doc, Question(key, from_ms, to_ms), trust)
    assert whole.covers is None
    with pytest.raises(Unanswered):
        verify_absence(doc, Question(key, from_ms, to_ms + 1), trust)
    if from_ms == to_ms:
        return
    part = Question(key, to_ms, to_ms)
    if whole.verdict.startswith("UN") or whole.more:
        with pytest.raises(Unanswered):
            verify_absence(doc, part, trust)
        return
    result = verify_absence(doc, part, trust)
    assert result.covers == (from_ms, to_ms)
    assert result.entries == sum(entry["issued_at_ms"] == to_ms for entry in whole.shown)
    assert (result.verdict == "PRESENT") is (result.entries > 0)
    for entry in whole.shown:
        at = entry["issued_at_ms"]
        assert verify_absence(doc, Question(key, at, at), trust).verdict == "PRESENT"


def test_a_document_that_does_not_answer_is_not_invalid():
    doc = VECTORS["documents"][0]["doc"]
    (document,) = recognise(json.dumps(doc).encode())
    asked = Question(**{**doc["question"], "to_ms": doc["question"]["to_ms"] + 1})
    with pytest.raises(Unanswerable, match="does not answer this question"):
        check_document(document, trust_of(VECTORS), question=asked)
    declared = Question(["gate.case", "x"], 0, 1)
    with pytest.raises(Unanswerable, match=r"give --chain gate\.case=1 if it has 1 members"):
        check_document(document, trust_of(VECTORS), question=declared)


def test_a_document_on_a_chain_kind_of_the_kit_is_checked(log, tmp_path, capsys):
    document = tmp_path / "absent.json"
    document.write_text(json.dumps(VECTORS["documents"][3]["doc"]))
    trusted = trust_of(VECTORS)
    kit = tmp_path / "kit.json"

    def run(kinds):
        jwk = {**trusted.keys[0].jwk, "kid": trusted.keys[0].kid, "origin": trusted.origin}
        logs = [{"origin": trusted.origin, "vkey": trusted.vkey, "kinds": kinds}]
        kit.write_text(json.dumps({"schema": "svc-offline-verify-kit-v1", "logs": logs, "keys": {"keys": [jwk]}}))
        code = main([str(document), "--kit", str(kit), "--as-asked", "--key", '["gate.case","x"]'])
        return code, "".join(capsys.readouterr())

    code, text = run({})
    assert code == 2 and "give --chain gate.case=1 if it has 1 members" in text
    code, text = run({"gate.case": 1})
    assert code == 2 and "does not answer this question" in text


def test_tree_and_map_of_the_absence_vectors():
    leaves = [leaf_hash(text.encode()) for text in VECTORS["entries"]]
    assert [leaf.hex() for leaf in leaves] == VECTORS["leaf_hashes"]
    assert [root_of(leaves[: n + 1]).hex() for n in range(len(leaves))] == VECTORS["roots"]
    for one in VECTORS["skeys"]:
        assert skey_of(VECTORS["origin"], tuple(one["key"])).hex() == one["skey"]
    record = VECTORS["head_record"]
    last = bytes.fromhex(record["last_leaf_hash"])
    assert Head(record["count"], record["last_index"], record["last_ms"], last).vhash().hex() == record["vhash"]
    assert len(MapLeaf(bytes(32), bytes(32)).hash()) == 32
    proof = VECTORS["consistency"]
    old, new = proof["from"], proof["to"]
    roots = {"old_root": root_of(leaves[:old]), "new_root": root_of(leaves[:new])}
    check_consistency(old=old, new=new, path=proof["path"], **roots)
    with pytest.raises(Refused):
        check_consistency(old=old - 1, new=new, path=proof["path"], **roots)


def test_ed25519_accepts_one_rule():
    """S < L, canonical A and R, neither of low order, cofactorless: what flags say of each vector decides."""
    refused_by = {"non_canonical_A", "non_canonical_R", "low_order_A", "low_order_R", "low_order_residue"}
    accepted = 0
    for vector in shared("ed25519", "vectors.json"):
        signed = bytes.fromhex(vector["key"]), vector["msg"].encode(), bytes.fromhex(vector["sig"])
        flags = set(vector.get("flags") or ())
        assert verify(*signed) is not bool(flags & refused_by), vector["number"]
        accepted += verify(*signed)
    assert accepted > 0


def test_jcs():
    for vector in shared("jcs", "vectors.json"):
        value = parse_json(vector["input"], fractions=True)
        assert canonical(value).hex() == vector["canonical_hex"], vector["name"]


def test_merkle_inclusion():
    for case in shared("merkle", "inclusion.json"):
        claim = {"index": int(case["leafIdx"]), "size": int(case["treeSize"])}
        hashes = {"leaf": _decoded(case["leafHash"]), "root": _decoded(case["root"])}
        _expect(case, lambda: check_inclusion(**claim, **hashes, path=_path(case)))


def test_merkle_consistency():
    for case in shared("merkle", "consistency.json"):
        if int(case["size1"]) == 0:
            continue  # a proof from size 0 is empty by C2SP tlog-witness and refused by these vectors
        claim = {"old": int(case["size1"]), "new": int(case["size2"])}
        roots = {"old_root": _decoded(case["root1"]), "new_root": _decoded(case["root2"])}
        _expect(case, lambda: check_consistency(**claim, **roots, path=_path(case)))


def test_golden_checkpoints():
    golden = shared("tlog-golden", "log.json")
    leaves = [leaf_hash(entry.encode()) for entry in golden["entries"]]
    for size, note in golden["checkpoints"].items():
        opened = open_checkpoint(note, origin=golden["origin"], vkey=golden["vkey"])
        assert opened.tree.size == int(size)
        assert opened.tree.root == root_of(leaves[: int(size)])


def _decoded(text: str | None) -> bytes:
    return base64.b64decode(text or "")


def _path(case: dict) -> list[bytes]:
    return [_decoded(node) for node in case["proof"] or []]


def _expect(case: dict, check) -> None:
    if not case["wantErr"]:
        check()
        return
    with pytest.raises(Refused):
        check()
