package policy

import (
	"strings"
	"testing"

	"actlog/verify/checkpoint"
	"actlog/verify/internal/vectors"
)

func TestPolicy(t *testing.T) {
	v := vectors.Read(t)
	one, two, monitor := v.Witnesses[0].Vkey, v.Witnesses[1].Vkey, v.Witnesses[2].Vkey
	head := "log " + v.Vkey + " https://log.example\n# comment\nwitness a " + one + " https://a.example\n\twitness b " + two + "\nwitness m " + monitor + "\n"
	for rest, want := range map[string]bool{
		"quorum none":                            true,
		"quorum a":                               true,
		"group g 2 a b\nquorum g\n":              true,
		"group g all a b\r\nquorum g":            false,
		"group g any a b\ngroup h 1 g\nquorum h": true,
		"":                                       false,
		"quorum m":                               false,
		"group g 3 a b\nquorum g":                false,
		"group g 02 a b\nquorum g":               false,
		"group g 1 a a\nquorum g":                false,
		"group g 1 a\ngroup h 1 a\nquorum h":     false,
		"witness c " + one + "\nquorum c":        false,
		"quorum a\nquorum a":                     false,
		"quorum a b":                             false,
		"quorum c":                               false,
		"witness none " + one:                    false,
		"other a":                                false,
	} {
		if _, err := Parse(head + rest); (err == nil) != want {
			t.Errorf("%q: %v", rest, err)
		}
	}
}

func TestCount(t *testing.T) {
	v := vectors.Read(t)
	text := "witness a " + v.Witnesses[0].Vkey + "\nwitness b " + v.Witnesses[1].Vkey + "\nwitness m " + v.Witnesses[2].Vkey + "\n"
	parse := func(quorum string) *Policy {
		p, err := Parse(text + quorum)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	any := parse("group g any a b\nquorum g")
	at := func(p *Policy, times ...int64) []checkpoint.Cosignature {
		var c []checkpoint.Cosignature
		for i, time := range times {
			c = append(c, checkpoint.Cosignature{Key: p.Witnesses[i], Time: time})
		}
		return c
	}
	// The latest time from which on enough have cosigned.
	if r, err := any.Count(at(any, 10, 20, 30), 0); err != nil || r != (Result{Witnessed: 2, MapVerified: 1, QuorumMS: 20000}) {
		t.Errorf("%+v %v", r, err)
	}
	all := parse("group g all a b\nquorum g")
	if r, err := all.Count(at(all, 10, 20), 10000); err != nil || r.QuorumMS != 10000 {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := all.Count(at(all, 10, 20), 10001); err == nil {
		t.Error("a cosignature that is too early counts")
	}
	if !strings.Contains(v.Witnesses[2].Name, "/map") {
		t.Error("the third witness is no monitor")
	}
}
