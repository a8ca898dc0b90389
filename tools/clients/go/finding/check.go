package finding

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"actlog/verify/absence"
	"actlog/verify/checkpoint"
	"actlog/verify/entry"
	"actlog/verify/internal/strict"
	"actlog/verify/policy"
	"actlog/verify/receipt"
	"actlog/verify/trust"
	"actlog/verify/violation"
)

func (d *Document) check(t *trust.Trust, ask Ask) (*Finding, error) {
	switch d.Kind {
	case "receipt":
		return d.checkReceipt(t, ask.TlogProof), nil
	case "absence":
		return d.checkAbsence(t, ask)
	case "inclusion":
		tree, index, err := checkInclusion(d.value, t)
		if err != nil {
			return single("inclusion", "", "", err), nil
		}
		return single("inclusion", place(t, index, tree),
			fmt.Sprintf("the log signed this entry, and it is in the tree of %d entries", tree.Size), nil), nil
	case "checkpoint":
		tree, counted, err := openWitnessed(d.text, t)
		if err != nil {
			return single("checkpoint", "", "", err), nil
		}
		detail := fmt.Sprintf("tree of %d entries, %d witnesses, %d monitors%s",
			tree.Size, counted.Witnessed, counted.MapVerified, t.SecondWords(tree))
		return single("checkpoint", detail, fmt.Sprintf("the log signed this checkpoint of %d entries", tree.Size), nil), nil
	case "tlog_proof":
		return d.checkTlogProof(t, ask)
	case "violation":
		return d.checkViolation(t)
	}
	return nil, unanswerable("no verifier checks documents of kind %s", d.Kind)
}

func place(t *trust.Trust, index int64, tree *checkpoint.Checkpoint) string {
	return fmt.Sprintf("entry %d of %d%s", index, tree.Size, t.SecondWords(tree))
}

// openWitnessed opens a note of the log; its cosignatures, of whatever time, must satisfy the policy.
func openWitnessed(note string, t *trust.Trust) (*checkpoint.Checkpoint, policy.Result, error) {
	tree, err := t.Open(note)
	if err != nil {
		return nil, policy.Result{}, err
	}
	counted, err := t.Policy.Count(tree.Cosignatures, 0)
	return tree, counted, err
}

func (d *Document) checkReceipt(t *trust.Trust, tlogProof *string) *Finding {
	// From the text where it came alone: what it is read as is the same.
	var result *receipt.Result
	if d.text != "" {
		result = receipt.VerifyText(d.text, t, tlogProof)
	} else {
		result = receipt.Verify(d.value, t, tlogProof)
	}
	f := &Finding{Valid: result.Valid, Checks: result.Checks, Facts: strict.NewObject()}
	for _, name := range []string{"entry_id", "index", "origin"} {
		v, _ := result.Statement.Get(name)
		switch v.(type) {
		case string, int64:
		default:
			v = nil
		}
		f.Facts.Set(name, v)
	}
	f.Summary = "the log signed this entry; without an inclusion proof it is not shown to be in the log"
	if result.Size > 0 {
		f.Facts.Set("size", result.Size)
		f.Summary = fmt.Sprintf("the log signed this entry, and it is in the tree of %d entries", result.Size)
	}
	for i := len(f.Checks) - 1; i >= 0; i-- {
		if c := f.Checks[i]; c.Outcome == receipt.Failed {
			f.Summary = fmt.Sprintf("%s failed: %s", strings.ReplaceAll(c.Name, "_", " "), c.Detail)
		}
	}
	return f
}

// checkInclusion checks an answer of `proof/inclusion` (log/FORMAT.md §5.5).
func checkInclusion(v *strict.Object, t *trust.Trust) (*checkpoint.Checkpoint, int64, error) {
	tree, _, err := openWitnessed(v.Text("checkpoint"), t)
	if err != nil {
		return nil, 0, err
	}
	opened := strict.NewObject()
	for _, name := range []string{"index", "entry", "path"} {
		member, _ := v.Get(name)
		opened.Set(name, member)
	}
	e, err := entry.Open(t, tree, opened)
	if err != nil {
		return nil, 0, err
	}
	return tree, e.Index, nil
}

func (d *Document) checkTlogProof(t *trust.Trust, ask Ask) (*Finding, error) {
	text := strings.TrimSpace(ask.Receipt)
	if text == "" {
		return nil, &Unanswerable{
			Message: "a tlog-proof shows that some entry has a place: the receipt or the entry must come with it",
			Needs:   "entry",
		}
	}
	v, err := strict.Parse(text, strict.Options{Fractions: true, MaxBytes: maxBytes, MaxDepth: maxDepth})
	if err != nil {
		return nil, unanswerable("what came with the tlog-proof is no receipt and no entry: %v", err)
	}
	if o, ok := v.(*strict.Object); ok && o.Has("entry_hash") {
		shown := &Document{Kind: "receipt", text: text, value: o}
		return shown.checkReceipt(t, &d.text), nil
	}
	tree, index, err := checkEntryProof(text, d.text, t)
	if err != nil {
		return single("inclusion", "", "", err), nil
	}
	return single("inclusion", place(t, index, tree), fmt.Sprintf("the entry is in the tree of %d entries", tree.Size), nil), nil
}

