// Package vectors reads the vectors of the log format for tests.
package vectors

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A Document of the vectors, with the question that it must answer.
type Document struct {
	Name     string
	Question json.RawMessage
	Doc      json.RawMessage
	Text     string
	Result   *struct {
		Verdict, Proof string
		Entries        int
		AsOfMS         int64  `json:"as_of_ms"`
		Witnessed      int    `json:"witnessed"`
		MapVerified    int    `json:"map_verified"`
		LagMS          *int64 `json:"lag_ms"`
		IntervalMS     *int64 `json:"heartbeat_interval_ms"`
	}
}

// Bytes is the document as a file.
func (d *Document) Bytes() []byte {
	if d.Text != "" {
		return []byte(d.Text)
	}
	return d.Doc
}

// Asked is the question of the caller; a document that holds is asked its own.
func (d *Document) Asked(t testing.TB) []byte {
	if d.Question != nil {
		return d.Question
	}
	var own struct{ Question json.RawMessage }
	if err := json.Unmarshal(d.Doc, &own); err != nil {
		t.Fatal(err)
	}
	return own.Question
}

// Absence is test/vectors/absence.json.
type Absence struct {
	Origin, Vkey string
	Jwk          map[string]string
	Witnesses    []struct{ Name, Vkey string }
	Skeys        []struct {
		Key  []string
		Skey string
	}
	Entries     []string
	LeafHashes  []string `json:"leaf_hashes"`
	Checkpoints []string
	Consistency struct {
		From, To int64
		Path     []string
	}
	Documents, Refused []Document
}

// Read reads the vectors.
func Read(t testing.TB) *Absence {
	_, here, _, _ := runtime.Caller(0)
	data, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../../../../test/vectors/absence.json"))
	if err != nil {
		t.Skip("the vectors are in the repository of actlog: ", err)
	}
	var v Absence
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return &v
}

// Kit is an offline kit for the vectors, with two of the two witnesses as its policy.
func (v *Absence) Kit(t testing.TB) string {
	jwk := map[string]string{"origin": v.Origin}
	for name, value := range v.Jwk {
		jwk[name] = value
	}
	var policy strings.Builder
	for i, witness := range v.Witnesses {
		fmt.Fprintf(&policy, "witness %d %s\n", i, witness.Vkey)
	}
	policy.WriteString("group both 2 0 1\nquorum both\n")
	kit, err := json.Marshal(map[string]any{
		"schema": "svc-offline-verify-kit-v1",
		"keys":   map[string]any{"keys": []any{jwk}},
		"logs":   []any{map[string]string{"origin": v.Origin, "vkey": v.Vkey}},
		"policy": policy.String(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(kit)
}
