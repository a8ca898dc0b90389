// Command actlog-verify checks receipts, absence documents, proofs, checkpoints, findings of monitors and kits of a
// log, offline, from a kit that its user keeps. It prints what `actlog verify` prints (gateway/API.md §2.6).
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"actlog/verify/absence"
	"actlog/verify/finding"
	"actlog/verify/internal/strict"
	"actlog/verify/policy"
	"actlog/verify/receipt"
	"actlog/verify/trust"
)

const usage = `usage: actlog-verify FILE… --kit kit.json [options]

Checks receipts, answers that hold one, absence documents, inclusion proofs, tlog-proofs, findings of monitors,
checkpoints and kits. What a file is shows by its content; - is standard input.

  --kit FILE             the offline verification kit to trust (/export/offline-verify-kit.json)
  --policy FILE          witness policy (C2SP tlog-policy) of your own, in place of the kit's
  --origin ORIGIN        the log that it must be of, when the kit has several
  --proof FILE           tlog-proof that came beside a receipt
  --receipt FILE         receipt or entry that a tlog-proof is of
  --key JSON             absence: the chain you ask about, such as '["session","…"]'
  --from TIME, --to TIME absence: the window, in ms since 1970 or as 2026-05-01T00:00:00Z
  --after INDEX          absence: of a further page, the last entry of the page before
  --as-asked             absence: take the question from the document, and print it
  --chain KIND=MEMBERS   absence: a chain kind that entry types declare; may be repeated
  --require-ml-dsa       refuse checkpoints that the log has not signed with ML-DSA-44 too
  --json                 print JSON
  --batch                read questions from standard input, as JSON lines (see README.md)

Exits 0 when everything that is shown holds, 1 when something does not, 2 when that cannot be told.
`

type options struct {
	files []string
	kit, policy, origin, proof, receipt, key,
	from, to, after string
	asAsked, requireMLDSA, json, batch bool
	chains                             []string
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		fmt.Fprint(stdout, usage)
		return finding.ExitValid
	}
	o, err := parseArgs(args)
	if err == nil && o.batch {
		err = batch(stdin, stdout)
		if err == nil {
			return finding.ExitValid
		}
	}
	exit := finding.ExitValid
	if err == nil {
		exit, err = o.verify(stdin, stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "actlog-verify: %v\n", err)
		var form *finding.ErrForm
		if errors.As(err, &form) {
			return finding.ExitInvalid
		}
		return finding.ExitUnknown
	}
	return exit
}

func parseArgs(args []string) (*options, error) {
	o := &options{}
	texts := map[string]*string{
		"--kit": &o.kit, "--policy": &o.policy, "--origin": &o.origin, "--proof": &o.proof, "--receipt": &o.receipt,
		"--key": &o.key, "--from": &o.from, "--to": &o.to, "--after": &o.after,
	}
	flags := map[string]*bool{
		"--as-asked": &o.asAsked, "--require-ml-dsa": &o.requireMLDSA, "--json": &o.json, "--batch": &o.batch,
	}
	for i := 0; i < len(args); i++ {
		name, value, inline := strings.Cut(args[i], "=")
		if !strings.HasPrefix(args[i], "--") {
			o.files = append(o.files, args[i])
			continue
		}
		if flag := flags[args[i]]; flag != nil {
			*flag = true
			continue
		}
		if texts[name] == nil && name != "--chain" {
			return nil, fmt.Errorf("unknown option %s\n\n%s", args[i], usage)
		}
		if !inline {
			if i++; i == len(args) {
				return nil, fmt.Errorf("%s needs a value", name)
			}
			value = args[i]
		}
		if name == "--chain" {
			o.chains = append(o.chains, value)
		} else {
			*texts[name] = value
		}
	}
	if len(o.files) == 0 && !o.batch {
		return nil, errors.New("give a file\n\n" + usage)
	}
	return o, nil
}

// verify checks all files; the exit code is the highest.
func (o *options) verify(stdin io.Reader, stdout io.Writer) (int, error) {
	exit := finding.ExitValid
	for i, file := range o.files {
		if len(o.files) > 1 && !o.json {
			fmt.Fprintf(stdout, "%s%s\n", []string{"", "\n"}[min(i, 1)], file)
		}
		one, err := o.verifyFile(file, stdin, stdout)
		if err != nil {
			if len(o.files) > 1 {
				err = fmt.Errorf("%s: %w", file, err)
			}
			return 0, err
		}
		exit = max(exit, one)
	}
	return exit, nil
}

