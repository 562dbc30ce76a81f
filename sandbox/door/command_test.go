package door

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/config"
)

// TestCertificateIsNotTaken is the attack by a push certificate that nobody asked
// for: git stores its text in the repository before any hook runs, and there it would
// stay, unjudged, whatever becomes of the push.
func TestCertificateIsNotTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	_, pack := f.pushed("refs/heads/agent/c")
	head := strings.TrimSpace(f.git(f.clone, "rev-parse", "HEAD"))
	before := f.git(f.bare, "count-objects")
	update := fmt.Sprintf("%040d %s refs/heads/agent/c\n", 0, head)
	certificate := []string{"certificate version 0.1\n", "pusher x\n", "any text at all\n", "\n", update, "-----BEGIN PGP SIGNATURE-----\n", "push-cert-end\n"}
	for name, packets := range map[string][]string{
		"first":           append([]string{"push-cert\x00report-status side-band-64k"}, certificate...),
		"after a command": append([]string{strings.TrimSpace(update) + "\x00report-status side-band-64k", "push-cert\n"}, certificate...),
		"after a shallow": append([]string{"shallow " + head, "push-cert\x00report-status side-band-64k"}, certificate...),
	} {
		conn := f.dial()
		for _, text := range packets { // TestCommandList has them in pieces
			fmt.Fprintf(conn, "%04x%s", len(text)+4, text)
		}
		conn.Write([]byte("0000"))
		conn.Write(pack)
		conn.CloseWrite()
		readAll(conn)
		if after := f.git(f.bare, "count-objects"); after != before || f.hasRef("refs/heads/agent/c") {
			t.Errorf("%s: the certificate is stored: %s, was %s", name, after, before)
		}
	}
	for _, r := range f.records(3) {
		if text, _ := r["error"].(string); !strings.Contains(text, "push-cert") && !strings.Contains(text, "certificate") {
			t.Errorf("the log says %v", r)
		}
	}
	if out, err := f.push("HEAD:refs/heads/agent/c"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestCommandList feeds the list in pieces of any size.
func TestCommandList(t *testing.T) {
	packet := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
	for input, refused := range map[string]bool{
		packet("push-cert"):                              true,
		packet("push-cert\n"):                            true,
		packet("") + packet("push-cert\x00caps"):         true,
		packet("push-cer") + "0000":                      false,
		packet("0 0 refs/heads/push-cert") + "0000":      false,
		packet("p") + packet("push-cert"):                true,
		"0000" + packet("push-cert"):                     false, // an option, or the pack
		"0001" + packet("push-cert"):                     false,
		"zzzz" + packet("push-cert"):                     false,
		packet("shallow x") + packet("push-cert\x00"):    true,
		packet("shallow push-cert") + "0000PACKpushcert": false,
	} {
		for size := 1; size <= len(input); size++ {
			l, err := &commandList{}, error(nil)
			for at := 0; at < len(input) && err == nil; at += size {
				err = l.read([]byte(input[at:min(at+size, len(input))]))
			}
			if errors.Is(err, errCertificate) != refused {
				t.Fatalf("%q in pieces of %d: %v", input, size, err)
			}
		}
	}
}

// TestLongLists: the names of refs stay in the audit for good, so lists of many bytes use
// the tokens of others, and the next push is delayed; a short list costs none.
func TestLongLists(t *testing.T) {
	t.Parallel()
	for names, waits := range map[int]bool{1: false, 150: true} {
		f := newFixture(t, func(c *config.Config) { c.Door.Burst, c.Door.PerMinute = 8, 1 })
		refs := []string{}
		for i := range names {
			refs = append(refs, fmt.Sprintf("HEAD:refs/heads/agent/%d%s", i, strings.Repeat("x", 200)))
		}
		if out, err := f.push(refs...); err != nil { // 150 of them: 40 KB, 9 tokens
			t.Fatal(err, out)
		}
		f.records(1)
		if wait := f.door.pushes.take(1); wait > 0 != waits {
			t.Errorf("after %d names the next push waits %v", names, wait)
		}
	}
}
