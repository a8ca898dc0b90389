"""A small log of its own: entries signed with the published test seeds, and what a verifier trusts."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from actlog import Trust, TrustedKey, canonical, leaf_hash
from actlog.tree import root_of

REPOSITORY = Path(__file__).resolve().parents[4]
#: Test vectors of others, which are read in place and are no part of this repository.
SHARED = REPOSITORY.parent / "shared" / "vectors"


def shared(*path: str) -> Any:
    """A vector file of others; its tests are skipped where it is absent."""
    file = SHARED.joinpath(*path)
    if not file.exists():
        pytest.skip(f"{file} is absent")
    return json.loads(file.read_text())


def absence_vectors() -> dict[str, Any]:
    return json.loads((REPOSITORY / "test/vectors/absence.json").read_text())


@dataclass
class Signer:
    """An Ed25519 key of a seed of 32 equal bytes."""

    seed: int
    key: Ed25519PrivateKey = field(init=False)
    public: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.key = Ed25519PrivateKey.from_private_bytes(bytes([self.seed]) * 32)
        self.public = self.key.public_key().public_bytes_raw()

    def vkey(self, name: str, kind: int) -> str:
        data = bytes([kind]) + self.public
        return f"{name}+{self._id(name, kind).hex()}+{base64.b64encode(data).decode()}"

    def _id(self, name: str, kind: int) -> bytes:
        return hashlib.sha256(f"{name}\n".encode() + bytes([kind]) + self.public).digest()[:4]

    def line(self, name: str, text: str) -> str:
        data = self._id(name, 1) + self.key.sign(text.encode())
        return f"\u2014 {name} {base64.b64encode(data).decode()}\n"

    def cosign(self, name: str, text: str, time_s: int) -> str:
        signature = self.key.sign(f"cosignature/v1\ntime {time_s}\n{text}".encode())
        data = self._id(name, 4) + time_s.to_bytes(8, "big") + signature
        return f"\u2014 {name} {base64.b64encode(data).decode()}\n"


class Log:
    """A log in memory that signs whatever a test gives it."""

    origin = "log.example/log/live/1"

    def __init__(self) -> None:
        self.receipt, self.checkpoint_key = Signer(0x42), Signer(0x43)
        x = base64.urlsafe_b64encode(self.receipt.public).decode().rstrip("=")
        self.jwk = {"kty": "OKP", "crv": "Ed25519", "x": x}
        thumbprint = hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest()
        self.kid = base64.urlsafe_b64encode(thumbprint).decode().rstrip("=")
        self.texts: list[str] = []

    @property
    def vkey(self) -> str:
        return self.checkpoint_key.vkey(self.origin, 1)

    def trust(self, **changes: Any) -> Trust:
        return replace(Trust(self.origin, self.vkey, (TrustedKey(self.kid, self.jwk),)), **changes)

    def append(self, **members: Any) -> str:
        index = len(self.texts)
        statement = {
            "type": "notes.note.v1",
            "origin": self.origin,
            "sandbox": False,
            "entry_id": f"01a0c451-3ef0-7000-8000-{index:012d}",
            "index": index,
            "issued_at_ms": 1_790_000_000_000 + index * 1000,
            "kid": self.kid,
            **members,
        }
        signature = base64.b64encode(self.receipt.key.sign(canonical(statement))).decode()
        self.texts.append(canonical({**statement, "signature": signature}).decode())
        return self.texts[-1]

    def leaves(self) -> list[bytes]:
        return [leaf_hash(text.encode()) for text in self.texts]

    def path(self, index: int) -> list[str]:
        """The inclusion path of an entry in the whole tree (RFC 9162 section 2.1.3.1)."""

        def of(m: int, leaves: list[bytes]) -> list[bytes]:
            if len(leaves) == 1:
                return []
            k = 1
            while k * 2 < len(leaves):
                k *= 2
            if m < k:
                return [*of(m, leaves[:k]), root_of(leaves[k:])]
            return [*of(m - k, leaves[k:]), root_of(leaves[:k])]

        return [base64.b64encode(node).decode() for node in of(index, self.leaves())]

    def note_text(self) -> str:
        root = base64.b64encode(root_of(self.leaves())).decode()
        return f"{self.origin}\n{len(self.texts)}\n{root}\n"

    def note(self, *lines: str) -> str:
        text = self.note_text()
        return f"{text}\n{self.checkpoint_key.line(self.origin, text)}{''.join(lines)}"

    def receipt_of(self, index: int, *, proof: bool = True, **beside: Any) -> dict[str, Any]:
        text = self.texts[index]
        receipt = {**json.loads(text), "entry_hash": leaf_hash(text.encode()).hex(), **beside}
        if proof:
            place = {"origin": self.origin, "index": index}
            receipt["log"] = {**place, "checkpoint": self.note(), "inclusion_proof": self.path(index)}
        return receipt

    def tlog_proof(self, index: int) -> str:
        lines = "".join(f"{node}\n" for node in self.path(index))
        return f"c2sp.org/tlog-proof@v1\nindex {index}\n{lines}\n{self.note()}"

    def kit(self, **members: Any) -> dict[str, Any]:
        return {
            "schema": "svc-offline-verify-kit-v1",
            "logs": [{"origin": self.origin, "vkey": self.vkey, "checkpoint": self.note()}],
            "keys": {"keys": [{**self.jwk, "kid": self.kid, "origin": self.origin}]},
            "policy": None,
            **members,
        }


@pytest.fixture
def log() -> Log:
    made = Log()
    for _ in range(7):
        made.append()
    return made
