"""``python -m actlog.batch``: checks many documents in one process, so that verifiers can be compared.

Standard input has one JSON object per line, ``{kit, document, question?, receipt?, tlog_proof?, origin?, now_ms?}``:
``kit`` and ``document`` are texts or JSON (``document_b64`` is for bytes that are not UTF-8), and without ``kit`` that
of the line before is used. Standard output has one line for each:

- ``{"verdict", "reason", "checks"}`` for a finding, with one finding per document of an answer under ``findings``;
- ``{"verdict": "UNANSWERABLE", "reason"}`` where nothing can be told;
- ``{"verdict": "REFUSED", "reason"}`` for what is not JSON as receipts have it, or a kit that cannot be used.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import IO, Any

from .absence import Question
from .encoding import JsonObject, Refused, number_of
from .findings import Finding, Unanswerable, check_document, log_of, recognise
from .kits import check_kit, origins_of, read_kit, trust_from_kit
from .trust import Trust


class _Kits:
    """The kit of the last line, with the trust that it gives in each log."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._kit: JsonObject = {}
        self._trusts: dict[str, Trust] = {}

    def use(self, kit: Any) -> JsonObject:
        text = kit if isinstance(kit, str) else json.dumps(kit, ensure_ascii=False)
        if text != self._text:
            self._kit, self._trusts = read_kit(text), {}
            self._text = text
        return self._kit

    def last(self) -> JsonObject:
        if self._text is None:
            raise Refused("the first line has no kit")
        return self._kit

    def trust(self, origin: str) -> Trust:
        if origin not in self._trusts:
            self._trusts[origin] = trust_from_kit(self._kit, origin)
        return self._trusts[origin]


def judge(line: JsonObject, kits: _Kits) -> JsonObject:
    """The verdict on one line."""
    try:
        kit = kits.use(line["kit"]) if "kit" in line else kits.last()
        found = [_check(document, line, kit, kits) for document in recognise(_bytes_of(line))]
    except Unanswerable as error:
        return {"verdict": "UNANSWERABLE", "reason": str(error)}
    except Refused as error:
        return {"verdict": "REFUSED", "reason": str(error)}
    told = [_told(finding) for finding in found]
    return told[0] if len(told) == 1 else {"verdict": "SEVERAL", "findings": told}


def _check(document: Any, line: JsonObject, kit: JsonObject, kits: _Kits) -> Finding:
    if document.kind == "kit":
        own = read_kit(document.value)
        return check_kit(own, [trust_from_kit(own, origin) for origin in origins_of(own)], kit)
    origin = line.get("origin") or log_of(document, origins_of(kit))
    question = line.get("question")
    asked = None
    if question is not None:
        key, from_ms, to_ms = (question.get(name) for name in ("key", "from_ms", "to_ms"))
        asked = Question(key, from_ms, to_ms, question.get("after"))
    return check_document(
        document,
        kits.trust(origin),
        question=asked,
        receipt=line.get("receipt"),
        tlog_proof=line.get("tlog_proof"),
        now_ms=line.get("now_ms"),
    )


def _bytes_of(line: JsonObject) -> bytes:
    if "document_b64" in line:
        return base64.b64decode(line["document_b64"])
    document = line["document"]
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def _told(finding: Finding) -> JsonObject:
    verdict = "UNTOLD" if finding.untold else finding.verdict
    checks = [[line.name, line.outcome, line.detail] for line in finding.checks]
    return {"verdict": verdict, "reason": finding.summary, "checks": checks}


def main(source: IO[str] = sys.stdin, sink: IO[str] = sys.stdout) -> None:
    kits = _Kits()
    for text in source:
        print(
            json.dumps(judge(json.loads(text, parse_float=number_of), kits), ensure_ascii=False), file=sink, flush=True
        )


if __name__ == "__main__":
    main()
