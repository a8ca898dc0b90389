package violation

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"actlog/verify/checkpoint"
	"actlog/verify/entry"
	"actlog/verify/internal/strict"
	"actlog/verify/receipt"
)

// A rule is what a finding can show to be broken: how much evidence it takes, and what is recomputed from it.
type rule struct {
	notes       int
	least, most int
	consistency bool
	// stray: the last entry but one has no path.
	stray bool
	// anyText: the signed text is not read as a checkpoint.
	anyText bool
	// broken returns what the operator did, in words; none if the evidence alone does not show it.
	broken func(e *evidence) (string, error)
}

// broken is what the evidence shows. Evidence that the rule does not need would be shown unchecked, so it is refused.
func (e *evidence) broken(known *rule) (string, error) {
	if known == nil {
		return "", nil
	}
	if len(e.notes) != known.notes || len(e.entries) < known.least || len(e.entries) > known.most ||
		(e.consistency != nil) != known.consistency {
		return "", errors.New("the evidence is not that of the rule")
	}
	for _, one := range e.entries {
		if one.hidden && !known.stray {
			return "", nil
		}
	}
	return known.broken(e)
}

func (e *evidence) last() *shown   { return e.entries[len(e.entries)-1] }
func (e *evidence) before() *shown { return e.entries[len(e.entries)-2] }
func (e *evidence) size() int64    { return e.trees[len(e.trees)-1].Size }

func (e *evidence) inTree(said string) string {
	return fmt.Sprintf("signed a checkpoint of %d entries in which entry %d %s", e.size(), e.last().index, said)
}

func (s *shown) read() (*entry.Entry, error) {
	if s.hidden {
		return nil, errKept
	}
	return entry.Read(s.text)
}

// ofText is a rule about the text that the log signed, which need not be a checkpoint.
func ofText(broken func(text string) string) *rule {
	return &rule{notes: 1, anyText: true, broken: func(e *evidence) (string, error) {
		// The line of a successor's key can be put under the name of its predecessor, since it signs the text alone.
		if first, _, _ := strings.Cut(e.texts[0], "\n"); first != e.trust.Origin {
			return "", errKept
		}
		return orKept(broken(e.texts[0]))
	}}
}

func orKept(said string) (string, error) {
	if said == "" {
		return "", errKept
	}
	return said, nil
}

// ofEntry is a rule about the statement of one entry and its index. It returns nothing where the entry keeps the rule.
func ofEntry(broken func(statement *strict.Object, index int64, e *evidence) string) *rule {
	return &rule{notes: 1, least: 1, most: 1, broken: func(e *evidence) (string, error) {
		if len(e.entries) == 2 && e.before().index != 0 {
			return "", errKept
		}
		read, err := e.last().read()
		if err != nil {
			return "", err
		}
		said, err := orKept(broken(read.Statement, e.last().index, e))
		if err != nil {
			return "", err
		}
		return e.inTree(said), nil
	}}
}

// A placed statement is that of an entry with its index.
type placed struct {
	*strict.Object
	index int64
}

// ofPair is a rule about an entry and an earlier one.
func ofPair(broken func(before, last placed) string) *rule {
	return &rule{notes: 1, least: 2, most: 2, broken: func(e *evidence) (string, error) {
		if e.before().index >= e.last().index {
			return "", errKept
		}
		before, err := e.before().read()
		if err != nil {
			return "", err
		}
		last, err := e.last().read()
		if err != nil {
			return "", err
		}
		said, err := orKept(broken(placed{before.Statement, e.before().index}, placed{last.Statement, e.last().index}))
		if err != nil {
			return "", err
		}
		return e.inTree(said), nil
	}}
}

var malformed = &rule{notes: 1, least: 1, most: 1, broken: func(e *evidence) (string, error) {
	if _, err := e.last().read(); err == nil {
		return "", errKept
	}
	return e.inTree("is not the text of an entry"), nil
}}

// timeOf is the issued_at_ms of a statement, from 0 to 2^48 - 1.
func timeOf(statement *strict.Object) (int64, bool) {
	v, _ := statement.Get("issued_at_ms")
	ms, ok := v.(int64)
	return ms, ok && ms >= 0 && ms < 1<<48
}

// A UUIDv7 in lower case.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

