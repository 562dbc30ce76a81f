package hooks_test

import (
	"crypto/sha256"
	"encoding/hex"
	"git-ward/internal/configtest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCutTail: a chain that somebody set back to an older record is whole and says
// less; its reflog tells.
func TestCutTail(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, content := range []string{"1", "2", "3"} {
		p.Commit("f", content)
		if out, err := p.Push("main"); err != nil {
			t.Fatal(out)
		}
	}
	whole := p.Run(p.Bare, "git", "rev-parse", "refs/ward/audit")
	p.Run(p.Bare, "git", "update-ref", "refs/ward/audit", "refs/ward/audit~1")
	// Whoever cuts the audit cuts the notes, too, and moves the ref back.
	p.Run(p.Bare, "git", "update-ref", "refs/notes/audit", "refs/notes/audit~1")
	p.Run(p.Bare, "git", "update-ref", "refs/heads/main", "refs/heads/main~1")
	out, err := p.Try(p.Bare, nil, "", "git-ward", "fsck")
	if err == nil || !strings.Contains(out, "fsck/tail: its end was cut: the reflog knows record 4") {
		t.Fatalf("%v\n%s", err, out)
	}
	// What was cut and is still stored comes back; then the ref's own move shows.
	out, err = p.Try(p.Bare, nil, "", "git-ward", "fsck", "--repair")
	if err == nil || !strings.Contains(out, "put back the end of the chain, up to record 4") || !strings.Contains(out, "refs/heads/main: fsck/unrecorded") {
		t.Fatalf("%v\n%s", err, out)
	}
	if now := p.Run(p.Bare, "git", "rev-parse", "refs/ward/audit"); now != whole {
		t.Errorf("the chain is at %s, not at %s", now, whole)
	}
	p.Run(p.Bare, "git-ward", "init", "--bare", p.Bare)
	p.Fsck()

	// Where others were recorded since, nothing is rewritten; both ends are named.
	p.Run(p.Bare, "git", "update-ref", "refs/ward/audit", "refs/ward/audit~1")
	p.Run(p.Bare, "git", "update-ref", "refs/notes/audit", "refs/notes/audit~1")
	p.AgentPush("HEAD:refs/heads/other")
	out, err = p.Try(p.Bare, nil, "", "git-ward", "fsck", "--repair")
	if err == nil || !strings.Contains(out, "fsck/tail: its end was cut and others were recorded since") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestCutTailWithoutReflog: without a reflog the notes may still tell; where they do
// not, either, fsck says that it would not show.
func TestCutTailWithoutReflog(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Commit("f", "1")
	if out, err := p.Push("main:refs/heads/kept"); err != nil {
		t.Fatal(out)
	}
	if err := os.Remove(filepath.Join(p.Bare, "logs/refs/ward/audit")); err != nil {
		t.Fatal(err)
	}
	if out := p.Run(p.Bare, "git-ward", "fsck"); !strings.Contains(out, "warning: fsck/tail: it has no reflog") {
		t.Error(out)
	}
	p.Run(p.Bare, "git", "-c", "core.logAllRefUpdates=false", "update-ref", "refs/ward/audit", "refs/ward/audit~1")
	notes := p.Run(p.Bare, "git", "rev-parse", "refs/notes/audit")
	out, err := p.Try(p.Bare, nil, "", "git-ward", "fsck", "--repair")
	if err == nil || !strings.Contains(out, "holds record 2, and the chain ends at 1") {
		t.Fatalf("%v\n%s", err, out)
	}
	if now := p.Run(p.Bare, "git", "rev-parse", "refs/notes/audit"); now != notes {
		t.Error("--repair removed the last trace of the record")
	}
}

// TestForeignRefs: a forge moves refs of its own, past every hook.
func TestForeignRefs(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	main := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "refs/heads/main"))
	for _, ref := range []string{"refs/pull/1/head", "refs/merge-requests/2/head", "refs/keep-around/" + main} {
		p.Run(p.Bare, "git", "update-ref", ref, main)
	}
	p.Fsck()
	p.Run(p.Bare, "git", "update-ref", "-d", "refs/pull/1/head")
	p.Fsck()
	p.Run(p.Bare, "git", "update-ref", "refs/heads/smuggled", main)
	if out, err := p.Try(p.Bare, nil, "", "git-ward", "fsck"); err == nil || !strings.Contains(out, "refs/heads/smuggled: fsck/unrecorded") {
		t.Fatalf("%v\n%s", err, out)
	}
	p.Run(p.Bare, "git", "update-ref", "-d", "refs/heads/smuggled")
	configtest.Set(p.T, p.Bare, `foreign = ["refs/heads/"]`)
	p.Commit("f", "1")
	if out, err := p.Push("main"); err == nil || !strings.Contains(out, `audit.foreign names "refs/heads/", below refs/heads/`) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestSettingsInRecords: each record names the settings that it was judged by, the
// chain holds them, and they do not show the host.
func TestSettingsInRecords(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	push := func() {
		t.Helper()
		p.Commit("f", p.Git("rev-parse", "HEAD"))
		if out, err := p.Push("main"); err != nil {
			t.Fatal(out)
		}
	}
	hash := func() string {
		text := p.Run(p.Bare, "git", "show", "refs/ward/audit:config.toml")
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	push()
	first := hash()
	if record := newest(p); !strings.Contains(record, `"config":"`+first+`"`) {
		t.Error(record)
	}
	push() // the same settings stand there once
	if out, err := p.Try(p.Bare, nil, "", "git", "show", "refs/ward/audit:config.toml"); err == nil {
		t.Error("the settings are kept again:", out)
	}
	if record := newest(p); !strings.Contains(record, `"config":"`+first+`"`) {
		t.Error(record)
	}
	configtest.Set(p.T, p.Bare, `anthropic_key_file = "/home/pat/secret-place/key"`)
	configtest.Set(p.T, p.Bare, `openai_url = "https://models.example.org/v1"`)
	configtest.Set(p.T, p.Bare, `run = ["/srv/tools/agent", "--data=/srv/data"]`)
	push()
	text := p.Run(p.Bare, "git", "show", "refs/ward/audit:config.toml")
	for _, private := range []string{"home", "secret-place", "example.org", "/srv"} {
		if strings.Contains(text, private) {
			t.Errorf("the audit shows %q of the host", private)
		}
	}
	if !strings.Contains(text, `anthropic_key_file = "sha256:`) || !strings.Contains(text, `".github/"`) || hash() == first {
		t.Error(text)
	}
	p.Fsck()

	// A record that names settings which nobody has is found.
	record := strings.Replace(p.Run(p.Bare, "git", "show", "refs/ward/audit:record.json"), hash(), strings.Repeat("0", 64), 1)
	chainCommit(p, strings.Replace(record, `"id":4`, `"id":5`, 1))
	if out, err := p.Try(p.Bare, nil, "", "git-ward", "fsck"); err == nil || !strings.Contains(out, "fsck/config: record 5 was judged by settings that the chain does not hold") {
		t.Fatalf("%v\n%s", err, out)
	}
}
