"""Ed25519 with the one acceptance rule of the formats, and receipt keys as JWK (log/FORMAT.md, Notation, section 2.5).

The library checks the cofactorless equation and S < L. It accepts public keys and R of low order and second
spellings of public keys, which RFC 8032 leaves open; they are refused here before the library sees them.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .encoding import Json, Refused, from_base64url, object_of

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_SIGN = 1 << 255

#: y of the eight points whose order divides 8. Each y has two points, one for each sign of x.
_LOW_ORDER_Y = frozenset(
    {
        0,
        1,
        _P - 1,
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
    }
)


@lru_cache(maxsize=512)
def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature holds: S < L, canonical A and R, neither of low order, cofactorless equation.

    Results are cached: a document has the same checkpoint and entries in several places.
    """
    if len(public_key) != 32 or len(signature) != 64:
        return False
    if int.from_bytes(signature[32:], "little") >= _L:
        return False
    if not (_is_plain_point(public_key) and _is_plain_point(signature[:32])):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _is_plain_point(point: bytes) -> bool:
    """Whether the bytes are a canonical encoding that is not of low order; the library decides about the curve.

    x = 0 with the sign bit set needs no rule of its own: only y = 1 and y = p - 1 have x = 0.
    """
    y = int.from_bytes(point, "little") & (_SIGN - 1)
    return y < _P and y not in _LOW_ORDER_Y


def public_key_of_jwk(jwk: Json) -> bytes:
    """The 32 bytes of an Ed25519 JWK (RFC 8037), which may have other public members."""
    if not isinstance(jwk, dict):
        raise Refused("no jwk object")
    x = jwk.get("x")
    if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519" or not isinstance(x, str):
        raise Refused("jwk is not an OKP key on Ed25519")
    if "d" in jwk:
        raise Refused("jwk is a private key")
    try:
        return from_base64url(x, 32)
    except Refused:
        raise Refused("jwk member x is not 32 bytes in base64url") from None


def thumbprint(jwk: Json) -> bytes:
    """The RFC 7638 thumbprint of an Ed25519 JWK, 32 bytes; in base64url it is the ``kid`` of the key."""
    public_key_of_jwk(jwk)
    x = object_of(jwk)["x"]
    return hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode("ascii")).digest()
