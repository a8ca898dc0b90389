// Package policy reads witness policies (C2SP tlog-policy) and counts cosignatures against them
// (log/FORMAT.md §5.3, §6.3).
package policy

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"actlog/verify/checkpoint"
)

// A Policy says which witnesses count and how many are enough.
type Policy struct {
	// Logs are the keys of the log lines; a policy without any applies to every log.
	Logs []*checkpoint.Key
	// Witnesses are all of them, also those that no quorum counts, such as monitors named …/map.
	Witnesses []*checkpoint.Key
	// quorum is nil for `quorum none`.
	quorum *group
}

// A group is one witness, or a threshold of several groups.
type group struct {
	witness   *checkpoint.Key
	threshold int
	members   []*group
}

// None reports whether the policy asks for no cosignature.
func (p *Policy) None() bool { return p == nil || p.quorum == nil }

const (
	maxBytes = 1 << 18
	maxNames = 256
)

var control = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f]")

// Parse reads a policy file.
func Parse(text string) (*Policy, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("policy is over %d bytes", maxBytes)
	}
	if control.MatchString(text) || !utf8.ValidString(text) {
		return nil, errors.New("policy has a control character")
	}
	p := &parser{named: map[string]*group{}, taken: map[string]bool{}}
	for i, line := range strings.Split(text, "\n") {
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := p.line(fields[0], fields[1:]); err != nil {
			return nil, fmt.Errorf("line %d: %v", i+1, err)
		}
	}
	if !p.ended {
		return nil, errors.New("policy has no quorum line")
	}
	return &p.policy, nil
}

type parser struct {
	policy Policy
	named  map[string]*group
	// taken holds members of groups: a member of two would count twice.
	taken  map[string]bool
	groups int
	ended  bool
}

func (p *parser) line(keyword string, items []string) error {
	switch keyword {
	case "log":
		if len(items) < 1 || len(items) > 2 {
			return errors.New("log takes a vkey and a url")
		}
		key, err := p.key(items[0], checkpoint.LogKey)
		p.policy.Logs = append(p.policy.Logs, key)
		return err
	case "witness":
		if len(items) < 2 || len(items) > 3 {
			return errors.New("witness takes a name, a vkey and a url")
		}
		key, err := p.key(items[1], checkpoint.CosignerKey, checkpoint.MLDSAKey)
		p.policy.Witnesses = append(p.policy.Witnesses, key)
		if err != nil {
			return err
		}
		return p.define(items[0], &group{witness: key})
	case "group":
		return p.group(items)
	case "quorum":
		if len(items) != 1 || p.ended {
			return errors.New("there is one quorum line, with one name")
		}
		p.ended = true
		if items[0] == "none" {
			return nil
		}
		quorum, err := p.counted(items[0])
		p.policy.quorum = quorum
		return err
	}
	return errors.New("line begins with none of log, witness, group, quorum")
}

func (p *parser) group(items []string) error {
	if len(items) < 3 {
		return errors.New("group takes a name, all, any or a number, and members")
	}
	if p.groups++; p.groups > maxNames {
		return fmt.Errorf("policy has over %d groups", maxNames)
	}
	name, count, names := items[0], items[1], items[2:]
	g := &group{}
	for _, member := range names {
		counted, err := p.counted(member)
		if err != nil {
			return err
		}
		if p.taken[member] {
			return errors.New("a member is in a group already")
		}
		p.taken[member] = true
		g.members = append(g.members, counted)
	}
	switch count {
	case "all":
		g.threshold = len(names)
	case "any":
		g.threshold = 1
	default:
		n, err := strconv.Atoi(count)
		if err != nil || strconv.Itoa(n) != count || n < 1 || n > len(names) {
			return fmt.Errorf("threshold is not from 1 to %d", len(names))
		}
		g.threshold = n
	}
	return p.define(name, g)
}

// counted returns what a name above this line stands for, if a quorum may count it.
func (p *parser) counted(name string) (*group, error) {
	g := p.named[name]
	if g == nil {
		return nil, errors.New("a name is not defined on a line above")
	}
	if g.witness != nil && g.witness.Map() {
		return nil, errors.New("a cosigner named …/map counts for no quorum")
	}
	return g, nil
}

func (p *parser) define(name string, g *group) error {
	if name == "none" || p.named[name] != nil {
		return errors.New("a name is defined already")
	}
	p.named[name] = g
	return nil
}

// key reads a verifier key that the policy does not have yet: a cosignature does not name its cosigner, so one key
// under two names would count twice.
func (p *parser) key(vkey string, kinds ...byte) (*checkpoint.Key, error) {
	key, err := checkpoint.ParseKey(vkey)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(kinds, key.Type) {
		return nil, fmt.Errorf("vkey is not of type %d", kinds[0])
	}
	all := append(append([]*checkpoint.Key(nil), p.policy.Logs...), p.policy.Witnesses...)
	if len(all) >= 2*maxNames {
		return nil, fmt.Errorf("policy has over %d of these", maxNames)
	}
	for _, other := range all {
		if bytes.Equal(other.Public, key.Public) {
			return nil, errors.New("public key is in the policy already")
		}
	}
	return key, nil
}

// A Result counts the cosignatures of a checkpoint.
type Result struct {
	// Witnessed counts the cosignatures in time by keys of the policy, those named …/map left out; 0 without a policy.
	Witnessed int
	// MapVerified counts the cosignatures of keys named …/map, whatever their time.
	MapVerified int
	// QuorumMS is the latest time such that the cosignatures of that time or later are enough; meaningless without a
	// policy.
	QuorumMS int64
}

// Count checks that cosignatures with a time of at least sinceMS satisfy the policy.
func (p *Policy) Count(cosignatures []checkpoint.Cosignature, sinceMS int64) (Result, error) {
	var result Result
	var counted []checkpoint.Cosignature
	for _, c := range cosignatures {
		if c.Key.Map() {
			result.MapVerified++
		} else if c.Time >= (sinceMS+999)/1000 || sinceMS <= 0 {
			counted = append(counted, c)
		}
	}
	if p.None() {
		return result, nil
	}
	sort.Slice(counted, func(i, j int) bool { return counted[i].Time > counted[j].Time })
	for i := range counted {
		if p.quorum.met(counted[:i+1]) {
			result.Witnessed = len(counted)
			result.QuorumMS = counted[i].Time * 1000
			return result, nil
		}
	}
	return result, errors.New("too few witnesses of the policy cosigned in time")
}

func (g *group) met(cosignatures []checkpoint.Cosignature) bool {
	if g.witness != nil {
		for _, c := range cosignatures {
			if c.Key == g.witness {
				return true
			}
		}
		return false
	}
	n := 0
	for _, member := range g.members {
		if member.met(cosignatures) {
			n++
		}
	}
	return n >= g.threshold
}
