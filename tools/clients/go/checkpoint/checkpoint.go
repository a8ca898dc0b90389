// Package checkpoint opens signed checkpoints with their cosignatures, and reads tlog-proofs
// (log/FORMAT.md §5.2, §5.3, §5.5; C2SP signed-note, tlog-checkpoint, tlog-cosignature, tlog-proof).
package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"actlog/verify/internal/strict"

	"filippo.io/torchwood"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
)

// Types of verifier keys.
const (
	LogKey      = 1
	CosignerKey = 4
	MLDSAKey    = 6
)

// A Key is a verifier key of a log or of a cosigner.
type Key struct {
	Name   string
	ID     uint32
	Type   byte
	Public []byte
	verify func(text, signature []byte) bool
}

// Map reports whether this is the key of a monitor that checks every rule of the log before it cosigns.
func (k *Key) Map() bool { return strings.HasSuffix(k.Name, "/map") }

// ParseKey reads `<name>+<key id>+<base64 of type and key>`, in its one spelling.
func ParseKey(vkey string) (*Key, error) {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 {
		return nil, errors.New("vkey does not have three parts")
	}
	raw, err := strict.Base64(parts[2])
	if err != nil || len(raw) == 0 {
		return nil, errors.New("vkey does not end in base64")
	}
	if raw[0] == MLDSAKey {
		return parseMLDSA(vkey, parts[0], raw)
	}
	if raw[0] != LogKey && raw[0] != CosignerKey {
		return nil, fmt.Errorf("vkey has type %d, known are 1, 4 and 6", raw[0])
	}
	var verifier note.Verifier
	if raw[0] == LogKey {
		verifier, err = note.NewVerifier(vkey)
	} else {
		verifier, err = torchwood.NewCosignatureVerifier(vkey)
	}
	if err != nil {
		return nil, fmt.Errorf("vkey is not one: %v", err)
	}
	key := &Key{Name: verifier.Name(), ID: verifier.KeyHash(), Type: raw[0], Public: raw[1:]}
	if fmt.Sprintf("%s+%08x+%s", key.Name, key.ID, base64.StdEncoding.EncodeToString(raw)) != vkey {
		return nil, errors.New("vkey is not in its one spelling")
	}
	// The libraries check the equation over what they define as signed; the strict rule for keys and signatures is ours.
	key.verify = func(text, signature []byte) bool {
		size := 64
		if key.Type == CosignerKey {
			size = 72
		}
		return len(signature) == size && verifier.Verify(text, signature) &&
			strict.PlainPoint(key.Public) && strict.PlainPoint(signature[size-64:size-32])
	}
	return key, nil
}

// A Cosignature is a good one of a key that the caller knows.
type Cosignature struct {
	Key *Key
	// Time in seconds.
	Time int64
}

// A Checkpoint is one that its log signed.
type Checkpoint struct {
	Origin       string
	Size         int64
	Root         []byte
	Cosignatures []Cosignature
	// MLDSA reports whether the log signed it with its ML-DSA-44 key as well, if the caller names one.
	MLDSA bool
}

// Open reads a signed note of the log with this key, and its ML-DSA-44 key mldsaKey if it is not nil. Every line of a key
// of the log and of a known cosigner must hold; lines of other keys are ignored. The line of logKey must be there. Of
// several lines of one cosigner the newest counts.
func Open(text string, origin string, logKey, mldsaKey *Key, cosigners []*Key) (*Checkpoint, error) {
	if logKey.Type != LogKey || logKey.Name != origin {
		return nil, errors.New("vkey is not a log key with the name of the origin")
	}
	known := []*Key{logKey}
	if mldsaKey != nil {
		if mldsaKey.Type != MLDSAKey || mldsaKey.Name != origin {
			return nil, errors.New("vkey_ml_dsa is not an ML-DSA-44 key of the log")
		}
		known = append(known, mldsaKey)
	}
	for _, cosigner := range cosigners {
		for _, own := range known {
			if bytes.Equal(cosigner.Public, own.Public) {
				return nil, fmt.Errorf("the key of %s has another name as well", cosigner.Name)
			}
		}
	}
	known = append(known, cosigners...)
	signed, lines, err := split(text)
	if err != nil {
		return nil, err
	}
	fromLog, fromMLDSA := false, false
	times := map[*Key]int64{}
	var order []*Key
	for _, line := range lines {
		key := find(known, line.Name, line.Hash)
		if key == nil {
			continue
		}
		raw, _ := strict.Base64(line.Base64)
		signature := raw[4:]
		if !key.verify([]byte(signed), signature) {
			return nil, fmt.Errorf("signature of %s is not valid", key.Name)
		}
		if key == logKey {
			fromLog = true
			continue
		}
		if key == mldsaKey {
			if binary.BigEndian.Uint64(signature) > strict.MaxInteger {
				return nil, fmt.Errorf("signature of %s is not valid", key.Name)
			}
			fromMLDSA = true
			continue
		}
		seconds := binary.BigEndian.Uint64(signature)
		// Time 0 says that there is none. Only ML-DSA-44 cosignatures may have it, and it does not count.
		if (seconds == 0 && key.Type != MLDSAKey) || seconds > strict.MaxInteger {
			return nil, fmt.Errorf("signature of %s is not valid", key.Name)
		}
		if _, seen := times[key]; !seen {
			order = append(order, key)
		}
		times[key] = max(times[key], int64(seconds))
	}
	if !fromLog && !fromMLDSA && len(order) == 0 {
		return nil, errors.New("note has no signature of a known key")
	}
	checkpoint, err := Parse(signed)
	if err != nil {
		return nil, err
	}
	if checkpoint.Origin != origin {
		return nil, errors.New("checkpoint is of another origin")
	}
	if empty := sha256.Sum256(nil); checkpoint.Size == 0 && !bytes.Equal(checkpoint.Root, empty[:]) {
		return nil, errors.New("checkpoint of size 0 does not have the root of the empty tree")
	}
	if !fromLog {
		return nil, errors.New("checkpoint has no signature of its log")
	}
	checkpoint.MLDSA = fromMLDSA
	for _, key := range order {
		if times[key] == 0 {
			continue
		}
		checkpoint.Cosignatures = append(checkpoint.Cosignatures, Cosignature{key, times[key]})
	}
	return checkpoint, nil
}

