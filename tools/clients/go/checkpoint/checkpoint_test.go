package checkpoint

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"actlog/verify/internal/strict"
	"actlog/verify/internal/vectors"

	"github.com/transparency-dev/merkle/rfc6962"
)

func keys(t *testing.T, v *vectors.Absence) (*Key, []*Key) {
	var all []*Key
	for _, vkey := range []string{v.Vkey, v.Witnesses[0].Vkey, v.Witnesses[1].Vkey, v.Witnesses[2].Vkey} {
		key, err := ParseKey(vkey)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, key)
	}
	return all[0], all[1:]
}

func TestOpen(t *testing.T) {
	v := vectors.Read(t)
	log, cosigners := keys(t, v)
	var trees []*Checkpoint
	for _, note := range v.Checkpoints {
		tree, err := Open(note, v.Origin, log, nil, cosigners)
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, tree)
	}
	for _, tree := range trees {
		for _, other := range trees {
			if tree.Size != v.Consistency.From || other.Size != v.Consistency.To {
				continue
			}
			var path [][]byte
			for _, text := range v.Consistency.Path {
				hash, err := strict.Hash(text)
				if err != nil {
					t.Fatal(err)
				}
				path = append(path, hash)
			}
			if err := Consistent(tree, other, path); err != nil {
				t.Error(err)
			}
			if Consistent(tree, other, path[1:]) == nil {
				t.Error("a shorter path is accepted")
			}
		}
	}
	note := v.Checkpoints[len(v.Checkpoints)-1]
	for what, bad := range map[string]string{
		"a size with a zero before it": strings.Replace(note, "\n2", "\n02", 1),
		"no signature of the log":      strings.Replace(note, "— "+v.Origin, "— other.example/log", 1),
		"a line that is no signature":  note + "x\n",
		"a bad second line of a known key": note + strings.Replace(note[strings.Index(note, "— "):][:strings.Index(note[strings.Index(note, "— "):], "\n")+1],
			"A", "B", 1),
		"no text": "",
	} {
		if _, err := Open(bad, v.Origin, log, nil, cosigners); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	if _, err := Open(note, "log.example/log/live/2", log, nil, cosigners); err == nil {
		t.Error("another origin is accepted")
	}
	if _, err := Open(note, v.Origin, cosigners[0], nil, nil); err == nil {
		t.Error("a cosigner is accepted as the log")
	}
}

func TestParseKey(t *testing.T) {
	v := vectors.Read(t)
	for _, bad := range []string{"", "a+b", v.Vkey + "=", strings.Replace(v.Vkey, "+0eb692bc", "+0EB692BC", 1),
		strings.Replace(v.Vkey, "+0eb692bc", "+0eb692bd", 1), strings.Replace(v.Vkey, "+AS", "+BS", 1)} {
		if _, err := ParseKey(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestTlogProof(t *testing.T) {
	hash := strings.Repeat("A", 43) + "="
	good := TlogProofHeader + "\nextra AAAA\nindex 7\n" + hash + "\n\nnote\n"
	proof, err := ParseTlogProof(good)
	if err != nil || proof.Index != 7 || len(proof.Path) != 1 || proof.Checkpoint != "note\n" {
		t.Errorf("%v %v", proof, err)
	}
	for _, bad := range []string{"", TlogProofHeader + "\n\nnote\n", strings.Replace(good, "index 7", "index 07", 1),
		strings.Replace(good, "index 7", "index -7", 1), strings.Replace(good, hash, hash[1:], 1),
		strings.Replace(good, "AAAA\n", "AAB=\n", 1), strings.TrimSuffix(good, "\n"),
		strings.Replace(good, hash, strings.TrimSpace(strings.Repeat(hash+"\n", 64)), 1)} {
		if _, err := ParseTlogProof(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestLeafHashes(t *testing.T) {
	v := vectors.Read(t)
	for i, text := range v.Entries {
		want, _ := hex.DecodeString(v.LeafHashes[i])
		if !bytes.Equal(rfc6962.DefaultHasher.HashLeaf([]byte(text)), want) {
			t.Errorf("leaf %d", i)
		}
	}
}
