package strict

import (
	"bytes"
	"crypto/ed25519"

	"filippo.io/edwards25519"
)

// VerifyEd25519 reports whether a signature holds by the rule of log/FORMAT.md, Notation: the cofactorless equation,
// S < L, canonical encodings of A and R, and neither of low order.
//
// crypto/ed25519 checks the equation, S < L, and compares the encoding of R with the canonical one of the point that
// it computes; the encoding of A and the orders remain to be checked.
func VerifyEd25519(key, message, signature []byte) bool {
	if len(key) != ed25519.PublicKeySize || len(signature) != ed25519.SignatureSize {
		return false
	}
	return ed25519.Verify(key, message, signature) && PlainPoint(key) && PlainPoint(signature[:32])
}

// PlainPoint reports whether an encoding is canonical, and of a point that is not of low order.
func PlainPoint(encoded []byte) bool {
	point, err := new(edwards25519.Point).SetBytes(encoded)
	if err != nil || !bytes.Equal(point.Bytes(), encoded) {
		return false
	}
	return new(edwards25519.Point).MultByCofactor(point).Equal(edwards25519.NewIdentityPoint()) == 0
}
