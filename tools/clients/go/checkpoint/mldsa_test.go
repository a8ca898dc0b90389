package checkpoint

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"actlog/verify/internal/strict"
)

func TestMLDSA(t *testing.T) {
	data, err := os.ReadFile("../../../../test/vectors/ml-dsa.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Torchwood  struct{ Vkey, Note string }
		Checkpoint struct {
			Origin, Log, Witness, Note string
			LogMLDSA                   string `json:"log_ml_dsa"`
			WitnessMLDSA               string `json:"witness_ml_dsa"`
			Times                      []int64
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	key := func(vkey string) *Key {
		key, err := ParseKey(vkey)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	text, lines, err := split(v.Torchwood.Note)
	if err != nil || len(lines) != 1 {
		t.Fatal(err)
	}
	if log := key(v.Torchwood.Vkey); find([]*Key{log}, lines[0].Name, lines[0].Hash) == nil || !holds(log, text, lines[0].Base64) {
		t.Error("the checkpoint of torchwood does not hold")
	}
	c := v.Checkpoint
	cosigners := []*Key{key(c.Witness), key(c.WitnessMLDSA), key(c.LogMLDSA)}
	opened, err := Open(c.Note, c.Origin, key(c.Log), nil, cosigners)
	if err != nil {
		t.Fatal(err)
	}
	if len(opened.Cosignatures) != 2 || opened.Cosignatures[1].Time != c.Times[1] {
		t.Errorf("cosignatures are %v", opened.Cosignatures)
	}
	for _, at := range []int{2, 4} {
		all := strings.Split(c.Note, "\n")
		line := all[len(all)-at]
		other := "A"
		if line[len(line)-8] == 'A' {
			other = "B"
		}
		all[len(all)-at] = line[:len(line)-8] + other + line[len(line)-7:]
		if _, err := Open(strings.Join(all, "\n"), c.Origin, key(c.Log), nil, cosigners); err == nil {
			t.Errorf("a changed line %d is accepted", at)
		}
	}
	witnesses, second := cosigners[:2], cosigners[2]
	if opened, err = Open(c.Note, c.Origin, key(c.Log), second, witnesses); err != nil || !opened.MLDSA || len(opened.Cosignatures) != 2 {
		t.Errorf("with the log's own key: %v, %v", opened, err)
	}
	without := ""
	for _, line := range strings.SplitAfter(c.Note, "\n") {
		if len(line) < 1000 || !strings.HasPrefix(line, "— "+c.Origin+" ") {
			without += line
		} else if changed := strings.Replace(c.Note, line, line[:len(line)-8]+"AAAA"+line[len(line)-4:], 1); changed != c.Note {
			if _, err := Open(changed, c.Origin, key(c.Log), second, witnesses); err == nil {
				t.Error("a changed line of the log is accepted")
			}
		}
	}
	if opened, err = Open(without, c.Origin, key(c.Log), second, witnesses); err != nil || opened.MLDSA || without == c.Note {
		t.Errorf("without the log's second line: %v, %v", opened, err)
	}
	if _, err := Open(c.Note, c.Origin, key(c.Log), witnesses[1], nil); err == nil {
		t.Error("the key of a witness is taken for one of the log")
	}
	if _, err := Open(c.Note, c.Origin, key(c.Log), second, cosigners); err == nil {
		t.Error("the key of the log is a witness as well")
	}
	if _, err := ParseKey(c.WitnessMLDSA[:len(c.WitnessMLDSA)-4]); err == nil {
		t.Error("a shorter key is accepted")
	}
}

func holds(key *Key, text, line string) bool {
	raw, err := strict.Base64(line)
	return err == nil && key.verify([]byte(text), raw[4:])
}
