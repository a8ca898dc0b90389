package trust_test

import (
	"strings"
	"testing"

	"actlog/verify/internal/vectors"
	"actlog/verify/trust"
)

func TestKitKinds(t *testing.T) {
	v := vectors.Read(t)
	kinds := func(text string) (map[string]int, error) {
		t.Helper()
		shown := strings.Replace(v.Kit(t), `"logs":[{`, `"logs":[{"kinds":`+text+`,`, 1)
		kit, err := trust.ParseKit(shown)
		if err != nil {
			t.Fatal(err)
		}
		read, err := kit.Trust(v.Origin)
		if err != nil {
			return nil, err
		}
		return read.Kinds, nil
	}
	got, err := kinds(`{"gate.case":1,"clearing.cycle":2}`)
	if err != nil || len(got) != 2 || got["gate.case"] != 1 || got["clearing.cycle"] != 2 {
		t.Errorf("kinds are %v, %v", got, err)
	}
	for _, text := range []string{`[]`, `"x"`, `{"session":1}`, `{"a.b":0}`, `{"a.b":"1"}`, `{"a.b":1.5}`} {
		if _, err := kinds(text); err == nil || !strings.Contains(err.Error(), "chain kind") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
