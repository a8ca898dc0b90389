package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"filippo.io/torchwood"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// changed returns a text with one character of its last line but n replaced.
func changed(text string, n int) string {
	lines := strings.Split(text, "\n")
	line := []byte(lines[len(lines)-2-n])
	at := len(line) - 10
	if line[at] == 'A' {
		line[at] = 'B'
	} else {
		line[at] = 'A'
	}
	lines[len(lines)-2-n] = string(line)
	return strings.Join(lines, "\n")
}

// torchwoodPolicy opens the checkpoint with the policy of the kit, which counts the witnesses, and nothing less.
func torchwoodPolicy(a *artefacts) error {
	policy, err := torchwood.ParsePolicy([]byte(a.Policy))
	if err != nil {
		return err
	}
	checkpoint, _, err := torchwood.VerifyCheckpoint([]byte(a.Checkpoint), policy)
	if err != nil {
		return err
	}
	if checkpoint.Origin != a.Origin {
		return fmt.Errorf("origin is %q", checkpoint.Origin)
	}
	if _, _, err := torchwood.VerifyCheckpoint([]byte(changed(a.Checkpoint, 0)), policy); err == nil {
		return errors.New("a changed cosignature is accepted")
	}
	border := strings.Index(a.Checkpoint, "\n\n") + 2
	own := a.Checkpoint[:border+strings.Index(a.Checkpoint[border:], "\n")+1]
	if _, _, err := torchwood.VerifyCheckpoint([]byte(own), policy); err == nil {
		return errors.New("a checkpoint without cosignatures meets the policy")
	}
	return nil
}

// torchwoodTiles reads every entry of the tree from the tiles, which the client checks against the root.
func torchwoodTiles(a *artefacts) error {
	tree, err := treeOf(a.Checkpoint)
	if err != nil {
		return err
	}
	fetcher, err := torchwood.NewTileFetcher(a.URL, torchwood.WithUserAgent("actlog interop test (test@example.com)"))
	if err != nil {
		return err
	}
	reader, err := torchwood.NewClient(fetcher)
	if err != nil {
		return err
	}
	count := int64(0)
	for index, entry := range reader.AllEntries(context.Background(), tree, 0) {
		if index == int64(a.Index) && string(entry) != a.Entry {
			return fmt.Errorf("entry %d is another one", index)
		}
		count++
	}
	if err := reader.Err(); err != nil {
		return err
	}
	if count != tree.N {
		return fmt.Errorf("%d entries of %d", count, tree.N)
	}
	entry, proof, err := reader.Entry(context.Background(), tree, int64(a.Index))
	if err != nil {
		return err
	}
	if len(proof) != len(a.Path) {
		return fmt.Errorf("a path of %d hashes, and the service has %d", len(proof), len(a.Path))
	}
	for i, hash := range proof {
		if !bytes.Equal(hash[:], a.Path[i]) {
			return fmt.Errorf("hash %d of the path differs", i)
		}
	}
	return tlog.CheckRecord(proof, tree.N, tree.Hash, int64(a.Index), tlog.RecordHash(entry))
}

func treeOf(signed string) (tlog.Tree, error) {
	checkpoint, err := torchwood.ParseCheckpoint(signed[:strings.Index(signed, "\n\n")+1])
	return checkpoint.Tree, err
}

// torchwoodProof verifies the tlog-proof of an entry, and of no other one.
func torchwoodProof(a *artefacts) error {
	policy, err := torchwood.ParsePolicy([]byte(a.Policy))
	if err != nil {
		return err
	}
	if err := torchwood.VerifyProof(policy, tlog.RecordHash([]byte(a.Entry)), []byte(a.TlogProof)); err != nil {
		return err
	}
	if torchwood.VerifyProof(policy, tlog.RecordHash([]byte(a.Entry+" ")), []byte(a.TlogProof)) == nil {
		return errors.New("another entry is accepted")
	}
	return nil
}

// tesseraClient follows the log from the older checkpoint, and builds the proofs that the service gives.
func tesseraClient(a *artefacts) error {
	ctx := context.Background()
	fetcher, verifier, err := tesseraOf(a)
	if err != nil {
		return err
	}
	consensus := client.UnilateralConsensus(fetcher.ReadCheckpoint)
	tracker, err := client.NewLogStateTracker(ctx, fetcher.ReadTile, []byte(a.Older), verifier, a.Origin, consensus)
	if err != nil {
		return err
	}
	if _, _, _, err := tracker.Update(ctx); err != nil {
		return err
	}
	tree, err := treeOf(a.Checkpoint)
	if err != nil {
		return err
	}
	older, err := treeOf(a.Older)
	if err != nil {
		return err
	}
	builder, err := client.NewProofBuilder(ctx, uint64(tree.N), fetcher.ReadTile)
	if err != nil {
		return err
	}
	path, err := builder.InclusionProof(ctx, a.Index)
	if err != nil {
		return err
	}
	consistency, err := builder.ConsistencyProof(ctx, uint64(older.N), uint64(tree.N))
	if err != nil {
		return err
	}
	if !same(path, a.Path) || !same(consistency, a.Consistency) {
		return errors.New("a proof is not that of the service")
	}
	bundle, err := client.GetEntryBundle(ctx, fetcher.ReadEntryBundle, a.Index/256, uint64(tree.N))
	if err != nil {
		return err
	}
	if string(bundle.Entries[a.Index%256]) != a.Entry {
		return errors.New("the entry in its bundle is another one")
	}
	return nil
}

func tesseraOf(a *artefacts) (*client.HTTPFetcher, note.Verifier, error) {
	root, err := url.Parse(a.URL + "/")
	if err != nil {
		return nil, nil, err
	}
	fetcher, err := client.NewHTTPFetcher(root, nil)
	if err != nil {
		return nil, nil, err
	}
	verifier, err := note.NewVerifier(a.Vkey)
	return fetcher, verifier, err
}

func same(one, other [][]byte) bool {
	return bytes.Equal(bytes.Join(one, nil), bytes.Join(other, nil)) && len(one) == len(other)
}

// tesseraFsck recomputes every tile of the log from its entries.
func tesseraFsck(a *artefacts) error {
	fetcher, verifier, err := tesseraOf(a)
	if err != nil {
		return err
	}
	hasher := func(bundle []byte) ([][]byte, error) {
		entries := &api.EntryBundle{}
		if err := entries.UnmarshalText(bundle); err != nil {
			return nil, err
		}
		hashes := make([][]byte, 0, len(entries.Entries))
		for _, entry := range entries.Entries {
			hashes = append(hashes, rfc6962.DefaultHasher.HashLeaf(entry))
		}
		return hashes, nil
	}
	return fsck.New(a.Origin, verifier, fetcher, hasher, fsck.Opts{N: 1}).Check(context.Background())
}

// tesseraPolicy counts the witnesses of the checkpoint, as a log of Tessera does before it publishes one.
func tesseraPolicy(a *artefacts) error {
	group, err := tessera.NewWitnessGroupFromPolicy([]byte(a.Policy))
	if err != nil {
		return err
	}
	if !group.Satisfied([]byte(a.Checkpoint)) {
		return errors.New("the checkpoint does not satisfy the policy")
	}
	if group.Satisfied([]byte(changed(a.Checkpoint, 0))) {
		return errors.New("a changed cosignature satisfies the policy")
	}
	return nil
}
