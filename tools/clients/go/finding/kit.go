package finding

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"actlog/verify/internal/strict"
	"actlog/verify/receipt"
	"actlog/verify/trust"
)

// CheckKit checks a kit against itself: its checkpoints, its vectors, and the entry that commits to it
// (gateway/API.md §2.2, §2.5). Vectors of exports are not checked.
func CheckKit(kit *trust.Kit) (*Finding, error) {
	f := &Finding{Kind: "kit", Valid: true, Facts: strict.NewObject()}
	run := func(name string, check func() (string, error)) {
		detail, err := check()
		outcome := receipt.OK
		if err != nil {
			detail, outcome = err.Error(), receipt.Failed
			if f.Valid {
				f.Summary = fmt.Sprintf("%s failed: %s", name, detail)
			}
			f.Valid = false
		}
		f.Checks = append(f.Checks, receipt.Check{Name: name, Outcome: outcome, Detail: detail})
	}
	trusts := map[string]*trust.Trust{}
	var origins []strict.Value
	var first *trust.Trust
	for _, origin := range kit.Origins() {
		t, err := kit.Trust(origin)
		if err != nil {
			return nil, unanswerable("%v", err)
		}
		if first == nil {
			first = t
		}
		trusts[origin] = t
		origins = append(origins, origin)
	}
	f.Facts.Set("logs", origins)
	for _, log := range trust.Objects(kit.Object, "logs") {
		run("checkpoint", func() (string, error) {
			t := trusts[log.Text("origin")]
			if t == nil {
				return "", errors.New("a log has no origin")
			}
			tree, _, err := openWitnessed(log.Text("checkpoint"), t)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%s, %d entries", t.Origin, tree.Size), nil
		})
	}
	for i, vector := range trust.Objects(kit.Object, "vectors") {
		run("vector", func() (string, error) {
			shown := vector.Object("receipt")
			t := trusts[shown.Text("origin")]
			if t == nil {
				t = first
			}
			if t == nil {
				return "", errors.New("the kit has no logs")
			}
			var proof *string
			if isString(vector, "tlog_proof") {
				text := vector.Text("tlog_proof")
				proof = &text
			}
			valid := receipt.Verify(shown, t, proof).Valid
			if expected, _ := vector.Get("expected"); expected != strict.Value(valid) {
				return "", fmt.Errorf("%d is %t", i, valid)
			}
			word := map[bool]string{true: "accepted", false: "refused"}[valid]
			return fmt.Sprintf("%d is %s, as the kit says", i, word), nil
		})
	}
	if n := len(trust.Objects(kit.Object, "export_vectors")); n > 0 {
		detail := fmt.Sprintf("%d, which this verifier does not check", n)
		f.Checks = append(f.Checks, receipt.Check{Name: "export_vectors", Outcome: receipt.NotShown, Detail: detail})
	}
	run("receipt", func() (string, error) { return checkCommitted(kit, trusts) })
	if f.Valid {
		f.Summary = "the kit agrees with itself and is in the log; but its operator gave it to you"
	}
	return f, nil
}

// checkCommitted checks that an entry has SHA-256 of the JCS of the kit without its receipt.
func checkCommitted(kit *trust.Kit, trusts map[string]*trust.Trust) (string, error) {
	shown := kit.Object.Object("receipt")
	t := trusts[shown.Text("origin")]
	if t == nil {
		return "", errors.New("the kit has no receipt")
	}
	result := receipt.Verify(shown, t, nil)
	for _, c := range result.Checks {
		if c.Outcome == receipt.Failed {
			return "", fmt.Errorf("%s: %s", strings.ReplaceAll(c.Name, "_", " "), c.Detail)
		}
	}
	sum := strict.HashCanonical(kit.Object.Without("receipt"))
	if result.Statement.Text("document_sha256") != hex.EncodeToString(sum[:]) {
		return "", errors.New("the receipt is of another kit")
	}
	index, _ := result.Statement.Get("index")
	return fmt.Sprintf("entry %v of %s commits to it", index, t.Origin), nil
}
