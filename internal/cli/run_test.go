package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// traps is a directory in which a file appears for everything that ran.
type traps struct {
	t   *testing.T
	dir string
}

func newTraps(t *testing.T) *traps {
	tr := &traps{t, t.TempDir()}
	// It takes arguments and input like any hook, filter or helper, says nothing that
	// git could go on with, and fails: what a git that runs it does next is not the point.
	text := "#!/bin/sh\n: > " + tr.dir + "/ran-$(basename \"$0\")\nexit 1\n"
	gittest.Program(t, filepath.Join(tr.dir, "trap"), text)
	return tr
}

// program is a trap of a name.
func (tr *traps) program(name string) string {
	path := filepath.Join(tr.dir, name)
	if err := os.Symlink("trap", path); err != nil && !os.IsExist(err) {
		tr.t.Fatal(err)
	}
	return path
}

// ran lists what ran since it was asked last.
func (tr *traps) ran() (names []string) {
	paths, _ := filepath.Glob(filepath.Join(tr.dir, "ran-*"))
	for _, path := range paths {
		names = append(names, strings.TrimPrefix(filepath.Base(path), "ran-"))
		os.Remove(path)
	}
	return names
}

// hookNames are all that githooks(5) has of a client's.
var hookNames = strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
	pre-rebase post-checkout post-merge pre-push reference-transaction push-to-checkout pre-auto-gc post-rewrite fsmonitor-watchman post-index-change`)

// settings is a git configuration in which everything that git runs is a trap.
func (tr *traps) settings(hooks string) string {
	for _, name := range hookNames {
		os.Symlink(filepath.Join(tr.dir, "trap"), filepath.Join(hooks, name))
	}
	var b strings.Builder
	for _, s := range [][3]string{
		{"core", "fsmonitor", "P"}, {"core", "sshCommand", "P"}, {"core", "askPass", "P"}, {"core", "editor", "P"}, {"core", "pager", "P"},
		{"core", "gitProxy", "P"}, {"core", "alternateRefsCommand", "P"}, {"sequence", "editor", "P"}, {"diff", "external", "P"},
		{`diff "evil"`, "command", "P"}, {`diff "evil"`, "textconv", "P"}, {`filter "evil"`, "clean", "P"}, {`filter "evil"`, "smudge", "P"},
		{`merge "evil"`, "driver", "P"}, {"gpg", "program", "P"}, {`gpg "ssh"`, "program", "P"}, {`gpg "x509"`, "program", "P"},
		{"commit", "gpgSign", "true"}, {"tag", "gpgSign", "true"}, {"push", "gpgSign", "if-asked"}, {"log", "showSignature", "true"},
		{"credential", "helper", "!P"}, {`credential "https://example.org"`, "helper", "!P"},
		{`remote "origin"`, "uploadpack", "P"}, {`remote "origin"`, "receivepack", "P"}, {"uploadpack", "packObjectsHook", "P"},
		{"alias", "status", "!P"}, {"alias", "log", "!P"}, {"alias", "fetch", "!P"}, {"pager", "log", "P"}, {"interactive", "diffFilter", "P"},
		{"submodule", "recurse", "true"}, {`submodule "sub"`, "update", "!P"}, {`trailer "evil"`, "command", "P"}, {`trailer "evil"`, "cmd", "P"},
		{"gc", "recentObjectsHook", "P"}, {"gc", "auto", "1"}, {"protocol", "allow", "always"}, {`protocol "ext"`, "allow", "always"},
		{`hook "evil"`, "command", "P"}, {`hook "evil"`, "event", "pre-commit"}, {"status", "submoduleSummary", "true"}, {"safe", "bareRepository", "all"},
		{"core", "attributesFile", filepath.Join(tr.dir, "attributes")},
	} {
		name := strings.NewReplacer(" ", "-", `"`, "", "/", "", ":", "").Replace(s[0]) + "." + s[1]
		if before, after, ok := strings.Cut(s[2], "P"); ok {
			s[2] = before + tr.program(name) + after
		}
		fmt.Fprintf(&b, "[%s]\n\t%s = %s\n", s[0], s[1], s[2])
	}
	return b.String()
}

// append adds to a file.
func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// plant puts all traps into a git directory: in its config, in a file that this
// includes, in its work tree's own config, as hooks, and as attributes of every file.
func (tr *traps) plant(gitDir string) {
	hooks := filepath.Join(gitDir, "hooks")
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		tr.t.Fatal(err)
	}
	settings := tr.settings(hooks)
	appendTo(tr.t, filepath.Join(gitDir, "config"), settings+"[include]\n\tpath = more\n[extensions]\n\tworktreeConfig = true\n")
	appendTo(tr.t, filepath.Join(gitDir, "more"), settings)
	appendTo(tr.t, filepath.Join(gitDir, "config.worktree"), settings)
	if err := os.MkdirAll(filepath.Join(gitDir, "info"), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	appendTo(tr.t, filepath.Join(gitDir, "info", "attributes"), "* filter=evil diff=evil merge=evil\n")
}

// withUnit lets a unit of D-1 run that then waits for the PM, so that there is
// something to push.
func withUnit(t *testing.T, p *gittest.Pair) {
	t.Helper()
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: say it\n\nNobody says how to tell that it is done.\n\n## Reports\n")
	p.Git("add", "COMMS.md")
	p.Git("commit", "--quiet", "-m", "a directive")
	if out, err := p.Push("HEAD:main"); err != nil {
		t.Fatal(out)
	}
	out, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--once", "--bare", p.Bare, "--state", filepath.Join(t.TempDir(), "state"), "--model", "script")
	if list := p.Run(p.Work, "git-ward", "uow", "show", "--all"); !strings.Contains(list, "D-1.1") {
		t.Fatalf("no unit ran: %v\n%s\n%s", err, out, list)
	}
	p.Git("pull", "--quiet", "--autostash")
}

