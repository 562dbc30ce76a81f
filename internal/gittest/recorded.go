package gittest

import (
	"crypto/rand"
	"embed"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/token"
)

// What a repository of 0.1.0's was, made by its own binaries (make.sh says how): D-1 is
// done and taken, D-3 is done and waits to be taken, D-4 is blocked until the PM says
// something, and D-2.1 is ACTIVE: its launcher was killed when it had pushed its second
// claim, which has no verdict.
//
//go:embed testdata/recorded
var recorded embed.FS

const recordedDir = "testdata/recorded"

// Recorded makes that repository in a temporary directory, with refs, settings and reflogs,
// and without hooks and a clone. `git ward init --bare DIR --update` guards it.
func Recorded(t testing.TB) *Pair {
	t.Helper()
	dir := t.TempDir()
	env, err := Environ(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &Pair{T: t, Bare: filepath.Join(dir, "remote.git"), Work: filepath.Join(dir, "work"), Env: env}
	p.Run(dir, "git", "init", "--quiet", "--bare", "--initial-branch=main", p.Bare)
	if err := os.MkdirAll(filepath.Join(p.Bare, "ward", "pending"), 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, "config", filepath.Join(p.Bare, "config"))
	place(t, "ward/config.toml", filepath.Join(p.Bare, "ward", "config.toml"))
	// A key is nobody's to keep in a tree.
	key := strings.Repeat(rand.Text(), token.MinKey/len(rand.Text())+1)
	if err := os.WriteFile(filepath.Join(p.Bare, token.KeyFile), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(dir, "refs.bundle")
	place(t, "refs.bundle", bundle)
	p.Run(p.Bare, "git", "fetch", "--quiet", "--no-auto-gc", bundle, "+refs/*:refs/*")
	return p
}

// place writes a file of the recorded repository.
func place(t testing.TB, name, path string) {
	t.Helper()
	data, err := recorded.ReadFile(recordedDir + "/" + name)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
