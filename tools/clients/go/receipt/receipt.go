// Package receipt checks receipts (gateway/API.md §1.1).
package receipt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"actlog/verify/checkpoint"
	"actlog/verify/entry"
	"actlog/verify/internal/strict"
	"actlog/verify/trust"
)

// Outcomes of a check. A receipt that does not show something is not invalid for that.
const (
	OK       = "ok"
	Failed   = "failed"
	NotShown = "not_shown"
)

// A Check is one thing that was checked.
type Check struct {
	Name, Outcome, Detail string
}

// A Result says what a receipt shows.
type Result struct {
	// Valid reports that no check failed.
	Valid  bool
	Checks []Check
	// Statement is what the log signed, to believe only when Valid; nil when the receipt has no form.
	Statement *strict.Object
	// Size is that of the largest tree that the entry is shown to be in; 0 when none is.
	Size int64
}

// Derived are the members of a receipt beside the entry, which no entry has.
var Derived = []string{"entry_hash", "permalink", "verify_url", "disclosures", "log", "ignored"}

const (
	maxBytes = 4 << 20
	// maxDepth: a disclosed value is at most 16 levels deep, and three levels into the receipt.
	maxDepth = 16 + 3
)

type checker struct {
	trust   *trust.Trust
	proof   *string
	entry   *entry.Entry
	receipt *strict.Object
	log     *strict.Object
	index   int64
	ms      int64
	kid     string
	trees   []*checkpoint.Checkpoint
	size    int64
	result  *Result
}

// errNotShown is a detail of something that is not there.
type errNotShown string

func (e errNotShown) Error() string { return string(e) }

func (c *checker) run(name string, check func() (string, error)) bool {
	detail, err := check()
	var notShown errNotShown
	switch {
	case err == nil:
		c.result.Checks = append(c.result.Checks, Check{name, OK, detail})
	case errors.As(err, &notShown):
		c.result.Checks = append(c.result.Checks, Check{name, NotShown, err.Error()})
	default:
		c.result.Checks = append(c.result.Checks, Check{name, Failed, err.Error()})
		c.result.Valid = false
	}
	return err == nil
}

// VerifyText checks the text of a receipt; tlogProof is a C2SP tlog-proof that came beside it, or nil.
func VerifyText(text string, t *trust.Trust, tlogProof *string) *Result {
	value, err := strict.Parse(text, strict.Options{Fractions: true, MaxBytes: maxBytes, MaxDepth: maxDepth})
	if err != nil {
		return &Result{Checks: []Check{{"document_form", Failed, err.Error()}}}
	}
	return Verify(value, t, tlogProof)
}

// Verify checks a receipt that strict.Parse has read.
func Verify(value strict.Value, t *trust.Trust, tlogProof *string) *Result {
	c := &checker{trust: t, proof: tlogProof, result: &Result{Valid: true}}
	if !c.run("document_form", func() (string, error) { return c.read(value) }) {
		return c.result
	}
	c.result.Statement = c.entry.Statement
	c.run("entry_hash", c.checkHash)
	c.run("origin", c.checkOrigin)
	opened := c.run("checkpoint", c.checkCheckpoints)
	included := c.run("inclusion", c.checkInclusion)
	c.run("cosignatures", func() (string, error) { return c.checkCosignatures(opened) })
	c.run("signature", func() (string, error) { return c.checkSignature(included) })
	c.run("disclosures", c.checkDisclosures)
	if included {
		c.result.Size = c.size
	}
	return c.result
}

