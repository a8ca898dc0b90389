package finding

import (
	"bytes"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"actlog/verify/absence"
	"actlog/verify/checkpoint"
	"actlog/verify/internal/strict"
	"actlog/verify/trust"
	"actlog/verify/violation"
)

// maxBytes is the size of the largest document.
const maxBytes = 24 << 20

// maxDepth: an answer holds a receipt, which is at most 16 + 3 levels deep.
const maxDepth = 16 + 4

// A Document is what was recognised by its content; nothing of it is verified.
type Document struct {
	Kind string
	// Text is the document where its exact text counts.
	text string
	// Value is the document as JSON.
	value *strict.Object
	// tlogProof came beside a receipt in an answer.
	tlogProof *string
	// beside are the members of the answer around the document that nothing checks.
	beside []string
}

// ErrForm is the refusal of bytes that would be a document and break the rules of its form.
type ErrForm struct{ Err error }

func (e *ErrForm) Error() string {
	return "INVALID: this is not JSON as receipts have it: " + e.Err.Error()
}

// Recognise reads bytes as the documents in them: one, or those of a witness about several surfaces.
func Recognise(data []byte) ([]*Document, error) {
	if len(data) > 0 && data[0] == 0xd2 {
		return nil, unanswerable("this is a COSE message, which this verifier does not check: use actlog verify")
	}
	plain := bytes.TrimPrefix(data, []byte("\ufeff"))
	isJSON := strings.HasPrefix(strings.TrimLeftFunc(string(plain), func(r rune) bool {
		return unicode.IsSpace(r) && r != 0x85 || r == 0xfeff
	}), "{")
	isProof := bytes.HasPrefix(plain, []byte(checkpoint.TlogProofHeader+"\n"))
	if !isJSON && !isProof && !bytes.Contains(data, []byte("\n\n— ")) {
		return nil, unanswerable("this is no receipt, absence document, kit, tlog-proof or checkpoint that actlog knows")
	}
	if !utf8.Valid(data) || len(plain) < len(data) {
		return nil, &ErrForm{errors.New("bytes are not UTF-8 without a byte order mark")}
	}
	text := string(data)
	switch {
	case isProof:
		return []*Document{{Kind: "tlog_proof", text: text}}, nil
	case !isJSON:
		return []*Document{{Kind: "checkpoint", text: text}}, nil
	}
	value, err := strict.Parse(text, strict.Options{Fractions: true, MaxBytes: maxBytes, MaxDepth: maxDepth})
	if err != nil {
		return nil, &ErrForm{err}
	}
	return recogniseJSON(value.(*strict.Object), text)
}

func recogniseJSON(v *strict.Object, text string) ([]*Document, error) {
	schema := v.Text("schema")
	if schema == trust.KitSchema {
		return []*Document{{Kind: "kit", text: text, value: v}}, nil
	}
	if list, ok := v.Get("witnesses"); ok && !v.Has("schema") && !v.Has("signature") {
		if _, ok := list.([]strict.Value); ok {
			return witnesses(v)
		}
	}
	if other := documentOfPlugin(v); other != "" {
		return nil, unanswerable("this is %s, which this verifier does not check: use actlog verify", other)
	}
	switch schema {
	case absence.Schema:
		return []*Document{{Kind: "absence", text: text, value: v}}, nil
	case violation.Schema:
		return []*Document{{Kind: "violation", value: v}}, nil
	}
	if isString(v, "signature") && isString(v, "kid") {
		return []*Document{{Kind: "receipt", text: text, value: v}}, nil
	}
	for _, name := range []string{"document", "witness"} {
		if o := v.Object(name); o.Text("schema") == absence.Schema {
			return []*Document{{Kind: "absence", value: o, beside: beside(v, name)}}, nil
		}
	}
	if o := v.Object("receipt"); o != nil && !moreThanReceipt(v) {
		d := &Document{Kind: "receipt", value: o, beside: beside(v, "receipt")}
		if proof := v.Object("proof"); isString(proof, "tlog_proof") {
			text := proof.Text("tlog_proof")
			d.tlogProof = &text
			d.beside = beside(v, "receipt", "proof")
		}
		return []*Document{d}, nil
	}
	if path, _ := v.Get("path"); isString(v, "entry") {
		if _, ok := path.([]strict.Value); ok {
			return []*Document{{Kind: "inclusion", value: v}}, nil
		}
	}
	return nil, unanswerable("%s", unknown(v))
}