func (o *options) verifyFile(file string, stdin io.Reader, stdout io.Writer) (int, error) {
	read := func() ([]byte, error) { return os.ReadFile(file) }
	if file == "-" {
		read = func() ([]byte, error) { return io.ReadAll(stdin) }
	}
	data, err := read()
	if err != nil {
		return 0, err
	}
	documents, err := finding.Recognise(data)
	if err != nil {
		return 0, err
	}
	if documents[0].Kind == "kit" {
		if err := o.refuseUnasked("kit"); err != nil {
			return 0, err
		}
		kit, err := trust.ParseKit(string(data))
		if err != nil {
			return 0, fmt.Errorf("%s is no offline verification kit: %v", file, err)
		}
		f, err := finding.CheckKit(kit)
		if err != nil {
			return 0, err
		}
		return o.print(stdout, f, file, nil), nil
	}
	kit, err := o.readKit()
	if err != nil {
		return 0, err
	}
	documents, err = o.askedAbout(documents)
	if err != nil {
		return 0, err
	}
	exit := finding.ExitValid
	for _, d := range documents {
		one, err := o.verifyDocument(d, kit, stdout)
		if err != nil {
			return 0, err
		}
		exit = max(exit, one)
	}
	return exit, nil
}

func (o *options) readKit() (*trust.Kit, error) {
	if o.kit == "" {
		return nil, errors.New("a kit says which keys to trust: give --kit FILE, kept from /export/offline-verify-kit.json")
	}
	text, err := os.ReadFile(o.kit)
	if err != nil {
		return nil, err
	}
	kit, err := trust.ParseKit(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s is no offline verification kit: %v", o.kit, err)
	}
	return kit, nil
}

// askedAbout chooses, of a witness about several surfaces, the documents that the question is about.
func (o *options) askedAbout(documents []*finding.Document) ([]*finding.Document, error) {
	if len(documents) == 1 {
		return documents, nil
	}
	asked, err := o.askedKey()
	if err != nil {
		return nil, err
	}
	var chosen []*finding.Document
	for _, d := range documents {
		q, _ := d.OwnQuestion()
		if asked == nil || (q != nil && strings.Join(q.Key, "\x00") == strings.Join(asked, "\x00")) {
			chosen = append(chosen, d)
		}
	}
	if len(chosen) == 1 || (len(chosen) > 1 && o.asAsked) {
		return chosen, nil
	}
	return nil, fmt.Errorf("this answer holds %d absence documents, and %d are about what you ask: say by --key "+
		"which, or take their questions by --as-asked", len(documents), len(chosen))
}

// refuseUnasked refuses an option that the document cannot answer. A caller who asks about a window would otherwise
// take a good receipt for the proof.
func (o *options) refuseUnasked(kind string) error {
	refuse := func(option, about string) error {
		return fmt.Errorf("%s asks about %s, and this is a %s", option, about, strings.ReplaceAll(kind, "_", "-"))
	}
	if kind != "absence" {
		for name, value := range map[string]string{"--key": o.key, "--from": o.from, "--to": o.to, "--after": o.after} {
			if value != "" {
				return refuse(name, "an absence document")
			}
		}
		if o.asAsked {
			return refuse("--as-asked", "an absence document")
		}
	}
	if o.receipt != "" && kind != "tlog_proof" {
		return refuse("--receipt", "a tlog-proof")
	}
	if o.proof != "" && kind != "receipt" {
		return refuse("--proof", "a receipt")
	}
	return nil
}

func (o *options) verifyDocument(d *finding.Document, kit *trust.Kit, stdout io.Writer) (int, error) {
	if err := o.refuseUnasked(d.Kind); err != nil {
		return 0, err
	}
	t, err := o.trust(d, kit)
	if err != nil {
		return 0, err
	}
	ask := finding.Ask{}
	if o.proof != "" {
		proof, err := readText(o.proof)
		if err != nil {
			return 0, err
		}
		ask.TlogProof = &proof
	}
	if ask.Receipt, err = readText(o.receipt); err != nil {
		return 0, err
	}
	if d.Kind == "absence" {
		if ask.Question, err = o.question(d); err != nil {
			return 0, err
		}
		if ask.Question != nil && o.asAsked && !o.json {
			key, _ := json.Marshal(ask.Question.Key)
			fmt.Fprintf(stdout, "question, taken from the document: {\"key\":%s,\"from_ms\":%d,\"to_ms\":%d}\n\n",
				key, ask.Question.FromMS, ask.Question.ToMS)
		}
	}
	f, err := d.Check(t, ask)
	var unanswerable *finding.Unanswerable
	if errors.As(err, &unanswerable) {
		switch unanswerable.Needs {
		case "entry":
			return 0, fmt.Errorf("%w: give --receipt FILE", err)
		case "question":
			return 0, fmt.Errorf("%w: give --key, --from and --to, or --as-asked to take the document's own", err)
		}
	}
	if err != nil {
		return 0, err
	}
	return o.print(stdout, f, o.kit, t), nil
}