// read takes the Derived members away; what is left is the entry.
func (c *checker) read(value strict.Value) (string, error) {
	receipt, ok := value.(*strict.Object)
	if !ok || receipt == nil {
		return "", errors.New("receipt is not an object")
	}
	c.receipt = receipt
	for _, name := range []string{"permalink", "verify_url"} {
		if receipt.Has(name) {
			if _, err := receipt.String(name, name); err != nil {
				return "", err
			}
		}
	}
	text := strict.Canonical(receipt.Without(Derived...))
	e, err := entry.Read(text)
	if err != nil {
		return "", err
	}
	c.entry = e
	if c.index, err = e.Statement.Count("index", "index"); err != nil {
		return "", err
	}
	if c.ms, err = e.Statement.Count("issued_at_ms", "issued_at_ms"); err != nil {
		return "", err
	}
	if c.kid, err = e.Statement.String("kid", "kid"); err != nil {
		return "", err
	}
	if log, ok := receipt.Get("log"); ok {
		c.log, err = strict.Exact(log, "log", []string{"origin", "index"}, "checkpoint", "inclusion_proof")
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("entry of %d bytes", len(text)), nil
}

func (c *checker) checkHash() (string, error) {
	text, err := c.receipt.String("entry_hash", "entry_hash")
	if err != nil {
		return "", err
	}
	claimed, err := strict.Hex(text, 32)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(claimed, c.entry.LeafHash) {
		return "", errors.New("entry_hash is not the hash of the entry")
	}
	return text, nil
}

var kindOfOrigin = regexp.MustCompile(`/log/(live|sandbox)/[1-9][0-9]*$`)

func (c *checker) checkOrigin() (string, error) {
	origin, _ := c.entry.Statement.Get("origin")
	if origin != strict.Value(c.trust.Origin) {
		return "", errors.New("receipt is of another log")
	}
	kind := kindOfOrigin.FindStringSubmatch(c.trust.Origin)
	sandbox, _ := c.entry.Statement.Get("sandbox")
	if kind == nil || sandbox != strict.Value(kind[1] == "sandbox") {
		return "", errors.New("sandbox does not agree with the log")
	}
	if c.log != nil {
		logOrigin, _ := c.log.Get("origin")
		logIndex, _ := c.log.Get("index")
		if logOrigin != origin || logIndex != strict.Value(c.index) {
			return "", errors.New("log does not agree with the entry")
		}
	}
	return c.trust.Origin, nil
}

// checkCheckpoints opens the note in `log`, and then that of the tlog-proof.
func (c *checker) checkCheckpoints() (string, error) {
	var notes []string
	if c.log.Has("checkpoint") {
		note, err := c.log.String("checkpoint", "checkpoint")
		if err != nil {
			return "", err
		}
		notes = append(notes, note)
	}
	if c.proof != nil {
		proof, err := checkpoint.ParseTlogProof(*c.proof)
		if err != nil {
			return "", err
		}
		notes = append(notes, proof.Checkpoint)
	}
	var trees []*checkpoint.Checkpoint
	var sizes []string
	for _, note := range notes {
		tree, err := c.trust.Open(note)
		if err != nil {
			return "", err
		}
		trees = append(trees, tree)
		sizes = append(sizes, fmt.Sprint(tree.Size))
	}
	if len(trees) == 0 {
		return "", errNotShown("no checkpoint")
	}
	c.trees = trees
	return fmt.Sprintf("tree of %s entries%s", strings.Join(sizes, ", "), c.trust.SecondWords(c.trees...)), nil
}

// checkInclusion checks the path in `log` under the note there, and that of the tlog-proof under its own.
func (c *checker) checkInclusion() (string, error) {
	type claim struct {
		path [][]byte
		tree int
	}
	var claims []claim
	last := len(c.trees) - 1
	if c.log.Has("inclusion_proof") {
		v, _ := c.log.Get("inclusion_proof")
		path, err := entry.Path(v, "inclusion_proof")
		if err != nil {
			return "", err
		}
		if !c.log.Has("checkpoint") {
			return "", errors.New("inclusion proof without a good checkpoint")
		}
		claims = append(claims, claim{path, 0})
	}
	if c.proof != nil {
		proof, err := checkpoint.ParseTlogProof(*c.proof)
		if err != nil {
			return "", err
		}
		if proof.Index != c.index {
			return "", errors.New("tlog-proof is of another entry")
		}
		claims = append(claims, claim{proof.Path, last})
	}
	if len(claims) == 0 {
		return "", errNotShown("no inclusion proof")
	}
	if len(c.trees) == 0 {
		return "", errors.New("inclusion proof without a good checkpoint")
	}
	for _, claim := range claims {
		tree := c.trees[claim.tree]
		if err := tree.Includes(c.index, c.entry.LeafHash, claim.path); err != nil {
			return "", err
		}
		c.size = max(c.size, tree.Size)
	}
	return fmt.Sprintf("entry %d of %d", c.index, c.size), nil
}

func (c *checker) checkCosignatures(opened bool) (string, error) {
	if c.trust.Policy.None() {
		return "", errNotShown("no policy")
	}
	if !opened {
		return "", errNotShown("no checkpoint")
	}
	least := -1
	for _, tree := range c.trees {
		// A receipt claims a place in the log and no time, so cosignatures of any time count.
		counted, err := c.trust.Policy.Count(tree.Cosignatures, 0)
		if err != nil {
			return "", err
		}
		if least < 0 || counted.Witnessed < least {
			least = counted.Witnessed
		}
	}
	return fmt.Sprintf("%d of the %s policy", least, c.trust.PolicySource), nil
}

func (c *checker) checkSignature(included bool) (string, error) {
	key, err := c.trust.Key(c.kid)
	if err != nil {
		return "", err
	}
	if !strict.VerifyEd25519(key.Public, c.entry.Message, c.entry.Signature) {
		return "", errors.New("signature does not hold")
	}
	if err := key.CheckInForce(c.index, c.ms, included); err != nil {
		return "", err
	}
	return fmt.Sprintf("key %s, %s", key.Kid, key.Status), nil
}

// checkDisclosures opens commitments: SHA-256 over 16 bytes of salt and the JCS of the value (log/FORMAT.md §2.2).
func (c *checker) checkDisclosures() (string, error) {
	v, ok := c.receipt.Get("disclosures")
	if !ok {
		return "", errNotShown("no disclosures")
	}
	disclosures, isObject := v.(*strict.Object)
	commitments := c.entry.Statement.Object("commitments")
	if !isObject || commitments == nil {
		return "", errors.New("disclosures without commitments")
	}
	var opened []string
	for _, name := range disclosures.Names {
		disclosure, _ := disclosures.Get(name)
		if o, ok := disclosure.(*strict.Object); ok && o.Has("erased") {
			if err := checkErased(o, commitments.Has(name)); err != nil {
				return "", err
			}
			continue
		}
		o, err := strict.Exact(disclosure, "disclosure", []string{"salt", "value"})
		if err != nil {
			return "", err
		}
		text, err := o.String("salt", "salt")
		if err != nil {
			return "", err
		}
		salt, err := strict.Hex(text, 16)
		if err != nil {
			return "", err
		}
		value, _ := o.Get("value")
		sum := sha256.Sum256(append(salt, strict.Canonical(value)...))
		if commitment, _ := commitments.Get(name); commitment != strict.Value(hex.EncodeToString(sum[:])) {
			return "", errors.New("a disclosure does not open its commitment")
		}
		opened = append(opened, name)
	}
	if len(opened) == 0 {
		return "", errNotShown("erased")
	}
	return strings.Join(opened, ", "), nil
}

// checkErased checks the form of what stands in the place of an erased value, of which nothing is proven.
func checkErased(o *strict.Object, committed bool) error {
	if _, err := strict.Exact(o, "disclosure", []string{"erased", "erased_at_ms", "erasure_entry_id"}); err != nil {
		return err
	}
	if _, err := o.Count("erased_at_ms", "erased_at_ms"); err != nil {
		return err
	}
	if _, err := o.String("erasure_entry_id", "erasure_entry_id"); err != nil {
		return err
	}
	if erased, _ := o.Get("erased"); erased != strict.Value(true) || !committed {
		return errors.New("an erased disclosure is of no commitment")
	}
	return nil
}
