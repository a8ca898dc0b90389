package violation

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"

	"actlog/verify/checkpoint"
	"actlog/verify/internal/strict"
	"actlog/verify/trust"
)

// The rules about two logs: what a log and its successor say of each other, what a successor carries over, and keys that
// two logs share (log/FORMAT.md §7 and §7.1).

// carriedType matches an entry type by which a plugin carries (log/FORMAT.md §1.3).
var carriedType = regexp.MustCompile(`\.carried\.v[1-9][0-9]*$`)

// A numbered log is one whose origin was taken apart.
type numbered struct {
	host, kind string
	number     int64
}

var originForm = regexp.MustCompile(`^([^\n\r\x{2028}\x{2029}]+)/log/(live|sandbox)/([1-9][0-9]{0,15})$`)

// parseOrigin splits <host>/log/<kind>/<n>.
func parseOrigin(origin string) (numbered, bool) {
	parts := originForm.FindStringSubmatch(origin)
	if parts == nil {
		return numbered{}, false
	}
	n, err := strconv.ParseInt(parts[3], 10, 64)
	return numbered{parts[1], parts[2], n}, err == nil
}

// isNeighbour reports whether a value is the origin of the next log of the kind (step 1) or of the one before it (-1).
func (n numbered) isNeighbour(v strict.Value, step int64) bool {
	origin, _ := v.(string)
	other, ok := parseOrigin(origin)
	return ok && other.kind == n.kind && other.number == n.number+step
}

// A succession is a finding about a log and its direct successor.
type succession struct {
	older, newer string
	tree         *checkpoint.Checkpoint
	// opening is entry 0 of the successor.
	opening *strict.Object
	// size and root are those that it names; size is -1 if it does not name the older log.
	size int64
	root strict.Value
	// before is an entry of the older log; nil where none is shown.
	before *earlier
}

// An earlier entry is one of the first log, under the first note.
type earlier struct {
	*strict.Object
	index    int64
	leafHash []byte
}

// earlier is the entry before the last one; nil where there is none.
func (e *evidence) earlier() (*earlier, error) {
	if len(e.entries) < 2 {
		return nil, nil
	}
	before := e.before()
	if before.note != 0 {
		return nil, errKept
	}
	read, err := before.open()
	if err != nil {
		return nil, err
	}
	return &earlier{read.Statement, before.index, read.LeafHash}, nil
}

// opening reads the last entry, which must open a log.
func (e *evidence) opening() (*strict.Object, error) {
	read, err := e.last().open()
	if err != nil {
		return nil, err
	}
	if read.Index != 0 || read.Statement.Text("type") != "log.open.v1" {
		return nil, errKept
	}
	return read.Statement, nil
}

func (e *evidence) succession() (*succession, error) {
	s := &succession{older: e.logs[0].origin, newer: e.logs[1].origin, tree: e.trees[0], size: -1}
	if older, ok := parseOrigin(s.older); !ok || !older.isNeighbour(s.newer, 1) || e.last().note != 1 {
		return nil, errKept
	}
	var err error
	if s.opening, err = e.opening(); err != nil {
		return nil, err
	}
	if named := s.opening.Object("predecessor"); named != nil && named.Text("origin") == s.older {
		if size, err := named.Count("size", "size"); err == nil {
			s.size = size
			s.root, _ = named.Get("root")
		}
	}
	s.before, err = e.earlier()
	return s, err
}

func (s *succession) opened() string {
	return fmt.Sprintf("opened %s as the successor of %s after %d entries", s.newer, s.older, s.size)
}

func (s *succession) grown() string {
	return fmt.Sprintf("%s, and signed a checkpoint of %d entries of %s", s.opened(), s.tree.Size, s.older)
}

