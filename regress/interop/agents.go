// SPDX-License-Identifier: ISC
// A client of an agent: adds a key, lists, signs, locks and removes, and says
// what is wrong.
package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net"
	"os"

	"golang.org/x/crypto/ssh/agent"
)

func check(err error, what string) {
	if err != nil {
		fmt.Fprintln(os.Stderr, what+":", err)
		os.Exit(1)
	}
}

func count(a agent.ExtendedAgent, want int) {
	keys, err := a.List()
	check(err, "list")
	if len(keys) != want {
		check(fmt.Errorf("%d keys", len(keys)), "list")
	}
}

func main() {
	conn, err := net.Dial("unix", os.Getenv("SSH_AUTH_SOCK"))
	check(err, "dial")
	a := agent.NewClient(conn)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	check(err, "generate")
	check(a.Add(agent.AddedKey{PrivateKey: &private, Comment: "of Go",
		LifetimeSecs: 60}), "add")
	keys, err := a.List()
	check(err, "list")
	for _, k := range keys {
		data := []byte("data of Go")
		sig, err := a.SignWithFlags(k, data, agent.SignatureFlagRsaSha512)
		check(err, "sign")
		check(k.Verify(data, sig), "verify")
		fmt.Println(k.Comment, sig.Format)
	}
	check(a.Lock([]byte("word")), "lock")
	count(a, 0)
	check(a.Unlock([]byte("word")), "unlock")
	count(a, len(keys))
	check(a.Remove(keys[len(keys)-1]), "remove")
	count(a, len(keys)-1)
	check(a.RemoveAll(), "remove all")
	count(a, 0)
}
