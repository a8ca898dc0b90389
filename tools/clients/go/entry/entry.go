// Package entry reads and opens entries and their links (log/FORMAT.md §2, §3.2, §6.2).
package entry

import (
	"errors"
	"fmt"

	"actlog/verify/checkpoint"
	"actlog/verify/internal/strict"
	"actlog/verify/trust"
)

// MaxBytes is the size of the largest entry.
const MaxBytes = 65535

// An Entry is one whose form was checked, and nothing else.
type Entry struct {
	Statement *strict.Object
	// Message is what the log signed: the JCS of the statement.
	Message   []byte
	Signature []byte
	LeafHash  []byte
}

// Read takes the text of an entry apart: at most 65,535 bytes of I-JSON, which is its own JCS.
func Read(text string) (*Entry, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("entry is %d bytes, the limit is %d", len(text), MaxBytes)
	}
	value, err := strict.Parse(text, strict.Options{})
	if err != nil {
		return nil, err
	}
	object, ok := value.(*strict.Object)
	if !ok {
		return nil, errors.New("entry is not an object")
	}
	encoded, err := object.String("signature", "signature of an entry")
	if err != nil {
		return nil, errors.New("entry has no signature")
	}
	signature, err := strict.Base64(encoded)
	if err != nil {
		return nil, err
	}
	if len(signature) != 64 {
		return nil, fmt.Errorf("base64 is %d bytes, not 64", len(signature))
	}
	if strict.Canonical(object) != text {
		return nil, errors.New("entry is not canonical")
	}
	statement := object.Without("signature")
	return &Entry{
		Statement: statement,
		Message:   []byte(strict.Canonical(statement)),
		Signature: signature,
		LeafHash:  trust.LeafHash(text),
	}, nil
}

// An Opened entry is signed by the log, and in the tree of a checkpoint.
type Opened struct {
	*Entry
	Index int64
	// MS is issued_at_ms, log time.
	MS   int64
	Type string
}

// maxPath is the longest path of a tree whose size is at most 2^53 - 1.
const maxPath = 53

// Open opens `{index, entry, path}` under a checkpoint (log/FORMAT.md §6.2).
func Open(t *trust.Trust, tree *checkpoint.Checkpoint, opened strict.Value) (*Opened, error) {
	members, err := strict.Exact(opened, "opened entry", []string{"index", "entry", "path"})
	if err != nil {
		return nil, err
	}
	index, err := members.Count("index", "index of an opened entry")
	if err != nil {
		return nil, err
	}
	text, err := members.String("entry", "text of an opened entry")
	if err != nil {
		return nil, err
	}
	e, err := Read(text)
	if err != nil {
		return nil, err
	}
	if own, _ := e.Statement.Get("index"); own != strict.Value(index) {
		return nil, errors.New("index of an opened entry is not its own")
	}
	if origin, _ := e.Statement.Get("origin"); origin != strict.Value(t.Origin) {
		return nil, errors.New("opened entry is of another log")
	}
	o := &Opened{Entry: e, Index: index}
	if o.MS, err = e.Statement.Count("issued_at_ms", "issued_at_ms of an entry"); err != nil {
		return nil, err
	}
	if o.Type, err = e.Statement.String("type", "type of an entry"); err != nil {
		return nil, err
	}
	kid, err := e.Statement.String("kid", "kid of an entry")
	if err != nil {
		return nil, err
	}
	key, err := t.Key(kid)
	if err != nil {
		return nil, err
	}
	v, _ := members.Get("path")
	path, err := Path(v, "path of an opened entry")
	if err != nil {
		return nil, err
	}
	if err := tree.Includes(index, e.LeafHash, path); err != nil {
		return nil, err
	}
	if err := key.CheckInForce(index, o.MS, true); err != nil {
		return nil, err
	}
	if !strict.VerifyEd25519(key.Public, e.Message, e.Signature) {
		return nil, errors.New("signature of an opened entry is not valid")
	}
	return o, nil
}

// Path reads an inclusion path: base64 hashes, the leaf's sibling first.
func Path(v strict.Value, what string) ([][]byte, error) {
	texts, err := strict.Strings(v, what, maxPath)
	if err != nil {
		return nil, err
	}
	path := make([][]byte, len(texts))
	for i, text := range texts {
		if path[i], err = strict.Hash(text); err != nil {
			return nil, errors.New("a hash is not 32 bytes")
		}
	}
	return path, nil
}

// A Link names the entry before it on a chain.
type Link struct {
	Seq int64
	// First is true exactly when Seq is 0; PrevIndex and PrevMS mean nothing then.
	First     bool
	PrevIndex int64
	PrevMS    int64
}

// LinkOn returns the one link of an entry on a chain.
func (o *Opened) LinkOn(key []string) (*Link, error) {
	links, _ := o.Statement.Get("links")
	list, _ := links.([]strict.Value)
	var found *strict.Object
	for _, element := range list {
		link, ok := element.(*strict.Object)
		if !ok {
			continue
		}
		other, _ := link.Get("key")
		if !SameKey(other, key) {
			continue
		}
		if found != nil {
			return nil, errors.New("entry has several links on the chain")
		}
		found = link
	}
	if found == nil {
		return nil, errors.New("entry has no link on the chain")
	}
	seq, err := found.Count("seq", "seq of a link")
	if err != nil {
		return nil, err
	}
	if seq == 0 {
		index, hasIndex := found.Get("prev_index")
		ms, hasMS := found.Get("prev_ms")
		if !hasIndex || !hasMS || index != nil || ms != nil {
			return nil, errors.New("first link has an entry before it")
		}
		return &Link{First: true}, nil
	}
	link := &Link{Seq: seq}
	if link.PrevIndex, err = found.Count("prev_index", "prev_index of a link"); err != nil {
		return nil, err
	}
	if link.PrevMS, err = found.Count("prev_ms", "prev_ms of a link"); err != nil {
		return nil, err
	}
	if link.PrevIndex >= o.Index {
		return nil, errors.New("link points forward")
	}
	return link, nil
}

// SameKey reports whether a value is the array of these strings.
func SameKey(v strict.Value, key []string) bool {
	list, ok := v.([]strict.Value)
	if !ok || len(list) != len(key) {
		return false
	}
	for i, part := range list {
		if part != strict.Value(key[i]) {
			return false
		}
	}
	return true
}