const mandateBundle = "svc-carrier-pre-dispute-v1"

// pluginSchemas are those of documents that the built-in plugins check.
var pluginSchemas = map[string]string{
	mandateBundle:           "a pre-dispute bundle",
	"svc-clear-invoice-v1":  "an invoice of a month",
	"svc-clearing-proof-v1": "the proof of a clearing slot",
	"svc-air-export-v1":     "an AIR export",
	"svc-air-session-v1":    "the AIR export of a session",

	"svc-article-12-report-v1":        "a sealed report",
	"svc-article-12-system-report-v1": "a sealed report",
	"svc-naic-exhibit-pack-v1":        "an exhibit pack",
}

// documentOfPlugin names a document that the built-in plugins check.
func documentOfPlugin(v *strict.Object) string {
	if v.Object("bundle").Text("schema") == mandateBundle && v.Object("receipt") != nil {
		return "a pre-dispute bundle"
	}
	return pluginSchemas[v.Text("schema")]
}

// witnesses returns the absence documents of a witness about several surfaces.
func witnesses(v *strict.Object) ([]*Document, error) {
	var documents []*Document
	for _, o := range trust.Objects(v, "witnesses") {
		documents = append(documents, &Document{Kind: "absence", value: o, beside: beside(v, "witnesses")})
	}
	if len(documents) == 0 {
		return nil, unanswerable("this answer holds no absence document")
	}
	return documents, nil
}

// ofDocuments are members of documents that are checked as a whole. An object with a receipt and one of these is no
// answer: its receipt does not speak for the rest.
var ofDocuments = []string{
	"question", "verdict", "map_head", "witness", "witnesses", "document", "bundle",
	"entries_root", "sealed_at", "signature", "record", "records", "cose_sign1_b64", "logs",
}

func moreThanReceipt(v *strict.Object) bool {
	for _, name := range append([]string{"schema"}, ofDocuments...) {
		if v.Has(name) {
			return true
		}
	}
	return false
}

func unknown(v *strict.Object) string {
	if v.Object("receipt") != nil && moreThanReceipt(v) {
		return "this is a document whose receipt does not speak for the rest, and which this verifier does not check"
	}
	if found, _ := v.Get("found"); found == strict.Value(false) {
		return "the service has not found that receipt: nothing to check"
	}
	if isString(v.Object("error"), "message") {
		return "the service answered with an error, nothing to check"
	}
	return "this JSON is no receipt, absence document, proof or kit that actlog knows"
}

func isString(o *strict.Object, name string) bool {
	v, _ := o.Get(name)
	_, ok := v.(string)
	return ok
}

// beside names the members of an answer other than those that are checked or say only that there is an answer.
func beside(v *strict.Object, checked ...string) []string {
	return v.Without(append(checked, "ok", "found")...).Names
}

// Origin is the log that a document claims to be of.
func (d *Document) Origin() (string, bool) {
	note := ""
	switch d.Kind {
	case "receipt", "violation":
		return d.value.Text("origin"), isString(d.value, "origin")
	case "absence", "inclusion":
		if !isString(d.value, "checkpoint") {
			return "", false
		}
		note = d.value.Text("checkpoint")
	case "tlog_proof":
		if _, after, ok := strings.Cut(d.text, "\n\n"); ok {
			note = after
		}
	default:
		note = d.text
	}
	origin, _, _ := strings.Cut(note, "\n")
	return origin, true
}

// OriginIn chooses the log of a kit that a document is of.
func (d *Document) OriginIn(kit *trust.Kit) (string, error) {
	origins := kit.Origins()
	claimed, claims := d.Origin()
	for _, origin := range origins {
		if !claims || origin == claimed {
			return origin, nil
		}
	}
	return "", UnknownLog(claimed)
}

// UnknownLog is the answer about a document of a log that the kit does not have.
func UnknownLog(origin string) error {
	if len(origin) > 200 {
		origin = origin[:200]
	}
	return unanswerable("the kit does not know the log %q: a log that is younger than the kit, such as a successor, "+
		"needs a newer kit", origin)
}

// OwnQuestion reads the question of an absence document, which a caller may take over on purpose.
func (d *Document) OwnQuestion() (*absence.Question, bool) {
	v, ok := d.value.Get("question")
	if !ok {
		return nil, false
	}
	return absence.ReadQuestion(v), true
}
