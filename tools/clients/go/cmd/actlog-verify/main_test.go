package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"actlog/verify/internal/vectors"
)

// command runs the command and returns its exit code, output and errors.
func command(stdin string, args ...string) (int, string, string) {
	var stdout, stderr bytes.Buffer
	exit := run(args, strings.NewReader(stdin), &stdout, &stderr)
	return exit, stdout.String(), stderr.String()
}

func TestCommand(t *testing.T) {
	v := vectors.Read(t)
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kit := file("kit.json", v.Kit(t))
	kinds := file("kinds.json", strings.Replace(v.Kit(t), `"logs":[{`, `"logs":[{"kinds":{"gate.case":1},`, 1))
	absent := file("absent.json", string(v.Documents[3].Bytes()))
	note := file("note", v.Checkpoints[len(v.Checkpoints)-1])
	refused := file("refused.json", string(v.Refused[16].Bytes()))
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{absent, "--kit", kit, "--as-asked"}, 0, "\nVALID: ABSENT: nothing was logged for surface policy_bind"},
		{[]string{absent, "--kit", kit}, 2, "you have not asked"},
		{[]string{"--kit=" + kit, absent, "--key", `["surface","did:example:acme","policy_bind"]`, "--from", "1790000504001", "--to", "1790000504500"}, 0, "VALID: ABSENT"},
		{[]string{"--kit", kit, absent, "--as-asked", "--to", "1790000504499"}, 0, "the document covers the log time from 2026-09-21T14:21:44.001Z to 2026-09-21T14:21:44.500Z, and shows"},
		{[]string{"--kit", kit, absent, "--as-asked", "--to", "1790000504501"}, 2, "the document does not answer this question"},
		{[]string{"--kit", kit, absent, "--as-asked", "--key", `["gate.case","x"]`}, 2, "give --chain gate.case=1 if it has 1 members"},
		{[]string{"--kit", kinds, absent, "--as-asked", "--key", `["gate.case","x"]`}, 2, "the document does not answer this question"},
		{[]string{"--kit", kinds, absent, "--as-asked", "--key", `["gate.other","x"]`}, 2, "give --chain gate.other=1 if it has 1 members"},
		{[]string{note, absent, "--kit", kit, "--as-asked"}, 2, "--as-asked asks about an absence document, and this is a checkpoint"},
		{[]string{"--help"}, 0, "usage: actlog-verify FILE"},
		{[]string{note, "--kit", kit}, 0, "  ok         checkpoint     tree of 20 entries, 2 witnesses, 1 monitors"},
		{[]string{note, note, "--kit", kit}, 0, note + "\n"},
		{[]string{note}, 2, "a kit says which keys to trust"},
		{[]string{refused, "--kit", kit, "--as-asked"}, 1, "twice"},
		{[]string{"--kit", kit, filepath.Join(folder, "missing")}, 2, "no such file"},
		{[]string{"--kit", kit, note, "--other"}, 2, "unknown option --other"},
		{[]string{"--kit", note, note}, 2, "is no offline verification kit"},
		{nil, 2, "give a file"},
	} {
		exit, stdout, stderr := command("", c.args...)
		if exit != c.exit || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%v: exit %d\n%s%s", c.args, exit, stdout, stderr)
		}
	}
	exit, stdout, _ := command(string(v.Documents[3].Bytes()), "-", "--kit", kit, "--as-asked", "--json")
	var result struct {
		Kind, Verdict string
		Valid         bool
		Checks        []struct{ Name, Outcome, Detail string }
		Trust         map[string]any
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || exit != 0 {
		t.Fatal(exit, err, stdout)
	}
	if result.Kind != "absence" || result.Verdict != "ABSENT" || !result.Valid || len(result.Checks) != 3 || result.Trust["origin"] != v.Origin {
		t.Errorf("%+v", result)
	}
}

func TestBatch(t *testing.T) {
	v := vectors.Read(t)
	var input bytes.Buffer
	encoder := json.NewEncoder(&input)
	for _, line := range []any{
		map[string]any{"kit": v.Kit(t)},
		map[string]any{"file": v.Documents[3].Bytes(), "as_asked": true},
		map[string]any{"file": []byte("[]")},
		map[string]any{"file": v.Refused[16].Bytes(), "as_asked": true},
	} {
		if err := encoder.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	exit, stdout, stderr := command(input.String(), "--batch")
	var exits []int
	for decoder := json.NewDecoder(strings.NewReader(stdout)); decoder.More(); {
		var a answer
		if err := decoder.Decode(&a); err != nil {
			t.Fatal(err)
		}
		exits = append(exits, a.Exit)
	}
	if exit != 0 || len(exits) != 3 || exits[0] != 0 || exits[1] != 2 || exits[2] != 1 {
		t.Errorf("exit %d, %v %s%s", exit, exits, stdout, stderr)
	}
}
