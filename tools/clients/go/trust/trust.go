// Package trust holds what a verifier knows beforehand and takes from no document: the origin of a log, its keys, and
// perhaps a witness policy (log/FORMAT.md §6); and reads it from an offline kit (gateway/API.md §2.5).
package trust

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"

	"actlog/verify/checkpoint"
	"actlog/verify/internal/strict"
	"actlog/verify/policy"
)

// SkewMS is how far clocks may differ, a constant of format 1.
const SkewMS = 60000

// A Key is a receipt key.
type Key struct {
	Kid    string
	Public []byte
	// Status is active, retired or revoked.
	Status string
	// RevokedIndex is the index of the entry that revokes the key; nil where the caller knows only a time.
	RevokedIndex *int64
	// RevokedAtMS is a time at or before that of the entry that revokes the key.
	RevokedAtMS *int64
}

// A Trust is what the checks of one log rest on.
type Trust struct {
	Origin string
	Vkey   string
	// VkeyMLDSA is the verifier key of the log's second checkpoint key (log/FORMAT.md §5.2); empty where it has none.
	VkeyMLDSA string
	// RequireMLDSA refuses checkpoints that this key has not signed. Otherwise findings say whether it has.
	RequireMLDSA bool
	Keys         []*Key
	// Logs holds the verifier keys of the logs of the service by origin. Findings about two logs need that of the other.
	Logs map[string]string
	// Policy is nil where the caller has none.
	Policy *policy.Policy
	// PolicySource is `caller`, or `operator` where keys and policy come from the kit of the log's operator.
	PolicySource string
	// Kinds holds the declared chain kinds with their number of members.
	Kinds map[string]int

	logKey, mldsaKey *checkpoint.Key
}

// ErrUnknownKey is the refusal of an entry whose key the verifier does not have: forged, or younger than its kit.
var ErrUnknownKey = errors.New("kid is not a trusted receipt key")

// Key returns the receipt key of a kid, whose kid must be its RFC 7638 thumbprint.
func (t *Trust) Key(kid string) (*Key, error) {
	for _, key := range t.Keys {
		if key.Kid != kid {
			continue
		}
		named, err := strict.Base64URL(kid)
		if err != nil || !bytes.Equal(named, Thumbprint(key.Public)) {
			return nil, errors.New("kid is not the thumbprint of its trusted key")
		}
		return key, nil
	}
	return nil, ErrUnknownKey
}

// CheckInForce refuses an entry of a revoked key unless an inclusion proof shows it before the revocation
// (log/FORMAT.md §2.5).
func (k *Key) CheckInForce(index, issuedAtMS int64, included bool) error {
	if k.Status != "revoked" {
		return nil
	}
	if !included {
		return errors.New("key is revoked and the entry has no inclusion proof")
	}
	before := false
	switch {
	case k.RevokedIndex != nil:
		before = index < *k.RevokedIndex
	case k.RevokedAtMS != nil:
		before = issuedAtMS < *k.RevokedAtMS
	}
	if !before {
		return errors.New("key was revoked before the entry")
	}
	return nil
}

// Open opens a signed note of the log with the cosigners of the policy.
func (t *Trust) Open(note string) (*checkpoint.Checkpoint, error) {
	if t.logKey == nil {
		key, err := checkpoint.ParseKey(t.Vkey)
		if err != nil {
			return nil, err
		}
		if t.VkeyMLDSA != "" {
			if t.mldsaKey, err = checkpoint.ParseKey(t.VkeyMLDSA); err != nil {
				return nil, err
			}
		}
		t.logKey = key
	}
	var cosigners []*checkpoint.Key
	if t.Policy != nil {
		cosigners = t.Policy.Witnesses
	}
	tree, err := checkpoint.Open(note, t.Origin, t.logKey, t.mldsaKey, cosigners)
	if err == nil && t.RequireMLDSA && !tree.MLDSA {
		return nil, errors.New("checkpoint has no ML-DSA-44 signature of its log")
	}
	return tree, err
}

