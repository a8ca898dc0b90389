package checkpoint

import (
	"errors"
	"strconv"
	"strings"

	"actlog/verify/internal/strict"
)

// TlogProofHeader is the first line of a tlog-proof.
const TlogProofHeader = "c2sp.org/tlog-proof@v1"

// A TlogProof is an index with its path and a signed checkpoint, none of which is verified.
type TlogProof struct {
	Index int64
	Path  [][]byte
	// Checkpoint is the signed note.
	Checkpoint string
}

// ParseTlogProof reads a C2SP tlog-proof, with each hash and number in its one spelling.
func ParseTlogProof(text string) (*TlogProof, error) {
	head, note, ok := strings.Cut(text, "\n\n")
	if !ok {
		return nil, errors.New("proof has no blank line before its checkpoint")
	}
	if !strings.HasSuffix(note, "\n") {
		return nil, errors.New("checkpoint does not end in a newline")
	}
	lines := strings.Split(head, "\n")
	if lines[0] != TlogProofHeader {
		return nil, errors.New("first line is not " + TlogProofHeader)
	}
	lines = lines[1:]
	if len(lines) > 0 && strings.HasPrefix(lines[0], "extra ") {
		if _, err := strict.Base64(lines[0][len("extra "):]); err != nil {
			return nil, errors.New("a line of the proof is not base64 of the right length")
		}
		lines = lines[1:]
	}
	errIndex := errors.New("index is not a decimal up to 2^53 - 1 without leading zeros")
	if len(lines) == 0 {
		return nil, errIndex
	}
	decimal, ok := strings.CutPrefix(lines[0], "index ")
	index, err := strconv.ParseInt(decimal, 10, 64)
	if !ok || err != nil || index < 0 || index > strict.MaxInteger || strconv.FormatInt(index, 10) != decimal {
		return nil, errIndex
	}
	lines = lines[1:]
	if len(lines) > 63 {
		return nil, errors.New("path is longer than 63")
	}
	proof := &TlogProof{Index: index, Checkpoint: note}
	for _, line := range lines {
		hash, err := strict.Hash(line)
		if err != nil {
			return nil, errors.New("a line of the proof is not base64 of the right length")
		}
		proof.Path = append(proof.Path, hash)
	}
	return proof, nil
}
