package main

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/fxamacker/cbor/v2"
	"github.com/go-jose/go-jose/v4"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/veraison/go-cose"
)

// goCose checks a COSE receipt by the steps of log/FORMAT.md §5.6.
func goCose(a *artefacts) error {
	var message cose.Sign1Message
	if err := message.UnmarshalCBOR(a.Receipt); err != nil {
		return err
	}
	var key cose.Key
	if err := key.UnmarshalCBOR(a.CoseKey); err != nil {
		return err
	}
	verifier, err := key.Verifier()
	if err != nil {
		return err
	}
	kid, _ := message.Headers.Protected[cose.HeaderLabelKeyID].([]byte)
	if !bytes.Equal(kid, key.ID) {
		return errors.New("the receipt names another key")
	}
	entry, _ := message.Headers.Unprotected["entry"].([]byte)
	if len(entry) == 0 {
		return errors.New("the receipt carries no entry")
	}
	root, err := rootOf(&message, entry)
	if err != nil {
		return err
	}
	message.Payload = root
	if err := message.Verify(nil, verifier); err != nil {
		return err
	}
	message.Payload = bytes.Repeat([]byte{1}, 32)
	if message.Verify(nil, verifier) == nil {
		return errors.New("another root is accepted")
	}
	return nil
}

// rootOf computes the detached payload of a receipt: the root that the path of label 396 leads to.
func rootOf(message *cose.Sign1Message, entry []byte) ([]byte, error) {
	proofs, ok := message.Headers.Unprotected[int64(396)].(map[any]any)
	if !ok {
		return nil, errors.New("label 396 is not a map")
	}
	list, ok := proofs[int64(-1)].([]any)
	if !ok || len(list) != 1 {
		return nil, errors.New("there is not one inclusion proof")
	}
	encoded, _ := list[0].([]byte)
	var inclusion struct {
		_     struct{} `cbor:",toarray"`
		Size  uint64
		Index uint64
		Path  [][]byte
	}
	if err := cbor.Unmarshal(encoded, &inclusion); err != nil {
		return nil, err
	}
	leaf := rfc6962.DefaultHasher.HashLeaf(entry)
	// The library compares with a root; a wrong one makes it say which it computed.
	err := proof.VerifyInclusion(rfc6962.DefaultHasher, inclusion.Index, inclusion.Size, leaf, inclusion.Path, make([]byte, 32))
	var mismatch proof.RootMismatchError
	if !errors.As(err, &mismatch) {
		return nil, fmt.Errorf("the path is of another form: %v", err)
	}
	return mismatch.CalculatedRoot, nil
}

// goJose reads the key set, and verifies an entry with the key of Ed25519 that it names by the RFC 7638 thumbprint. The
// service signs no JWS: the signature is a member of the JSON (log/FORMAT.md §2).
func goJose(a *artefacts) error {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(a.JWKS, &set); err != nil {
		return err
	}
	var statement struct{ Kid, Signature string }
	if err := json.Unmarshal([]byte(a.Entry), &statement); err != nil {
		return err
	}
	named := set.Key(statement.Kid)
	if len(named) != 1 {
		return fmt.Errorf("%d keys have the kid of the receipt", len(named))
	}
	thumbprint, err := named[0].Thumbprint(crypto.SHA256)
	if err != nil {
		return err
	}
	if base64.RawURLEncoding.EncodeToString(thumbprint) != statement.Kid {
		return errors.New("the kid is not the thumbprint of its key")
	}
	public, ok := named[0].Key.(ed25519.PublicKey)
	if !ok {
		return errors.New("the key of the receipt is not of Ed25519")
	}
	signature, err := base64.StdEncoding.DecodeString(statement.Signature)
	if err != nil {
		return err
	}
	// An entry is its own canonical form, so the signed text is the entry without one member.
	member := fmt.Sprintf("%q:%q", "signature", statement.Signature)
	signed := strings.Replace(strings.Replace(a.Entry, member+",", "", 1), ","+member, "", 1)
	if !ed25519.Verify(public, []byte(signed), signature) {
		return errors.New("the signature of the receipt does not hold")
	}
	return nil
}

// webhook verifies a delivery with its secret, as a receiver that follows Standard Webhooks does.
func webhook(a *artefacts) error {
	receiver, err := standardwebhooks.NewWebhook(a.Webhook.Secret)
	if err != nil {
		return err
	}
	header := http.Header{}
	for name, value := range a.Webhook.Headers {
		header.Set(name, value)
	}
	if err := receiver.VerifyIgnoringTimestamp([]byte(a.Webhook.Body), header); err != nil {
		return err
	}
	if receiver.VerifyIgnoringTimestamp([]byte(a.Webhook.Body+" "), header) == nil {
		return errors.New("another body is accepted")
	}
	return nil
}
