package attest

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
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"

	"git-ward/protocols/loop"
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

var commit = strings.Repeat("c0", 20)

func aVerdict() loop.Verdict {
	return loop.Verdict{SchemaVersion: loop.SchemaVersion, Unit: "D-1.1", Commit: commit, Claim: strings.Repeat("a", 64), DirectiveHash: strings.Repeat("d", 64),
		Verdict: loop.Exact, Lane: loop.LaneA, Reason: "every criterion is met", Base: strings.Repeat("b", 40), Image: "localhost/ward:1",
		Criteria: []loop.Outcome{{Criterion: "it \"works\"\nand more", Command: "true", Met: true}}}
}

func signed(t *testing.T, v loop.Verdict, key ssh.Signer) []byte {
	t.Helper()
	line, err := Sign(t.Context(), v, key)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// TestEnvelope: what the host signs says which commit and verdict it is about, and nothing
// that was changed, or signed by another key or for another purpose, is taken for it.
func TestEnvelope(t *testing.T) {
	key, _ := newKey(t)
	other, _ := newKey(t)
	v := aVerdict()
	line := signed(t, v, key)
	if bytes.ContainsRune(line, '\n') {
		t.Error("an envelope is one line of a note")
	}
	s, err := Verify(t.Context(), line, []ssh.PublicKey{other.PublicKey(), key.PublicKey()})
	if err != nil {
		t.Fatal(err)
	}
	changed := v
	changed.Reason = "somebody says so"
	if s.Commit() != commit || s.Claim() != v.Claim || !s.Attests(v) || s.Attests(changed) || s.Predicate.Result != "PASSED" || len(s.Predicate.Passed) != 1 {
		t.Errorf("%+v", s)
	}
	for _, no := range []func(v *loop.Verdict){func(v *loop.Verdict) { v.Verdict = loop.None }, func(v *loop.Verdict) { v.Untried = true }} {
		failed := v
		no(&failed)
		if s, err := Of(failed); err != nil || s.Predicate.Result != "FAILED" {
			t.Errorf("%+v %v", s, err)
		}
	}
	var e dsse.Envelope
	if err := json.Unmarshal(line, &e); err != nil {
		t.Fatal(err)
	}
	payload, _ := base64.StdEncoding.DecodeString(e.Payload)
	with := func(change func(e *dsse.Envelope)) []byte {
		c := e
		c.Signatures = append([]dsse.Signature(nil), e.Signatures...)
		change(&c)
		data, _ := json.Marshal(c)
		return data
	}
	stranger, err := signer{other}.Sign(t.Context(), dsse.PAE(payloadType, payload))
	if err != nil {
		t.Fatal(err)
	}
	for what, line := range map[string][]byte{
		"another payload": with(func(e *dsse.Envelope) {
			e.Payload = base64.StdEncoding.EncodeToString(bytes.Replace(payload, []byte(commit), []byte(strings.Repeat("e", 40)), 1))
		}),
		"another type":     with(func(e *dsse.Envelope) { e.PayloadType = "text/plain" }),
		"no signature":     with(func(e *dsse.Envelope) { e.Signatures = nil }),
		"another's":        with(func(e *dsse.Envelope) { e.Signatures[0].Sig = base64.StdEncoding.EncodeToString(stranger) }),
		"another's, no id": with(func(e *dsse.Envelope) { e.Signatures[0] = dsse.Signature{Sig: base64.StdEncoding.EncodeToString(stranger)} }),
		"cut off":          line[:len(line)/2],
		"too long":         append(bytes.Repeat([]byte(" "), MaxEnvelope), line...),
	} {
		if _, err := Verify(t.Context(), line, []ssh.PublicKey{key.PublicKey()}); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	if _, err := Verify(t.Context(), line, nil); err == nil {
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
	if err := json.Unmarshal(signed(t, aVerdict(), key), &e); err != nil {
		t.Fatal(err)
	}
	payload, _ := base64.StdEncoding.DecodeString(e.Payload)
	sig, _ := base64.StdEncoding.DecodeString(e.Signatures[0].Sig)
	message := dsse.PAE(payloadType, payload)
	write("key", private)
	write("signers", append([]byte("ward "), ssh.MarshalAuthorizedKey(key.PublicKey())...))
	write("sig", sig)
	verify := func(namespace string, message []byte) error {
		cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", path("signers"), "-I", "ward", "-n", namespace, "-s", path("sig"))
		cmd.Stdin = bytes.NewReader(message)
		return cmd.Run()
	}
	if err := verify(Namespace, message); err != nil {
		t.Errorf("ssh-keygen does not verify it: %v", err)
	}
	if verify("git", message) == nil || verify(Namespace, append(message, ' ')) == nil {
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
	if err := (verifier{key.PublicKey()}).Verify(context.Background(), message, sign(Namespace)); err != nil {
		t.Errorf("a signature of ssh-keygen's: %v", err)
	}
	if (verifier{key.PublicKey()}).Verify(context.Background(), message, sign("git")) == nil {
		t.Error("a signature for git is taken")
	}
}

// TestParsePublic: a file of several keys is read whole, and what is no key refuses it.
func TestParsePublic(t *testing.T) {
	a, _ := newKey(t)
	b, _ := newKey(t)
	file := append(append([]byte("# old\n"), ssh.MarshalAuthorizedKey(a.PublicKey())...), ssh.MarshalAuthorizedKey(b.PublicKey())...)
	if keys, err := ParsePublic(file); err != nil || len(keys) != 2 {
		t.Errorf("%v %v", keys, err)
	}
	if keys, err := ParsePublic(append(file, "ssh-ed25519 AAAA\n"...)); err == nil {
		t.Errorf("%v", keys)
	}
	if keys, err := ParsePublic(nil); err != nil || len(keys) != 0 {
		t.Errorf("%v %v", keys, err)
	}
}
