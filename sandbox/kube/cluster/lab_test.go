package cluster_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// labVar names the directory of a cluster for tests that is up: kubectl, state/kubeconfig,
// the socket of containerd, and the network namespace wardkube with the node in it.
const labVar = "WARD_KUBE_LAB"

// The lab's network: the node's address, which pods reach, and its namespace.
const (
	nodeAddr = "198.51.100.1"
	gatePort = "2222"
	netns    = "/run/netns/wardkube"
)

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// lab is the cluster and a gate beside it.
type lab struct {
	t    *testing.T
	dir  string // WARD_KUBE_LAB
	home string // of this test: repository, keys, sshd's files
	env  []string
	user []string // of the launcher besides: whose rights it has in the cluster
}

func newLab(t *testing.T) *lab {
	t.Helper()
	tier.First(t, "a directive in a cluster takes half a minute")
	dir := os.Getenv(labVar)
	if dir == "" {
		t.Skip("SKIPPED: no Kubernetes here: " + labVar + " names the directory of one that is up (scripts/test kube)")
	}
	if !filepath.IsAbs(dir) {
		t.Fatalf("%s=%s is not absolute", labVar, dir)
	}
	home, err := os.MkdirTemp("", "ward-kube-") // sshd and the agent's pods are other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, dir: dir, home: home}
	if l.env, err = gittest.Environ(home); err != nil {
		t.Fatal(err)
	}
	l.write("bin/kubectl", "#!/bin/sh\nexec nsenter --net="+netns+" "+dir+"/kubectl --kubeconfig \"${WARD_TEST_KUBECONFIG:-"+dir+"/state/kubeconfig}\" \"$@\"\n", 0o755)
	for i, v := range l.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			l.env[i] = "PATH=" + filepath.Join(home, "bin") + ":" + path + ":" + os.Getenv("PATH")
		}
	}
	if out, err := l.try("kubectl uncordon lab"); err != nil { // a test that was killed had drained it
		t.Fatalf("the lab in %s is not up: %s", dir, out)
	}
	// Its kubelet has no address to tell of a node on loopback.
	l.sh(`kubectl patch node lab --subresource=status --type=merge -p '{"status":{"addresses":[{"type":"InternalIP","address":"` + nodeAddr + `"}]}}'`)
	l.image()
	return l
}

func (l *lab) write(name, text string, mode os.FileMode) string {
	l.t.Helper()
	path := filepath.Join(l.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		l.t.Fatal(err)
	}
	return path
}

// try runs a script in the lab's home.
func (l *lab) try(script string) (string, error) {
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir, cmd.Env = l.home, l.env
	out, err := await.Output(l.t, cmd)
	return strings.TrimSpace(out), err
}

func (l *lab) sh(script string) string {
	l.t.Helper()
	out, err := l.try(script)
	if err != nil {
		l.t.Fatalf("%v: %s\n%s", err, script, out)
	}
	return out
}

// image makes the image of these programs, and gives it to the node, once.
func (l *lab) image() {
	l.t.Helper()
	ctr := "ctr -a " + l.dir + "/state/ctd/s.sock -n k8s.io images"
	name := l.sh("git-ward image build --pod 2>image.log || { cat image.log; exit 1; }")
	if !strings.Contains(l.sh(ctr+" ls -q"), name) {
		l.sh("podman save -q -o image.tar " + name + " && " + ctr + " import image.tar >/dev/null; rm -f image.tar")
	}
}

// empty takes an earlier test's namespace away, with all that is in it or still goes.
func (l *lab) empty() {
	l.t.Helper()
	l.sh("kubectl delete namespace ward --ignore-not-found --wait=false")
	await.True(l.t, "the namespace's end", func() bool {
		out, err := l.try("kubectl get namespace ward --ignore-not-found -o name")
		return err == nil && out == ""
	})
}

// namespace makes what docs/cluster.md shows.
func (l *lab) namespace() {
	l.t.Helper()
	l.empty()
	l.write("ward.yaml", document(l.t, "```yaml file=ward.yaml\n")[0], 0o644)
	l.sh("kubectl apply -f ward.yaml >/dev/null")
}

// document gives the blocks of docs/cluster.md that begin so.
func document(t *testing.T, opening string) (blocks []string) {
	t.Helper()
	for _, part := range strings.Split(whole(t), opening)[1:] {
		text, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, text)
	}
	if len(blocks) == 0 {
		t.Fatalf("docs/cluster.md has no %q", opening)
	}
	return blocks
}

