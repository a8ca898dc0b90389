"""Signed notes, checkpoints, cosignatures and portable proofs.

C2SP signed-note, tlog-checkpoint, tlog-cosignature v1 and tlog-proof@v1; log/FORMAT.md sections 5.2, 5.3 and 5.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey

from .ed25519 import verify
from .encoding import MAX_INTEGER, Refused, from_base64, utf8, utf16_length
from .tree import EMPTY_ROOT

#: Type of a log's checkpoint key: an Ed25519 signature of the note text.
LOG_KEY = 1
#: Type of a witness's or monitor's key: a timestamped Ed25519 cosignature.
COSIGNER_KEY = 4
#: Type of an ML-DSA-44 key of a witness or monitor, or of a log's second signature.
ML_DSA_KEY = 6

_ML_DSA_KEY_BYTES = 1312
_ML_DSA_SIGNATURE_BYTES = 2420
_MAX_SUBTREE_NAME = 255
_MAX_VKEY = 2560
_MAX_NOTE_BYTES = 1_000_000
_MAX_SIGNATURES = 100
_MAX_PROOF_PATH = 63
_PROOF_HEADER = "c2sp.org/tlog-proof@v1"
_KEY_NAME = re.compile("[^\x00-\x20\x85\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ud800-\udfff+]+")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\ud800-\udfff]")


def is_key_name(name: str) -> bool:
    """Not empty, without Unicode spaces, control characters and plus signs."""
    return _KEY_NAME.fullmatch(name) is not None


def parse_decimal(text: str) -> int | None:
    """A decimal up to 2^53 - 1 without sign or leading zeros; None for any other text."""
    if not re.fullmatch("0|[1-9][0-9]{0,15}", text):
        return None
    value = int(text)
    return value if value <= MAX_INTEGER else None


# Verifier keys


@dataclass(frozen=True)
class VerifierKey:
    """A key that notes are opened with. A signature line belongs to it by name and key id."""

    name: str
    key_id: bytes
    type: int
    public_key: bytes


def parse_vkey(text: str) -> VerifierKey:
    """Reads ``<name>+<key id>+<base64(type, public key)>`` of type 1, 4 or 6."""
    if utf16_length(text) > _MAX_VKEY:
        raise Refused(f"vkey is over {_MAX_VKEY} characters")
    parts = text.split("+", 2)  # base64 may have plus signs of its own
    if len(parts) < 3:
        raise Refused("vkey does not have three parts")
    name, key_id, encoded = parts
    try:
        data = from_base64(encoded)
    except Refused:
        raise Refused("vkey does not end in base64") from None
    kind = data[0] if data else None
    if kind not in (LOG_KEY, COSIGNER_KEY, ML_DSA_KEY):
        raise Refused(f"vkey has type {'undefined' if kind is None else kind}, known are 1, 4 and 6")
    if not is_key_name(name):
        raise Refused("key name is empty or has a space or +")
    length = _ML_DSA_KEY_BYTES if kind == ML_DSA_KEY else 32
    if len(data) - 1 != length:
        raise Refused(f"public key is {len(data) - 1} bytes, not {length}")
    expected = sha256(utf8(f"{name}\n") + data).digest()[:4]
    if key_id != expected.hex():
        raise Refused("vkey has the key id of another name or key")
    return VerifierKey(name, expected, kind, data[1:])


# Notes


@dataclass(frozen=True)
class _Line:
    """A signature line: a name, a key id, and what follows the key id."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True)
class VerifiedSignature:
    """A good signature of a known key; ``time_s`` is that of a cosignature."""

    key: VerifierKey
    time_s: int | None


def split_note(note: str) -> tuple[str, list[_Line]]:
    """The signed text with its last newline, and the signature lines. Verifies no signature."""
    too_long = Refused(f"note is over {_MAX_NOTE_BYTES} bytes")
    if utf16_length(note) > _MAX_NOTE_BYTES:
        raise too_long
    if _CONTROL.search(note):
        raise Refused("note has a control character")
    if len(note.encode("utf-8")) > _MAX_NOTE_BYTES:
        raise too_long
    if not note.endswith("\n"):
        raise Refused("note does not end in a newline")
    border = note.rfind("\n\n")
    if border < 0:
        raise Refused("note has no blank line before its signatures")
    lines = note[border + 2 : -1].split("\n")
    if len(lines) > _MAX_SIGNATURES:
        raise Refused(f"note has {len(lines)} signatures, the limit is {_MAX_SIGNATURES}")
    return note[: border + 1], [_signature_line(line) for line in lines]


