package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"git-ward/internal/cli"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
)

// What differs from run to run.
var (
	times   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	hashes  = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	commits = regexp.MustCompile(`\b[0-9a-f]{12,40}\b`)
	took    = regexp.MustCompile(`\(It took [0-9hms]+;`)
)

const startsAgents = "it builds Ward's binaries and runs an agent for many seconds"

func TestMain(m *testing.M) {
	testscript.Main(cleaner{m}, map[string]func(){
		"ward-agent": func() { cli.Main("ward-agent", run) },
	})
}

// few are the scripts that are played in each tier.
var few = []string{"testdata/turns.txtar", "testdata/exec-done.txtar", "testdata/done.txtar"}

// TestScripts plays testdata/*.txtar against real git. Each script has a bare
// repository remote.git, and its directory pm/ is the PM's clone of it.
func TestScripts(t *testing.T) {
	scripts := few
	if testing.Short() {
		scripts = few[:2]
		t.Logf("SKIPPED in the quick tier: %d of %d scripts, which run git a hundred times each", len(few)-len(scripts), len(few))
	}
	play(t, scripts)
}

func TestScriptsAll(t *testing.T) {
	tier.Full(t, "twenty scripts, which run git a hundred times each")
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	play(t, slices.DeleteFunc(scripts, func(name string) bool { return slices.Contains(few, name) }))
}

func play(t *testing.T, scripts []string) {
	testscript.Run(t, testscript.Params{
		Files:               scripts,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"publish": publish,
			"agent":   agentOnce,
			"norm":    norm,
		},
	})
}

// setup makes the remote and the settings. config.toml is Ward's own; the script
// model is chosen in it, and lines of a file `settings` replace others.
func setup(env *testscript.Env) error {
	work := env.WorkDir
	for k, v := range map[string]string{
		"HOME": work, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": filepath.Join(work, "gitconfig"),
		"GIT_AUTHOR_DATE": "2026-11-21T09:00:00Z", "GIT_COMMITTER_DATE": "2026-11-21T09:00:00Z",
	} {
		env.Setenv(k, v)
	}
	gitconfig := "[user]\n\tname = PM\n\temail = pm@example.org\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(work, "gitconfig"), []byte(gitconfig), 0o644); err != nil {
		return err
	}
	settings, err := os.ReadFile("../../../config.toml")
	if err != nil {
		return err
	}
	text := playing(string(settings))
	changes, _ := os.ReadFile(filepath.Join(work, "settings"))
	for line := range strings.Lines(string(changes)) {
		key, _, _ := strings.Cut(line, "=")
		at := strings.Index(text, "\n[model]\n") // whose keys other sections have, too
		if in := strings.Index(text[at:], "\n"+key+"="); in >= 0 {
			at += in
		} else {
			at = strings.LastIndex(text, "\n"+key+"=")
		}
		end := strings.Index(text[at+1:], "\n") + at + 2
		text = text[:at+1] + line + text[end:]
	}
	if err := os.WriteFile(filepath.Join(work, "config.toml"), []byte(text), 0o644); err != nil {
		return err
	}
	if err := errors.Join(writeMeta(filepath.Join(work, "pm")), writeScripts(work)); err != nil {
		return err
	}
	cmd := exec.Command("git", "init", "--quiet", "--bare", "--template=", "remote.git")
	cmd.Dir, cmd.Env = work, env.Vars
	return cmd.Run()
}

// writeScripts makes NAME, a script for the model, of each file NAME.turns.
func writeScripts(work string) error {
	return filepath.WalkDir(work, func(path string, _ fs.DirEntry, err error) error {
		name, ok := strings.CutSuffix(path, ".turns")
		if err != nil || !ok {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		script, err := modeltest.Turns(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return errors.Join(os.WriteFile(name, []byte(script), 0o644), os.Remove(path))
	})
}

// writeMeta gives the PM's clone its agent_meta.json, unless a script brings one.
func writeMeta(pm string) error {
	path := filepath.Join(pm, "knowledge_core", "agent_meta.json")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(meta), 0o644)
}

// meta is what orientation wants to find (ORI-1).
const meta = `{"name": "test", "limitations": ["none known"]}` + "\n"

// playing are settings with the script model and without the bounded loop: no
// launcher runs here that gives verdicts; sandbox tests the loop.
func playing(settings string) string {
	text := strings.Replace(settings, `name = ""`, `name = "script"`, 1)
	return strings.Replace(text, "\nloop = true\n", "\nloop = false\n", 1)
}

// publish commits all of pm/ and pushes it to main: publish MESSAGE.
func publish(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs("pm")
	for _, step := range [][]string{
		{"init", "--quiet"},
		{"add", "--all"},
		{"commit", "--quiet", "--message", strings.Join(args, " ")},
		{"push", "--quiet", ts.MkAbs("remote.git"), "HEAD:refs/heads/main"},
	} {
		ts.Check(ts.Exec("git", append([]string{"-C", dir}, step...)...))
	}
}

// agentOnce runs the agent until no directive is open: agent [ARGS].
func agentOnce(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec("ward-agent", append([]string{"--bare=remote.git", "--state=state", "--config=config.toml", "--once"}, args...)...)
	if (err != nil) != neg {
		ts.Fatalf("ward-agent: %v", err)
	}
}

// norm replaces in the last stdout what differs from run to run, and compares
// the rest with a file: norm FILE.
func norm(ts *testscript.TestScript, _ bool, args []string) {
	got := []byte(ts.ReadFile("stdout"))
	got = times.ReplaceAll(got, []byte("TIME"))
	got = hashes.ReplaceAll(got, []byte("HASH"))
	got = commits.ReplaceAll(got, []byte("COMMIT"))
	got = took.ReplaceAll(got, []byte("(It took TIME;"))
	if want := ts.ReadFile(args[0]); !bytes.Equal(got, []byte(want)) {
		ts.Fatalf("stdout is not %s:\n%s", args[0], got)
	}
}
