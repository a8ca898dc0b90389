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
	// notes and entries are the least and the largest number of each.
	notes, entries span
	// logs: the notes may be of two logs.
	logs        bool
	consistency bool
	// stray: the last entry but one has no path.
	stray bool
	// anyText: the signed text is not read as a checkpoint.
	anyText bool
	// broken returns what the operator did, in words; none if the evidence alone does not show it.
	broken func(e *evidence) (string, error)
}

// A span is a least and a largest number.
type span [2]int

func (s span) has(n int) bool { return n >= s[0] && n <= s[1] }

var (
	none = span{0, 0}
	one  = span{1, 1}
	two  = span{2, 2}
)

// broken is what the evidence shows. Evidence that the rule does not need would be shown unchecked, so it is refused.
func (e *evidence) broken(known *rule) (string, error) {
	if known == nil {
		return "", nil
	}
	if !known.notes.has(len(e.notes)) || !known.entries.has(len(e.entries)) ||
		(e.consistency != nil) != known.consistency || (e.named && !known.logs) {
		return "", errNotOfRule
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

// open takes an entry apart that a note commits to.
func (s *shown) open() (*entry.Opened, error) {
	if s.hidden {
		return nil, errKept
	}
	read, err := entry.Read(s.text)
	if err != nil {
		return nil, err
	}
	return &entry.Opened{Entry: read, Index: s.index}, nil
}

// pair takes the last two entries apart, the later one last.
func (e *evidence) pair() (before, last *entry.Opened, err error) {
	if e.before().index >= e.last().index {
		return nil, nil, errKept
	}
	if before, err = e.before().open(); err != nil {
		return nil, nil, err
	}
	last, err = e.last().open()
	return before, last, err
}

// ofText is a rule about the text that the log signed, which need not be a checkpoint.
func ofText(broken func(text string) string) *rule {
	return &rule{notes: one, anyText: true, broken: func(e *evidence) (string, error) {
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
	return &rule{notes: one, entries: one, broken: func(e *evidence) (string, error) {
		if len(e.entries) == 2 && e.before().index != 0 {
			return "", errKept
		}
		last, err := e.last().open()
		if err != nil {
			return "", err
		}
		said, err := orKept(broken(last.Statement, last.Index, e))
		if err != nil {
			return "", err
		}
		return e.inTree(said), nil
	}}
}

// ofPair is a rule about an entry and an earlier one.
func ofPair(broken func(before, last *entry.Opened) string) *rule {
	return &rule{notes: one, entries: two, broken: func(e *evidence) (string, error) {
		before, last, err := e.pair()
		if err != nil {
			return "", err
		}
		said, err := orKept(broken(before, last))
		if err != nil {
			return "", err
		}
		return e.inTree(said), nil
	}}
}

var malformed = &rule{notes: one, entries: one, broken: func(e *evidence) (string, error) {
	if _, err := e.last().open(); err == nil {
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
	"two_roots": {notes: two, broken: func(e *evidence) (string, error) {
		first, other := e.trees[0], e.trees[1]
		if first.Size != other.Size || bytes.Equal(first.Root, other.Root) {
			return "", errKept
		}
		return fmt.Sprintf("signed two different roots for the tree of %d entries: %s and %s", first.Size,
			base64.StdEncoding.EncodeToString(first.Root), base64.StdEncoding.EncodeToString(other.Root)), nil
	}},
	"inconsistent": {notes: two, consistency: true, broken: func(e *evidence) (string, error) {
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
	"two_entries":     {notes: one, entries: span{2, maxEntries}, stray: true, broken: twoEntries},
	"entry_size":      malformed,
	"entry_json":      malformed,
	"entry_canonical": malformed,
	"signature_form":  malformed,
	"signature":       {notes: one, entries: one, broken: badSignature},
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
	"log_closed": ofPair(func(before, last *entry.Opened) string {
		if before.Statement.Text("type") != "log.closed.v1" ||
			(last.Index == before.Index+1 && last.Statement.Text("type") == "log.map_head.v1") {
			return ""
		}
		return fmt.Sprintf("follows entry %d, which closed the log", before.Index)
	}),
	"time_order": ofPair(func(before, last *entry.Opened) string {
		ms, ok := timeOf(before.Statement)
		own, well := timeOf(last.Statement)
		if before.Index != last.Index-1 || !ok || !well || ms <= own {
			return ""
		}
		return fmt.Sprintf("is dated before entry %d", before.Index)
	}),
	"time_after_map_head": ofPair(func(before, last *entry.Opened) string {
		ms, ok := timeOf(before.Statement)
		own, well := timeOf(last.Statement)
		if before.Statement.Text("type") != "log.map_head.v1" || !ok || !well || ms < own {
			return ""
		}
		return fmt.Sprintf("is not dated after entry %d, a map head", before.Index)
	}),
	"entry_id_order": ofPair(func(before, last *entry.Opened) string {
		id, ok := uuidOf(before.Statement)
		own, well := uuidOf(last.Statement)
		if before.Index != last.Index-1 || !ok || !well || id < own {
			return ""
		}
		return fmt.Sprintf("does not have a greater entry_id than entry %d", before.Index)
	}),
	"links": {notes: one, entries: span{1, maxEntries}, broken: leftOut},
	// The rules about two logs.
	"predecessor": {notes: span{1, 2}, entries: span{1, 2}, logs: true, broken: predecessor},
	"successor":   {notes: span{1, 2}, entries: span{1, 2}, logs: true, broken: successor},
	"two_logs":    {notes: two, entries: two, logs: true, broken: twoLogs},
	"carried":     {notes: span{1, 2}, entries: span{1, 2}, logs: true, broken: carried},
	"key_shared":  {notes: two, entries: span{0, 2}, logs: true, broken: keyShared},
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
	r.entries = span{1, 2}
	return r
}

func twoEntries(e *evidence) (string, error) {
	stray, committed := e.before(), e.last()
	if stray.path != nil || stray.index != committed.index {
		return "", errKept
	}
	read, err := stray.open()
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
	read, err := e.last().open()
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
	if len(e.entries) != 2 {
		return "", nil
	}
	earlier, later, err := e.pair()
	if err != nil {
		return "", nil
	}
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
		if _, err := earlier.LinkOn(key); err != nil {
			continue
		}
		own, err := later.LinkOn(key)
		if err == nil && (own.First || own.PrevIndex < earlier.Index) {
			return e.inTree(fmt.Sprintf("leaves out entry %d of a chain that both are on", earlier.Index)), nil
		}
	}
	return "", nil
}