def _signature_line(line: str) -> _Line:
    if not line.startswith("\u2014 "):
        raise Refused("signature line does not begin with an em dash")
    name, space, encoded = line[2:].partition(" ")
    if not space or not is_key_name(name):
        raise Refused("signature line has no good key name")
    try:
        data = from_base64(encoded)
    except Refused:
        raise Refused("signature line does not end in base64") from None
    if len(data) <= 4:
        raise Refused("signature line has no signature")
    return _Line(name, data[:4], data[4:])


def open_note(note: str, keys: Sequence[VerifierKey]) -> tuple[str, list[VerifiedSignature]]:
    """The text of a note, and one good signature for each known key that has one.

    Lines of unknown keys are ignored. A bad signature of a known key refuses the note, and so does the lack of any
    good one. Of several cosignatures of one key the newest counts.
    """
    for i, key in enumerate(keys):
        if any(other.name == key.name and other.key_id == key.key_id for other in keys[:i]):
            raise Refused(f"two keys of {key.name} have the same key id")
    text, lines = split_note(note)
    verified: dict[VerifierKey, VerifiedSignature] = {}
    for line in lines:
        known = next((key for key in keys if key.name == line.name and key.key_id == line.key_id), None)
        if known is None:
            continue
        found = _verify_line(known, text, line.signature)
        before = verified.get(known)
        if before is None or (before.time_s or 0) < (found.time_s or 0):
            verified[known] = found
    if not verified:
        raise Refused("note has no signature of a known key")
    return text, list(verified.values())


def _verify_line(key: VerifierKey, text: str, signature: bytes) -> VerifiedSignature:
    if key.type == ML_DSA_KEY:
        time_s = verify_ml_dsa(key, text, signature)
        if time_s is not None:
            return VerifiedSignature(key, time_s)
    elif key.type == COSIGNER_KEY:
        time_s = verify_cosignature(key.public_key, text, signature)
        if time_s is not None:
            return VerifiedSignature(key, time_s)
    elif verify(key.public_key, utf8(text), signature):
        return VerifiedSignature(key, None)
    raise Refused(f"signature of {key.name} is not valid")


def verify_cosignature(public_key: bytes, checkpoint: str, cosignature: bytes) -> int | None:
    """The time in seconds of a good cosignature, ``u64 time`` and 64 bytes of Ed25519; None for a bad one."""
    if len(cosignature) != 72:
        return None
    time_s = int.from_bytes(cosignature[:8], "big")
    if not 0 < time_s <= MAX_INTEGER:
        return None
    message = utf8(f"cosignature/v1\ntime {time_s}\n{checkpoint}")
    return time_s if verify(public_key, message, cosignature[8:]) else None


def verify_ml_dsa(key: VerifierKey, checkpoint: str, cosignature: bytes) -> int | None:
    """The time of a good ML-DSA-44 cosignature, ``u64 time`` and 2420 bytes; 0 for one without; None for a bad one."""
    if len(cosignature) != 8 + _ML_DSA_SIGNATURE_BYTES:
        return None
    time_s = int.from_bytes(cosignature[:8], "big")
    if time_s > MAX_INTEGER:
        return None
    try:
        origin, tree = parse_checkpoint(checkpoint)
    except Refused:
        return None
    names = (utf8(key.name), utf8(origin))
    if any(len(name) > _MAX_SUBTREE_NAME for name in names):
        return None
    cosigner, of = (bytes([len(name)]) + name for name in names)
    span = (0).to_bytes(8, "big") + tree.size.to_bytes(8, "big")
    message = b"subtree/v1\n\0" + cosigner + cosignature[:8] + of + span + tree.root
    try:
        MLDSA44PublicKey.from_public_bytes(key.public_key).verify(cosignature[8:], message)
    except (InvalidSignature, ValueError):
        return None
    return time_s


# Checkpoints


@dataclass(frozen=True)
class TreeHead:
    size: int
    root: bytes


@dataclass(frozen=True)
class Cosigned:
    """A good cosignature of a key that the caller named."""

    name: str
    key_id: bytes
    time_s: int

    @property
    def map(self) -> bool:
        """Whether a monitor made it, which has checked every rule up to this size (log/FORMAT.md section 5.3)."""
        return is_map_cosigner(self.name)


@dataclass(frozen=True)
class OpenedCheckpoint:
    """A checkpoint whose log signature holds."""

    origin: str
    tree: TreeHead
    cosignatures: tuple[Cosigned, ...]
    #: Whether the log signed it with its ML-DSA-44 key as well, if the caller names one.
    ml_dsa: bool = False


