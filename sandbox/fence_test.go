package sandbox

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
)

// testStorage is podman's storage of the tests' own; it stays for the next run.
var testStorage = cmp.Or(os.Getenv(storageVar), "/var/tmp/ward-test-storage")

// fenced makes a repository and the image for launches in real containers.
func fenced(t *testing.T) *gittest.Pair {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, out loud: the fence is tested as root here; rootless podman wants a session of its own")
	}
	for _, program := range []string{"podman", "runc", "mmdebstrap"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED, out loud: %s is not installed; scripts/setup --fence installs it", program)
		}
	}
	p := gittest.New(t)
	p.Env = append(p.Env, storageVar+"="+testStorage)
	p.Run(p.Work, "git-ward", "image", "build")
	return p
}

// in runs a shell command in a fence on the pair's repository.
func in(p *gittest.Pair, stdin, command string) (string, error) {
	p.T.Helper()
	return p.Try(p.Work, nil, stdin, "git-ward", "launch", "--bare", p.Bare, "--state", filepath.Join(filepath.Dir(p.Bare), "state"), "--", "sh", "-c", command)
}

// TestFence is the fence end to end, in containers: a user's command, pushes from
// inside, the probe in both egress modes, and the agent's work on a directive.
func TestFence(t *testing.T) {
	p := fenced(t)
	t.Run("command", func(t *testing.T) { testCommand(t, p) })
	t.Run("push", func(t *testing.T) { testPush(t, p) })
	t.Run("agent", func(t *testing.T) { testAgent(t, p) })
	t.Run("exec", func(t *testing.T) { testExec(t, p) })
	t.Run("probe", func(t *testing.T) { testProbe(t, p) })
	p.Fsck()
}

func testCommand(t *testing.T, p *gittest.Pair) {
	out, err := in(p, "from stdin\n", "cat; echo to stderr >&2; id -u; exit 7")
	var exit *exec.ExitError
	if !asExit(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("exit: %v", err)
	}
	for _, want := range []string{"from stdin\n", "to stderr\n", "1000\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	if out, err := p.Try(p.Work, []string{"ANTHROPIC_API_KEY=a-key-of-the-host"}, "", "git-ward", "launch", "--bare", p.Bare,
		"--state", filepath.Join(filepath.Dir(p.Bare), "state"), "--", "sh", "-c", "env; cat /proc/*/environ; ls -R /ward /bot; true"); err != nil || strings.Contains(out, "a-key-of-the-host") {
		t.Errorf("the host's key is inside: %v\n%s", err, out)
	}
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*exit = e
	return ok
}

// testPush: `git push` inside needs no setting, and has the agent's rights.
func testPush(t *testing.T, p *gittest.Pair) {
	const work = "set -e; cd $(mktemp -d); git clone -q /mnt/remote w; cd w; echo x > file; git add .; git commit -qm work; "
	if out, err := in(p, "", work+"git push origin HEAD:agent/inside"); err != nil || !strings.Contains(out, "refs/heads/agent/inside created") {
		t.Errorf("%v\n%s", err, out)
	}
	for refspec, want := range map[string]string{
		"HEAD:main":                "rights/main",
		"HEAD:refs/tags/v1":        "rights/ref",
		"HEAD:refs/heads/feature":  "rights/ref",
		"HEAD:refs/ward/last-good": "ref/host-only",
	} {
		if out, err := in(p, "", work+"git push origin "+refspec); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", refspec, err, out)
		}
	}
	// The ways out that were proved with a writable mount (FIELD-NOTES).
	for _, escape := range []string{
		"cp /bin/true /mnt/remote/hooks/post-receive",
		"git --git-dir=/mnt/remote config core.hooksPath /tmp",
		"git --git-dir=/mnt/remote update-ref refs/heads/main HEAD~0",
		work + "git push --receive-pack='git -c core.hooksPath=/tmp receive-pack' origin HEAD:main",
	} {
		if out, err := in(p, "", escape); err == nil {
			t.Errorf("%s succeeded:\n%s", escape, out)
		}
	}
}

