package envelope

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"
)

func newKey(t *testing.T) (ssh.Signer, []byte) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

var use = Verdicts

var payload = []byte("{\"subject\": \"c0c0c0\"}")

func signed(t *testing.T, key ssh.Signer) []byte {
	t.Helper()
	line, err := use.Sign(t.Context(), payload, key)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// TestEnvelope: nothing that was changed, or signed by another key or for another use, is
// taken for what was signed.
func TestEnvelope(t *testing.T) {
	key, _ := newKey(t)
	other, _ := newKey(t)
	line := signed(t, key)
	if bytes.ContainsRune(line, '\n') {
		t.Error("an envelope is one line of a note")
	}
	got, err := use.Verify(t.Context(), line, []ssh.PublicKey{other.PublicKey(), key.PublicKey()})
	if err != nil || !bytes.Equal(got, payload) {
		t.Fatalf("%q %v", got, err)
	}
	var e dsse.Envelope
	if err := json.Unmarshal(line, &e); err != nil {
		t.Fatal(err)
	}
	with := func(change func(e *dsse.Envelope)) []byte {
		c := e
		c.Signatures = append([]dsse.Signature(nil), e.Signatures...)
		change(&c)
		data, _ := json.Marshal(c)
		return data
	}
	stranger, err := signer{use, other}.Sign(t.Context(), dsse.PAE(use.PayloadType, payload))
	if err != nil {
		t.Fatal(err)
	}
	for what, line := range map[string][]byte{
		"another payload": with(func(e *dsse.Envelope) {
			e.Payload = base64.StdEncoding.EncodeToString(bytes.Replace(payload, []byte("c0"), []byte("e0"), 1))
		}),
		"another type": with(func(e *dsse.Envelope) { e.PayloadType = "text/plain" }),
		"no signature": with(func(e *dsse.Envelope) { e.Signatures = nil }),
		"another's":    with(func(e *dsse.Envelope) { e.Signatures[0].Sig = base64.StdEncoding.EncodeToString(stranger) }),
		"another's, no id": with(func(e *dsse.Envelope) {
			e.Signatures[0] = dsse.Signature{Sig: base64.StdEncoding.EncodeToString(stranger)}
		}),
		"cut off":  line[:len(line)/2],
		"too long": append(bytes.Repeat([]byte(" "), MaxSize), line...),
	} {
		if _, err := use.Verify(t.Context(), line, []ssh.PublicKey{key.PublicKey()}); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	if _, err := use.Verify(t.Context(), line, nil); err == nil {
		t.Error("no key verifies")
	}
}

// TestKeygen holds both directions against ssh-keygen, which is what others have.
func TestKeygen(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("SKIPPED: there is no ssh-keygen: apt-get install openssh-client")
	}
	dir := t.TempDir()
	key, private := newKey(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var e dsse.Envelope
	if err := json.Unmarshal(signed(t, key), &e); err != nil {
		t.Fatal(err)
	}
	sig, _ := base64.StdEncoding.DecodeString(e.Signatures[0].Sig)
	message := dsse.PAE(use.PayloadType, payload)
	write("key", private)
	write("signers", append([]byte("ward "), ssh.MarshalAuthorizedKey(key.PublicKey())...))
	write("sig", sig)
	verify := func(namespace string, message []byte) error {
		cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", path("signers"), "-I", "ward", "-n", namespace, "-s", path("sig"))
		cmd.Stdin = bytes.NewReader(message)
		return cmd.Run()
	}
	if err := verify(use.Namespace, message); err != nil {
		t.Errorf("ssh-keygen does not verify it: %v", err)
	}
	if verify("git", message) == nil || verify(use.Namespace, append(message, ' ')) == nil {
		t.Error("ssh-keygen verifies another thing")
	}
	sign := func(namespace string) []byte {
		cmd := exec.Command("ssh-keygen", "-Y", "sign", "-f", path("key"), "-n", namespace)
		cmd.Stdin = bytes.NewReader(message)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if err := (verifier{use, key.PublicKey()}).Verify(context.Background(), message, sign(use.Namespace)); err != nil {
		t.Errorf("a signature of ssh-keygen's: %v", err)
	}
	if (verifier{use, key.PublicKey()}).Verify(context.Background(), message, sign("git")) == nil {
		t.Error("a signature for git is taken")
	}
}

// TestPublicKeys: a file of several keys is read whole, and what is no key refuses it.
func TestPublicKeys(t *testing.T) {
	a, _ := newKey(t)
	b, _ := newKey(t)
	file := append(append([]byte("# old\n"), ssh.MarshalAuthorizedKey(a.PublicKey())...), ssh.MarshalAuthorizedKey(b.PublicKey())...)
	if keys, err := PublicKeys(file); err != nil || len(keys) != 2 {
		t.Errorf("%v %v", keys, err)
	}
	if keys, err := PublicKeys(append(file, "ssh-ed25519 AAAA\n"...)); err == nil {
		t.Errorf("%v", keys)
	}
	if keys, err := PublicKeys(nil); err != nil || len(keys) != 0 {
		t.Errorf("%v %v", keys, err)
	}
}
