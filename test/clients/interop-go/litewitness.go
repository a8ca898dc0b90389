package main

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"net"

	"golang.org/x/crypto/ssh"
	sshagent "golang.org/x/crypto/ssh/agent"
	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// agent serves the key of a seed, in hex, on a UNIX socket until it is killed, because litewitness signs by ssh-agent only.
// It prints the fingerprint of the key.
func agent(socket, seed string) error {
	raw, err := hex.DecodeString(seed)
	if err != nil || len(raw) != ed25519.SeedSize {
		return errors.New("the seed is not 32 bytes in hex")
	}
	key := ed25519.NewKeyFromSeed(raw)
	keyring := sshagent.NewKeyring()
	if err := keyring.Add(sshagent.AddedKey{PrivateKey: key}); err != nil {
		return err
	}
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	fmt.Println(ssh.FingerprintSHA256(public))
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go sshagent.ServeAgent(keyring, connection)
	}
}

// addLog makes a log known to litewitness, with the rows that `witnessctl add-log` and `add-key` write. The module of
// witnessctl needs one that module proxies may not have.
func addLog(database, origin, vkey string) error {
	db, err := sqlite.OpenConn(database, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer db.Close()
	root, err := tlog.TreeHash(0, nil)
	if err != nil {
		return err
	}
	log := &sqlitex.ExecOptions{Args: []any{origin, root.String()}}
	if err := sqlitex.Execute(db, "INSERT INTO log (origin, tree_size, tree_hash) VALUES (?, 0, ?)", log); err != nil {
		return err
	}
	key := &sqlitex.ExecOptions{Args: []any{origin, vkey}}
	return sqlitex.Execute(db, "INSERT INTO key (origin, key) VALUES (?, ?)", key)
}
