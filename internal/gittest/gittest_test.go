package gittest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/token"
)

func TestMain(m *testing.M) {
	code := m.Run()
	Clean()
	os.Exit(code)
}

// The token of a test's push is the door's: the plain form under the repository's key.
func TestAgentToken(t *testing.T) {
	bare := t.TempDir()
	if _, err := AgentToken(bare); err == nil {
		t.Error("a token without a key")
	}
	key := []byte(strings.Repeat("k", token.MinKey))
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bare, token.KeyFile), key, 0o600); err != nil {
		t.Fatal(err)
	}
	env, err := AgentToken(bare)
	if err != nil || len(env) != 2 {
		t.Fatal(env, err)
	}
	id, _ := strings.CutPrefix(env[0], token.IDVar+"=")
	if err := token.CheckID(id); err != nil || env[1] != token.TokenVar+"="+token.Plain(key, id) {
		t.Error(env, err)
	}
}

// A Pair is guarded: the PM's push is taken, the agent's to main is not, both are on
// the record, and nothing of the user's own settings counts.
func TestPair(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in the quick tier: it builds Ward's programs")
	}
	t.Setenv("GIT_AUTHOR_NAME", "the user")
	p := New(t)
	p.Commit("dir/file", "one\n")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	if who := strings.TrimSpace(p.Git("log", "-1", "--format=%an <%ae>")); who != "Pat <pat@example.org>" {
		t.Error(who)
	}
	p.Commit("dir/file", "two\n")
	if out, err := p.AgentPush("main"); err == nil {
		t.Error("the agent pushed to main:", out)
	}
	if blob := p.Object("blob", "three\n"); strings.TrimSpace(p.Git("cat-file", "blob", blob)) != "three" {
		t.Error(blob)
	}
	p.Within = []string{"env", "WITHIN=yes"}
	if out, err := p.Try(p.Work, nil, "", "sh", "-c", "echo $WITHIN; pwd"); err != nil || out != "yes\n"+p.Work+"\n" {
		t.Errorf("%q %v", out, err)
	}
	p.Within = nil
	p.Fsck()
}