// SecondWords says after other words whether the log signed these trees with ML-DSA-44 as well; nothing if it has no
// such key.
func (t *Trust) SecondWords(trees ...*checkpoint.Checkpoint) string {
	if t.VkeyMLDSA == "" {
		return ""
	}
	for _, tree := range trees {
		if !tree.MLDSA {
			return ", not signed with ML-DSA-44"
		}
	}
	return ", signed with ML-DSA-44 too"
}

// Thumbprint is the RFC 7638 thumbprint of an Ed25519 key.
func Thumbprint(public []byte) []byte {
	jwk := strict.NewObject()
	jwk.Set("crv", "Ed25519")
	jwk.Set("kty", "OKP")
	jwk.Set("x", strict.EncodeBase64URL(public))
	sum := strict.HashCanonical(jwk)
	return sum[:]
}

// LeafHash is the RFC 6962 leaf hash of an entry.
func LeafHash(entry string) []byte {
	sum := sha256.Sum256(append([]byte{0}, entry...))
	return sum[:]
}

// PublicKey reads the 32 bytes of a JWK, which may have other public members.
func PublicKey(jwk *strict.Object) ([]byte, error) {
	if jwk.Text("kty") != "OKP" || jwk.Text("crv") != "Ed25519" || jwk.Has("d") {
		return nil, errors.New("jwk is not a public OKP key on Ed25519")
	}
	x, err := strict.Base64URL(jwk.Text("x"))
	if err != nil || len(x) != 32 {
		return nil, errors.New("jwk member x is not 32 bytes in base64url")
	}
	return x, nil
}

// KitSchema is the schema of an offline verification kit.
const KitSchema = "svc-offline-verify-kit-v1"

const maxKitBytes = 4 << 20

// A Kit is an offline verification kit.
type Kit struct {
	Object *strict.Object
}

// ParseKit reads a kit.
func ParseKit(text string) (*Kit, error) {
	value, err := strict.Parse(text, strict.Options{Fractions: true, MaxBytes: maxKitBytes})
	if err != nil {
		return nil, err
	}
	kit, ok := value.(*strict.Object)
	if !ok || kit.Text("schema") != KitSchema {
		return nil, errors.New("kit has another schema")
	}
	return &Kit{kit}, nil
}

// Origins lists the logs of the kit.
func (k *Kit) Origins() []string {
	var origins []string
	for _, log := range Objects(k.Object, "logs") {
		if origin, ok := log.Get("origin"); ok {
			if s, ok := origin.(string); ok {
				origins = append(origins, s)
			}
		}
	}
	return origins
}

// Trust returns what the kit says of one of its logs.
func (k *Kit) Trust(origin string) (*Trust, error) {
	var log *strict.Object
	for _, candidate := range Objects(k.Object, "logs") {
		if log == nil && candidate.Text("origin") == origin {
			log = candidate
		}
	}
	if log == nil {
		return nil, errors.New("kit has no such log")
	}
	vkey, err := log.String("vkey", "vkey of the log")
	if err != nil {
		return nil, err
	}
	t := &Trust{Origin: origin, Vkey: vkey, PolicySource: "operator", Logs: k.vkeys()}
	if _, ok := log.Get("vkey_ml_dsa"); ok {
		if t.VkeyMLDSA, err = log.String("vkey_ml_dsa", "vkey_ml_dsa of the log"); err != nil {
			return nil, err
		}
		if t.VkeyMLDSA == "" {
			return nil, errors.New("vkey_ml_dsa of the log is empty")
		}
	}
	// Older kits have one policy for all logs.
	holder := k.Object
	if _, ok := log.Get("policy"); ok {
		holder = log
	}
	if v, _ := holder.Get("policy"); v != nil {
		text, err := holder.String("policy", "policy of the kit")
		if err != nil {
			return nil, err
		}
		p, err := policy.Parse(text)
		if err != nil {
			return nil, err
		}
		// A policy with log lines is about those logs only.
		applies := len(p.Logs) == 0
		for _, key := range p.Logs {
			applies = applies || key.Name == origin
		}
		if applies {
			t.Policy = p
		}
	}
	if t.Kinds, err = chainKinds(log); err != nil {
		return nil, err
	}
	t.Keys, err = k.keys(origin)
	return t, err
}

