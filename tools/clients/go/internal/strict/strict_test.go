package strict

import (
	"crypto/ed25519"
	"encoding/hex"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	deep := strings.Repeat("[", 16) + strings.Repeat("]", 16)
	for text, want := range map[string]struct{ plain, fractions bool }{
		`{"a":1,"b":[true,false,null,"\u00e9\ud83d\ude00\n"]}`: {true, true},
		`9007199254740991`:       {true, true},
		`-9007199254740991`:      {true, true},
		`9007199254740992`:       {false, true},
		`9007199254740993`:       {false, false},
		`-0`:                     {false, false},
		`-0.0`:                   {false, false},
		`1.5`:                    {false, true},
		`1e3`:                    {false, true},
		`1e400`:                  {false, false},
		`-1e-400`:                {false, false},
		`1000000000000000000000`: {false, false},
		`01`:                     {false, false},
		`1.`:                     {false, false},
		`+1`:                     {false, false},
		`{"a":1,"\u0061":2}`:     {false, false},
		`"\ud800"`:               {false, false},
		`"\udc00\ud800"`:         {false, false},
		`"\u+123"`:               {false, false},
		"\"\x01\"":               {false, false},
		"\"\xff\"":               {false, false},
		"\ufeff1":                {false, false},
		"\u00a01":                {false, false},
		`[1,]`:                   {false, false},
		`1 2`:                    {false, false},
		``:                       {false, false},
		deep:                     {true, true},
		"[" + deep + "]":         {false, false},
	} {
		if _, err := Parse(text, Options{}); (err == nil) != want.plain {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := Parse(text, Options{Fractions: true}); (err == nil) != want.fractions {
			t.Errorf("%q with fractions: %v", text, err)
		}
	}
}

func TestCanonical(t *testing.T) {
	// RFC 8785, sections 3.2.2 to 3.2.4, and numbers of its appendix B.
	for text, want := range map[string]string{
		`{"peach":"é","1":{"f":{"f":"hi","F":5},"\n":56.0}, "":"empty","a":{}}`:                   `{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"a":{},"peach":"é"}`,
		`{"\ufb33":1,"\ud83d\ude02":2,"\u20ac":3,"\r":4,"1":5,"\u0080":6,"ö":7}`:                  "{\"\\r\":4,\"1\":5,\"\u0080\":6,\"ö\":7,\"€\":3,\"😂\":2,\"\ufb33\":1}",
		`"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/\u007f"`:                                   "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\u007f\"",
		`[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001]`:                       `[333333333.3333333,1e+30,4.5,0.002,1e-27]`,
		`[5e-324,1.7976931348623157e308,1e21,999999999999999900000.0,1e-7,0.000001,123456.789e3]`: `[5e-324,1.7976931348623157e+308,1e+21,999999999999999900000,1e-7,0.000001,123456789]`,
	} {
		v, err := Parse(text, Options{Fractions: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := Canonical(v); got != want {
			t.Errorf("%s\n is  %s\n not %s", text, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "AA==": true, "AB==": false, "AAA=": true, "AAB=": false, "AA": false, "AA=": false,
		"AA==\n": false, "A A=": false, "-_8=": false, "AAAAAA==": true, "AAAA====": false,
	} {
		if _, err := Base64(text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]bool{"00ff": true, "00FF": false, "00f": false, "00": false, "00fg": false} {
		if _, err := Hex(text, 2); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestEd25519(t *testing.T) {
	private := ed25519.NewKeyFromSeed(make([]byte, 32))
	public := []byte(private.Public().(ed25519.PublicKey))
	message := []byte("message")
	signature := ed25519.Sign(private, message)
	if !VerifyEd25519(public, message, signature) {
		t.Error("a good signature is refused")
	}
	for i := range signature {
		bad := append([]byte(nil), signature...)
		bad[i] ^= 1
		if VerifyEd25519(public, message, bad) {
			t.Errorf("byte %d does not count", i)
		}
	}
	// A = R of order 1, S = 0: the equation holds for every message.
	identity := append([]byte{1}, make([]byte, 31)...)
	forged := append(append([]byte(nil), identity...), make([]byte, 32)...)
	if !ed25519.Verify(identity, message, forged) || VerifyEd25519(identity, message, forged) {
		t.Error("points of low order are accepted")
	}
	// The same A with y = p + 1, which is no canonical encoding.
	spelled, _ := hex.DecodeString("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")
	if PlainPoint(spelled) {
		t.Error("an encoding that is not canonical is accepted")
	}
}
