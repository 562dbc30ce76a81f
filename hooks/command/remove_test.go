package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"git-ward/internal/config"
	"git-ward/internal/flock"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestRemoveWebhook: a removal takes the webhook away first of all, and only if nothing refuses the
// rest; the next run completes one that was killed after the control branch went, by which the
// webhook is known; what cannot be read is named.
func TestRemoveWebhook(t *testing.T) {
	tier.First(t, "it builds the hook binary")
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	programs, notes := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	script := "#!/bin/sh\n" + `git --git-dir="$6" rev-parse -q --verify refs/heads/ward >/dev/null && [ -f "$6/ward/config.toml" ] || exit 2` + "\n" +
		`echo "$@" >>` + notes + "\n[ ! -e " + notes + ".fails ]\n"
	gittest.Program(t, filepath.Join(programs, "git-ward-forge"), script)
	t.Setenv("PATH", strings.Join([]string{programs, bin, os.Getenv("PATH")}, string(os.PathListSeparator)))
	calls := func() string {
		text, err := os.ReadFile(notes)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(text)
	}
	const page = "https://forge.example/o/p"
	verb := Init(func() string { return config.Shipped }, fstest.MapFS{"COMMS.md": {Data: []byte(document)}}, nil)
	bare := remote(t).Dir
	remove := func(args ...string) said { return run(t, verb, bare, append(args, "--remove", "--bare", bare)...) }
	hooked := func() {
		t.Helper()
		run(t, verb, bare, "--control", "ward", "--bare", bare).check(t, "")
		run(t, Config, bare, "--bare", bare, "forge.url="+page, "forge.webhook_url=https://ward.example.org/").check(t, "")
	}
	hooked()

	lock, err := flock.Within(t.Context(), filepath.Join(bare, "ward"), flock.Shared, 0)
	if err != nil {
		t.Fatal(err)
	}
	remove("--yes").check(t, "the agent runs on")
	lock.Close()
	remove().check(t, "", "init --remove will\n  remove the webhook of "+page+"\n")
	if got := calls(); got != "" {
		t.Errorf("nothing is to be removed yet: %s", got)
	}
	if err := os.WriteFile(notes+".fails", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := remove("--yes"); got.err == nil || !strings.Contains(got.err.Error(), "nothing was changed") {
		t.Errorf("the webhook stays: %v", got.err)
	}
	os.Remove(notes + ".fails")
	remove("--yes", "--purge").check(t, "", "Ward is out of")
	if want := strings.Repeat("init --forge "+page+" --remove -- "+bare+"\n", 2); calls() != want {
		t.Errorf("%q, want %q", calls(), want)
	}

	os.Remove(notes)
	hooked()
	gittest.Git(t, bare, "update-ref", "-d", "refs/heads/ward")
	remove("--yes", "--purge").check(t, "", "Ward is out of")
	if got := calls(); got != "" {
		t.Errorf("the control branch is gone: %s", got)
	}

	hooked()
	if err := os.WriteFile(filepath.Join(bare, config.Path), []byte("[forge]\nurl = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const unread = "a webhook on the forge, if there is one, because the settings cannot be read"
	remove().check(t, "", unread)
	remove("--yes").check(t, "", unread, "Ward is out of")
}
