// Package absence checks absence documents: which entries a chain has in a window of time, or that it has none
// (log/FORMAT.md §6).
package absence

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"actlog/verify/checkpoint"
	"actlog/verify/entry"
	"actlog/verify/internal/strict"
	"actlog/verify/policy"
	"actlog/verify/receipt"
	"actlog/verify/trust"
)

// Schema is that of an absence document.
const Schema = "svc-absence-witness-v1"

// Verdicts. Undeclared and undersampled say only that the document shows no more.
const (
	Present      = "PRESENT"
	Undeclared   = "UNDECLARED"
	Undersampled = "UNDERSAMPLED"
	Absent       = "ABSENT"
)

// A Question names a chain and a window of log time that is closed at both ends.
type Question struct {
	Key          []string
	FromMS, ToMS int64
	// After is the index of the last entry of the page before, on a further page.
	After *int64
	// kind and members say of which kind a read key is, also where its members are no strings.
	kind    string
	members int
}

// ErrUnanswered says that a document is valid and answers another question than the caller's (log/FORMAT.md §6.9).
var ErrUnanswered = errors.New("step 0: another question")

// A Result is what a document proves.
type Result struct {
	Verdict string
	// Proof is never, tail or gap.
	Proof string
	// Entries is how many entries of the window the document shows.
	Entries int
	// Shown are these entries.
	Shown []*entry.Opened
	// Covers is the question of the document where its window is wider than the caller's, else nil.
	Covers *Question
	// AsOfMS is the time of the map head.
	AsOfMS int64
	// IntervalMS is the smallest interval in which the manifests promise heartbeats; nil where they promise none.
	IntervalMS *int64
	// Witnesses counts cosignatures. LagMS is nil without a policy.
	Witnesses policy.Result
	LagMS     *int64
	// More says that further entries of the window are on further pages.
	More bool
	// Tree is the checkpoint of the document.
	Tree *checkpoint.Checkpoint
}

const (
	maxBytes   = 16 << 20
	maxEntries = 100
	maxLines   = 100
)

// VerifyText checks the text of a document against its own question, and then whether it answers the caller's: the error
// is ErrUnanswered where it does not. now is the verifier's clock.
func VerifyText(text string, q *Question, t *trust.Trust, now time.Time) (*Result, error) {
	value, err := strict.Parse(text, strict.Options{MaxBytes: maxBytes})
	if err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	return verify(value, q, t, now)
}

// Verify checks a document that is a part of another one.
func Verify(document strict.Value, q *Question, t *trust.Trust, now time.Time) (*Result, error) {
	return VerifyText(strict.Canonical(document), q, t, now)
}

func verify(value strict.Value, q *Question, t *trust.Trust, now time.Time) (*Result, error) {
	document, err := strict.Exact(value, "document",
		[]string{"schema", "question", "verdict", "checkpoint", "map_head", "proof"},
		"entries", "more", "declared", "coverage", "statement", "does_not_assert", "receipt")
	if err == nil {
		err = checkProse(document)
	}
	if err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	if err := q.check(t); err != nil {
		return nil, fmt.Errorf("step 0: %w", err)
	}
	own, err := ownQuestion(document, t)
	if err != nil {
		return nil, fmt.Errorf("step 0: %w", err)
	}
	own.After = q.After
	g := &ground{trust: t}
	note, err := document.String("checkpoint", "checkpoint")
	if err == nil {
		g.tree, err = t.Open(note)
	}
	if err != nil {
		return nil, fmt.Errorf("step 1: %w", err)
	}
	member, _ := document.Get("map_head")
	if g.mapHead, err = g.openMapHead(member); err != nil {
		return nil, fmt.Errorf("step 2: %w", err)
	}
	r := &Result{AsOfMS: g.mapHead.MS, Tree: g.tree}
	if err := g.closeWindow(own, r, now); err != nil {
		return nil, fmt.Errorf("step 3: %w", err)
	}
	member, _ = document.Get("proof")
	c, err := g.readClosing(own.Key, member)
	if err != nil {
		return nil, fmt.Errorf("step 4: %w", err)
	}
	r.Proof = c.kind
	if err := g.readEntries(own, document, c, r); err != nil {
		return nil, fmt.Errorf("step 5: %w", err)
	}
	if r.Entries == 0 {
		if err := c.checkEmpty(own.FromMS, own.ToMS); err != nil {
			return nil, fmt.Errorf("step 4: %w", err)
		}
	}
	empty, err := g.judge(own, document, r)
	if err != nil {
		return nil, err
	}
	if err := checkReceipt(document, t); err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	if err := r.answer(own, q, empty); err != nil {
		return nil, err
	}
	return r, nil
}