// whole is docs/cluster.md.
func whole(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// launcherConfig is the kubeconfig of a user with the rights of docs/cluster.md and no more.
func (l *lab) launcherConfig() {
	l.t.Helper()
	data, err := os.ReadFile(l.dir + "/state/kubeconfig")
	if err != nil {
		l.t.Fatal(err)
	}
	text := strings.Replace(string(data), "user: {token:", "user: {as: ward-launcher, token:", 1)
	l.user = []string{"WARD_TEST_KUBECONFIG=" + l.write("kubeconfig", text, 0o600)}
}

// gate is a repository with directives that a script works on, and an sshd in front of it.
type gate struct {
	*lab
	bare string
	sshd *exec.Cmd
}

// untilGo has an agent wait until release: for a branch in the mirror that it reads.
const untilGo = "until [ -e /mnt/remote/refs/heads/go ]; do sleep 0.2; done"

// release lets the agents go on that wait for it, in whatever pod.
func (g *gate) release() {
	g.t.Helper()
	g.sh("git -C work push -q origin HEAD:refs/heads/go")
}

// newGate has a directive whose agent runs a command before it writes what is asked for.
func (l *lab) newGate(command string) *gate {
	l.t.Helper()
	g := &gate{lab: l, bare: filepath.Join(l.home, "project.git")}
	l.sh("ssh-keygen -q -t ed25519 -N '' -f host")
	l.sh("git-ward init --bare project.git && git-ward clone project.git work")
	l.write("directive", "### D-1: say hello\n\nWrite hello.txt.\n\n- [ ] it says so (`grep -x hello hello.txt`)\n- work: hello.txt\n- max_iterations: 3\n", 0o600)
	l.sh("cd work && git-ward directive new -F ../directive")
	text, err := json.Marshal(command)
	if err != nil {
		l.t.Fatal(err)
	}
	l.write("work/script.jsonl", `{"directive":"D-1","text":"I do it.","calls":[{"name":"bash","args":{"command":`+string(text)+
		`}},{"name":"write_file","args":{"path":"hello.txt","content":"hello\n"}}]}`+"\n"+`{"directive":"D-1","text":"It is there."}`+"\n", 0o644)
	l.sh("cd work && git pull -q && git add script.jsonl && git commit -qm script && git push -q")
	configtest.Set(g.t, g.bare, `[kube] gate = "ssh://root@`+nodeAddr+":"+gatePort+g.bare+`"`)
	configtest.Set(g.t, g.bare, `[kube] host_key_file = "`+l.home+`/host.pub"`)
	configtest.Set(g.t, g.bare, `[model] name = "script"`)
	configtest.Set(g.t, g.bare, `[sandbox] cpus = 0.3`) // a node of two
	configtest.Set(g.t, g.bare, `[sandbox] memory = 268_435_456`)
	l.write("sshd_config", strings.Join([]string{
		"ListenAddress " + nodeAddr + ":" + gatePort, "HostKey " + l.home + "/host", "AuthorizedKeysFile " + g.bare + "/ward/authorized_keys",
		"PidFile none", "StrictModes no", "PasswordAuthentication no", "PermitRootLogin forced-commands-only", "UsePAM no", "SetEnv HOME=" + l.home, "PermitUserRC no", "MaxStartups 100", "LogLevel VERBOSE", "",
	}, "\n"), 0o600)
	g.serve()
	return g
}

// serve starts the gate's sshd, in the node's namespace.
func (g *gate) serve() {
	g.t.Helper()
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // sshd wants it, and only its service makes it
		g.t.Fatal(err)
	}
	g.sshd = exec.Command("nsenter", "--net="+netns, "/usr/sbin/sshd", "-D", "-f", g.home+"/sshd_config", "-E", g.home+"/sshd.log")
	g.sshd.Env = g.env
	g.sshd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // the next run's listens there, too
	if err := g.sshd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(g.shut)
	await.True(g.t, "sshd listens at "+nodeAddr+", which the lab's node has once it is up", func() bool {
		_, err := g.try("nsenter --net=" + netns + " bash -c 'exec 3<>/dev/tcp/" + nodeAddr + "/" + gatePort + "'")
		return err == nil
	})
}

// shut ends sshd, and the sessions that it has.
func (g *gate) shut() {
	for _, pid := range g.children(g.sshd.Process.Pid) {
		exec.Command("kill", "-9", pid).Run()
	}
	g.sshd.Process.Kill()
	g.sshd.Wait()
}

// children are the processes below one.
func (l *lab) children(pid int) (all []string) {
	out, _ := exec.Command("pgrep", "-P", fmt.Sprint(pid)).Output()
	for _, child := range strings.Fields(string(out)) {
		var n int
		fmt.Sscan(child, &n)
		all = append(append(all, l.children(n)...), child)
	}
	return all
}

// launcher is a `git ward launch` that goes on.
type launcher struct {
	cmd   *exec.Cmd
	said  bytes.Buffer
	ended chan error // how it ended
}

func (g *gate) launch(args ...string) *launcher {
	g.t.Helper()
	r := &launcher{ended: make(chan error, 1), cmd: exec.CommandContext(g.t.Context(), "bash", "-c", "exec git-ward launch --engine kube --bare "+g.bare+" "+strings.Join(args, " "))}
	r.cmd.Dir, r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = g.home, slices.Concat(g.env, g.user), &r.said, &r.said
	r.cmd.Cancel = func() error { return r.cmd.Process.Signal(os.Interrupt) }
	r.cmd.WaitDelay = 30 * time.Second // of a launch that did not end cleanly
	if err := r.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		r.ended <- r.cmd.Wait()
		close(gone)
	}()
	g.t.Cleanup(func() { <-gone })
	return r
}

// end waits for the launch's own end.
func (g *gate) end(r *launcher) {
	g.t.Helper()
	if err := await.Value(g.t, "the end of the launch", r.ended); err != nil {
		g.t.Fatalf("%v\n%s\n%s\n%s", err, tail(r.said.String()), g.status(), g.lookAround())
	}
}

func (g *gate) status() string {
	out, _ := g.try("git-ward status --bare project.git")
	return out
}

// lookAround is what the cluster has to say of a test that fails.
func (l *lab) lookAround() string {
	out, _ := l.try("kubectl get jobs,pods -n ward; kubectl get events -n ward --sort-by=.lastTimestamp | tail -n 15; for f in /var/log/pods/ward_ward-project-*/*/*.log; do echo == $f; tail -n 5 $f | cut -c1-300; done")
	return out
}

// tail is the end of what was said, without the lines for machines.
func tail(s string) string {
	var all []string
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "ward-live ") {
			all = append(all, line)
		}
	}
	return strings.Join(all[max(0, len(all)-25):], "")
}
