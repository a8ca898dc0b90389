package absence

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"

	"actlog/verify/internal/strict"
)

type grammar func(string) bool

func pattern(expression string) grammar { return regexp.MustCompile(expression).MatchString }

var (
	entity  = pattern(`^[a-z0-9][a-z0-9:._-]{0,255}$`)
	surface = pattern(`^[a-z][a-z0-9_]{0,63}$`)
	// name256 is 256 bits in base64url, whose two spare bits are zero.
	name256  = pattern(`^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$`)
	hex64    = pattern(`^[0-9a-f]{64}$`)
	anyHex64 = pattern(`^[0-9A-Fa-f]{64}$`)
	hash     = pattern(`^[A-Za-z0-9:_+/=.-]{16,128}$`)
	prefixed = pattern(`^(sha256:|0x)`)
	uuidV7   = pattern(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	// declaredKind is a chain kind that an entry type declares.
	declaredKind = pattern(`^[a-z][a-z0-9-]*\.[a-z][a-z0-9_]*$`)
	typeName     = pattern(`^[a-z][a-z0-9-]*\.[a-z][a-z0-9_]*\.v[1-9][0-9]*$`)
)

// paymentHash is a payment hash in its normal form, which normalising (gateway/API.md §7.3) leaves as it is.
func paymentHash(s string) bool {
	return hash(s) && !prefixed(s) && (hex64(s) || !anyHex64(s))
}

// kinds holds the chain kinds of log/FORMAT.md §3.1 with the grammar of their members.
var kinds = map[string][]grammar{
	"entity":    {entity},
	"surface":   {entity, surface},
	"session":   {name256},
	"payment":   {paymentHash},
	"action":    {hex64},
	"trigger":   {uuidV7},
	"manifest":  {entity},
	"heartbeat": {entity, surface},
	"claim":     {entity},
	"key":       {name256},
	"type":      {typeName},
}

// checkKey checks the key of a question: of a kind of the format, or of a declared one with this number of members.
func checkKey(key []string, declared map[string]int) error {
	if len(key) == 0 {
		return errors.New("chain key is not an array of strings")
	}
	kind, members := key[0], key[1:]
	rules, builtIn := kinds[kind]
	wanted := len(rules)
	if !builtIn {
		var ok bool
		if wanted, ok = declared[kind]; !ok {
			return errors.New("chain kind is unknown")
		}
	}
	if len(members) != wanted {
		return fmt.Errorf("chain key of kind %s has %d members, not %d", kind, len(members), wanted)
	}
	for i, member := range members {
		if (builtIn && !rules[i](member)) || len(member) > 0xffff {
			return fmt.Errorf("member %d of chain key %s has not its grammar", i+1, kind)
		}
	}
	return nil
}

// SKey is the place of a chain in the head map: H(05, lp(origin) ‖ lp(key[0]) ‖ …) (log/FORMAT.md §3.4).
func SKey(origin string, key []string) []byte {
	b := []byte{5}
	for _, s := range append([]string{origin}, key...) {
		b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// A head is the record of the newest entry of a chain.
type head struct {
	count, lastIndex, lastMS int64
	lastLeafHash             []byte
}

// vhash is the value of a chain in the head map: H(04, head).
func (h *head) vhash() []byte {
	b := []byte{4, 1}
	for _, n := range []int64{h.count, h.lastIndex, h.lastMS} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	sum := sha256.Sum256(append(b, h.lastLeafHash...))
	return sum[:]
}

func readHead(v strict.Value) (*head, error) {
	members, err := strict.Exact(v, "head", []string{"count", "last_index", "last_ms", "last_leaf_hash"})
	if err != nil {
		return nil, err
	}
	h := &head{}
	if h.count, err = members.Count("count", "count of a head"); err != nil {
		return nil, err
	}
	if h.lastIndex, err = members.Count("last_index", "last_index of a head"); err != nil {
		return nil, err
	}
	if h.lastMS, err = members.Count("last_ms", "last_ms of a head"); err != nil {
		return nil, err
	}
	if h.lastLeafHash, err = members.HashOf("last_leaf_hash", "last_leaf_hash of a head"); err != nil {
		return nil, err
	}
	if h.count < 1 {
		return nil, errors.New("head of a chain without entries")
	}
	return h, nil
}