// checkProse checks the members that prove nothing.
func checkProse(document *strict.Object) error {
	if document.Text("schema") != Schema {
		return errors.New("schema is another one")
	}
	if document.Has("statement") {
		if _, err := document.String("statement", "statement"); err != nil {
			return err
		}
	}
	if v, ok := document.Get("does_not_assert"); ok {
		if _, err := strict.Strings(v, "does_not_assert", maxLines); err != nil {
			return err
		}
	}
	return nil
}

// check checks that the key has the grammar of its kind and that the window does not end before it begins.
func (q *Question) check(t *trust.Trust) error {
	if err := checkKey(q.Key, t.Kinds); err != nil {
		return err
	}
	if q.FromMS < 0 || q.FromMS > strict.MaxInteger {
		return errors.New("from_ms is not an integer from 0 to 2^53 - 1")
	}
	if q.ToMS < 0 || q.ToMS > strict.MaxInteger {
		return errors.New("to_ms is not an integer from 0 to 2^53 - 1")
	}
	if q.After != nil && *q.After < 0 {
		return errors.New("after is not an integer from 0 to 2^53 - 1")
	}
	if q.FromMS > q.ToMS {
		return errors.New("window is reversed")
	}
	return nil
}

// ownQuestion reads the question of a document, which it is checked against before that is compared with the caller's.
func ownQuestion(document *strict.Object, t *trust.Trust) (*Question, error) {
	v, _ := document.Get("question")
	if _, err := strict.Exact(v, "question", []string{"key", "from_ms", "to_ms"}); err != nil {
		return nil, err
	}
	q := ReadQuestion(v)
	return q, q.check(t)
}

// ReadQuestion reads a question as far as it is one; step 0 refuses the rest.
func ReadQuestion(v strict.Value) *Question {
	o, _ := v.(*strict.Object)
	q := &Question{FromMS: -1, ToMS: -1}
	key, _ := o.Get("key")
	if list, ok := key.([]strict.Value); ok && len(list) > 0 {
		q.kind, _ = list[0].(string)
		q.members = len(list) - 1
	}
	if texts, err := strict.Strings(key, "key", 100); err == nil {
		q.Key = texts
	}
	if n, err := o.Count("from_ms", ""); err == nil {
		q.FromMS = n
	}
	if n, err := o.Count("to_ms", ""); err == nil {
		q.ToMS = n
	}
	if o.Has("after") {
		n, err := o.Count("after", "")
		if err != nil {
			n = -1
		}
		q.After = &n
	}
	return q
}

// UnknownKind returns the chain kind of the question and the number of its members where the kind is one that entry
// types declare and that the verifier does not know.
func (q *Question) UnknownKind(t *trust.Trust) (kind string, members int, unknown bool) {
	kind, members = q.kind, q.members
	if len(q.Key) > 0 {
		kind, members = q.Key[0], len(q.Key)-1
	}
	_, builtIn := kinds[kind]
	_, known := t.Kinds[kind]
	return kind, members, !builtIn && !known && declaredKind(kind)
}

// isInside says whether the question is about the chain of another and about a window inside that of it.
func (q *Question) isInside(other *Question) bool {
	return slices.Equal(q.Key, other.Key) && q.FromMS >= other.FromMS && q.ToMS <= other.ToMS
}

// answer turns the result about a document's own question into that about the caller's (log/FORMAT.md §6.9). empty is
// the verdict about the whole window without its entries.
func (r *Result) answer(own, q *Question, empty string) error {
	if !q.isInside(own) {
		return ErrUnanswered
	}
	if own.isInside(q) {
		return nil
	}
	// UNDECLARED and UNDERSAMPLED say nothing of a part of the window.
	if q.After != nil || r.More || r.Verdict == Undeclared || r.Verdict == Undersampled {
		return ErrUnanswered
	}
	r.Covers = own
	r.Shown = slices.DeleteFunc(r.Shown, func(e *entry.Opened) bool { return e.MS < q.FromMS || e.MS > q.ToMS })
	r.Entries = len(r.Shown)
	if r.Entries == 0 {
		r.Verdict = empty
	}
	return nil
}

func (g *ground) openMapHead(v strict.Value) (*entry.Opened, error) {
	e, err := g.open(v)
	if err != nil {
		return nil, err
	}
	if e.Index != g.tree.Size-1 {
		return nil, errors.New("map head is not the last entry")
	}
	if e.Type != "log.map_head.v1" {
		return nil, errors.New("map head is an entry of another type")
	}
	if covered, _ := e.Statement.Get("covered"); covered != strict.Value(e.Index) {
		return nil, errors.New("map head does not cover the tree")
	}
	return e, nil
}