func predecessor(e *evidence) (string, error) {
	if len(e.notes) == 1 {
		return loneOpening(e)
	}
	s, err := e.succession()
	if err != nil {
		return "", err
	}
	if s.before == nil {
		return s.withoutEntry(), nil
	}
	if s.size < 0 {
		return "", errKept
	}
	// A map head follows the entry that closes the log, and nothing follows the map head.
	if s.before.Text("type") == "log.closed.v1" && s.size > s.before.index+2 {
		return fmt.Sprintf("closed %s at entry %d, and %s", s.older, s.before.index, s.opened()), nil
	}
	ms, ok := timeOf(s.before.Object)
	own, well := timeOf(s.opening)
	if !ok || !well || ms < own {
		return "", errKept
	}
	return fmt.Sprintf("opened %s as the successor of %s at a time that is not after that of entry %d of %s",
		s.newer, s.older, s.before.index, s.older), nil
}

// loneOpening is about entry 0 of a log alone.
func loneOpening(e *evidence) (string, error) {
	if len(e.entries) != 1 {
		return "", errNotOfRule
	}
	own, ok := parseOrigin(e.trust.Origin)
	if !ok {
		return "", errKept
	}
	opening, err := e.opening()
	if err != nil {
		return "", err
	}
	named, _ := opening.Get("predecessor")
	if own.number == 1 {
		if named == nil {
			return "", errKept
		}
		return e.inTree("opens the first log of its kind and names a predecessor"), nil
	}
	if before := opening.Object("predecessor"); before != nil {
		if origin, _ := before.Get("origin"); own.isNeighbour(origin, -1) {
			return "", errKept
		}
	}
	return e.inTree("opens the log and does not name the log before it"), nil
}

// withoutEntry is what entry 0 of the successor and the note of the older log show; nothing if they do not decide.
func (s *succession) withoutEntry() string {
	switch {
	case s.size < 0:
		return fmt.Sprintf("opened %s as the log after %s, and its first entry does not name that log as its predecessor",
			s.newer, s.older)
	case s.tree.Size > s.size:
		return s.grown()
	case s.tree.Size < s.size || s.root == strict.Value(hex.EncodeToString(s.tree.Root)):
		return ""
	}
	return fmt.Sprintf("signed a checkpoint of %d entries of %s, and opened %s as its successor with another root of "+
		"these entries", s.size, s.older, s.newer)
}

func successor(e *evidence) (string, error) {
	if len(e.notes) == 1 {
		return loneClosing(e)
	}
	s, err := e.succession()
	if err != nil {
		return "", err
	}
	if s.before == nil {
		return "", errNotOfRule
	}
	if s.size < 0 || s.before.Text("type") != "log.closed.v1" || s.before.Text("successor") == s.newer {
		return "", errKept
	}
	return fmt.Sprintf("closed %s at entry %d without naming %s, and opened %s as the successor of %s",
		s.older, s.before.index, s.newer, s.newer, s.older), nil
}

// loneClosing is about the entry that closes a log alone.
func loneClosing(e *evidence) (string, error) {
	if len(e.entries) != 1 {
		return "", errNotOfRule
	}
	own, ok := parseOrigin(e.trust.Origin)
	read, err := e.last().open()
	if err != nil {
		return "", err
	}
	named, _ := read.Statement.Get("successor")
	if named != nil && !ok {
		return "", errKept
	}
	if read.Statement.Text("type") != "log.closed.v1" || named == nil || own.isNeighbour(named, 1) {
		return "", errKept
	}
	return e.inTree("closes the log and names a successor that is not the log after it"), nil
}

func twoLogs(e *evidence) (string, error) {
	s, err := e.succession()
	if err != nil {
		return "", err
	}
	if s.size < 0 || s.before == nil || s.before.index < s.size {
		return "", errKept
	}
	return s.grown(), nil
}

// A rest is the entry that a carried entry names.
type rest struct {
	number, index     int64
	entryID, leafHash strict.Value
}

// restsOn reads it; nil where the entry names none.
func restsOn(statement *strict.Object) *rest {
	o := statement.Object("rests_on")
	if o == nil {
		return nil
	}
	r := &rest{}
	var err error
	if r.number, err = o.Count("log_number", "log_number"); err != nil || r.number == 0 {
		return nil
	}
	if r.index, err = o.Count("index", "index"); err != nil {
		return nil
	}
	for name, member := range map[string]*strict.Value{"entry_id": &r.entryID, "leaf_hash": &r.leafHash} {
		v, _ := o.Get(name)
		if _, text := v.(string); v != nil && !text {
			return nil
		}
		*member = v
	}
	return r
}