def is_map_cosigner(name: str) -> bool:
    return name.endswith("/map")


def parse_checkpoint(text: str) -> tuple[str, TreeHead]:
    """Origin and tree head of a note text of exactly three lines."""
    lines = text.split("\n")
    if len(lines) != 4 or lines[3] != "":
        raise Refused("checkpoint has not exactly three lines")
    origin, decimal, encoded, _ = lines
    if not is_key_name(origin):
        raise Refused("origin is empty or has a space or +")
    size = parse_decimal(decimal)
    if size is None:
        raise Refused("size is not a decimal up to 2^53 - 1 without leading zeros")
    try:
        root = from_base64(encoded, 32)
    except Refused:
        raise Refused("root is not 32 bytes in base64") from None
    return origin, TreeHead(size, root)


def open_checkpoint(
    note: str,
    *,
    origin: str,
    vkey: str,
    vkey_ml_dsa: str | None = None,
    cosigners: Iterable[VerifierKey] = (),
) -> OpenedCheckpoint:
    """Opens a checkpoint of one log: its Ed25519 signature by the log must be there and hold.

    The signatures of the log's ML-DSA-44 key and of the given cosigners must hold where they are there; the caller says
    whether they are enough, by ``ml_dsa`` and by a policy.
    """
    log = parse_vkey(vkey)
    if log.type != LOG_KEY or log.name != origin:
        raise Refused("vkey is not a log key with the name of the origin")
    second = None if vkey_ml_dsa is None else parse_vkey(vkey_ml_dsa)
    if second is not None and (second.type != ML_DSA_KEY or second.name != origin):
        raise Refused("vkey_ml_dsa is not an ML-DSA-44 key of the log")
    keys = [log] if second is None else [log, second]
    for key in cosigners:
        if key.type not in (COSIGNER_KEY, ML_DSA_KEY):
            raise Refused(f"{key.name} is not a cosigner key (type 4 or 6)")
        # A cosignature does not name its cosigner: a key under two names would count twice.
        if any(other.public_key == key.public_key for other in keys):
            raise Refused(f"the key of {key.name} has another name as well")
        keys.append(key)
    text, verified = open_note(note, keys)
    claimed, tree = parse_checkpoint(text)
    if claimed != origin:
        raise Refused("checkpoint is of another origin")
    if tree.size == 0 and tree.root != EMPTY_ROOT:
        raise Refused("checkpoint of size 0 does not have the root of the empty tree")
    if not any(one.key is log for one in verified):
        raise Refused("checkpoint has no signature of its log")
    # Time 0 says that there is none; a witness must not answer with it.
    cosigned = (
        Cosigned(one.key.name, one.key.key_id, one.time_s) for one in verified if one.time_s and one.key is not second
    )
    return OpenedCheckpoint(origin, tree, tuple(cosigned), any(one.key is second for one in verified))


# Portable proofs


@dataclass(frozen=True)
class TlogProof:
    """An index, its path from the leaf up, and a checkpoint. None of them is checked yet."""

    index: int
    path: tuple[bytes, ...]
    checkpoint: str


def parse_tlog_proof(text: str) -> TlogProof:
    border = text.find("\n\n")  # the checkpoint has a blank line of its own
    if border < 0:
        raise Refused("proof has no blank line before its checkpoint")
    checkpoint = text[border + 2 :]
    if not checkpoint.endswith("\n"):
        raise Refused("checkpoint does not end in a newline")
    header, *lines = text[:border].split("\n")
    if header != _PROOF_HEADER:
        raise Refused(f"first line is not {_PROOF_HEADER}")
    extra = lines.pop(0) if lines and lines[0].startswith("extra ") else None
    line = lines.pop(0) if lines else ""
    index = parse_decimal(line[6:]) if line.startswith("index ") else None
    if index is None:
        raise Refused("index is not a decimal up to 2^53 - 1 without leading zeros")
    if len(lines) > _MAX_PROOF_PATH:
        raise Refused(f"path is longer than {_MAX_PROOF_PATH}")
    path = tuple(_decode_line(line, 32) for line in lines)
    if extra is not None:
        _decode_line(extra[6:], None)
    return TlogProof(index, path, checkpoint)


def _decode_line(text: str, length: int | None) -> bytes:
    try:
        return from_base64(text, length)
    except Refused:
        raise Refused("a line of the proof is not base64 of the right length") from None
