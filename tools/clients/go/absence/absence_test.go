package absence

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"

	"actlog/verify/internal/vectors"
)

func TestSKey(t *testing.T) {
	v := vectors.Read(t)
	for _, vector := range v.Skeys {
		want, _ := hex.DecodeString(vector.Skey)
		if !bytes.Equal(SKey(v.Origin, vector.Key), want) {
			t.Errorf("skey of %v", vector.Key)
		}
	}
}

func TestCovered(t *testing.T) {
	open := int64(math.MaxInt64)
	for _, c := range []struct {
		spans []span
		want  bool
	}{
		{nil, false},
		{[]span{{fromMS: 10, untilMS: open}}, true},
		{[]span{{fromMS: 11, untilMS: open}}, false},
		{[]span{{fromMS: 0, untilMS: 19}}, false},
		{[]span{{fromMS: 0, untilMS: 20}}, true},
		{[]span{{fromMS: 0, untilMS: 14}, {fromMS: 15, untilMS: 20}}, true},
		{[]span{{fromMS: 0, untilMS: 14}, {fromMS: 16, untilMS: 20}}, false},
		{[]span{{fromMS: 0, untilMS: 5}, {fromMS: 20, untilMS: 3}, {fromMS: 8, untilMS: 30}}, true},
	} {
		if got := covered(c.spans, 10, 20); got != c.want {
			t.Errorf("%v: %v", c.spans, got)
		}
	}
}

func TestCheckKey(t *testing.T) {
	for _, c := range []struct {
		key  []string
		want bool
	}{
		{[]string{"payment", "0123456789abcdef"}, true},
		{[]string{"payment", "0x23456789abcdef0123"}, false},
		{[]string{"payment", "ABCDEF0000000000000000000000000000000000000000000000000000000000"}, false},
		{[]string{"session", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB"}, false},
		{[]string{"gate.case", "x"}, true},
		{[]string{"gate.case"}, false},
		{nil, false},
	} {
		if err := checkKey(c.key, map[string]int{"gate.case": 1}); (err == nil) != c.want {
			t.Errorf("%v: %v", c.key, err)
		}
	}
}
