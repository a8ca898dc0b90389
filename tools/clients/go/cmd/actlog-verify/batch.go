package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"time"

	"actlog/verify/absence"
	"actlog/verify/finding"
	"actlog/verify/internal/strict"
	"actlog/verify/trust"
)

// A request of batch mode, one line of JSON each. A line with a kit replaces the kit of those after it and is not
// answered; RequireMLDSA is of such a line.
type request struct {
	Kit          *string `json:"kit"`
	RequireMLDSA bool    `json:"require_ml_dsa"`
	// File has the bytes of a document.
	File     []byte          `json:"file"`
	Question json.RawMessage `json:"question"`
	AsAsked  bool            `json:"as_asked"`
	Proof    *string         `json:"proof"`
	Receipt  string          `json:"receipt"`
	NowMS    int64           `json:"now_ms"`
}

// An answer has the exit code of the document, its finding, or the reason why there is none. Of several documents in a
// file only the first is checked.
type answer struct {
	Exit    int         `json:"exit"`
	Kind    string      `json:"kind,omitempty"`
	Checks  [][3]string `json:"checks,omitempty"`
	Summary string      `json:"summary,omitempty"`
	Error   string      `json:"error,omitempty"`
}

// batch answers requests in their order until the input ends.
func batch(stdin io.Reader, stdout io.Writer) error {
	lines := bufio.NewReaderSize(stdin, 1<<20)
	out := bufio.NewWriterSize(stdout, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	kit := &trust.Kit{Object: strict.NewObject()}
	trusts := map[string]*trust.Trust{}
	require := false
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var r request
			if err := json.Unmarshal(line, &r); err != nil {
				return err
			}
			if r.Kit != nil {
				if kit, err = trust.ParseKit(*r.Kit); err != nil {
					return err
				}
				trusts, require = map[string]*trust.Trust{}, r.RequireMLDSA
			} else if err := encoder.Encode(r.answer(kit, trusts, require)); err != nil {
				return err
			}
		}
		if lines.Buffered() == 0 || err != nil {
			if err := out.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *request) answer(kit *trust.Kit, trusts map[string]*trust.Trust, requireMLDSA bool) answer {
	f, err := r.find(kit, trusts, requireMLDSA)
	if err != nil {
		var form *finding.ErrForm
		if errors.As(err, &form) {
			return answer{Exit: finding.ExitInvalid, Error: err.Error()}
		}
		return answer{Exit: finding.ExitUnknown, Error: err.Error()}
	}
	a := answer{Exit: f.Exit(), Kind: f.Kind, Summary: f.Summary}
	for _, c := range f.Checks {
		a.Checks = append(a.Checks, [3]string{c.Name, c.Outcome, c.Detail})
	}
	return a
}

func (r *request) find(kit *trust.Kit, trusts map[string]*trust.Trust, requireMLDSA bool) (*finding.Finding, error) {
	documents, err := finding.Recognise(r.File)
	if err != nil {
		return nil, err
	}
	d := documents[0]
	if d.Kind == "kit" {
		return nil, errors.New("batch mode checks no kits")
	}
	origin, err := d.OriginIn(kit)
	if err != nil {
		return nil, err
	}
	t := trusts[origin]
	if t == nil {
		if t, err = kit.Trust(origin); err != nil {
			return nil, err
		}
		t.RequireMLDSA = requireMLDSA
		trusts[origin] = t
	}
	ask := finding.Ask{TlogProof: r.Proof, Receipt: r.Receipt}
	if r.NowMS > 0 {
		ask.Now = time.UnixMilli(r.NowMS)
	}
	if r.AsAsked {
		ask.Question, _ = d.OwnQuestion()
	} else if len(r.Question) > 0 {
		v, err := strict.Parse(string(r.Question), strict.Options{Fractions: true})
		if err != nil {
			return nil, err
		}
		ask.Question = absence.ReadQuestion(v)
	} else {
		ask.Question = (*absence.Question)(nil)
	}
	return d.Check(t, ask)
}
