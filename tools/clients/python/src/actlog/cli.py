"""The command ``actlog-verify``: checks documents offline and prints the findings of ``actlog verify``.

Exit code 0 when everything that is shown holds, 1 when something does not, 2 when that cannot be told.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import NoReturn

from .absence import Question
from .batch import main as batch
from .encoding import MAX_INTEGER, Json, JsonObject, Refused, object_of
from .findings import (
    MAX_BYTES,
    STRANGE_LOG,
    Document,
    Finding,
    Unanswerable,
    check_document,
    exit_code,
    log_of,
    parse_document,
    quoted,
    recognise,
)
from .kits import check_kit, origins_of, read_kit, trust_from_kit
from .trust import Trust, parse_policy

OK, FAILED, UNKNOWN = 0, 1, 2
_WORDS = {"ok": "ok", "failed": "FAILED", "not_shown": "not shown"}
_KIT_PATH = "/export/offline-verify-kit.json"


class _Stop(Exception):
    """Ends the check of one document with a message and an exit code."""

    def __init__(self, message: str, exit_code: int = UNKNOWN) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.batch:
        batch()
        return OK
    if not options.files:
        _parser().error("name a FILE")
    worst = OK
    for file in options.files:
        if len(options.files) > 1:
            print(f"{file}:", file=sys.stderr if options.json else sys.stdout)
        try:
            code = _verify(file, options)
        except _Stop as stop:
            print(f"actlog-verify: {stop}", file=sys.stderr)
            code = stop.exit_code
        except (Refused, Unanswerable) as error:
            print(f"actlog-verify: {error}", file=sys.stderr)
            code = UNKNOWN
        except OSError as error:
            said = (error.strerror or "cannot be read").lower()
            print(f"actlog-verify: {error.filename}: {said}", file=sys.stderr)
            code = UNKNOWN
        worst = max(worst, code)
    return worst


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="actlog-verify",
        description="Checks receipts, answers that hold one, absence documents, tlog-proofs, inclusion proofs, "
        "checkpoints, findings of monitors and kits, offline. What a file is shows by its content.",
        epilog="Exits 0 when everything that is shown holds, 1 when something does not, 2 when that cannot be told.",
    )
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="a document; - is standard input")
    add("--kit", metavar="FILE", help=f"the offline verification kit to trust, kept from {_KIT_PATH} of the service")
    add("--policy", metavar="FILE", help="witness policy (C2SP tlog-policy) of your own, in place of the kit's")
    add("--origin", help="the log that it must be of, when the kit has several")
    add("--proof", metavar="FILE", help="tlog-proof that came beside a receipt")
    add("--receipt", metavar="FILE", help="receipt or entry that a tlog-proof is of")
    add("--key", metavar="JSON", help='absence: the chain you ask about, such as ["session","…"]')
    add("--from", dest="from_", metavar="MS", help="absence: first moment of the window, ms or a date")
    add("--to", metavar="MS", help="absence: last moment of the window")
    add("--after", metavar="INDEX", help="absence: of a further page, the last entry of the page before")
    add("--as-asked", action="store_true", help="absence: take the question from the document, and print it")
    add("--chain", metavar="KIND=N", nargs="+", default=[], help="absence: chain kinds that entry types declare")
    add(
        "--require-ml-dsa",
        action="store_true",
        help="refuse checkpoints that the log has not signed with ML-DSA-44 too",
    )
    add("--json", action="store_true", help="print JSON")
    add("--batch", action="store_true", help="check one JSON line after the other from standard input (actlog.batch)")
    return parser


def _verify(file: str, options: argparse.Namespace) -> int:
    data = _read(file, MAX_BYTES)
    try:
        documents = recognise(data)
    except Refused as error:
        raise _Stop(f"INVALID: this is not JSON as receipts have it: {error}", FAILED) from None
    if documents[0].kind == "kit":
        _refuse_unasked(documents[0], options)
        return _verify_kit(file, documents[0].value, options)
    if options.kit is None:
        raise _Stop(f"a kit says which keys to trust: give --kit FILE (kept from {_KIT_PATH})")
    kit = _kit_of(_read_text(options.kit), options.kit)
    worst = OK
    for document in _asked_about(documents, options):
        _refuse_unasked(document, options)
        worst = max(worst, _check_one(document, kit, options))
    return worst


def _verify_kit(file: str, text: str, options: argparse.Namespace) -> int:
    kit = _kit_of(text, file)
    trusts = [_trust_of(kit, origin, options) for origin in origins_of(kit)]
    pinned = None if options.kit is None else _kit_of(_read_text(options.kit), options.kit)
    return _print("kit", check_kit(kit, trusts, pinned), file, None, options)


def _asked_about(documents: list[Document], options: argparse.Namespace) -> list[Document]:
    """Of a witness about several surfaces, the documents that the question is about; all of them with --as-asked."""
    if len(documents) == 1:
        return documents
    keys = [quoted(object_of(one.value.get("question")).get("key")) for one in documents]
    asked = None if options.key is None else quoted(_json_of(options.key))
    chosen = [one for one, key in zip(documents, keys) if asked is None or key == asked]
    if len(chosen) == 1 or (len(chosen) > 1 and options.as_asked):
        return chosen
    hint = "say by --key which you ask about"
    if asked is not None:
        hint = f"none is about {asked}"
        if chosen:
            hint = (
                f"{len(chosen)} are about {asked}, each of another log: give them one by one, "
                "or take their questions by --as-asked"
            )
    raise _Stop(f"this answer holds {len(documents)} absence documents, and {hint}: {' '.join(keys)}")


def _refuse_unasked(document: Document, options: argparse.Namespace) -> None:
    """Refuses an option that the document cannot answer: a caller could take a good receipt for the proof."""
    what = document.kind.replace("_", "-")
    absence = {"--key": options.key, "--from": options.from_, "--to": options.to, "--after": options.after}
    for name, given in absence.items():
        if given is not None and document.kind != "absence":
            raise _Stop(f"{name} asks about an absence document, and this is a {what}")
    if options.as_asked and document.kind != "absence":
        raise _Stop(f"--as-asked asks about an absence document, and this is a {what}")
    if options.receipt is not None and document.kind != "tlog_proof":
        raise _Stop(f"--receipt asks about a tlog-proof or a COSE receipt, and this is a {what}")
    if options.proof is not None and document.kind != "receipt":
        raise _Stop(f"--proof asks about a receipt, and this is a {what}")


def _check_one(document: Document, kit: JsonObject, options: argparse.Namespace) -> int:
    origins = origins_of(kit)
    origin = options.origin if options.origin is not None else log_of(document, origins)
    if origin not in origins:
        raise _Stop(f"the kit does not know the log {quoted(origin)}: {STRANGE_LOG}")
    trust = _trust_of(kit, origin, options)
    asked = _question_of(document, options) if document.kind == "absence" else None
    if asked is not None and options.as_asked and not options.json:
        print(f"question, taken from the document: {quoted(asked)}\n")
    question = None
    if asked is not None:
        question = Question(asked.get("key"), asked.get("from_ms"), asked.get("to_ms"), asked.get("after"))
    receipt = None if options.receipt is None else _read_text(options.receipt)
    proof = None if options.proof is None else _read_text(options.proof)
    try:
        finding = check_document(document, trust, question=question, receipt=receipt, tlog_proof=proof)
    except Unanswerable as error:
        raise _Stop(f"{error}{_hint(error, document)}") from None
    return _print(document.kind, finding, options.kit, trust, options)


def _hint(error: Unanswerable, document: Document) -> str:
    """Which option brings what a check needs."""
    if error.needs == "entry":
        return ": give --receipt FILE"
    if error.needs is None:
        return ""
    own = quoted(object_of(_parsed(document)).get("question"))
    return f": give --key, --from and --to, or --as-asked to take the document's own: {own}"


def _question_of(document: Document, options: argparse.Namespace) -> JsonObject | None:
    """The caller's question; the document's own only when the caller says so."""
    asked: JsonObject = {}
    if options.key is not None:
        asked["key"] = _json_of(options.key)
    if options.from_ is not None:
        asked["from_ms"] = parse_instant(options.from_)
    if options.to is not None:
        asked["to_ms"] = parse_instant(options.to)
    whole = len(asked) == 3
    if options.after is not None:
        if not re.fullmatch("[0-9]{1,15}", options.after):
            raise _Stop("--after is the index of an entry")
        asked["after"] = int(options.after)
    if whole:
        return asked
    parsed = object_of(_parsed(document))
    if not options.as_asked or "question" not in parsed:
        return None
    return {**object_of(parsed["question"]), **asked}


def _parsed(document: Document) -> Json:
    value: Json = document.value
    return parse_document(value) if isinstance(value, str) else value


def _json_of(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except ValueError:
        raise _Stop('--key is a JSON array, such as \'["session","…"]\'') from None
    return value


def parse_instant(text: str) -> int:
    """Milliseconds since 1970, or a date that says its offset, such as 2026-05-01T00:00:00Z; a day alone is in UTC."""
    if re.fullmatch("[0-9]{1,16}", text) and int(text) <= MAX_INTEGER:
        return int(text)
    found = re.fullmatch(
        r"(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(:\d{2})?(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2}))?", text, re.ASCII
    )
    if found:
        day, minute, second, fraction, offset = found.groups()
        offset = "+00:00" if offset in (None, "Z") else offset
        try:
            at = datetime.fromisoformat(f"{day}T{minute or '00:00'}{second or ':00'}{offset}")
        except ValueError:
            _no_time(text)
        span = at - datetime(1970, 1, 1, tzinfo=timezone.utc)
        return (span.days * 86_400 + span.seconds) * 1000 + int(((fraction or "") + "000")[:3])
    _no_time(text)


def _no_time(text: str) -> NoReturn:
    raise _Stop(f"{text} is no time: write milliseconds since 1970 or 2026-05-01T00:00:00Z")


def _kit_of(text: str, source: str) -> JsonObject:
    try:
        return read_kit(text)
    except Refused as error:
        why = "" if str(error).startswith("kit ") else f": {error}"
        raise _Stop(f"{source} is no offline verification kit{why}; a service has one at {_KIT_PATH}") from None


def _trust_of(kit: JsonObject, origin: str, options: argparse.Namespace) -> Trust:
    trust = trust_from_kit(kit, origin)
    trust = replace(trust, kinds={**trust.kinds, **dict(_chain_kind(text) for text in options.chain)})
    if options.require_ml_dsa:
        if trust.vkey_ml_dsa is None:
            raise _Stop(f"the kit names no ML-DSA-44 key of {origin}")
        trust = replace(trust, require_ml_dsa=True)
    if options.policy is not None:
        trust = replace(trust, policy=parse_policy(_read_text(options.policy)), policy_source="caller")
    return trust


def _chain_kind(text: str) -> tuple[str, int]:
    found = re.fullmatch("([a-z0-9_.-]+)=([1-9])", text)
    if found is None:
        raise _Stop(f"{text} is no chain kind: write gate.case=1")
    return found[1], int(found[2])


def _read(file: str, limit: int | None = None) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read() if limit is None else sys.stdin.buffer.read(limit + 1)
    return Path(file).read_bytes()


def _read_text(file: str) -> str:
    return _read(file).decode("utf-8", "replace")


def _print(kind: str, finding: Finding, source: str, trust: Trust | None, options: argparse.Namespace) -> int:
    code = exit_code(finding)
    policy_source = "operator" if trust is None else trust.policy_source
    if options.json:
        print(json.dumps(finding_json(kind, finding, source, trust), indent=2, ensure_ascii=False))
        return code
    for line in finding.checks:
        print(f"  {_WORDS[line.outcome]:<9}  {line.name.replace('_', ' '):<13}  {line.detail}")
    word = "VALID" if finding.valid else "UNKNOWN" if finding.untold else "INVALID"
    print(f"\n{word}: {finding.summary}")
    print(f"trust: {source} (policy_source: {policy_source})")
    return code


def finding_json(kind: str, finding: Finding, source: str, trust: Trust | None) -> JsonObject:
    """The JSON output: the finding, and what it rests on."""
    told: JsonObject = {"valid": finding.valid, "untold": True} if finding.untold else {"valid": finding.valid}
    origin, policy_source = (None, "operator") if trust is None else (trust.origin, trust.policy_source)
    return {
        "kind": kind,
        **told,
        "summary": finding.summary,
        "checks": [asdict(line) for line in finding.checks],
        **finding.facts,
        "trust": {"kit": source, "fetched": False, "origin": origin, "policy_source": policy_source},
    }


if __name__ == "__main__":
    sys.exit(main())
