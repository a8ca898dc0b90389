// Package violation checks findings of monitors and witnesses: that the signed objects in a document show that a log
// broke a rule (log/FORMAT.md §7.1).
package violation

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"actlog/verify/checkpoint"
	"actlog/verify/internal/strict"
	"actlog/verify/receipt"
	"actlog/verify/trust"
)

// Schema is that of a finding.
const Schema = "actlog-violation-v1"

const (
	maxNotes       = 2
	maxEntries     = 20
	maxWithheld    = 100000
	maxPath        = 53
	maxConsistency = 106
)

// An Undecided is the answer about a finding that others cannot check.
type Undecided struct{ Message string }

func (u *Undecided) Error() string { return u.Message }

// A Result says what a finding shows.
type Result struct {
	// Valid reports that the log broke the rule.
	Valid bool
	// Untold says, beside a false Valid, that the evidence is signed and does not decide alone.
	Untold bool
	// Summary is one sentence without its period.
	Summary string
	Checks  []receipt.Check
}

var (
	errKept      = errors.New("the evidence does not break the rule")
	errNotOfRule = errors.New("the evidence is not that of the rule")
)

// A shown entry of a finding.
type shown struct {
	index int64
	// text is that of the entry; empty where its bytes are not UTF-8.
	text string
	// hidden entries are those whose bytes were withheld.
	hidden   bool
	leafHash []byte
	// path is nil where no note commits to the entry.
	path [][]byte
	// note is the number of the note that the path leads to.
	note int
}

// A knownLog is a log as the verifier knows it.
type knownLog struct{ origin, vkey string }

type consistency struct {
	from, to int64
	fromRoot []byte
	path     [][]byte
}

// evidence is what a finding shows, once its notes are open and its entries included.
type evidence struct {
	trust *trust.Trust
	rule  string
	notes []string
	// logs are those of the notes.
	logs []knownLog
	// named: the document has the verifier key of each note, as a finding about two logs does.
	named       bool
	texts       []string
	trees       []*checkpoint.Checkpoint
	entries     []*shown
	consistency *consistency
}

// Verify checks a finding against the keys of one log.
func Verify(document *strict.Object, t *trust.Trust) (*Result, error) {
	r := &Result{}
	e, err := read(document, t)
	var undecided *Undecided
	if errors.As(err, &undecided) {
		return nil, undecided
	}
	if !r.step("form", func() (string, error) { return "a finding of the rule " + document.Text("rule"), err }) {
		return r, nil
	}
	known := rules[e.rule]
	for i, note := range e.notes {
		if !r.step("checkpoint", func() (string, error) { return e.open(note, e.logs[i], known) }) {
			return r, nil
		}
	}
	if e.consistency != nil && !r.step("consistency", e.checkPrefix) {
		return r, nil
	}
	for i, one := range e.entries {
		if known != nil && known.stray && i == len(e.entries)-2 {
			continue
		}
		if !r.step("entry", func() (string, error) { return e.checkIncluded(one) }) {
			return r, nil
		}
	}
	words, err := e.broken(known)
	switch {
	case err != nil:
		r.fail("rule", err)
	case words == "":
		r.Untold = true
		r.Checks = append(r.Checks, receipt.Check{Name: "rule", Outcome: receipt.NotShown,
			Detail: "the other entries of the log decide: actlog monitor replays them"})
		r.Summary = "the log signed what is shown, and only a replay of the log shows whether it breaks the rule " + e.rule
	default:
		r.Valid = true
		r.Checks = append(r.Checks, receipt.Check{Name: "rule", Outcome: receipt.OK, Detail: "the evidence breaks it"})
		r.Summary = fmt.Sprintf("the operator of the %s %s", e.operated(), words)
	}
	return r, nil
}

// operated names the logs of a finding.
func (e *evidence) operated() string {
	if first := e.logs[0].origin; first != e.trust.Origin {
		return fmt.Sprintf("logs %s and %s", first, e.trust.Origin)
	}
	return "log " + e.trust.Origin
}

// step runs one check and notes what came of it.
func (r *Result) step(name string, check func() (string, error)) bool {
	detail, err := check()
	if err != nil {
		r.fail(name, err)
		return false
	}
	r.Checks = append(r.Checks, receipt.Check{Name: name, Outcome: receipt.OK, Detail: detail})
	return true
}

func (r *Result) fail(name string, err error) {
	r.Checks = append(r.Checks, receipt.Check{Name: name, Outcome: receipt.Failed, Detail: err.Error()})
	r.Summary = fmt.Sprintf("%s failed: %v", name, err)
}

