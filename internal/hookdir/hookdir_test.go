package hookdir

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/diag"
	"git-ward/internal/gittest"
)

// Delegates as forges write them, and scripts that only look like one.
func TestIsDelegate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pre-receive")
	for text, want := range map[string]bool{
		// Gitea and Forgejo
		"#!/usr/bin/env bash\nhookname=$(basename $0)\nfor hook in ${GIT_DIR}/hooks/${hookname}.d/*; do\n": true,
		"#!/bin/sh\nfor hook in \"$GIT_DIR/hooks/pre-receive.d\"/*; do \"$hook\" <in; done\n":              true,
		"#!/bin/sh\nexec run-parts --exit-on-error \"$0.d\"\n":                                             true,
		"#!/bin/sh\nfor h in \"$(dirname \"$0\")\"/`basename $0`.d/*; do :; done\n":                        true,
		"#!/bin/sh\ncd hooks/pre-receive.d && for h in *; do ./$h; done\n":                                 true,
		"#!/bin/sh\nexit 0\n":                              false,
		"#!/bin/sh\n# once ran pre-receive.d/*\nexit 0\n":  false,
		"#!/bin/sh\n. /etc/profile.d/site.sh\n":            false,
		"#!/bin/sh\n. $HOME/.config.dir/x\n":               false,
		"for h in pre-receive.d/*; do :; done\n":           false, // no script that runs
		"#!/bin/sh\nfor h in post-receive.d/*; do :; done": false,
		"": false,
	} {
		gittest.Program(t, path, text)
		if got := IsDelegate(path, "pre-receive"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if IsDelegate(filepath.Join(t.TempDir(), "none"), "pre-receive") {
		t.Error("a file that is not there is a delegate")
	}
}

func TestFind(t *testing.T) {
	bare := t.TempDir()
	find := func(named string) string {
		l, err := Find(bare, named)
		if err != nil {
			var hinted *diag.Hinted
			if !errors.As(err, &hinted) || hinted.Hint == "" {
				t.Errorf("no remedy: %v", err)
			}
			return "refused"
		}
		return Relative(bare, l.Dir)
	}
	away := t.TempDir()
	for named, want := range map[string]string{"": "hooks", "server/hooks": "server/hooks", "./hooks/": "hooks", away: away,
		"..": "refused", "../x": "refused", ".": "refused", "/nonexistent/x": "refused", "a/../../b": "refused"} {
		if got := find(named); got != want {
			t.Errorf("%q: %s, want %s", named, got, want)
		}
	}
	if err := os.Mkdir(filepath.Join(bare, "custom_hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := find(""); got != "custom_hooks" {
		t.Error(got)
	}
	for path, want := range map[string]string{"hooks/pre-receive": "hooks", "hooks/pre-receive.d/ward": "hooks", "/srv/h/pre-receive": "/srv/h", "/srv/h/pre-receive.d/ward": "/srv/h"} {
		if got := DirOf(path, "pre-receive"); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// A hook that only looks like a delegate is chained: below it Ward's might never run.
func TestPathNeedsTheDelegatesDirectory(t *testing.T) {
	l := Layout{t.TempDir()}
	path := filepath.Join(l.Dir, "pre-receive")
	gittest.Program(t, path, "#!/bin/sh\nfor f in $CONF.d/*; do . $f; done\n")
	if got := l.Path("pre-receive"); got != path {
		t.Error(got)
	}
	if err := os.Mkdir(path+".d", 0o755); err != nil {
		t.Fatal(err)
	}
	if got := l.Path("pre-receive"); got != path+".d/ward" {
		t.Error(got)
	}
}

// Where nothing is recorded, hooks that run are enough; where init has recorded
// Ward's, anybody else's hook in their place is named.
func TestCheck(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "r.git")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"--git-dir=" + bare}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	says := func(want string) {
		t.Helper()
		err := Check(t.Context(), bare)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	git("init", "-q", "--bare")
	says("does not run")
	for _, name := range Names {
		gittest.Program(t, filepath.Join(bare, "hooks", name), "#!/bin/sh\n")
	}
	says("")
	git("config", "core.hooksPath", "/elsewhere")
	says("git would run /elsewhere/pre-receive")
	git("config", "core.hooksPath", "hooks")
	git("config", Key("post-receive"), "hooks/post-receive")
	says("Ward's hooks have gone: ")
	git("config", Key("post-receive"), "hooks/post-receive.d/ward")
	says("post-receive.d/ward does not run")
	if Gone(t.Context(), bare) != "" {
		t.Error("a repository that is not Ward's has lost something of Ward's")
	}
	says("have gone")
}

// A git that cannot run says nothing of a repository, and is not taken for its answer.
func TestCheckWithoutGit(t *testing.T) {
	bare := t.TempDir()
	if err := Check(t.Context(), bare); err == nil || !strings.Contains(err.Error(), "is not a bare git repository") {
		t.Errorf("an empty directory: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // as a process that may not be started
	if err := Check(ctx, bare); err == nil || strings.Contains(err.Error(), "is not a bare") || !strings.Contains(err.Error(), "git does not answer") {
		t.Errorf("no child: %v", err)
	}
}