// TestNothingRuns: no command of `git ward` runs what a clone's settings, hooks and
// attributes name, nor those of a bare repository that a checkout brought (GATE-7).
func TestNothingRuns(t *testing.T) {
	tier.First(t, "every command in a hostile clone, with the built programs")
	nothingRuns(t, ownSettings)
}

// TestNothingRunsAnywhere is TestNothingRuns wherever git finds a repository.
func TestNothingRunsAnywhere(t *testing.T) {
	tier.Full(t, "every command in seven hostile places")
	nothingRuns(t, "")
}

const ownSettings = "a clone with settings of somebody else's"

// nothingRuns tries one place, or all.
func nothingRuns(t *testing.T, only string) {
	for name, place := range map[string]func(t *testing.T, p *gittest.Pair, tr *traps) (dir string, env []string){
		ownSettings: func(t *testing.T, p *gittest.Pair, tr *traps) (string, []string) {
			withUnit(t, p)
			tr.plant(filepath.Join(p.Work, ".git"))
			return p.Work, nil
		},
		"a folder of such a clone": func(t *testing.T, p *gittest.Pair, tr *traps) (string, []string) {
			tr.plant(filepath.Join(p.Work, ".git"))
			return filepath.Join(p.Work, "plans"), nil
		},
		"a bare repository in a checkout": func(t *testing.T, p *gittest.Pair, tr *traps) (string, []string) {
			dir := filepath.Join(p.Work, "vendor", "lib")
			p.Run(p.Work, "git", "clone", "--quiet", "--bare", p.Bare, dir)
			tr.plant(dir)
			appendTo(t, filepath.Join(dir, "config"), "[core]\n\tbare = false\n\tworktree = "+p.Work+"\n")
			return dir, nil
		},
		"a folder below a bare repository in a checkout": func(t *testing.T, p *gittest.Pair, tr *traps) (string, []string) {
			dir := filepath.Join(p.Work, "vendor", "lib")
			p.Run(p.Work, "git", "clone", "--quiet", "--bare", p.Bare, dir)
			tr.plant(dir)
			return filepath.Join(dir, "refs"), nil
		},
		"a .git that points elsewhere": func(t *testing.T, p *gittest.Pair, tr *traps) (string, []string) {
			other := filepath.Join(t.TempDir(), "elsewhere")
			if err := os.Rename(filepath.Join(p.Work, ".git"), other); err != nil {
				t.Fatal(err)
			}
			appendTo(t, filepath.Join(p.Work, ".git"), "gitdir: "+other+"\n")
			tr.plant(other)
			return p.Work, nil
		},
		"GIT_DIR in the environment": func(t *testing.T, p *gittest.Pair, tr *traps) (string, []string) {
			dir := filepath.Join(t.TempDir(), "other")
			p.Run(p.Work, "git", "clone", "--quiet", p.Bare, dir)
			tr.plant(filepath.Join(dir, ".git"))
			return p.Work, []string{"GIT_DIR=" + filepath.Join(dir, ".git"), "GIT_WORK_TREE=" + dir}
		},
		"a working tree without a repository of its own": func(t *testing.T, p *gittest.Pair, tr *traps) (string, []string) {
			tr.plant(filepath.Join(p.Work, ".git"))
			dir := filepath.Join(p.Work, "vendor", "lib")
			if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil { // empty, so git goes up
				t.Fatal(err)
			}
			return dir, nil
		},
	} {
		if only != "" && name != only {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := gittest.New(t)
			tr := newTraps(t)
			appendTo(t, filepath.Join(p.Work, ".gitattributes"), "* filter=evil diff=evil merge=evil\n")
			appendTo(t, filepath.Join(p.Work, "README.md"), "a change\n")
			appendTo(t, filepath.Join(p.Work, "good.udc"), "HALT\n")
			dir, env := place(t, p, tr)
			tr.ran()
			words := map[string]string{"BARE": p.Bare, "STATE": filepath.Join(t.TempDir(), "state"), "WORKTIP": "main", "HOSTILE": "README.md", "TOPIC": "topic", "WORDS": "use the second parser"}
			every(t, p, dir, env, words, func(line, output string) {
				if strings.HasPrefix(line, "uow approve") {
					t.Log(output)
				}
				if ran := tr.ran(); len(ran) > 0 {
					t.Errorf("git ward %s ran %s\n%s", line, strings.Join(ran, ", "), output)
				}
			})
			if name == ownSettings {
				if text := p.Run(p.Bare, "git-ward", "uow", "show", "D-1.1"); !strings.Contains(text, "use the second parser") {
					t.Errorf("no verb of uow pushed: the test proves less than it says\n%s", text)
				}
			}
			tr.work(p, dir, env, strings.HasPrefix(name, "a bare") || strings.HasPrefix(name, "a folder below"))
		})
	}
}

// work proves that the traps are good: git itself, used as people use it, falls into
// them.
func (tr *traps) work(p *gittest.Pair, dir string, env []string, bare bool) {
	for _, line := range []string{"status", "log -1", "diff", "add -A", "commit -m x", "fetch", "push", "show", "ls-files -o"} {
		p.Try(dir, env, "", "git", strings.Fields(line)...)
	}
	ran := tr.ran()
	want := []string{"core.fsmonitor", "filter-evil.clean", "remote-origin.uploadpack"}
	if bare {
		want = []string{"remote-origin.uploadpack"}
	}
	for _, name := range want {
		if !slices.Contains(ran, name) {
			tr.t.Errorf("git did not fall into the trap %s, only into %s: the test proves nothing", name, strings.Join(ran, ", "))
		}
	}
}