// testAgent: a directive from push to report, by the script model in the fence.
func testAgent(t *testing.T, p *gittest.Pair) {
	p.Git("fetch", "--quiet")
	p.Git("reset", "--quiet", "--hard", "origin/main")
	comms, err := os.ReadFile(filepath.Join(p.Work, "COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	p.Write("COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### D-1: in the fence\n\nWork.\n\n- [ ] done\n", 1))
	p.Git("commit", "--quiet", "--all", "--message", "D-1")
	p.Git("push", "--quiet", "origin", "main")
	out := p.Run(p.Work, "git-ward", "launch", "--bare", p.Bare, "--once", "--model", "script", "--state", filepath.Join(filepath.Dir(p.Bare), "state"))
	p.Git("fetch", "--quiet")
	if report := p.Git("show", "origin/main:COMMS.md"); !strings.Contains(report, " D-1 DONE\n") {
		t.Errorf("no report:\n%s\n%s", report, out)
	}
}

// testExec: a foreign command line as the worker of a directive, in the fence,
// led to the gateway, with the model's commands led to the proxy.
func testExec(t *testing.T, p *gittest.Pair) {
	config := filepath.Join(p.Bare, "ward/config.toml")
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(config, data, 0o644)
	text := strings.Replace(string(data), "\ncommand = []", `
command = ["sh", "-c", "cat {prompt} > prompt.txt; env | sort > env.txt; id -u > id.txt; git add . && git commit -qm worked"]`, 1)
	text = strings.Replace(text, "\nprompt = \"stdin\"", "\nprompt = \"file\"", 1)
	text = strings.Replace(text, `mode = "public"`, `mode = "allowlist"`, 1)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p.Git("reset", "--quiet", "--hard", "origin/main")
	comms, err := os.ReadFile(filepath.Join(p.Work, "COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	p.Write("COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### D-2: by a command\n\nThe words of D-2.\n\n- [ ] done\n", 1))
	p.Git("commit", "--quiet", "--all", "--message", "D-2")
	p.Git("push", "--quiet", "origin", "main")
	out := p.Run(p.Work, "git-ward", "launch", "--bare", p.Bare, "--once", "--model", "exec", "--state", filepath.Join(filepath.Dir(p.Bare), "state"))
	p.Git("fetch", "--quiet")
	branch := strings.TrimSpace(p.Git("for-each-ref", "--format=%(refname)", "refs/remotes/origin/agent/*"))
	if report := p.Git("show", "origin/main:COMMS.md"); !strings.Contains(report, " D-2 DONE\n") {
		t.Fatalf("no report:\n%s\n%s\n%s", report, branch, out)
	}
	refs := strings.Fields(branch)
	var work string
	for _, ref := range refs {
		if strings.Contains(ref, "D-2") {
			work = ref
		}
	}
	if prompt := p.Git("show", work+":prompt.txt"); !strings.Contains(prompt, "The words of D-2.") {
		t.Errorf("prompt:\n%s", prompt)
	}
	env := p.Git("show", work+":env.txt")
	for _, want := range []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:", "ANTHROPIC_API_KEY=ward\n", "HTTPS_PROXY=http://127.0.0.1:"} {
		if !strings.Contains(env, want) {
			t.Errorf("environment lacks %s:\n%s", want, env)
		}
	}
	if id := p.Git("show", work+":id.txt"); id != "1000\n" {
		t.Errorf("it ran as user %s", id)
	}
}

// testProbe runs every probe from inside, in both modes.
func testProbe(t *testing.T, p *gittest.Pair) {
	config := filepath.Join(p.Bare, "ward/config.toml")
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"public", "allowlist"} {
		text := strings.Replace(string(data), `mode = "public"`, `mode = "`+mode+`"`, 1)
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := p.Try(p.Work, nil, "", "git-ward", "probe", "--bare", p.Bare); err != nil || !strings.Contains(out, " promises tried, 0 broken") {
			t.Errorf("%s: %v\n%s", mode, err, out)
		}
	}
}