var typeName = regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z][a-z0-9_]*\.v[1-9][0-9]*$`)

var sandbox = regexp.MustCompile(`/log/sandbox/[1-9][0-9]*$`)

func uuidOf(statement *strict.Object) (string, bool) {
	id := statement.Text("entry_id")
	return id, uuid.MatchString(id)
}

// rules are those that the evidence alone can show to be broken.
var rules = map[string]*rule{
	"two_roots": {notes: 2, broken: func(e *evidence) (string, error) {
		one, other := e.trees[0], e.trees[1]
		if one.Size != other.Size || bytes.Equal(one.Root, other.Root) {
			return "", errKept
		}
		return fmt.Sprintf("signed two different roots for the tree of %d entries: %s and %s", one.Size,
			base64.StdEncoding.EncodeToString(one.Root), base64.StdEncoding.EncodeToString(other.Root)), nil
	}},
	"inconsistent": {notes: 2, consistency: true, broken: func(e *evidence) (string, error) {
		older, newer := e.trees[0], e.trees[1]
		if bytes.Equal(e.consistency.fromRoot, older.Root) {
			return "", errKept
		}
		return fmt.Sprintf("signed a checkpoint of %d entries and one of %d entries, and the first %d entries of the two "+
			"are not the same", older.Size, newer.Size, older.Size), nil
	}},
	"checkpoint_form": ofText(func(text string) string {
		if _, err := checkpoint.Parse(text); err != nil {
			return "signed a note that names the log and is not a checkpoint"
		}
		return ""
	}),
	"checkpoint_size": ofText(func(text string) string {
		if tree, err := checkpoint.Parse(text); err == nil && tree.Size == 0 {
			return "signed a checkpoint of no entries"
		}
		return ""
	}),
	"checkpoint_map_head": ofEntry(func(statement *strict.Object, index int64, e *evidence) string {
		if index != e.size()-1 || statement.Text("type") == "log.map_head.v1" {
			return ""
		}
		return "is the last one and is not a map head"
	}),
	"two_entries":     {notes: 1, least: 2, most: maxEntries, stray: true, broken: twoEntries},
	"entry_size":      malformed,
	"entry_json":      malformed,
	"entry_canonical": malformed,
	"signature_form":  malformed,
	"signature":       {notes: 1, least: 1, most: 1, broken: badSignature},
	"member_forbidden": ofEntry(func(statement *strict.Object, _ int64, _ *evidence) string {
		for _, name := range receipt.Derived {
			if statement.Has(name) {
				return "has a member that no entry may have"
			}
		}
		return ""
	}),
	"type_form": ofEntry(func(statement *strict.Object, _ int64, _ *evidence) string {
		if typeName.MatchString(statement.Text("type")) {
			return ""
		}
		return "has no well-formed type"
	}),
	"issued_at_ms": ofEntry(func(statement *strict.Object, _ int64, _ *evidence) string {
		if _, ok := timeOf(statement); ok {
			return ""
		}
		return "has no valid time"
	}),
	"origin": ofEntry(func(statement *strict.Object, _ int64, e *evidence) string {
		if v, _ := statement.Get("origin"); v == strict.Value(e.trust.Origin) {
			return ""
		}
		return "names another log"
	}),
	"sandbox": ofEntry(func(statement *strict.Object, _ int64, e *evidence) string {
		if v, _ := statement.Get("sandbox"); v == strict.Value(sandbox.MatchString(e.trust.Origin)) {
			return ""
		}
		return "does not say truly whether the log is a sandbox"
	}),
	"index": ofEntry(func(statement *strict.Object, index int64, _ *evidence) string {
		if v, _ := statement.Get("index"); v == strict.Value(index) {
			return ""
		}
		return "names another index"
	}),
	"entry_id": ofEntry(func(statement *strict.Object, _ int64, _ *evidence) string {
		if id, ok := uuidOf(statement); ok {
			ms, _ := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
			if v, _ := statement.Get("issued_at_ms"); v == strict.Value(ms) {
				return ""
			}
		}
		return "has an entry_id that is not a UUIDv7 of its time"
	}),
	"log_open": opening(),
	"log_closed": ofPair(func(before, last placed) string {
		if before.Text("type") != "log.closed.v1" ||
			(last.index == before.index+1 && last.Text("type") == "log.map_head.v1") {
			return ""
		}
		return fmt.Sprintf("follows entry %d, which closed the log", before.index)
	}),
	"time_order": ofPair(func(before, last placed) string {
		ms, ok := timeOf(before.Object)
		own, well := timeOf(last.Object)
		if before.index != last.index-1 || !ok || !well || ms <= own {
			return ""
		}
		return fmt.Sprintf("is dated before entry %d", before.index)
	}),
	"time_after_map_head": ofPair(func(before, last placed) string {
		ms, ok := timeOf(before.Object)
		own, well := timeOf(last.Object)
		if before.Text("type") != "log.map_head.v1" || !ok || !well || ms < own {
			return ""
		}
		return fmt.Sprintf("is not dated after entry %d, a map head", before.index)
	}),
	"entry_id_order": ofPair(func(before, last placed) string {
		id, ok := uuidOf(before.Object)
		own, well := uuidOf(last.Object)
		if before.index != last.index-1 || !ok || !well || id < own {
			return ""
		}
		return fmt.Sprintf("does not have a greater entry_id than entry %d", before.index)
	}),
	"links": {notes: 1, least: 1, most: maxEntries, broken: leftOut},
}

func opening() *rule {
	r := ofEntry(func(statement *strict.Object, index int64, _ *evidence) string {
		switch opens := statement.Text("type") == "log.open.v1"; {
		case index == 0 && !opens:
			return "is the first one and does not open the log"
		case index != 0 && opens:
			return "opens the log again"
		}
		return ""
	})
	r.most = 2
	return r
}

func twoEntries(e *evidence) (string, error) {
	stray, committed := e.before(), e.last()
	if stray.path != nil || stray.index != committed.index {
		return "", errKept
	}
	read, err := stray.read()
	if err != nil {
		return "", err
	}
	index, _ := read.Statement.Get("index")
	if read.Statement.Text("origin") != e.trust.Origin || index != strict.Value(committed.index) ||
		bytes.Equal(read.LeafHash, committed.leafHash) {
		return "", errKept
	}
	kid, err := read.Statement.String("kid", "kid of an entry")
	if err != nil {
		return "", err
	}
	key, err := e.trust.Key(kid)
	if err != nil {
		return "", err
	}
	ms, err := read.Statement.Count("issued_at_ms", "issued_at_ms of an entry")
	if err != nil {
		return "", err
	}
	if err := key.CheckInForce(committed.index, ms, false); err != nil {
		return "", err
	}
	if !strict.VerifyEd25519(key.Public, read.Message, read.Signature) {
		return "", errors.New("signature of an entry is not valid")
	}
	return fmt.Sprintf("signed an entry of the index %d, and a checkpoint of %d entries that has another entry at that index",
		committed.index, e.size()), nil
}

func badSignature(e *evidence) (string, error) {
	read, err := e.last().read()
	if err != nil {
		return "", err
	}
	kid, err := read.Statement.String("kid", "kid of an entry")
	if err != nil {
		return "", err
	}
	key, err := e.trust.Key(kid)
	if err != nil {
		return "", err
	}
	if strict.VerifyEd25519(key.Public, read.Message, read.Signature) {
		return "", errKept
	}
	return e.inTree("does not have a valid signature of the key that it names"), nil
}

// leftOut finds a chain that both entries are on, and on which the later one names no entry, or one before the earlier.
func leftOut(e *evidence) (string, error) {
	if len(e.entries) != 2 || e.before().index >= e.last().index {
		return "", nil
	}
	earlier, err := e.before().read()
	if err != nil {
		return "", nil
	}
	later, err := e.last().read()
	if err != nil {
		return "", nil
	}
	one := &entry.Opened{Entry: earlier, Index: e.before().index}
	other := &entry.Opened{Entry: later, Index: e.last().index}
	links, _ := earlier.Statement.Get("links")
	list, _ := links.([]strict.Value)
	for _, v := range list {
		link, ok := v.(*strict.Object)
		if !ok {
			continue
		}
		value, _ := link.Get("key")
		key, err := strict.Strings(value, "key", entry.MaxBytes)
		if err != nil || len(key) == 0 {
			continue
		}
		if _, err := one.LinkOn(key); err != nil {
			continue
		}
		own, err := other.LinkOn(key)
		if err == nil && (own.First || own.PrevIndex < one.Index) {
			return e.inTree(fmt.Sprintf("leaves out entry %d of a chain that both are on", one.Index)), nil
		}
	}
	return "", nil
}
