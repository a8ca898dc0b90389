package checkpoint

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"golang.org/x/mod/sumdb/note"
)

// ML-DSA-44 cosignatures (C2SP tlog-cosignature, type 0x06): u64 time and a signature over the tree from 0 to the size
// of the checkpoint. Extension lines are not signed, so a checkpoint with one has no such cosignature.

const subtreeLabel = "subtree/v1\n\x00"

func parseMLDSA(vkey, name string, raw []byte) (*Key, error) {
	if len(raw)-1 != mldsa44.PublicKeySize {
		return nil, fmt.Errorf("public key is %d bytes, not %d", len(raw)-1, mldsa44.PublicKeySize)
	}
	sum := sha256.Sum256(append([]byte(name+"\n"), raw...))
	key := &Key{Name: name, ID: binary.BigEndian.Uint32(sum[:]), Type: MLDSAKey, Public: raw[1:]}
	if !validName(name) {
		return nil, errors.New("key name is empty or has a space or +")
	}
	if fmt.Sprintf("%s+%08x+%s", name, key.ID, base64.StdEncoding.EncodeToString(raw)) != vkey {
		return nil, errors.New("vkey has the key id of another name or key")
	}
	var public mldsa44.PublicKey
	if err := public.UnmarshalBinary(key.Public); err != nil {
		return nil, fmt.Errorf("vkey is not one: %v", err)
	}
	key.verify = func(text, signature []byte) bool {
		if len(signature) != 8+mldsa44.SignatureSize {
			return false
		}
		message, err := subtreeMessage(name, string(text), signature[:8])
		return err == nil && mldsa44.Verify(&public, message, nil, signature[8:])
	}
	return key, nil
}

// validName has note.NewVerifier judge the name, with a key that is not used.
func validName(name string) bool {
	vkey, err := note.NewEd25519VerifierKey(name, make([]byte, 32))
	if err != nil {
		return false
	}
	_, err = note.NewVerifier(vkey)
	return err == nil
}

func subtreeMessage(name, text string, time []byte) ([]byte, error) {
	checkpoint, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if len(name) > 255 || len(checkpoint.Origin) > 255 {
		return nil, errors.New("a name is over 255 bytes")
	}
	message := append([]byte(subtreeLabel), byte(len(name)))
	message = append(message, name...)
	message = append(message, time...)
	message = append(message, byte(len(checkpoint.Origin)))
	message = append(message, checkpoint.Origin...)
	message = binary.BigEndian.AppendUint64(message, 0)
	message = binary.BigEndian.AppendUint64(message, uint64(checkpoint.Size))
	return append(message, checkpoint.Root...), nil
}