// readText reads a file that an option names, if it was given.
func readText(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	data, err := os.ReadFile(file)
	return string(data), err
}

var chainKind = regexp.MustCompile(`^([a-z0-9_.-]+)=([1-9])$`)

// trust is what the kit says of the log of a document, with the caller's policy and chain kinds.
func (o *options) trust(d *finding.Document, kit *trust.Kit) (*trust.Trust, error) {
	origin := o.origin
	if origin == "" {
		var err error
		if origin, err = d.OriginIn(kit); err != nil {
			return nil, err
		}
	}
	t, err := kit.Trust(origin)
	if err != nil {
		return nil, err
	}
	if o.requireMLDSA && t.VkeyMLDSA == "" {
		return nil, fmt.Errorf("the kit names no ML-DSA-44 key of %s", origin)
	}
	t.RequireMLDSA = o.requireMLDSA
	for _, chain := range o.chains {
		parts := chainKind.FindStringSubmatch(chain)
		if parts == nil {
			return nil, fmt.Errorf("%s is no chain kind: write gate.case=1", chain)
		}
		t.Kinds[parts[1]], _ = strconv.Atoi(parts[2])
	}
	if o.policy == "" {
		return t, nil
	}
	text, err := os.ReadFile(o.policy)
	if err != nil {
		return nil, err
	}
	t.PolicySource = "caller"
	t.Policy, err = policy.Parse(string(text))
	return t, err
}

func (o *options) askedKey() ([]string, error) {
	if o.key == "" {
		return nil, nil
	}
	var key []string
	if err := json.Unmarshal([]byte(o.key), &key); err != nil {
		return nil, errors.New(`--key is a JSON array, such as '["session","…"]'`)
	}
	return key, nil
}

// question is the caller's; the document's own only when the caller says so. What the caller did ask stands.
func (o *options) question(d *finding.Document) (*absence.Question, error) {
	q := &absence.Question{FromMS: -1, ToMS: -1}
	if o.key == "" || o.from == "" || o.to == "" {
		own, ok := d.OwnQuestion()
		if !o.asAsked || !ok {
			return nil, nil
		}
		q = own
	}
	key, err := o.askedKey()
	if err != nil {
		return nil, err
	}
	if key != nil {
		q.Key = key
	}
	if o.from != "" {
		if q.FromMS, err = parseInstant(o.from); err != nil {
			return nil, err
		}
	}
	if o.to != "" {
		if q.ToMS, err = parseInstant(o.to); err != nil {
			return nil, err
		}
	}
	if o.after != "" {
		index, err := strconv.ParseInt(o.after, 10, 64)
		if err != nil || index < 0 {
			return nil, errors.New("--after is the index of an entry")
		}
		q.After = &index
	}
	return q, nil
}

func parseInstant(text string) (int64, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= 0 && ms <= strict.MaxInteger {
		return ms, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("%s is no time: write milliseconds since 1970 or 2026-05-01T00:00:00Z", text)
}

func (o *options) print(stdout io.Writer, f *finding.Finding, source string, t *trust.Trust) int {
	policySource, origin := "operator", strict.Value(nil)
	if t != nil {
		policySource, origin = t.PolicySource, t.Origin
	}
	if o.json {
		var out strings.Builder
		finding.WriteJSON(&out, f.JSON(source, origin, policySource), "")
		fmt.Fprintln(stdout, out.String())
		return f.Exit()
	}
	words := map[string]string{receipt.OK: "ok", receipt.Failed: "FAILED", receipt.NotShown: "not shown"}
	for _, c := range f.Checks {
		fmt.Fprintf(stdout, "  %-9s  %-13s  %s\n", words[c.Outcome], strings.ReplaceAll(c.Name, "_", " "), c.Detail)
	}
	fmt.Fprintf(stdout, "\n%s: %s\ntrust: %s (policy_source: %s)\n", f.Word(), f.Summary, source, policySource)
	return f.Exit()
}
