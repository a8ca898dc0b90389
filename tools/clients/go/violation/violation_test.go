package violation_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"testing"

	"actlog/verify/finding"
	"actlog/verify/receipt"
	"actlog/verify/trust"
)

type vector struct {
	Name    string
	Summary string
	Check   string
	Doc     json.RawMessage
}

type vectors struct {
	Kit                           json.RawMessage
	Documents, Undecided, Refused []vector
}

func read(t *testing.T) (*vectors, *trust.Kit) {
	data, err := os.ReadFile("../../../../test/vectors/violation.json")
	if err != nil {
		t.Skip("the vectors are in the repository of actlog: ", err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	kit, err := trust.ParseKit(string(v.Kit))
	if err != nil {
		t.Fatal(err)
	}
	return &v, kit
}

// check is what the verifier says of a document; nil where it is neither valid nor invalid.
func check(t *testing.T, doc []byte, kit *trust.Kit) *finding.Finding {
	t.Helper()
	var claimed struct{ Origin string }
	if err := json.Unmarshal(doc, &claimed); err != nil {
		t.Fatal(err)
	}
	known, err := kit.Trust(claimed.Origin)
	if err != nil {
		t.Fatal(err)
	}
	documents, err := finding.Recognise(doc)
	if err != nil {
		t.Fatal(err)
	}
	f, err := documents[0].Check(known, finding.Ask{})
	var unanswerable *finding.Unanswerable
	if errors.As(err, &unanswerable) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if f.Untold {
		return nil
	}
	return f
}

func TestVectors(t *testing.T) {
	v, kit := read(t)
	for _, one := range v.Documents {
		if f := check(t, one.Doc, kit); f == nil || !f.Valid || f.Summary != one.Summary {
			t.Errorf("%s: %+v", one.Name, f)
		}
	}
	for _, one := range v.Undecided {
		if f := check(t, one.Doc, kit); f != nil {
			t.Errorf("%s: %+v", one.Name, f)
		}
	}
	for _, one := range v.Refused {
		f := check(t, one.Doc, kit)
		if f == nil || f.Valid {
			t.Errorf("%s: %+v", one.Name, f)
			continue
		}
		if last := f.Checks[len(f.Checks)-1]; last.Name != one.Check || last.Outcome != receipt.Failed {
			t.Errorf("%s: %+v", one.Name, f.Checks)
		}
	}
}

// changes calls use with copies of a value, each with one character or number changed.
func changes(random *rand.Rand, value any, use func(any)) {
	switch value := value.(type) {
	case float64:
		use(value + 1)
	case string:
		for i := 0; i < min(6, len(value)); i++ {
			at := random.Intn(len(value))
			if value[at] >= 0x80 {
				continue
			}
			other := "A"
			if value[at] == 'A' {
				other = "B"
			}
			use(value[:at] + other + value[at+1:])
		}
	case []any:
		for i, element := range value {
			changes(random, element, func(changed any) {
				list := append([]any{}, value...)
				list[i] = changed
				use(list)
			})
		}
	case map[string]any:
		for name, member := range value {
			changes(random, member, func(changed any) {
				object := map[string]any{}
				for other, member := range value {
					object[other] = member
				}
				object[name] = changed
				use(object)
			})
		}
	}
}

func TestChangedEvidence(t *testing.T) {
	v, kit := read(t)
	random := rand.New(rand.NewSource(27))
	for _, one := range v.Documents {
		var doc map[string]any
		if err := json.Unmarshal(one.Doc, &doc); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"notes", "entries", "consistency"} {
			changes(random, doc[name], func(changed any) {
				mutant := map[string]any{}
				for other, member := range doc {
					mutant[other] = member
				}
				mutant[name] = changed
				text, err := json.Marshal(mutant)
				if err != nil {
					t.Fatal(err)
				}
				if f := check(t, text, kit); f != nil && f.Valid {
					t.Error(one.Name, fmt.Sprint(changed))
				}
			})
		}
	}
}