func checkEntryProof(text, proofText string, t *trust.Trust) (*checkpoint.Checkpoint, int64, error) {
	e, err := entry.Read(text)
	if err != nil {
		return nil, 0, err
	}
	proof, err := checkpoint.ParseTlogProof(proofText)
	if err != nil {
		return nil, 0, err
	}
	if own, _ := e.Statement.Get("index"); own != strict.Value(proof.Index) {
		return nil, 0, errors.New("proof is of another entry")
	}
	tree, _, err := openWitnessed(proof.Checkpoint, t)
	if err != nil {
		return nil, 0, err
	}
	return tree, proof.Index, tree.Includes(proof.Index, e.LeafHash, proof.Path)
}

// checkViolation checks a finding of a monitor or witness (log/FORMAT.md §7.1).
func (d *Document) checkViolation(t *trust.Trust) (*Finding, error) {
	r, err := violation.Verify(d.value, t)
	if err != nil {
		return nil, unanswerable("%v", err)
	}
	f := &Finding{Valid: r.Valid, Untold: r.Untold, Summary: r.Summary, Checks: r.Checks, Facts: strict.NewObject()}
	rule, _ := d.value.Get("rule")
	if _, ok := rule.(string); !ok {
		rule = nil
	}
	f.Facts.Set("rule", rule)
	f.Facts.Set("origin", t.Origin)
	return f, nil
}

func (d *Document) checkAbsence(t *trust.Trust, ask Ask) (*Finding, error) {
	q := ask.Question
	if q == nil {
		return nil, &Unanswerable{
			Message: "an absence document proves nothing of a question that you have not asked",
			Needs:   "question",
		}
	}
	now := ask.Now
	if now.IsZero() {
		now = time.Now()
	}
	if own, ok := d.OwnQuestion(); ok {
		if err := knowsKind(own, t); err != nil {
			return nil, err
		}
	}
	if err := knowsKind(q, t); err != nil {
		return nil, err
	}
	var r *absence.Result
	var err error
	if d.text != "" {
		r, err = absence.VerifyText(d.text, q, t, now)
	} else {
		r, err = absence.Verify(d.value, q, t, now)
	}
	if errors.Is(err, absence.ErrUnanswered) {
		return nil, unanswerable("the document does not answer this question (%v)", err)
	}
	if err != nil {
		return single("document", "", "", err), nil
	}
	f := single("document", fmt.Sprintf("proof of type %s, log as of %s%s", r.Proof, timeWords(r.AsOfMS), t.SecondWords(r.Tree)), absenceWords(q, r, t.Origin), nil)
	var shown []strict.Value
	for _, e := range r.Shown {
		f.Checks = append(f.Checks, receipt.Check{Name: "entry", Outcome: receipt.OK, Detail: entryWords(e)})
		one := strict.NewObject()
		for _, name := range []string{"index", "entry_id", "type", "issued_at_ms"} {
			v, _ := e.Statement.Get(name)
			one.Set(name, v)
		}
		shown = append(shown, one)
	}
	f.Checks = append(f.Checks, witnessLine(r), monitorLine(r))
	f.Facts = absenceFacts(q, r, shown)
	return f, nil
}

// knowsKind asks the caller for a chain kind that an entry type declares and that the verifier does not know.
func knowsKind(q *absence.Question, t *trust.Trust) error {
	kind, members, unknown := q.UnknownKind(t)
	if !unknown {
		return nil
	}
	return unanswerable("the chain kind %s is declared by a plugin, and this verifier does not know it: "+
		"give --chain %s=%d if it has %d members", kind, kind, members, members)
}

func witnessLine(r *absence.Result) receipt.Check {
	if r.LagMS == nil {
		return receipt.Check{Name: "witnesses", Outcome: receipt.NotShown, Detail: "no policy: the log vouches for itself"}
	}
	detail := fmt.Sprintf("%d, the last needed %d ms after the map head", r.Witnesses.Witnessed, *r.LagMS)
	return receipt.Check{Name: "witnesses", Outcome: receipt.OK, Detail: detail}
}

func monitorLine(r *absence.Result) receipt.Check {
	outcome := receipt.OK
	if r.Witnesses.MapVerified == 0 {
		outcome = receipt.NotShown
	}
	detail := fmt.Sprintf("%d have checked every rule up to this size", r.Witnesses.MapVerified)
	return receipt.Check{Name: "monitors", Outcome: outcome, Detail: detail}
}