// vkeys returns the verifier keys of the logs by origin; of two logs with one origin, that of the first.
func (k *Kit) vkeys() map[string]string {
	vkeys := map[string]string{}
	for _, log := range Objects(k.Object, "logs") {
		origin, err := log.String("origin", "origin")
		vkey, err2 := log.String("vkey", "vkey")
		if _, ok := vkeys[origin]; err == nil && err2 == nil && !ok {
			vkeys[origin] = vkey
		}
	}
	return vkeys
}

// declaredKind matches a chain kind that an entry type declares.
var declaredKind = regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z][a-z0-9_]*$`)

// chainKinds reads the chain kinds of a log with their number of members. Older kits have none.
func chainKinds(log *strict.Object) (map[string]int, error) {
	kinds := map[string]int{}
	value, ok := log.Get("kinds")
	if !ok || value == nil {
		return kinds, nil
	}
	declared, ok := value.(*strict.Object)
	if !ok {
		return nil, errors.New("chain kinds of the log are not an object")
	}
	for _, kind := range declared.Names {
		members, _ := declared.Get(kind)
		n, ok := members.(int64)
		if !ok || n < 1 || !declaredKind.MatchString(kind) {
			return nil, fmt.Errorf("the chain kind %s of the log is none that entry types declare", kind)
		}
		kinds[kind] = int(n)
	}
	return kinds, nil
}

// keys reads the receipt keys of a log: those with its origin and without another purpose.
func (k *Kit) keys(origin string) ([]*Key, error) {
	set, _ := k.Object.Get("keys")
	if jwks, ok := set.(*strict.Object); ok {
		set, _ = jwks.Get("keys")
	}
	list, err := strict.List(set, "keys of the kit", 10000)
	if err != nil {
		return nil, err
	}
	var keys []*Key
	for _, element := range list {
		jwk, ok := element.(*strict.Object)
		if !ok {
			return nil, errors.New("a key of the kit is not an object")
		}
		if jwk.Text("origin") != origin || jwk.Has("purpose") {
			continue
		}
		public, err := PublicKey(jwk)
		if err != nil {
			return nil, err
		}
		kid, err := jwk.String("kid", "kid of a key")
		if err != nil {
			return nil, err
		}
		key := &Key{Kid: kid, Public: public, Status: "active"}
		if jwk.Has("exp") {
			key.Status = "retired"
		}
		if key.RevokedIndex, err = integer(jwk, "revoked_index", 1); err != nil {
			return nil, err
		}
		if key.RevokedAtMS, err = integer(jwk, "revoked_at", 1000); err != nil {
			return nil, err
		}
		if key.RevokedIndex != nil || key.RevokedAtMS != nil {
			key.Status = "revoked"
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func integer(o *strict.Object, name string, factor int64) (*int64, error) {
	v, ok := o.Get(name)
	if !ok || v == nil {
		return nil, nil
	}
	n, ok := v.(int64)
	if !ok || n > strict.MaxInteger/factor {
		return nil, fmt.Errorf("%s of a key is not an integer", name)
	}
	n *= factor
	return &n, nil
}

// Objects returns the objects of a list; none when the member is no list.
func Objects(o *strict.Object, name string) []*strict.Object {
	v, _ := o.Get(name)
	list, _ := v.([]strict.Value)
	var objects []*strict.Object
	for _, element := range list {
		if member, ok := element.(*strict.Object); ok {
			objects = append(objects, member)
		}
	}
	return objects
}
