package absence

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"actlog/verify/checkpoint"
	"actlog/verify/entry"
	"actlog/verify/internal/strict"
	"actlog/verify/trust"
)

// A ground is what the steps after 6.3 rest on.
type ground struct {
	trust   *trust.Trust
	tree    *checkpoint.Checkpoint
	mapHead *entry.Opened
}

func (g *ground) open(v strict.Value) (*entry.Opened, error) {
	return entry.Open(g.trust, g.tree, v)
}

// openAll opens the entries of a list, all of them before any of their members is judged.
func (g *ground) openAll(list []strict.Value) ([]*entry.Opened, error) {
	opened := make([]*entry.Opened, len(list))
	for i, element := range list {
		e, err := g.open(element)
		if err != nil {
			return nil, err
		}
		opened[i] = e
	}
	return opened, nil
}

// A closing says what follows the newest entry of a chain that a document shows: nothing, by its head in the map or its
// lack there, or an entry that names its predecessor.
type closing struct {
	kind      string // never, tail or gap
	head      *head
	successor *entry.Opened
	link      *entry.Link
}

// readClosing checks a proof against the map or the tree (log/FORMAT.md §6.4).
func (g *ground) readClosing(key []string, v strict.Value) (*closing, error) {
	proof, _ := v.(*strict.Object)
	c := &closing{kind: proof.Text("type")}
	var err error
	switch c.kind {
	case "never":
		if _, err = strict.Exact(v, "proof", []string{"type", "siblings"}, "foreign"); err != nil {
			return nil, err
		}
		return c, g.checkNever(key, proof)
	case "tail":
		if _, err = strict.Exact(v, "proof", []string{"type", "siblings", "head"}); err != nil {
			return nil, err
		}
		member, _ := proof.Get("head")
		if c.head, err = readHead(member); err != nil {
			return nil, err
		}
		if c.head.lastIndex >= g.mapHead.Index {
			return nil, errors.New("head lies beyond the map head")
		}
		skey := SKey(g.trust.Origin, key)
		return c, g.checkPath(proof, skey, hashPair(2, skey, c.head.vhash()))
	case "gap":
		if _, err = strict.Exact(v, "proof", []string{"type", "successor"}); err != nil {
			return nil, err
		}
		successor, _ := proof.Get("successor")
		if c.successor, err = g.open(successor); err != nil {
			return nil, err
		}
		c.link, err = c.successor.LinkOn(key)
		return c, err
	}
	return nil, errors.New("proof is neither never, tail nor gap")
}

func (g *ground) checkNever(key []string, proof *strict.Object) error {
	skey := SKey(g.trust.Origin, key)
	slot := make([]byte, 32)
	if v, ok := proof.Get("foreign"); ok {
		foreign, err := strict.Exact(v, "foreign leaf", []string{"skey", "vhash"})
		if err != nil {
			return err
		}
		other, err := foreign.HashOf("skey", "skey of the foreign leaf")
		if err != nil {
			return err
		}
		vhash, err := foreign.HashOf("vhash", "vhash of the foreign leaf")
		if err != nil {
			return err
		}
		if bytes.Equal(other, skey) {
			return errors.New("the foreign leaf is the key itself")
		}
		siblings, _ := proof.Get("siblings")
		list, _ := siblings.([]strict.Value)
		for d := 0; d < len(list) && d < 256; d++ {
			if bit(other, d) != bit(skey, d) {
				return errors.New("the foreign leaf is not on the path of the key")
			}
		}
		slot = hashPair(2, other, vhash)
	}
	return g.checkPath(proof, skey, slot)
}

// checkPath checks that the siblings of a proof lead from what is in the slot of skey to the root of the map. The turns
// are those of skey (log/FORMAT.md §4.1).
func (g *ground) checkPath(proof *strict.Object, skey, node []byte) error {
	v, _ := proof.Get("siblings")
	siblings, err := strict.Strings(v, "siblings", 256)
	if err != nil {
		return err
	}
	text, err := g.mapHead.Statement.String("map_root", "map_root")
	if err != nil {
		return err
	}
	root, err := strict.Hex(text, 32)
	if err != nil {
		return err
	}
	empty := make([]byte, 32)
	for d := len(siblings) - 1; d >= 0; d-- {
		sibling := empty
		if siblings[d] != "" {
			if sibling, err = strict.Hash(siblings[d]); err != nil {
				return errors.New("a hash is not 32 bytes")
			}
			if bytes.Equal(sibling, empty) {
				return errors.New("an empty sibling is spelled out")
			}
		} else if d == len(siblings)-1 {
			return errors.New("the last sibling is empty")
		}
		if bit(skey, d) == 1 {
			node = hashPair(3, sibling, node)
		} else {
			node = hashPair(3, node, sibling)
		}
	}
	if !bytes.Equal(node, root) {
		return errors.New("path does not lead to the map root")
	}
	return nil
}

// bit returns bit d of a key, from the most significant.
func bit(key []byte, d int) byte { return key[d/8] >> (7 - d%8) & 1 }

func hashPair(tag byte, left, right []byte) []byte {
	b := append(append(append(make([]byte, 0, 65), tag), left...), right...)
	sum := sha256.Sum256(b)
	return sum[:]
}

// checkEmpty checks that no entry of the chain is in a window.
func (c *closing) checkEmpty(fromMS, toMS int64) error {
	switch c.kind {
	case "tail":
		if c.head.lastMS >= fromMS {
			return errors.New("last entry is not before the window")
		}
	case "gap":
		if c.successor.MS <= toMS {
			return errors.New("successor is not after the window")
		}
		if !c.link.First && c.link.PrevMS >= fromMS {
			return errors.New("entry before the successor is not before the window")
		}
	}
	return nil
}

// checkFollows checks that no entry of the chain is between this one and what closes it.
func (c *closing) checkFollows(last *entry.Opened, link *entry.Link) error {
	switch c.kind {
	case "tail":
		h := c.head
		if h.count != link.Seq+1 || h.lastIndex != last.Index || h.lastMS != last.MS ||
			!bytes.Equal(h.lastLeafHash, last.LeafHash) {
			return errors.New("head of the chain is not the last entry shown")
		}
		return nil
	case "gap":
		return checkNext(last, link, c.link)
	}
	return errors.New("a chain with entries is closed by a tail or a gap")
}

// checkNext checks that a link names this entry, which has another link on the chain, as the one before it.
func checkNext(before *entry.Opened, link, next *entry.Link) error {
	if next.First || next.Seq != link.Seq+1 || next.PrevIndex != before.Index || next.PrevMS != before.MS {
		return errors.New("an entry of the chain is left out")
	}
	return nil
}
