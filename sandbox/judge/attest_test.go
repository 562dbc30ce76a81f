package judge

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"

	"git-ward/internal/envelope"
	"git-ward/internal/tier"
	"git-ward/protocols/attest"
)

// TestSigned: each verdict has an attestation on its commit that the host's key signed, and a
// new key verifies beside the old one.
func TestSigned(t *testing.T) {
	tier.First(t, "it judges two claims")
	t.Parallel()
	c := newCourt(t, asked)
	public := filepath.Join(c.bare, attest.PublicFile)
	for n, answer := range []string{"41\n", "42\n"} {
		c.write("answer", answer)
		commit := c.claim()
		list := c.verdicts(commit)
		if len(list) != 1 {
			t.Fatalf("%+v", list)
		}
		data, err := os.ReadFile(public)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := envelope.PublicKeys(data)
		if err != nil || len(keys) != n+1 {
			t.Fatalf("%d keys: %v", len(keys), err)
		}
		note, err := c.Repo.Note(t.Context(), attest.Ref, commit)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := envelope.Verdicts.Verify(t.Context(), note, keys[n:])
		if err != nil {
			t.Fatal(err)
		}
		s, err := attest.Parse(payload)
		if err != nil || !s.Attests(list[0]) || s.Commit() != commit {
			t.Errorf("%v %+v\n%s", err, s, note)
		}
		if info, err := os.Stat(filepath.Join(c.bare, attest.KeyFile)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key: %v %v", info, err)
		}
		os.Remove(filepath.Join(c.bare, attest.KeyFile)) // the admin wants another
		c.Judge.key = nil
	}
}

// TestSigningKey: a key is made once, and a file that is none is left as it is.
func TestSigningKey(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o700); err != nil {
		t.Fatal(err)
	}
	var first ssh.Signer
	for range 2 {
		key, err := signingKey(bare)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = key
		}
		if !bytes.Equal(first.PublicKey().Marshal(), key.PublicKey().Marshal()) {
			t.Error("another key")
		}
	}
	path := filepath.Join(bare, attest.KeyFile)
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := signingKey(bare); err == nil {
		t.Error("it is taken for a key")
	}
	if data, _ := os.ReadFile(path); string(data) != "mine" {
		t.Error("it is not left")
	}
}
