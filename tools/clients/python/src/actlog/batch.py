"""``actlog-verify --batch``: checks many documents in one process, so that verifiers can be compared.

Standard input has one JSON object per line. A line with ``kit``, the text of a kit, is for the lines after it and is
not answered; with ``require_ml_dsa`` in it, checkpoints need the ML-DSA-44 signature of the log. Any other line is
``{file, question?, as_asked?, proof?, receipt?, now_ms?}`` with the bytes of a document in base64. Its answer is one
line: ``{exit, kind, checks, summary}`` with the exit code of ``actlog-verify``, or ``{exit, error}`` where there is no
finding. Of several documents in a file only the first is checked.
"""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import replace
from typing import IO

from .absence import Question
from .encoding import Json, JsonObject, Refused, number_of, object_of
from .findings import Document, Finding, Unanswerable, check_document, exit_code, log_of, parse_document, recognise
from .kits import origins_of, read_kit, trust_from_kit
from .trust import Trust


class Batch:
    """Answers lines in their order, with the kit of the last line that has one."""

    def __init__(self) -> None:
        self._kit: JsonObject = {}
        self._trusts: dict[str, Trust] = {}
        self._require_ml_dsa = False

    def use(self, kit: str, require_ml_dsa: bool) -> None:
        self._kit, self._trusts, self._require_ml_dsa = read_kit(kit), {}, require_ml_dsa

    def answer(self, line: JsonObject) -> JsonObject:
        try:
            document = recognise(base64.b64decode(line["file"]))[0]
        except Refused as error:
            return {"exit": 1, "error": str(error)}
        except Unanswerable as error:
            return {"exit": 2, "error": str(error)}
        try:
            finding = self._check(document, line)
        except (Refused, Unanswerable) as error:
            return {"exit": 2, "error": str(error)}
        checks = [[one.name, one.outcome, one.detail] for one in finding.checks]
        return {"exit": exit_code(finding), "kind": document.kind, "checks": checks, "summary": finding.summary}

    def _check(self, document: Document, line: JsonObject) -> Finding:
        if document.kind == "kit":
            raise Unanswerable("batch mode checks no kits")
        origin = log_of(document, origins_of(self._kit))
        if origin not in self._trusts:
            trust = trust_from_kit(self._kit, origin)
            self._trusts[origin] = replace(trust, require_ml_dsa=self._require_ml_dsa)
        return check_document(
            document,
            self._trusts[origin],
            question=_question_of(document, line),
            receipt=line.get("receipt"),
            tlog_proof=line.get("proof"),
            now_ms=line.get("now_ms"),
        )


def _question_of(document: Document, line: JsonObject) -> Question | None:
    asked = line.get("question")
    if line.get("as_asked") and document.kind == "absence":
        value: Json = document.value
        parsed = object_of(parse_document(value) if isinstance(value, str) else value)
        if "question" not in parsed:
            return None
        asked = parsed["question"]
    elif asked is None:
        return None
    members = object_of(asked)
    # A member that is null is there, and is no index.
    after = members.get("after")
    if after is None and "after" in members:
        after = -1
    return Question(members.get("key"), members.get("from_ms"), members.get("to_ms"), after)


def main(source: IO[str] | None = None, sink: IO[str] | None = None) -> None:
    """Answers the lines of ``source``, standard input unless given, until it ends."""
    batch = Batch()
    for text in source or sys.stdin:
        line = json.loads(text, parse_float=number_of)
        if "kit" in line:
            batch.use(line["kit"], bool(line.get("require_ml_dsa")))
            continue
        print(json.dumps(batch.answer(line), ensure_ascii=False), file=sink or sys.stdout, flush=True)
