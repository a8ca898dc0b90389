"""``python -m actlog.vectors FILE``: the verdict on each test vector of a file, a line of JSON each.

The lines are those of ``actlog vectors``: for a list of Ed25519 signatures ``{number, key, msg, sig}``, and for absence
documents in the form of test/vectors/absence.json, which are checked with a quorum of two witnesses.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .absence import Question, verify_absence
from .ed25519 import verify
from .encoding import JsonObject, Refused
from .notes import is_map_cosigner
from .trust import Trust, TrustedKey, parse_policy


def trust_of(vectors: JsonObject) -> Trust:
    """The trust that the documents of a vector file are checked with."""
    keys = [witness["vkey"] for witness in vectors["witnesses"]]
    lines = [f"witness {i} {vkey}" for i, vkey in enumerate(keys)]
    counted = " ".join(str(i) for i, vkey in enumerate(keys) if not is_map_cosigner(vkey.split("+")[0]))
    policy = parse_policy("\n".join([*lines, f"group quorum 2 {counted}", "quorum quorum"]))
    jwk = vectors["jwk"]
    key = TrustedKey(jwk["kid"], {name: jwk[name] for name in ("kty", "crv", "x")})
    return Trust(vectors["origin"], vectors["vkey"], (key,), policy)


def verdicts(vectors: Any) -> Iterator[JsonObject]:
    """The verdicts in the order of the file."""
    if isinstance(vectors, list):
        for one in vectors:
            valid = verify(bytes.fromhex(one["key"]), one["msg"].encode(), bytes.fromhex(one["sig"]))
            yield {"number": one.get("number"), "valid": valid}
        return
    trust = trust_of(vectors)
    for one in [*vectors["documents"], *vectors.get("refused", [])]:
        asked = one.get("question") or one["doc"]["question"]
        question = Question(asked["key"], asked["from_ms"], asked["to_ms"], asked.get("after"))
        try:
            result = verify_absence(one.get("text") or one["doc"], question, trust)
            yield {"name": one["name"], "verdict": result.verdict}
        except Refused as error:
            yield {"name": one["name"], "refused": str(error)}


def main() -> None:
    for verdict in verdicts(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))):
        print(json.dumps(verdict, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
