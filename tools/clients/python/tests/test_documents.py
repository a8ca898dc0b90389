"""Receipts, proofs, checkpoints, policies and kits, and the command that prints what they come to."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from dataclasses import replace

import pytest

from actlog import (
    Refused,
    TrustedKey,
    Unanswerable,
    batch,
    canonical,
    check_document,
    check_kit,
    kit_change,
    parse_json,
    parse_policy,
    read_kit,
    recognise,
    trust_from_kit,
    verify_receipt,
)
from actlog.cli import main, parse_instant
from actlog.encoding import from_base64, from_base64url
from actlog.findings import time_words
from conftest import Log, Signer


def outcomes(result):
    return {line.name: line.outcome for line in result.checks}


def failed(result):
    return [line.name for line in result.checks if line.outcome == "failed"]


class TestReceipts:
    def test_holds_with_its_proof(self, log):
        result = verify_receipt(json.dumps(log.receipt_of(3)), log.trust())
        assert result.valid
        assert (result.index, result.size) == (3, 7)
        assert outcomes(result)["cosignatures"] == "not_shown"

    def test_holds_without_a_proof_but_shows_no_place(self, log):
        result = verify_receipt(log.receipt_of(3, proof=False), log.trust())
        assert result.valid and result.size is None
        assert outcomes(result)["inclusion"] == "not_shown"

    def test_every_changed_member_is_refused(self, log):
        receipt = log.receipt_of(3)
        for name in json.loads(log.texts[3]):
            changed = {**receipt, name: 1 if receipt[name] != 1 else 2}
            assert not verify_receipt(changed, log.trust()).valid, name

    def test_true_is_not_1_and_0_is_not_false(self, log):
        log.append(index=True)
        log.append(sandbox=0)
        assert failed(verify_receipt(log.receipt_of(8), log.trust())) == ["origin"]
        assert failed(verify_receipt(log.receipt_of(7), log.trust())) == ["document_form"]

    def test_number_spellings_do_not_matter(self, log):
        text = json.dumps(log.receipt_of(3)).replace('"index": 3', '"index": 3.0')
        assert verify_receipt(text, log.trust()).valid

    def test_disclosures_open_their_commitments(self, log):
        salt = bytes(range(16))
        value = {"amount": 0.5, "text": "é\U0001f600"}
        commitment = hashlib.sha256(salt + canonical(value)).hexdigest()
        log.append(commitments={"message": commitment})
        disclosures = {"message": {"salt": salt.hex(), "value": value}}
        assert verify_receipt(log.receipt_of(7, disclosures=disclosures), log.trust()).valid
        disclosures["message"]["value"] = {**value, "amount": 0.25}
        assert failed(verify_receipt(log.receipt_of(7, disclosures=disclosures), log.trust())) == ["disclosures"]
        erased = {"message": {"erased": True, "erased_at_ms": 1, "erasure_entry_id": "x"}}
        result = verify_receipt(log.receipt_of(7, disclosures=erased), log.trust())
        assert result.valid and outcomes(result)["disclosures"] == "not_shown"

    def test_a_revocation_takes_effect_at_its_index(self, log):
        def of(**ends):
            key = TrustedKey(log.kid, log.jwk, "revoked", **ends)
            return log.trust(keys=(key,))

        assert verify_receipt(log.receipt_of(3), of(revoked_index=4)).valid
        assert not verify_receipt(log.receipt_of(3), of(revoked_index=3)).valid
        assert not verify_receipt(log.receipt_of(3, proof=False), of(revoked_index=4)).valid
        assert verify_receipt(log.receipt_of(3), of(revoked_at_ms=1_790_000_003_001)).valid
        assert not verify_receipt(log.receipt_of(3), of(revoked_at_ms=1_790_000_003_000)).valid
        assert not verify_receipt(log.receipt_of(3), of()).valid

    def test_an_unknown_key_is_untold_and_a_bad_signature_is_not(self, log):
        trust = log.trust(keys=())
        (document,) = recognise(json.dumps(log.receipt_of(3)).encode())
        assert check_document(document, trust).untold
        (changed,) = recognise(json.dumps({**log.receipt_of(3), "type": "a.b.v1"}).encode())
        assert not check_document(changed, trust).untold


class TestNotes:
    def test_a_quorum_is_needed_where_the_policy_has_one(self, log):
        one, two = Signer(0x51), Signer(0x52)
        names = "witness.example/one", "witness.example/two"
        lines = [f"witness a {one.vkey(names[0], 4)}", f"witness b {two.vkey(names[1], 4)}", "group g all a b"]
        trust = log.trust(policy=parse_policy("\n".join([*lines, "quorum g"])))
        text = log.note_text()
        first, second = one.cosign(names[0], text, 5), two.cosign(names[1], text, 9)

        def check(*given):
            (document,) = recognise(log.note(*given).encode())
            return check_document(document, trust)

        assert check(first, second).valid
        assert check(first, second).checks[0].detail == "tree of 7 entries, 2 witnesses, 0 monitors"
        assert not check(first).valid
        forged = one.cosign(names[0], text + " ", 7)
        assert check(first, second, forged).summary == "signature of witness.example/one is not valid"
        assert check(first, second, Signer(0x53).cosign("other.example", text, 1)).valid
        opened = trust.open_tree(log.note(first, second))
        assert trust.policy.quorum_time(opened.cosignatures) == 5
        assert trust.check_witnesses(opened.cosignatures, 5000).quorum_ms == 5000
        with pytest.raises(Refused):
            trust.check_witnesses(opened.cosignatures, 5001)

    @pytest.mark.parametrize(
        "change",
        [
            lambda note: note[:-1],
            lambda note: note.replace("\n7\n", "\n07\n"),
            lambda note: note.replace("\n\n", "\nextension\n\n"),
            lambda note: note + "\n",
            lambda note: note.replace("\u2014 ", "- "),
            lambda note: note.replace("\n7\n", "\n7\t\n"),
        ],
    )
    def test_a_changed_note_is_refused(self, log, change):
        with pytest.raises(Refused):
            log.trust().open_tree(change(log.note()))

    @pytest.mark.parametrize(
        "lines",
        [
            [],
            ["quorum a"],
            ["quorum none", "quorum none"],
            ["witness a {w}", "witness b {w}", "quorum a"],
            ["witness a {map}", "quorum a"],
            ["witness a {w}", "group g 2 a", "quorum g"],
            ["witness a {w}", "group g any a", "group h any a", "quorum h"],
            ["witness a {log}", "quorum a"],
            ["log {w}", "quorum none"],
            ["witness none {w}", "quorum none"],
            ["mirror x", "quorum none"],
        ],
    )
    def test_a_policy_that_breaks_a_rule_is_refused(self, lines):
        key = Signer(0x51)
        keys = {"w": key.vkey("w.example", 4), "map": key.vkey("w.example/map", 4), "log": key.vkey("w.example", 1)}
        with pytest.raises(Refused):
            parse_policy("\n".join(lines).format(**keys))


class TestJson:
    @pytest.mark.parametrize(
        "text",
        [
            *('{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '"\\ud800"', "[1.0]", "[1e3]", "[-0]", "[9007199254740992]"),
            *(
                "[NaN]",
                "[Infinity]",
                "[-Infinity]",
                "[01]",
                "[1,]",
                "\ufeff[]",
                '"\t"',
                "[" * 17 + "]" * 17,
                "",
                "[1]x",
            ),
            "[" + "9" * 5000 + "]",
        ],
    )
    def test_refuses_what_is_not_i_json(self, text):
        with pytest.raises(Refused):
            parse_json(text)

    def test_fractions_keep_their_value(self):
        assert parse_json("[0.1,1e21,5.0,1e-7]", fractions=True) == [0.1, 1e21, 5, 1e-7]
        assert isinstance(parse_json("5.0", fractions=True), int)
        assert canonical(parse_json("[1e21,1e-7,100000000000000000000]", fractions=True)) == (
            b"[1e+21,1e-7,100000000000000000000]"
        )
        for text in ("-0.0", "1e400", "9007199254740993"):
            with pytest.raises(Refused):
                parse_json(text, fractions=True)

    @pytest.mark.parametrize("text", ["QQ", "QQ=", "QR==", "Q===", "QUI=\n", "QQ-_", "====", "QÉ=="])
    def test_one_spelling_of_base64(self, text):
        with pytest.raises(Refused):
            from_base64(text)
        with pytest.raises(Refused):
            from_base64url(text + "=")


class TestCommand:
    @pytest.fixture
    def run(self, tmp_path, capsys, log):
        (tmp_path / "kit.json").write_text(json.dumps(log.kit()))

        def run(document, *options, kit=True):
            file = tmp_path / "document"
            file.write_text(document if isinstance(document, str) else json.dumps(document))
            given = ["--kit", str(tmp_path / "kit.json")] if kit else []
            code = main([str(file), *given, *options])
            out, err = capsys.readouterr()
            return code, out, err

        return run

    def test_prints_the_findings_of_a_receipt(self, run, log):
        code, out, _ = run({"receipt": log.receipt_of(3), "ok": True, "price": 3})
        assert code == 0
        assert "  ok         inclusion      entry 3 of 7\n" in out
        assert "  not shown  answer         the answer's other members, such as price, are not checked" in out
        assert "\nVALID: the log signed this entry, and it is in the tree of 7 entries\ntrust: " in out

    def test_exit_codes(self, run, log):
        assert run({**log.receipt_of(3), "type": "a.b.v1"})[0] == 1
        assert run('{"signature":"x","signature":"y"}')[0] == 1
        assert run(log.receipt_of(3), kit=False)[0] == 2
        assert run({"schema": "svc-air-export-v1"})[0] == 2
        assert run("hello")[0] == 2
        assert run(log.receipt_of(3), "--key", '["session","x"]')[0] == 2
        assert run({**log.receipt_of(3), "origin": "elsewhere/log/live/1"})[0] == 2
        assert run(log.note())[0] == 0

    def test_json_output(self, run, log):
        code, out, _ = run(log.receipt_of(3), "--json")
        found = json.loads(out)
        assert code == 0 and found["valid"] and found["kind"] == "receipt" and found["size"] == 7
        assert found["trust"]["policy_source"] == "operator"

    def test_a_tlog_proof_needs_its_entry(self, run, log, tmp_path):
        entry = tmp_path / "entry"
        entry.write_text(log.texts[3])
        code, _, err = run(log.tlog_proof(3))
        assert code == 2 and "give --receipt FILE" in err
        assert run(log.tlog_proof(3), "--receipt", str(entry))[0] == 0
        assert run(log.tlog_proof(2), "--receipt", str(entry))[0] == 1
        entry.write_text(log.tlog_proof(3))
        assert run(log.receipt_of(3, proof=False), "--proof", str(entry))[0] == 0

    def test_reports_of_plugins_are_not_taken_for_receipts(self, log):
        for document in (
            {"schema": "svc-article-12-report-v1", "receipt": log.receipt_of(3)},
            {"receipt": log.receipt_of(3), "entries_root": "x"},
            {"bundle": {"schema": "svc-carrier-pre-dispute-v1"}, "receipt": log.receipt_of(3)},
        ):
            with pytest.raises(Unanswerable):
                recognise(json.dumps(document).encode())
        with pytest.raises(Unanswerable):
            recognise(b"\xd2\x84")


class TestKits:
    def test_takes_keys_of_the_log_without_a_purpose(self, log):
        keys = log.kit()["keys"]["keys"]
        other = {**keys[0], "purpose": "air"}
        trust = trust_from_kit(log.kit(keys={"keys": [other, {**keys[0], "origin": "x"}]}), log.origin)
        assert trust.keys == ()
        assert trust_from_kit(log.kit(), log.origin).keys == log.trust().keys
        ended = trust_from_kit(log.kit(keys={"keys": [{**keys[0], "exp": 1}]}), log.origin)
        assert ended.keys[0].status == "retired"
        revoked = trust_from_kit(log.kit(keys={"keys": [{**keys[0], "revoked_at": 2}]}), log.origin)
        assert (revoked.keys[0].status, revoked.keys[0].revoked_at_ms) == ("revoked", 2000)

    def test_a_policy_of_other_logs_is_not_taken(self, log):
        other = Signer(0x55).vkey("other.example/log/live/1", 1)
        assert trust_from_kit(log.kit(policy=f"log {other}\nquorum none"), log.origin).policy is None
        assert trust_from_kit(log.kit(policy="quorum none"), log.origin).policy is not None

    def test_checks_a_kit_against_itself_and_a_pinned_one(self, log):
        kit = log.kit(vectors=[{"receipt": log.receipt_of(3), "expected": True}])
        log.append(document_sha256=hashlib.sha256(canonical(kit)).hexdigest())
        kit["receipt"] = log.receipt_of(7)
        kit = read_kit(json.dumps(kit))
        trusts = [trust_from_kit(kit, log.origin)]
        assert check_kit(kit, trusts).valid
        assert check_kit(kit, trusts, kit).valid
        assert not check_kit({**kit, "vectors": []}, trusts).valid
        assert kit_change(kit, {**kit, "logs": []}) == f"it no longer names the log {log.origin}"


def test_a_disclosed_value_is_at_most_16_levels_deep(log):
    def of(depth):
        text = "[" * depth + "]" * depth
        commitment = hashlib.sha256(bytes(16) + text.encode()).hexdigest()
        log.append(commitments={"preimage": commitment})
        disclosed = {"preimage": {"salt": "00" * 16, "value": json.loads(text)}}
        receipt = log.receipt_of(len(log.texts) - 1, proof=False, disclosures=disclosed)
        return check_document(recognise(json.dumps({"ok": True, "receipt": receipt}).encode())[0], log.trust())

    assert of(16).valid
    assert of(16).checks[-1].detail.startswith("the answer") is False
    with pytest.raises(Refused):
        of(17)


def test_batch_mode(log):
    sink = io.StringIO()
    lines = [
        {"kit": json.dumps(log.kit())},
        {"file": base64.b64encode(json.dumps(log.receipt_of(3)).encode()).decode()},
        {"file": base64.b64encode(log.note().encode()).decode()},
        {"file": base64.b64encode(b'{"a":1,"a":1}').decode()},
        {"file": base64.b64encode(log.tlog_proof(3).encode()).decode()},
        {"file": base64.b64encode(log.tlog_proof(3).encode()).decode(), "receipt": log.texts[3]},
    ]
    batch.main(io.StringIO("".join(f"{json.dumps(line)}\n" for line in lines)), sink)
    answers = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert [answer["exit"] for answer in answers] == [0, 0, 1, 2, 0]
    assert answers[0]["checks"][4] == ["inclusion", "ok", "entry 3 of 7"]
    assert answers[2]["error"] == "one object has a member name twice"


def test_times():
    assert time_words(1_790_000_054_000) == "2026-09-21T14:14:14.000Z"
    assert time_words(0) == "1970-01-01T00:00:00.000Z"
    assert time_words(8_640_000_000_000_000) == "+275760-09-13T00:00:00.000Z"
    assert time_words(8_640_000_000_000_001) == "8640000000000001 ms"
    assert parse_instant("2026-09-21T14:14:14Z") == 1_790_000_054_000
    assert parse_instant("2026-09-21T16:14:14.5+02:00") == 1_790_000_054_500
    assert parse_instant("1970-01-02") == 86_400_000


def test_the_kit_names_the_declared_chain_kinds(log):
    def kit(kinds):
        made = log.kit()
        made["logs"][0]["kinds"] = kinds
        return made

    assert trust_from_kit(log.kit(), log.origin).kinds == {}
    assert trust_from_kit(kit({"gate.case": 1}), log.origin).kinds == {"gate.case": 1}
    for wrong in ([], "x", {"session": 1}, {"a.b": 0}, {"a.b": "1"}, {"a.b": 1.5}, {"a.b": True}):
        with pytest.raises(Refused, match="chain kind"):
            trust_from_kit(kit(wrong), log.origin)
    assert kit_change(log.kit(), kit({"gate.case": 1})) is None
    assert kit_change(kit({"gate.case": 1}), kit({"gate.case": 2})) == "it changes the chain kind gate.case"


def test_the_log_of_the_tests_signs_as_the_vectors_do():
    made = Log()
    assert made.kid == "nEArpjG3kYMcxbdzInyGlBEYQUw7RfAfe3Tw1fZvAA0"
    assert replace(made.trust(), kinds={"gate.case": 1}).kinds == {"gate.case": 1}
