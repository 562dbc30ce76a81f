package sandbox

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
)

// storageVar is the launcher's variable for podman's storage in place of the user's own.
const storageVar = "WARD_PODMAN_STORAGE"

// testStorage is podman's storage of the tests' own; it stays for the next run.
var testStorage = cmp.Or(os.Getenv(storageVar), "/var/tmp/ward-test-storage")

// fenced makes a repository and the image for launches in real containers.
func fenced(t *testing.T) *gittest.Pair {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: the fence's tests make namespaces and an ordinary user, as root")
	}
	for _, program := range []string{"podman", "runc", "mmdebstrap"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed; scripts/setup --fence installs it", program)
		}
	}
	p := gittest.New(t)
	alone(t)
	p.Env = append(p.Env, storageVar+"="+testStorage)
	configtest.Set(t, p.Bare, `state_size = 2_147_483_648`) // of a disk that others share
	p.Run(p.Work, "git-ward", "image", "build")
	return p
}

// TestFence is the fence end to end, in containers: a user's command, pushes from
// inside, the probe in both egress modes, and the agent's work on a directive.
func TestFence(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	t.Run("command", func(t *testing.T) { testCommand(t, m) })
	t.Run("rights", func(t *testing.T) { testRights(t, m) })
	t.Run("agent", func(t *testing.T) { testAgent(t, m, "D-1") })
	t.Run("exec", func(t *testing.T) { testExec(t, m) })
	t.Run("depends", func(t *testing.T) { testDepends(t, m) })
	t.Run("verify", func(t *testing.T) { testVerify(t, m) })
	t.Run("paused verdict", func(t *testing.T) { testPausedVerdict(t, m) })
	t.Run("cache", func(t *testing.T) { testCache(t, m) })
	t.Run("probe", func(t *testing.T) { testProbe(t, m) })
	m.Fsck()
}

func testCommand(t *testing.T, m *machine) {
	out, err := m.in("from stdin\n", "cat; echo to stderr >&2; id -u; exit 7")
	var exit *exec.ExitError
	if !asExit(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("exit: %v", err)
	}
	for _, want := range []string{"from stdin\n", "to stderr\n", "1000\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	if out, err := m.Try(m.Work, []string{"ANTHROPIC_API_KEY=a-key-of-the-host"}, "", "git-ward", "launch", "--bare", m.Bare,
		"--state", filepath.Join(filepath.Dir(m.Bare), "state"), "--", "sh", "-c", "env; cat /proc/*/environ; ls -R /ward /bot; true"); err != nil || strings.Contains(out, "a-key-of-the-host") || !strings.Contains(out, boot.UntilVar+"=2") {
		t.Errorf("the host's key is inside, or the end of the launch's time is not: %v\n%s", err, out)
	}
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*exit = e
	return ok
}