func carried(e *evidence) (string, error) {
	if len(e.entries) != len(e.notes) {
		return "", errNotOfRule
	}
	last, err := e.last().open()
	if err != nil {
		return "", err
	}
	if !carriedType.MatchString(last.Statement.Text("type")) || e.last().note != len(e.notes)-1 {
		return "", errKept
	}
	own, ok := parseOrigin(e.trust.Origin)
	if !ok {
		return "", errKept
	}
	named := restsOn(last.Statement)
	before, err := e.earlier()
	if err != nil {
		return "", err
	}
	if before == nil {
		switch {
		case named == nil:
			return e.inTree("was carried over and names no entry"), nil
		case named.number >= own.number:
			return e.inTree("was carried over and names an entry of a log that is not an earlier one"), nil
		}
		return "", errKept
	}
	older, ok := parseOrigin(e.logs[0].origin)
	if !ok || named == nil || older.kind != own.kind || older.number != named.number || older.number >= own.number {
		return "", errKept
	}
	words := ""
	entryID, _ := before.Get("entry_id")
	switch direct := older.number == own.number-1; {
	case before.index > named.index:
		return "", errKept
	case before.index < named.index:
		// Only the entry that closes the log shows where it ends.
		if before.Text("type") != "log.closed.v1" {
			return "", nil
		}
		if named.index <= before.index+1 {
			return "", errKept
		}
		words = fmt.Sprintf(", which was closed at entry %d", before.index)
	case direct && (named.entryID == nil || named.leafHash == nil):
		words = " without its id and leaf hash"
	case named.leafHash != nil && named.leafHash != strict.Value(hex.EncodeToString(before.leafHash)):
		words = " with another leaf hash"
	case named.entryID != nil && named.entryID != entryID:
		words = " with another id"
	default:
		return "", errKept
	}
	return fmt.Sprintf("signed a checkpoint of %d entries of %s in which entry %d was carried over and names entry %d of %s%s",
		e.size(), e.trust.Origin, e.last().index, named.index, e.logs[0].origin, words), nil
}

// A use is what a key is for in one of two logs.
type use struct {
	kind     string
	declared bool
	key      []byte
	words    string
}

// use is that of the checkpoint key of a log, or of the receipt key that the entry under its note declares.
func (e *evidence) use(note int) (*use, error) {
	log := e.logs[note]
	parsed, ok := parseOrigin(log.origin)
	if !ok {
		return nil, errKept
	}
	var shown *shown
	for _, one := range e.entries {
		if one.note != note {
			continue
		}
		if shown != nil {
			return nil, errNotOfRule
		}
		shown = one
	}
	if shown == nil {
		key, err := checkpoint.ParseKey(log.vkey)
		if err != nil {
			return nil, err
		}
		return &use{parsed.kind, false, key.Public, "the checkpoint key of " + log.origin}, nil
	}
	read, err := shown.open()
	if err != nil {
		return nil, err
	}
	var jwk *strict.Object
	switch read.Statement.Text("type") {
	case "log.open.v1":
		jwk = read.Statement.Object("jwk")
	case "log.key.v1":
		jwk = read.Statement.Object("key")
	}
	if jwk == nil {
		return nil, errKept
	}
	key, err := trust.PublicKey(jwk)
	if err != nil {
		return nil, errKept
	}
	words := fmt.Sprintf("the receipt key that entry %d of %s declares", shown.index, log.origin)
	return &use{parsed.kind, true, key, words}, nil
}

func keyShared(e *evidence) (string, error) {
	first, err := e.use(0)
	if err != nil {
		return "", err
	}
	other, err := e.use(1)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(first.key, other.key) || (first.kind == other.kind && first.declared == other.declared) {
		return "", errKept
	}
	return fmt.Sprintf("uses one key as %s and as %s", first.words, other.words), nil
}
