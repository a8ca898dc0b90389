package finding

import (
	"errors"
	"strings"
	"testing"

	"actlog/verify/absence"
	"actlog/verify/internal/strict"
	"actlog/verify/internal/vectors"
	"actlog/verify/trust"
)

func kitOf(t *testing.T, v *vectors.Absence) *trust.Kit {
	kit, err := trust.ParseKit(v.Kit(t))
	if err != nil {
		t.Fatal(err)
	}
	return kit
}

func check(t *testing.T, kit *trust.Kit, d *vectors.Document) (*Finding, error) {
	documents, err := Recognise(d.Bytes())
	if err != nil {
		return nil, err
	}
	origin, err := documents[0].OriginIn(kit)
	if err != nil {
		return nil, err
	}
	trusted, err := kit.Trust(origin)
	if err != nil {
		t.Fatal(err)
	}
	question, err := strict.Parse(string(d.Asked(t)), strict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return documents[0].Check(trusted, Ask{Question: absence.ReadQuestion(question)})
}

func TestAbsenceVectors(t *testing.T) {
	v := vectors.Read(t)
	kit := kitOf(t, v)
	for _, d := range v.Documents {
		f, err := check(t, kit, &d)
		if err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		want := d.Result
		for name, value := range map[string]strict.Value{
			"verdict": want.Verdict, "proof": want.Proof, "entries": int64(want.Entries), "as_of_ms": want.AsOfMS,
			"witnessed": int64(want.Witnessed), "map_verified": int64(want.MapVerified), "lag_ms": orNull(want.LagMS),
			"heartbeat_interval_ms": orNull(want.IntervalMS),
		} {
			if got, _ := f.Facts.Get(name); got != value {
				t.Errorf("%s: %s is %v, not %v (%s)", d.Name, name, got, value, f.Summary)
			}
		}
		if f.Exit() != ExitValid || !strings.HasPrefix(f.Summary, want.Verdict+": ") {
			t.Errorf("%s: %s", d.Name, f.Summary)
		}
	}
	for _, d := range v.Refused {
		f, err := check(t, kit, &d)
		var form *ErrForm
		var unanswerable *Unanswerable
		if unanswered := d.Name == "caller-asks-another-question" || d.Name == "undeclared-kind"; unanswered {
			if !errors.As(err, &unanswerable) {
				t.Errorf("%s is answered: %v %v", d.Name, f, err)
			}
		} else if err == nil && f.Exit() != ExitInvalid || err != nil && !errors.As(err, &form) {
			t.Errorf("%s is not refused: %v %v", d.Name, f, err)
		}
	}
}

func TestNarrowerQuestions(t *testing.T) {
	v := vectors.Read(t)
	kit := kitOf(t, v)
	answered := map[string]int{}
	for _, d := range v.Documents {
		own, err := strict.Parse(string(d.Asked(t)), strict.Options{})
		if err != nil {
			t.Fatal(err)
		}
		documents, err := Recognise(d.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		trusted, err := kit.Trust(v.Origin)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(change func(*absence.Question)) (*Finding, error) {
			q := absence.ReadQuestion(own)
			change(q)
			return documents[0].Check(trusted, Ask{Question: q})
		}
		whole, _ := ask(func(*absence.Question) {})
		if _, ok := whole.Facts.Get("covers"); ok {
			t.Errorf("%s covers more than its own window", d.Name)
		}
		var unanswerable *Unanswerable
		if _, err := ask(func(q *absence.Question) { q.ToMS++ }); !errors.As(err, &unanswerable) {
			t.Errorf("%s answers a wider question: %v", d.Name, err)
		}
		q := absence.ReadQuestion(own)
		if q.FromMS == q.ToMS {
			continue
		}
		part, err := ask(func(q *absence.Question) { q.FromMS = q.ToMS })
		more, _ := whole.Facts.Get("more")
		if d.Result.Verdict == absence.Undeclared || d.Result.Verdict == absence.Undersampled || more == strict.Value(true) {
			if !errors.As(err, &unanswerable) {
				t.Errorf("%s answers a part: %v", d.Name, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		covers, _ := part.Facts.Get("covers")
		window, _ := covers.(*strict.Object)
		if from, _ := window.Get("from_ms"); from != strict.Value(q.FromMS) {
			t.Errorf("%s covers %v", d.Name, window)
		}
		if d.Result.Verdict == absence.Absent && !strings.HasPrefix(part.Summary, "ABSENT: ") {
			t.Errorf("%s: %s", d.Name, part.Summary)
		}
		answered[d.Result.Verdict]++
	}
	if answered[absence.Absent] == 0 || answered[absence.Present] == 0 {
		t.Errorf("answered %v", answered)
	}
}

func TestUnasked(t *testing.T) {
	v := vectors.Read(t)
	documents, err := Recognise(v.Documents[0].Bytes())
	if err != nil {
		t.Fatal(err)
	}
	trusted, _ := kitOf(t, v).Trust(v.Origin)
	var unanswerable *Unanswerable
	if _, err := documents[0].Check(trusted, Ask{}); !errors.As(err, &unanswerable) || unanswerable.Needs != "question" {
		t.Errorf("a document without a question: %v", err)
	}
}

func TestRecognise(t *testing.T) {
	for text, want := range map[string]string{
		`{"signature":"","kid":""}`:                       "receipt",
		`{"receipt":{},"ok":true}`:                        "receipt",
		`{"schema":"svc-absence-witness-v1"}`:             "absence",
		`{"witness":{"schema":"svc-absence-witness-v1"}}`: "absence",
		`{"entry":"","path":[]}`:                          "inclusion",
		"\n {\"schema\":\"svc-offline-verify-kit-v1\"}":   "kit",
		"c2sp.org/tlog-proof@v1\nindex 0\n\no\n":          "tlog_proof",
		"o\n1\nAAAA\n\n— o AAAA\n":                        "checkpoint",
		`{"receipt":{},"schema":"other"}`:                 "",
		`{"receipt":{},"verdict":"ABSENT"}`:               "",
		`{"schema":"svc-air-export-v1"}`:                  "",
		`{"found":false}`:                                 "",
		`{"witnesses":[]}`:                                "",
		`[]`:                                              "",
		"\xd2\x84":                                        "",
		`{"schema":"svc-absence-witness-v1","schema":""}`: "form",
		"{\"a\":\"\xff\"}":                                "form",
		"\ufeff{}":                                        "form",
		`{"a":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`:                         "form",
		`{"signature":"","kid":"","a":` + strings.Repeat("[", 19) + strings.Repeat("]", 19) + `}`: "receipt",
	} {
		got := ""
		documents, err := Recognise([]byte(text))
		var form *ErrForm
		switch {
		case err == nil:
			got = documents[0].Kind
		case errors.As(err, &form):
			got = "form"
		}
		if got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
}

func TestTimeWords(t *testing.T) {
	for ms, want := range map[int64]string{
		0:                 "1970-01-01T00:00:00.000Z",
		1790000504500:     "2026-09-21T14:21:44.500Z",
		253402300800000:   "+010000-01-01T00:00:00.000Z",
		8640000000000000:  "+275760-09-13T00:00:00.000Z",
		8640000000000001:  "8640000000000001 ms",
		strict.MaxInteger: "9007199254740991 ms",
	} {
		if got := timeWords(ms); got != want {
			t.Errorf("%d is %s, not %s", ms, got, want)
		}
	}
}