// testAgent: a directive from push to report, by the script model in the fence.
func testAgent(t *testing.T, m *machine, id string) {
	t.Helper()
	m.Git("fetch", "--quiet")
	m.Git("reset", "--quiet", "--hard", "origin/main")
	comms, err := os.ReadFile(filepath.Join(m.Work, "COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	m.Write("COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### "+id+": in the fence\n\nWork.\n\n- [ ] there is a file (`test -s work/"+id+".md`)\n- work: work/"+id+".md\n", 1))
	m.Git("commit", "--quiet", "--all", "--message", id)
	m.Git("push", "--quiet", "origin", "main")
	out := m.Run(m.Work, "git-ward", "launch", "--bare", m.Bare, "--once", "--model", "script", "--state", filepath.Join(filepath.Dir(m.Bare), "state"))
	m.Git("fetch", "--quiet")
	if report := m.Git("show", "origin/main:COMMS.md"); !strings.Contains(report, " "+id+" EXIT_CONVERGED\n") {
		t.Errorf("no report:\n%s\n%s", report, out)
	}
}

// testExec: a foreign command line as the worker of a directive, in the fence,
// led to the gateway, with the model's commands led to the proxy.
func testExec(t *testing.T, m *machine) {
	m.set(`[model] command = ["sh", "-c", "cat {prompt} > prompt.txt; env | sort > env.txt; id -u > id.txt; git add . && git commit -qm worked"]`,
		`prompt = "file"`, `[egress] mode = "allowlist"`)
	defer m.set(`[egress] mode = "public"`)
	m.Git("reset", "--quiet", "--hard", "origin/main")
	comms, err := os.ReadFile(filepath.Join(m.Work, "COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	m.Write("COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### D-2: by a command\n\nThe words of D-2.\n\n- [ ] it has its id (`grep -x 1000 id.txt`)\n- work: id.txt\n", 1))
	m.Git("commit", "--quiet", "--all", "--message", "D-2")
	m.Git("push", "--quiet", "origin", "main")
	out := m.Run(m.Work, "git-ward", "launch", "--bare", m.Bare, "--once", "--model", "exec", "--state", filepath.Join(filepath.Dir(m.Bare), "state"))
	m.Git("fetch", "--quiet")
	branch := strings.TrimSpace(m.Git("for-each-ref", "--format=%(refname)", "refs/remotes/origin/agent/*"))
	if report := m.Git("show", "origin/main:COMMS.md"); !strings.Contains(report, " D-2 EXIT_CONVERGED\n") {
		t.Fatalf("no report:\n%s\n%s\n%s", report, branch, out)
	}
	refs := strings.Fields(branch)
	var work string
	for _, ref := range refs {
		if strings.Contains(ref, "D-2") {
			work = ref
		}
	}
	if prompt := m.Git("show", work+":prompt.txt"); !strings.Contains(prompt, "The words of D-2.") {
		t.Errorf("prompt:\n%s", prompt)
	}
	env := m.Git("show", work+":env.txt")
	for _, want := range []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:", "ANTHROPIC_API_KEY=ward\n", "HTTPS_PROXY=http://127.0.0.1:"} {
		if !strings.Contains(env, want) {
			t.Errorf("environment lacks %s:\n%s", want, env)
		}
	}
	if id := m.Git("show", work+":id.txt"); id != "1000\n" {
		t.Errorf("it ran as user %s", id)
	}
}

// testDepends: what a loop depends on is looked for where the fence has a way out,
// which in allow-list mode is the gateway's proxy (LOOP-9).
func testDepends(t *testing.T, m *machine) {
	m.set(`[egress] mode = "allowlist"`, `allow = ["pkg.example.com"]`)
	defer m.set(`[egress] mode = "public"`, `allow = []`, `depends_on = []`)
	for _, c := range []struct{ directive, on, status, text string }{
		{"D-3", "pkg.example.com:443", "EXIT_CONVERGED", "every criterion is met"},
		{"D-4", "turns.example.com:443", "EXIT_BLOCKED", `turns.example.com:443: the allow list does not let it pass: ward: turns.example.com is refused: the name is not on the list`},
	} {
		m.set(`depends_on = ["` + c.on + `"]`)
		m.Git("fetch", "--quiet")
		m.Git("reset", "--quiet", "--hard", "origin/main")
		comms, err := os.ReadFile(filepath.Join(m.Work, "COMMS.md"))
		if err != nil {
			t.Fatal(err)
		}
		m.Write("COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### "+c.directive+": with others\n\nWork.\n\n- [ ] there is a file (`test -s work/"+c.directive+".md`)\n- work: work/"+c.directive+".md\n", 1))
		m.Git("commit", "--quiet", "--all", "--message", c.directive)
		m.Git("push", "--quiet", "origin", "main")
		out := m.Run(m.Work, "git-ward", "launch", "--bare", m.Bare, "--once", "--model", "script", "--state", filepath.Join(filepath.Dir(m.Bare), "state"))
		m.Git("fetch", "--quiet")
		report := m.Git("show", "origin/main:COMMS.md")
		if _, text, found := strings.Cut(report, " "+c.directive+" "+c.status+"\n"); !found || !strings.Contains(text, c.text) {
			t.Errorf("%s does not end %s:\n%s\n%s", c.directive, c.status, report, out)
		}
	}
}

// testProbe runs every probe from inside, in both modes.
func testProbe(t *testing.T, m *machine) {
	for _, mode := range []string{"public", "allowlist"} {
		m.set(`[egress] mode = "` + mode + `"`)
		out, err := m.Try(m.Work, nil, "", "git-ward", "probe", "--bare", m.Bare)
		t.Logf("%s:\n%s", mode, out)
		if err != nil || !strings.Contains(out, " promises tried, 0 broken") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