var ruleName = regexp.MustCompile(`^[a-z][a-z_]{0,39}$`)

func read(document *strict.Object, t *trust.Trust) (*evidence, error) {
	d, err := strict.Exact(document, "finding",
		[]string{"schema", "origin", "vkey", "rule", "detail", "proof", "found_at_ms", "notes", "entries"},
		"consistency", "vkeys", "tile", "withheld", "clock_ms")
	if err != nil {
		return nil, err
	}
	if d.Text("schema") != Schema {
		return nil, errors.New("schema is another one")
	}
	e := &evidence{trust: t}
	if e.rule, err = d.String("rule", "rule"); err != nil {
		return nil, err
	}
	if !ruleName.MatchString(e.rule) {
		return nil, errors.New("rule is no name of a rule")
	}
	switch d.Text("proof") {
	case "signed":
	case "observed":
		return nil, &Undecided{fmt.Sprintf("this finding (%s) is what its monitor was given or read from a clock, and no "+
			"signature proves it: others cannot check it", e.rule)}
	default:
		return nil, errors.New("proof is not signed or observed")
	}
	if _, err := d.String("detail", "detail"); err != nil {
		return nil, err
	}
	if _, err := d.Count("found_at_ms", "found_at_ms"); err != nil {
		return nil, err
	}
	if v, ok := d.Get("withheld"); ok {
		if _, err := strict.Strings(v, "withheld", maxWithheld); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"tile", "clock_ms"} {
		if d.Has(name) {
			return nil, fmt.Errorf("a signed finding has no %s", name)
		}
	}
	if origin, err := d.String("origin", "origin"); err != nil || origin != t.Origin {
		return nil, errors.New("finding is of another log")
	}
	if vkey, err := d.String("vkey", "vkey"); err != nil || vkey != t.Vkey {
		return nil, errors.New("finding is of another key")
	}
	notes, _ := d.Get("notes")
	if e.notes, err = strict.Strings(notes, "notes", maxNotes); err != nil {
		return nil, err
	}
	if len(e.notes) == 0 {
		return nil, errors.New("finding has no note")
	}
	e.named = d.Has("vkeys")
	v, _ := d.Get("entries")
	entries, err := strict.List(v, "entries", maxEntries)
	if err != nil {
		return nil, err
	}
	for _, one := range entries {
		s, err := e.readShown(one)
		if err != nil {
			return nil, err
		}
		e.entries = append(e.entries, s)
	}
	if v, ok := d.Get("consistency"); ok {
		if e.consistency, err = readConsistency(v); err != nil {
			return nil, err
		}
	}
	if e.named {
		return e, e.readLogs(d)
	}
	for range e.notes {
		e.logs = append(e.logs, knownLog{t.Origin, t.Vkey})
	}
	return e, nil
}

// readLogs reads the verifier keys of a finding about two logs. The last one is that of the log of the finding. A finding
// about a log that the verifier does not know, or that may have another operator, is undecided.
func (e *evidence) readLogs(d *strict.Object) error {
	v, _ := d.Get("vkeys")
	vkeys, err := strict.Strings(v, "vkeys", maxNotes)
	if err != nil {
		return err
	}
	if len(vkeys) != len(e.notes) {
		return errors.New("vkeys are not those of the notes")
	}
	if vkeys[len(vkeys)-1] != e.trust.Vkey {
		return errors.New("finding is of another key")
	}
	for _, vkey := range vkeys {
		origin, _, _ := strings.Cut(vkey, "+")
		known, ok := e.trust.Logs[origin]
		if origin == e.trust.Origin {
			known, ok = e.trust.Vkey, true
		}
		if !ok {
			return &Undecided{fmt.Sprintf("this finding (%s) is also about a log that the kit does not know: a log that is "+
				"younger than the kit, such as a successor, needs a newer kit", e.rule)}
		}
		if known != vkey {
			return errors.New("finding is of another key")
		}
		own, well := parseOrigin(e.trust.Origin)
		other, ok := parseOrigin(origin)
		if !well || !ok || own.host != other.host {
			return &Undecided{fmt.Sprintf("this finding (%s) is about logs of two hosts, and no signature proves that they "+
				"have one operator", e.rule)}
		}
		e.logs = append(e.logs, knownLog{origin, vkey})
	}
	return nil
}

