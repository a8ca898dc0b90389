// Package finding recognises documents by their content, checks them with a kit, and puts what came of it into the
// lines, the summary and the exit code of `actlog verify` (gateway/API.md §2.6).
package finding

import (
	"fmt"
	"strings"
	"time"

	"actlog/verify/absence"
	"actlog/verify/internal/strict"
	"actlog/verify/receipt"
	"actlog/verify/trust"
)

// A Finding is what the checks of a document came to.
type Finding struct {
	// Kind is receipt, absence, inclusion, checkpoint, tlog_proof, violation or kit.
	Kind  string
	Valid bool
	// Untold says, beside a false Valid, that nothing is known to be wrong and the kit is too small to tell.
	Untold bool
	// Summary is one sentence without its period: what is shown, or what is wrong.
	Summary string
	Checks  []receipt.Check
	// Facts are further members of the JSON output.
	Facts *strict.Object
}

// Exit codes.
const (
	ExitValid   = 0
	ExitInvalid = 1
	ExitUnknown = 2
)

// Exit is the exit code of a finding.
func (f *Finding) Exit() int {
	switch {
	case f.Valid:
		return ExitValid
	case f.Untold:
		return ExitUnknown
	}
	return ExitInvalid
}

// Word is VALID, INVALID or UNKNOWN.
func (f *Finding) Word() string { return [...]string{"VALID", "INVALID", "UNKNOWN"}[f.Exit()] }

// An Unanswerable is nothing that can be checked, or not with what the caller brought: neither valid nor invalid.
type Unanswerable struct {
	Message string
	// Needs is `question` or `entry` where the caller could bring it.
	Needs string
}

func (u *Unanswerable) Error() string { return u.Message }

func unanswerable(format string, args ...any) error {
	return &Unanswerable{Message: fmt.Sprintf(format, args...)}
}

// An Ask is what the caller brings beside a document and the trust.
type Ask struct {
	Question *absence.Question
	// Receipt is a receipt or the text of an entry, for a document that proves a place only.
	Receipt string
	// TlogProof came beside a receipt; nil where none did.
	TlogProof *string
	Now       time.Time
}

// Check checks a document against one log that is trusted.
func (d *Document) Check(t *trust.Trust, ask Ask) (*Finding, error) {
	if d.tlogProof != nil {
		ask.TlogProof = d.tlogProof
	}
	f, err := d.check(t, ask)
	if err != nil {
		return nil, err
	}
	if f.Kind = d.Kind; f.Facts == nil {
		f.Facts = strict.NewObject()
	}
	if len(d.beside) > 0 {
		f.Checks = append(f.Checks, d.besideLine())
	}
	if !f.Valid && !f.Untold && strange(f.Checks) {
		f.Untold = true
		f.Summary += "; a key that is younger than the kit needs a newer kit"
	}
	return f, nil
}

// strange reports whether all that failed is a key that the kit does not have: forged, or younger than the kit.
func strange(checks []receipt.Check) bool {
	for _, c := range checks {
		if c.Outcome == receipt.Failed && !strings.HasSuffix(c.Detail, trust.ErrUnknownKey.Error()) {
			return false
		}
	}
	return true
}

// besideLine says that the other members of an answer are not checked. Their names are of whoever wrote the answer: only
// plain ones are repeated.
func (d *Document) besideLine() receipt.Check {
	var plain []string
	for _, name := range d.beside {
		if plainName(name) && len(plain) < 3 {
			plain = append(plain, name)
		}
	}
	such := ""
	if len(plain) > 0 {
		such = fmt.Sprintf(", such as %s,", strings.Join(plain, ", "))
	}
	part := "its receipt"
	if d.Kind == "absence" {
		part = "its absence document"
	}
	detail := fmt.Sprintf("the answer's other members%s are not checked: only %s", such, part)
	return receipt.Check{Name: "answer", Outcome: receipt.NotShown, Detail: detail}
}

func plainName(name string) bool {
	for i, c := range name {
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || (c != '_' && (c < '0' || c > '9'))) {
			return false
		}
	}
	return name != "" && len(name) <= 40
}

// single is the finding of one check: its detail and summary, or the reason of its failure.
func single(name, detail, summary string, err error) *Finding {
	if err != nil {
		return &Finding{Summary: err.Error(), Checks: []receipt.Check{{Name: name, Outcome: receipt.Failed, Detail: err.Error()}}}
	}
	return &Finding{Valid: true, Summary: summary, Checks: []receipt.Check{{Name: name, Outcome: receipt.OK, Detail: detail}}}
}

// JSON is the finding as the JSON output has it.
func (f *Finding) JSON(source string, origin strict.Value, policySource string) *strict.Object {
	o := strict.NewObject()
	o.Set("kind", f.Kind)
	o.Set("valid", f.Valid)
	if f.Untold {
		o.Set("untold", true)
	}
	o.Set("summary", f.Summary)
	checks := []strict.Value{}
	for _, c := range f.Checks {
		line := strict.NewObject()
		line.Set("name", c.Name)
		line.Set("outcome", c.Outcome)
		line.Set("detail", c.Detail)
		checks = append(checks, line)
	}
	o.Set("checks", checks)
	for _, name := range f.Facts.Names {
		v, _ := f.Facts.Get(name)
		o.Set(name, v)
	}
	t := strict.NewObject()
	t.Set("kit", source)
	t.Set("fetched", false)
	t.Set("origin", origin)
	t.Set("policy_source", policySource)
	o.Set("trust", t)
	return o
}

// WriteJSON prints a value with two spaces of indentation, in the order of its members.
func WriteJSON(out *strings.Builder, v strict.Value, indent string) {
	inner := indent + "  "
	switch v := v.(type) {
	case *strict.Object:
		if len(v.Names) == 0 {
			out.WriteString("{}")
			return
		}
		for i, name := range v.Names {
			out.WriteString([]string{"{\n", ",\n"}[min(i, 1)] + inner + strict.Canonical(name) + ": ")
			member, _ := v.Get(name)
			WriteJSON(out, member, inner)
		}
		out.WriteString("\n" + indent + "}")
	case []strict.Value:
		if len(v) == 0 {
			out.WriteString("[]")
			return
		}
		for i, element := range v {
			out.WriteString([]string{"[\n", ",\n"}[min(i, 1)] + inner)
			WriteJSON(out, element, inner)
		}
		out.WriteString("\n" + indent + "]")
	default:
		out.WriteString(strict.Canonical(v))
	}
}