// SignedText returns the text of a note that this key has signed, whatever the text is.
func SignedText(text string, key *Key) (string, error) {
	signed, lines, err := split(text)
	if err != nil {
		return "", err
	}
	verified := false
	for _, line := range lines {
		if find([]*Key{key}, line.Name, line.Hash) == nil {
			continue
		}
		raw, _ := strict.Base64(line.Base64)
		if !key.verify([]byte(signed), raw[4:]) {
			return "", fmt.Errorf("signature of %s is not valid", key.Name)
		}
		verified = true
	}
	if !verified {
		return "", errors.New("note has no signature of a known key")
	}
	return signed, nil
}

// noKeys makes note.Open check the form of a note and verify nothing.
type noKeys struct{}

func (noKeys) Verifier(name string, id uint32) (note.Verifier, error) {
	return nil, &note.UnknownVerifierError{Name: name, KeyHash: id}
}

func split(text string) (string, []note.Signature, error) {
	if len(text) > 1e6 {
		return "", nil, errors.New("note is over 1000000 bytes")
	}
	_, err := note.Open([]byte(text), noKeys{})
	var unverified *note.UnverifiedNoteError
	if !errors.As(err, &unverified) {
		return "", nil, fmt.Errorf("note has not the form of one: %v", err)
	}
	for _, line := range unverified.Note.UnverifiedSigs {
		if _, err := strict.Base64(line.Base64); err != nil {
			return "", nil, errors.New("signature line does not end in base64")
		}
	}
	return unverified.Note.Text, unverified.Note.UnverifiedSigs, nil
}

func find(keys []*Key, name string, id uint32) *Key {
	for _, key := range keys {
		if key.Name == name && key.ID == id {
			return key
		}
	}
	return nil
}

// Parse reads the text of a checkpoint: exactly three lines, each in its one spelling.
func Parse(text string) (*Checkpoint, error) {
	parsed, err := torchwood.ParseCheckpoint(text)
	if err != nil || parsed.Extension != "" || parsed.String() != text {
		return nil, errors.New("checkpoint has not exactly three lines of origin, size and root")
	}
	if parsed.N > strict.MaxInteger {
		return nil, errors.New("size is over 2^53 - 1")
	}
	return &Checkpoint{Origin: parsed.Origin, Size: parsed.N, Root: parsed.Hash[:]}, nil
}

// Includes checks that the entry with this leaf hash is at an index of the tree (RFC 9162 §2.1.3.2).
func (c *Checkpoint) Includes(index int64, leafHash []byte, path [][]byte) error {
	if index >= c.Size {
		return fmt.Errorf("index %d is not below size %d", index, c.Size)
	}
	inner := bits.Len64(uint64(index ^ (c.Size - 1)))
	switch want := inner + bits.OnesCount64(uint64(index)>>inner); {
	case len(path) < want:
		return errors.New("the path is too short")
	case len(path) > want:
		return errors.New("the path is too long")
	}
	err := proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(index), uint64(c.Size), leafHash, path, c.Root)
	var mismatch proof.RootMismatchError
	if errors.As(err, &mismatch) {
		return errors.New("the path does not lead to the root")
	}
	return err
}

// Consistent checks that the tree of an older checkpoint is a prefix of the tree of a newer one (RFC 9162 §2.1.4.2).
func Consistent(older, newer *Checkpoint, path [][]byte) error {
	return proof.VerifyConsistency(rfc6962.DefaultHasher, uint64(older.Size), uint64(newer.Size), path, older.Root, newer.Root)
}