func readConsistency(v strict.Value) (*consistency, error) {
	o, err := strict.Exact(v, "consistency", []string{"from", "to", "from_root", "path"})
	if err != nil {
		return nil, err
	}
	c := &consistency{}
	if c.from, err = o.Count("from", "from"); err != nil {
		return nil, err
	}
	if c.to, err = o.Count("to", "to"); err != nil {
		return nil, err
	}
	if c.fromRoot, err = o.HashOf("from_root", "from_root"); err != nil {
		return nil, err
	}
	path, _ := o.Get("path")
	c.path, err = readPath(path, "path", maxConsistency)
	return c, err
}

// readPath reads hashes in base64. The path of the only leaf of a tree is empty, and not nil.
func readPath(v strict.Value, what string, limit int) ([][]byte, error) {
	texts, err := strict.Strings(v, what, limit)
	if err != nil {
		return nil, err
	}
	path := make([][]byte, len(texts))
	for i, text := range texts {
		if path[i], err = strict.Hash(text); err != nil {
			return nil, fmt.Errorf("%s is not 32 bytes in base64", what)
		}
	}
	return path, nil
}

func (e *evidence) readShown(v strict.Value) (*shown, error) {
	optional := []string{"entry", "entry_base64", "leaf_hash", "path"}
	if e.named {
		optional = append(optional, "note")
	}
	o, err := strict.Exact(v, "entry of a finding", []string{"index"}, optional...)
	if err != nil {
		return nil, err
	}
	s := &shown{note: len(e.notes) - 1}
	if s.index, err = o.Count("index", "index of an entry"); err != nil {
		return nil, err
	}
	if o.Has("note") {
		note, err := o.Count("note", "note of an entry")
		if err != nil {
			return nil, err
		}
		if note >= int64(len(e.notes)) {
			return nil, errors.New("an entry names a note that is not there")
		}
		s.note = int(note)
	}
	var contents []string
	for _, name := range []string{"entry", "entry_base64", "leaf_hash"} {
		if o.Has(name) {
			contents = append(contents, name)
		}
	}
	if len(contents) != 1 {
		return nil, errors.New("an entry has not exactly one of entry, entry_base64 and leaf_hash")
	}
	content, err := o.String(contents[0], contents[0])
	if err != nil {
		return nil, err
	}
	switch contents[0] {
	case "entry":
		s.text = content
		s.leafHash = trust.LeafHash(content)
	case "entry_base64":
		data, err := strict.Base64(content)
		if err != nil {
			return nil, err
		}
		if utf8.Valid(data) {
			return nil, errors.New("entry_base64 is UTF-8")
		}
		s.leafHash = trust.LeafHash(string(data))
	case "leaf_hash":
		s.hidden = true
		if s.leafHash, err = strict.Hex(content, 32); err != nil {
			return nil, err
		}
	}
	if path, ok := o.Get("path"); ok {
		if s.path, err = readPath(path, "path of an entry", maxPath); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// open opens a note of the log. The log alone is held to what it signed, so cosigners do not matter.
func (e *evidence) open(note string, log knownLog, known *rule) (string, error) {
	key, err := checkpoint.ParseKey(log.vkey)
	if err != nil {
		return "", err
	}
	if known != nil && known.anyText {
		text, err := checkpoint.SignedText(note, key)
		if err != nil {
			return "", err
		}
		e.texts = append(e.texts, text)
		return "a note that the log signed", nil
	}
	tree, err := checkpoint.Open(note, log.origin, key, nil, nil)
	if err != nil {
		return "", err
	}
	e.trees = append(e.trees, tree)
	return fmt.Sprintf("tree of %d entries", tree.Size), nil
}

func (e *evidence) checkPrefix() (string, error) {
	c := e.consistency
	if len(e.trees) != 2 {
		return "", errors.New("consistency is not that of two notes")
	}
	older, newer := e.trees[0], e.trees[1]
	if c.from != older.Size || c.to != newer.Size || c.from == 0 || c.from >= c.to {
		return "", errors.New("consistency is of other sizes")
	}
	prefix := &checkpoint.Checkpoint{Origin: older.Origin, Size: c.from, Root: c.fromRoot}
	if err := checkpoint.Consistent(prefix, newer, c.path); err != nil {
		return "", err
	}
	return fmt.Sprintf("from %d to %d", c.from, c.to), nil
}

func (e *evidence) checkIncluded(s *shown) (string, error) {
	if len(e.trees) == 0 || s.path == nil {
		return "", errors.New("an entry has no path")
	}
	tree := e.trees[s.note]
	if err := tree.Includes(s.index, s.leafHash, s.path); err != nil {
		return "", err
	}
	return fmt.Sprintf("entry %d of %d", s.index, tree.Size), nil
}
