package command_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// script says hello, for two directives.
const script = `{"directive":"D-1","text":"I write it.","calls":[{"name":"write_file","args":{"path":"hello.txt","content":"hello\n"}}]}
{"directive":"D-1","text":"hello.txt says hello."}
{"directive":"D-2","text":"I write it.","calls":[{"name":"write_file","args":{"path":"bye.txt","content":"bye\n"}}]}
{"directive":"D-2","text":"bye.txt says bye."}
`

const wanted = "say hello\n\n- [ ] it does (`grep -q hello hello.txt`)\n- work: hello.txt\n"

// person is somebody who tries Ward in a directory with blanks in its name.
type person struct {
	*gittest.Pair
	clone, script string
}

func newPerson(t *testing.T) *person {
	p := &person{Pair: &gittest.Pair{T: t}, clone: filepath.Join(t.TempDir(), "my project"), script: filepath.Join(t.TempDir(), "script.jsonl")}
	var err error
	if p.Env, err = gittest.Environ(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p.clone, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.script, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	p.git("init", "--quiet", "--initial-branch=master")
	p.git("remote", "add", "origin", "https://example.org/project.git")
	return p
}

func (p *person) git(args ...string) string { p.T.Helper(); return p.Run(p.clone, "git", args...) }

func (p *person) commit(name, text string) {
	p.T.Helper()
	if err := os.WriteFile(filepath.Join(p.clone, name), []byte(text), 0o644); err != nil {
		p.T.Fatal(err)
	}
	p.git("add", name)
	p.git("commit", "--quiet", "-m", name)
}

// try is `git ward try` in the clone.
func (p *person) try(args ...string) (string, error) {
	p.T.Helper()
	return p.Try(p.clone, nil, "", "git-ward", append([]string{"try"}, args...)...)
}

// all is what git knows of the clone, its settings and its working tree.
func (p *person) all() string {
	p.T.Helper()
	return p.git("for-each-ref") + p.git("config", "--local", "--list") + p.git("status", "--porcelain", "--ignored") +
		p.git("count-objects", "-v") + p.git("reflog") + p.Run(p.clone, "find", ".git", "-type", "f", "-printf", "%p %m\n")
}

// TestTry is story 39: from a clone that knows nothing of origin's HEAD to a reviewed change, a
// second directive with a commit more, and no trace of it in the end.
func TestTry(t *testing.T) {
	tier.First(t, "an agent works on two directives")
	p := newPerson(t)
	p.commit("README", "a project\n")
	secret, err := p.Try(p.clone, nil, "a key\n", "git", "hash-object", "-w", "--stdin") // as of a file that was staged, and is not any more
	if err != nil {
		t.Fatal(secret, err)
	}
	p.git("config", "user.name", "Robin")
	p.Env = slices.DeleteFunc(p.Env, func(v string) bool {
		return strings.HasPrefix(v, "GIT_AUTHOR") || strings.HasPrefix(v, "GIT_COMMITTER")
	})
	p.git("config", "user.email", "robin@example.org")
	before := p.all()
	if out, err := p.try("--unfenced", "--script", p.script, "-m", wanted); err != nil {
		t.Fatal(err, out)
	} else {
		gittest.InOrder(t, out, "A script works, on master", "$ git ward init", "$ git ward directive new", "$ git ward launch",
			"$ git ward review D-1", "proved: ", "+hello", "try: type what is next in", "git ward take D-1")
	}
	if after := p.all(); after != before {
		t.Errorf("the clone was\n%s\nand is\n%s", before, after)
	}
	if out, err := p.Try(p.clone, nil, "", "git", "--git-dir="+p.clone+".try/project.git", "cat-file", "-e", strings.TrimSpace(secret)); err == nil {
		t.Errorf("what no branch has is there: %s", out)
	}
	p.Run(p.clone+".try/work", "git-ward", "take", "D-1")
	if name := p.Run(p.clone+".try/work", "git", "log", "-1", "--format=%cn", "origin/master"); name != "Robin\n" {
		t.Errorf("it is taken by %q", name)
	}
	p.git("branch", "other")
	p.git("symbolic-ref", "HEAD", "refs/heads/other")
	if out, err := p.try("--unfenced", "--script", p.script, "-m", wanted); err == nil || !strings.Contains(out, "git switch master") {
		t.Errorf("another branch: %v: %s", err, out)
	}
	p.git("symbolic-ref", "HEAD", "refs/heads/master")
	p.git("pull", "--quiet", p.clone+".try/project.git", "master")
	if text, err := os.ReadFile(filepath.Join(p.clone, "hello.txt")); string(text) != "hello\n" {
		t.Errorf("what was taken is not in the clone: %q, %v", text, err)
	}
	p.commit("NEWS", "by the person\n")
	next := "say bye\n\n- [ ] it does (`grep -q person NEWS && grep -q bye bye.txt`)\n- work: bye.txt\n"
	if out, err := p.try("--unfenced", "--script", p.script, "-m", next); err != nil || !strings.Contains(out, "git ward review D-2") || !strings.Contains(out, "proved: ") {
		t.Errorf("%v: %s", err, out)
	}
	before = p.all()
	if out, err := p.try("--remove"); err != nil || !strings.Contains(out, "removed") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Lstat(p.clone + ".try"); !os.IsNotExist(err) {
		t.Errorf("it is there still: %v", err)
	}
	if after := p.all(); after != before {
		t.Errorf("the clone was\n%s\nand is\n%s", before, after)
	}
}

// TestTryWithoutWork: an agent that could do nothing leaves nothing to review, and the try says
// why and fails; once the reason is gone, --again goes on with the same directive.
func TestTryWithoutWork(t *testing.T) {
	tier.First(t, "an agent works twice")
	p := newPerson(t)
	p.commit("README", "a project\n")
	broken := p.script + ".broken"
	if err := os.WriteFile(broken, []byte(`{"directive":"D-1","text":"I try.","calls":[{"name":"bash","args":{"command":"nonesuch"}}]}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := p.try("--unfenced", "--script", broken, "-m", wanted)
	if err == nil {
		t.Error("it succeeds without work")
	}
	again := "git ward try --script " + p.script + " --unfenced --again"
	gittest.InOrder(t, strings.ReplaceAll(out, broken, p.script), "there is no work on D-1 yet", "$ git ward status", "waits for you: D-1.1", "nonesuch: ", again)
	p.Run(p.clone+".try/work", "git-ward", "uow", "clarify", "D-1.1", "-m", "nonesuch is not needed")
	out, err = p.try("--again", "--unfenced", "--script", p.script)
	if err != nil || !strings.Contains(out, "proved: ") {
		t.Errorf("%v: %s", err, out)
	}
	if strings.Contains(out, "directive new") {
		t.Errorf("a second directive is pushed: %s", out)
	}
	const nothing = "no directive waits for the agent"
	if strings.Contains(out, nothing) {
		t.Errorf("one waited: %s", out)
	}
	if out, err = p.try("--again", "--unfenced", "--script", p.script); err != nil || !strings.Contains(out, nothing) {
		t.Errorf("nothing is left to do: %v: %s", err, out)
	}
}

// TestKilledTry: a try that is killed, and its launch with it, goes on as if it had not been.
func TestKilledTry(t *testing.T) {
	tier.Full(t, "an agent works, and is killed three times")
	p := newPerson(t)
	p.commit("README", "a project\n")
	for _, made := range []string{"project.git", "work.ward/.git", "state"} {
		cmd := p.Command(p.clone, nil, "git-ward", "try", "--unfenced", "--script", p.script, "-m", wanted)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await.True(t, made, func() bool { _, err := os.Stat(filepath.Join(p.clone+".try", made)); return err == nil })
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		await.Exit(t, cmd)
	}
	if out, err := p.try("--unfenced", "--script", p.script, "-m", "say bye\n\n- [ ] it does (`grep -q hello hello.txt`)\n- after: D-1\n"); err != nil {
		t.Fatal(err, out)
	}
	if out := p.Run(p.clone+".try/work", "git-ward", "review", "D-1"); !strings.Contains(out, "proved: ") {
		t.Errorf("the directive of the try that was killed: %s", out)
	}
	p.Run(p.clone, "git-ward", "fsck", p.clone+".try/project.git")
	if out, err := p.try("--remove"); err != nil {
		t.Error(err, out)
	}
}

// TestTryOnWard: the project's own branch has the name that Ward's documents take elsewhere.
func TestTryOnWard(t *testing.T) {
	tier.First(t, "an agent works on a directive")
	p := newPerson(t)
	p.commit("README", "a project\n")
	p.git("branch", "--move", "ward")
	bare := filepath.Join(p.clone+".try", "project.git")
	args := []string{"--unfenced", "--script", p.script, "-m", wanted}
	if out, err := p.try(args...); err == nil || !strings.Contains(out, "init --bare --control NAME") {
		t.Fatal(err, out)
	}
	if out := p.Run(p.clone, "git-ward", "init", "--bare", "--control", "papers", bare); !strings.Contains(out, "next: git ward clone --control papers ") {
		t.Error(out)
	}
	if out, err := p.try(args...); err != nil || !strings.Contains(out, "proved: ") {
		t.Error(err, out)
	}
}

// TestTryRefuses: what cannot work is said before anything is made.
func TestTryRefuses(t *testing.T) {
	tier.First(t, "it runs git-ward")
	p := newPerson(t)
	outside := t.TempDir()
	refused := func(dir, words string, args ...string) {
		t.Helper()
		out, err := p.Try(dir, []string{"ANTHROPIC_API_KEY=", "OPENAI_API_KEY="}, "", "git-ward", append([]string{"try"}, args...)...)
		if err == nil || !strings.Contains(out, words) || !strings.Contains(out, "hint: ") && !strings.Contains(out, "usage: ") {
			t.Errorf("%q: %v: %s, want %q and what mends it", args, err, out, words)
		}
		if _, err := os.Lstat(p.clone + ".try"); err == nil {
			t.Errorf("%q: something was made", args)
		}
	}
	refused(outside, "is not in a git repository", "-m", "x")
	refused(p.clone, "has no commit yet", "-m", wanted, "--script", p.script)
	p.commit("README", "a project\n")
	refused(p.clone, "no agent can work here", "-m", "x")
	refused(p.clone, "there is no model gpt", "-m", "x", "--model", "gpt")
	refused(p.clone, "needs --id MODEL", "-m", "x", "--model", "anthropic")
	refused(p.clone, "say what you want", "--script", p.script)
	refused(p.clone, "no such file", "-m", wanted, "--script", p.script+".gone", "--unfenced")
	refused(p.clone, "line 1 of ", "-m", wanted, "--script", filepath.Join(p.clone, "README"), "--unfenced")
	refused(p.clone, "neither -m nor --criterion", "--again", "-m", "x", "--script", p.script)
	refused(p.clone, "no command decides when it is done", "-m", "x\n\n- [a link](x)", "--script", p.script)
	refused(p.clone, "--unfenced is for a script only", "-m", "x", "--unfenced")
	refused(p.clone, "lies in your clone", "-m", wanted, "--script", p.script, "--dir", "below")
	refused(p.clone, "is not empty", "-m", wanted, "--script", p.script, "--unfenced", "--dir", filepath.Dir(p.script))
	refused(p.clone, "without backticks", "-m", "x", "--criterion", "echo `date`")
	refused(p.clone, "without backticks", "-m", "x", "--criterion", " ")
	if out, err := p.try("--remove", "--dir", filepath.Dir(p.script)); err == nil || !strings.Contains(out, "does not belong to a try") {
		t.Errorf("a person's directory: %v: %s", err, out)
	}
	if _, err := os.Stat(p.script); err != nil {
		t.Error(err)
	}
	shallow := filepath.Join(outside, "shallow")
	p.commit("NEWS", "more\n")
	p.git("clone", "--quiet", "--depth=1", "file://"+p.clone, shallow)
	refused(shallow, "is shallow", "-m", wanted, "--script", p.script)
	partial, bare := filepath.Join(outside, "partial"), filepath.Join(outside, "bare.git")
	p.git("config", "uploadpack.allowFilter", "true")
	p.git("clone", "--quiet", "--filter=blob:none", "--no-checkout", "file://"+p.clone, partial)
	refused(partial, "is a partial clone", "-m", wanted, "--script", p.script, "--unfenced")
	p.git("clone", "--quiet", "--bare", p.clone, bare)
	refused(bare, "is in a bare repository, and", "-m", wanted, "--script", p.script)
	refused(filepath.Join(p.clone, ".git"), "in no working tree", "-m", wanted, "--script", p.script)
	p.git("config", "remote.origin.promisor", "true")
	tree := strings.TrimSpace(p.git("rev-parse", "HEAD^{tree}"))
	object := filepath.Join(p.clone, ".git", "objects", tree[:2], tree[2:])
	data, err := os.ReadFile(object)
	if err == nil {
		err = errors.Join(os.Chmod(object, 0o644), os.WriteFile(object, []byte("damaged"), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := p.try("-m", wanted, "--script", p.script, "--unfenced"); err == nil || strings.Contains(out, "partial clone") || !strings.Contains(out, tree) {
		t.Errorf("a damaged object: %v: %s", err, out)
	}
	if err := os.WriteFile(object, data, 0o644); err != nil {
		t.Fatal(err)
	}
	p.git("switch", "--quiet", "--detach")
	refused(p.clone, "on no branch", "-m", wanted, "--script", p.script)
}