func (g *ground) closeWindow(q *Question, r *Result, now time.Time) error {
	if q.ToMS > g.mapHead.MS {
		return errors.New("window is not closed at the map head")
	}
	var err error
	if r.Witnesses, err = g.trust.Policy.Count(g.tree.Cosignatures, g.mapHead.MS-trust.SkewMS); err != nil {
		return err
	}
	if !g.trust.Policy.None() {
		lag := r.Witnesses.QuorumMS - g.mapHead.MS
		r.LagMS = &lag
	} else if q.ToMS > now.UnixMilli()+trust.SkewMS {
		return errors.New("window is not closed at the clock of the verifier")
	}
	return nil
}

// readEntries checks the entries of the window, oldest first and none left out (log/FORMAT.md §6.5).
func (g *ground) readEntries(q *Question, document *strict.Object, c *closing, r *Result) error {
	v, ok := document.Get("entries")
	more, hasMore := document.Get("more")
	if !ok {
		if hasMore {
			return errors.New("more is given without entries")
		}
		if q.After != nil {
			return errors.New("a further page has entries")
		}
		return nil
	}
	if hasMore && more != strict.Value(true) {
		return errors.New("more is not true")
	}
	r.More = hasMore
	list, err := strict.List(v, "entries", maxEntries)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("entries is empty")
	}
	shown, err := g.openAll(list)
	if err != nil {
		return err
	}
	var link *entry.Link
	for i, e := range shown {
		next, err := e.LinkOn(q.Key)
		if err != nil {
			return err
		}
		if e.MS < q.FromMS || e.MS > q.ToMS {
			return errors.New("an entry is not in the window")
		}
		switch {
		case i > 0:
			if err := checkNext(r.Shown[i-1], link, next); err != nil {
				return err
			}
		case q.After != nil:
			if next.First || next.PrevIndex != *q.After {
				return errors.New("first entry of the window is left out")
			}
		case !next.First && next.PrevMS >= q.FromMS:
			return errors.New("first entry of the window is left out")
		}
		link = next
		r.Shown = append(r.Shown, e)
	}
	if err := c.checkFollows(r.Shown[len(list)-1], link); err != nil {
		return err
	}
	if hasMore && c.kind != "gap" {
		return errors.New("more is given without the next entry")
	}
	if !hasMore && c.kind == "gap" && c.successor.MS <= q.ToMS {
		return errors.New("an entry of the window is left out")
	}
	r.Entries = len(list)
	return nil
}

// judge checks what a document shows of a surface, and computes the verdict (log/FORMAT.md §6.6 to §6.8). It returns
// the verdict about the window without its entries.
func (g *ground) judge(q *Question, document *strict.Object, r *Result) (empty string, err error) {
	declared, hasDeclared := document.Get("declared")
	coverage, hasCoverage := document.Get("coverage")
	isSurface := q.Key[0] == "surface"
	if !isSurface && (hasDeclared || hasCoverage) {
		return "", errors.New("step 6: declared and coverage need the kind surface")
	}
	var d declaration
	if hasDeclared {
		read, err := g.readDeclared(q, declared)
		if err != nil {
			return "", fmt.Errorf("step 6: %w", err)
		}
		d = *read
	}
	var watched *run
	if hasCoverage {
		if watched, err = g.readCoverage(q, coverage); err != nil {
			return "", fmt.Errorf("step 7: %w", err)
		}
	}
	r.IntervalMS = d.intervalMS
	switch {
	case isSurface && !d.declared:
		empty = Undeclared
	case d.intervalMS != nil && !watched.covers(q, *d.intervalMS):
		empty = Undersampled
	default:
		empty = Absent
	}
	r.Verdict = empty
	if r.Entries > 0 {
		r.Verdict = Present
	}
	if document.Text("verdict") != r.Verdict {
		return "", errors.New("step 8: verdict is not what the document proves")
	}
	return empty, nil
}

// checkReceipt checks that the receipt is of an entry that commits to the document without it.
func checkReceipt(document *strict.Object, t *trust.Trust) error {
	v, ok := document.Get("receipt")
	if !ok {
		return nil
	}
	if _, ok := v.(*strict.Object); !ok {
		return errors.New("receipt is not an object")
	}
	result := receipt.Verify(v, t, nil)
	if !result.Valid {
		return errors.New("receipt is not valid")
	}
	sum := strict.HashCanonical(document.Without("receipt"))
	if result.Statement.Text("document_sha256") != hex.EncodeToString(sum[:]) {
		return errors.New("receipt is of another document")
	}
	return nil
}