func absenceFacts(q *absence.Question, r *absence.Result, shown []strict.Value) *strict.Object {
	key := make([]strict.Value, len(q.Key))
	for i, part := range q.Key {
		key[i] = part
	}
	question := strict.NewObject()
	question.Set("key", key)
	question.Set("from_ms", q.FromMS)
	question.Set("to_ms", q.ToMS)
	if q.After != nil {
		question.Set("after", *q.After)
	}
	facts := strict.NewObject()
	facts.Set("question", question)
	if r.Covers != nil {
		covers := strict.NewObject()
		covers.Set("from_ms", r.Covers.FromMS)
		covers.Set("to_ms", r.Covers.ToMS)
		facts.Set("covers", covers)
	}
	facts.Set("verdict", r.Verdict)
	facts.Set("proof", r.Proof)
	facts.Set("entries", int64(r.Entries))
	facts.Set("more", r.More)
	if len(shown) > 0 {
		facts.Set("shown", shown)
	}
	facts.Set("as_of_ms", r.AsOfMS)
	facts.Set("heartbeat_interval_ms", orNull(r.IntervalMS))
	facts.Set("witnessed", int64(r.Witnesses.Witnessed))
	facts.Set("map_verified", int64(r.Witnesses.MapVerified))
	facts.Set("lag_ms", orNull(r.LagMS))
	return facts
}

func orNull(n *int64) strict.Value {
	if n == nil {
		return nil
	}
	return *n
}

var nameOfEntry = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,256}$`)

// entryWords names an entry. A log may sign what the format forbids, so nothing but a plain name is repeated.
func entryWords(e *entry.Opened) string {
	named := func(name string) string {
		if s := e.Statement.Text(name); nameOfEntry.MatchString(s) {
			return s
		}
		return "?"
	}
	return fmt.Sprintf("%d, logged %s: %s %s", e.Index, timeWords(e.MS), named("type"), named("entry_id"))
}

// timeWords is a time of log as ISO 8601; as its milliseconds where that is no date.
func timeWords(ms int64) string {
	if ms > 8640000000000000 {
		return fmt.Sprintf("%d ms", ms)
	}
	at := time.UnixMilli(ms).UTC()
	if at.Year() > 9999 {
		return fmt.Sprintf("+%06d", at.Year()) + at.Format("-01-02T15:04:05.000Z")
	}
	return at.Format("2006-01-02T15:04:05.000Z")
}

func absenceWords(q *absence.Question, r *absence.Result, origin string) string {
	chain := fmt.Sprintf("the chain %s %s", q.Key[0], strings.Join(q.Key[1:], " "))
	isSurface := q.Key[0] == "surface"
	if isSurface {
		chain = fmt.Sprintf("surface %s of entity %s", q.Key[2], q.Key[1])
	}
	about := fmt.Sprintf("%s from %s to %s of log time in log %s", chain, timeWords(q.FromMS), timeWords(q.ToMS), origin)
	reason := map[string]string{
		"never": "the log has no entry of it at all",
		"tail":  "its last entry is before the window",
		"gap":   "the entry after the window names one before it as its predecessor, or none",
	}[r.Proof]
	if r.Covers != nil {
		reason = fmt.Sprintf("the document covers the log time from %s to %s, and shows no entry in the part that was asked about",
			timeWords(r.Covers.FromMS), timeWords(r.Covers.ToMS))
	}
	switch r.Verdict {
	case absence.Present:
		count := fmt.Sprintf("%d entries are", r.Entries)
		if r.Entries == 1 {
			count = "1 entry is"
		}
		pages := ""
		if q.After != nil {
			pages = fmt.Sprintf(", after entry %d", *q.After)
		}
		if r.More {
			pages += ", and more of it follow on further pages"
		}
		return fmt.Sprintf("PRESENT: %s shown of %s%s. Each is in the log, and the chain has no entry between them.", count, about, pages)
	case absence.Undeclared:
		return fmt.Sprintf("UNDECLARED: nothing was logged for %s: %s. The document does not show that a manifest declared the surface all along, so the absence of acts is not_established (field visibility).", about, reason)
	case absence.Undersampled:
		return fmt.Sprintf("UNDERSAMPLED: nothing was logged for %s: %s. The surface was declared, but no unbroken run of heartbeats covers the window as its manifest promises, so the absence of acts is not_established (observation completeness).", about, reason)
	}
	declared := ""
	if isSurface {
		watched := "no heartbeats were promised, so that it was watched is not_established (observation completeness)"
		if r.IntervalMS != nil {
			watched = fmt.Sprintf("the heartbeats that were promised, one in %d ms, cover the window", *r.IntervalMS)
		}
		declared = fmt.Sprintf(" A manifest in force declared the surface all along; %s.", watched)
	}
	return fmt.Sprintf("ABSENT: nothing was logged for %s: %s.%s", about, reason, declared)
}
