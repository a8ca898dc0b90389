// Command interop runs libraries and tools of others, unchanged, over what a service published: filippo.io/torchwood,
// github.com/transparency-dev/tessera, github.com/veraison/go-cose, github.com/go-jose/go-jose and
// github.com/standard-webhooks. test/clients/interop.test.ts writes the artefacts and starts it.
//
//	interop check FOLDER              checks the artefacts; prints {"tool", "error"?}, one line for each tool
//	interop agent SOCKET SEED         serves an Ed25519 key to litewitness by the protocol of ssh-agent
//	interop add-log DB ORIGIN VKEY    makes a log known to litewitness
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The artefacts of a service, in FOLDER/artefacts.json.
type artefacts struct {
	// URL is the monitoring prefix of the log.
	URL    string `json:"url"`
	Origin string `json:"origin"`
	Vkey   string `json:"vkey"`
	// Policy is the witness policy of the log in the kit.
	Policy string `json:"policy"`
	// Checkpoint is a note that meets the policy, and Older one of a smaller size.
	Checkpoint string `json:"checkpoint"`
	Older      string `json:"older"`
	// Consistency is the answer of proof/consistency between the two.
	Consistency [][]byte `json:"consistency"`
	// Entry is the text of an entry of the checkpoint, with its index, path and tlog-proof.
	Entry     string   `json:"entry"`
	Index     uint64   `json:"index"`
	Path      [][]byte `json:"path"`
	TlogProof string   `json:"tlog_proof"`
	// Receipt is a COSE receipt, and CoseKey the COSE_Key that it names.
	Receipt []byte          `json:"receipt"`
	CoseKey []byte          `json:"cose_key"`
	JWKS    json.RawMessage `json:"jwks"`
	// Webhook is a delivery that was signed with Secret.
	Webhook struct {
		Secret  string            `json:"secret"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	} `json:"webhook"`
}

var tools = []struct {
	name  string
	check func(*artefacts) error
}{
	{"torchwood policy", torchwoodPolicy},
	{"torchwood tiles", torchwoodTiles},
	{"torchwood proof", torchwoodProof},
	{"tessera client", tesseraClient},
	{"tessera fsck", tesseraFsck},
	{"tessera policy", tesseraPolicy},
	{"go-cose", goCose},
	{"go-jose", goJose},
	{"standardwebhooks", webhook},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "interop: %v\n", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "check":
		return check(args[1])
	case len(args) == 3 && args[0] == "agent":
		return agent(args[1], args[2])
	case len(args) == 4 && args[0] == "add-log":
		return addLog(args[1], args[2], args[3])
	}
	return errors.New("usage: interop check FOLDER | agent SOCKET SEED | add-log DB ORIGIN VKEY")
}

func check(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, "artefacts.json"))
	if err != nil {
		return err
	}
	a := &artefacts{}
	if err := json.Unmarshal(text, a); err != nil {
		return err
	}
	for _, tool := range tools {
		said := map[string]string{"tool": tool.name}
		if err := tool.check(a); err != nil {
			said["error"] = err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
			return err
		}
	}
	return nil
}
