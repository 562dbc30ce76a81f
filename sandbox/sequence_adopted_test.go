package sandbox

import (
	"path/filepath"
	"testing"

	"git-ward/internal/gittest"
)

// newScene is a repository that Ward made, or one that it adopted (CTRL-1): a project
// with a default branch of its own and files that are called as Ward's are.
func newScene(t *testing.T, adopted bool) *scene {
	t.Helper()
	if !adopted {
		pair := gittest.New(t)
		b := branch{"main", pair.Work}
		return &scene{host: newHost(t, pair), project: b, control: b}
	}
	dir := t.TempDir()
	env, err := gittest.Environ(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &gittest.Pair{T: t, Bare: filepath.Join(dir, "remote.git"), Work: filepath.Join(dir, "work"), Env: env}
	p.Run(dir, "git", "init", "--quiet", "--bare", "--initial-branch=master", p.Bare)
	p.Run(dir, "git", "clone", "--quiet", p.Bare, p.Work)
	for name, content := range theirs {
		p.Write(name, content)
	}
	p.Git("add", "--all", "--force")
	p.Git("commit", "--quiet", "--message", "the project as it was")
	p.Git("push", "--quiet", "origin", "HEAD:master")
	p.Run(dir, "rm", "-r", p.Work)
	p.Run(dir, "git-ward", "init", "--bare", p.Bare)
	p.Run(dir, "git-ward", "clone", p.Bare, p.Work)
	return &scene{host: newHost(t, p), project: branch{"master", p.Work}, control: branch{"ward", p.Work + ".ward"}}
}

// theirs are files of an adopted project that have names of Ward's, or of its kind.
var theirs = map[string]string{
	"VERSION": "v2.0.0\n", "AGENTS.md": "Be brief.\n", "LEARNINGS.md": "# What we learned\n", "plans/2027.md": "# Plans\n", "logs/README.md": "Logs go here.\n",
	"evidence/D-1/loop/manifest.json": "{}\n", "postmortems/outage.md": "# The outage\n", "protocols/http.go": "package protocols\n", ".gitignore": "*.o\n", "COMMS.md": "# Communications\n",
}
