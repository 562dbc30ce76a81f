package podman_test

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/process"
	"git-ward/internal/tier"
	"git-ward/sandbox/podman"
)

func TestOrder(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "order")
	c, err := e.Create(t.Context(), spec(t, "echo ran; exec sleep 60"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := c.Init(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ns, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/net")
	host, _ := os.Readlink("/proc/self/ns/net")
	if err != nil || ns == host {
		t.Fatalf("no network namespace of its own before the start: %s, host %s, %v", ns, host, err)
	}
	if comm, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm"); !strings.Contains(string(comm), "runc") {
		t.Errorf("the payload runs before the start: %s", comm)
	}
	said, out := io.Pipe()
	c.Attach(t.Context(), podman.Streams{Stdout: out})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/net"); now != ns {
		t.Errorf("the payload is in %s, the rules in %s", now, ns)
	}
	if err := c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "once") {
		t.Errorf("a second start: %v", err)
	}
	// A payload that has begun has not yet spoken.
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || line != "ran\n" {
		t.Errorf("said %q, %v", line, err)
	}
	if err := c.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if err := c.Start(t.Context()); err == nil {
		t.Error("a second start after the end")
	}
	if code, err := c.Wait(t.Context()); err != nil || code != 137 {
		t.Errorf("stopped: exit %d, %v", code, err)
	}
	if err := c.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}

// A start without Init is refused, and the container gone.
func TestStartWithoutInit(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "noinit")
	c, err := e.Create(t.Context(), spec(t, "true"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "not initialized") {
		t.Error(err)
	}
	if _, err := c.Inspect(t.Context()); err == nil {
		t.Error("the container is still there")
	}
}

func TestInside(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "inside")
	s := spec(t, `
		grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\t'
		id -u; hostname; ulimit -Sn; ulimit -Hn
		while read -r _ _ _ _ at options _; do case $options in rw*) find "$at" -xdev -type d 2>/dev/null ;; esac; done </proc/self/mountinfo |
			sort -u | while read -r d; do case $d in /tmp* | /bot*) ;; *) (: >"$d/x") 2>/dev/null && echo "writable: $d" ;; esac; done
		touch /tmp/x /bot/x && echo "fine"
		head -c 20000000 /dev/zero >/bot/big 2>/dev/null || echo "full at $(stat -c %s /bot/big)"
		find / -xdev -perm /6000 -type f
		cat /etc/hosts /etc/resolv.conf
		cat /mnt/bound/file
		touch /mnt/bound/x 2>/dev/null && echo "bind is writable"
		env | sort
		exit 7`)
	dir := t.TempDir()
	os.Chmod(dir, 0o755)
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("bound\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HTTP_PROXY", "http://secret")
	s.Env = map[string]string{"WARD": "1"}
	s.Mounts = append(s.Mounts,
		podman.Mount{Kind: podman.Bind, Source: dir, Target: "/mnt/bound", ReadOnly: true},
		podman.Mount{Kind: podman.Tmpfs, Target: "/mnt/remote", Size: 4096, ReadOnly: true})
	out, errs, code := output(t, e, s, "")
	if code != 7 {
		t.Errorf("exit %d: %s", code, errs)
	}
	zero := "0000000000000000"
	for _, want := range []string{
		"CapInh:" + zero, "CapPrm:" + zero, "CapEff:" + zero, "CapBnd:" + zero, "CapAmb:" + zero,
		"NoNewPrivs:1", "Seccomp:2", "\n1000\nward\n1024\n1024\n", "fine\nfull at 8388608\n127.0.0.1 localhost\n::1 localhost\nbound\n",
		"HOME=/bot\n", "WARD=1\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s%s", want, out, errs)
		}
	}
	for _, not := range []string{"writable", "secret"} {
		if strings.Contains(out, not) {
			t.Errorf("%q in:\n%s", not, out)
		}
	}
}

func TestCapabilities(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "caps")
	s := spec(t, "grep -E '^Cap(Bnd|Eff):' /proc/self/status | tr -d '\t'")
	s.User, s.Caps = "0:0", []string{"SETUID", "setgid", "CAP_KILL"}
	out, _, _ := output(t, e, s, "")
	if want := "CapEff:00000000000000e0\nCapBnd:00000000000000e0\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
}

func TestStreams(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "streams")
	s := spec(t, "cat; echo -n err >&2")
	s.Stdin = true
	// The middle would be podman's detach keys.
	in := strings.Repeat("0123456789abcde\n", 1<<16) + "\x10\x11" + strings.Repeat("fedcba987654321\n", 1<<14)
	out, errs, code := output(t, e, s, in)
	if out != in || errs != "err" || code != 0 {
		t.Errorf("%d of %d bytes, stderr %q, exit %d", len(out), len(in), errs, code)
	}
	for i := range 20 {
		if out, _, _ := output(t, e, spec(t, "echo short"), ""); out != "short\n" {
			t.Fatalf("run %d: %q", i, out)
		}
	}
}

// A fork bomb of one line stops at the limit, by the cgroup or without.
func TestProcesses(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "processes")
	s := spec(t, "")
	// dash, because bash waits and tries again; all in one process from there on.
	s.Command = []string{"/bin/sh", "-c", "(i=0; while [ $i -lt 900 ]; do sleep 2 & i=$((i+1)); done) 2>/dev/null; set -- /proc/[0-9]*; echo $#"}
	most := 64
	if os.Geteuid() != 0 {
		most += 512 // a loose limit, but one
	}
	out, errs, _ := output(t, e, s, "")
	if n, err := strconv.Atoi(strings.TrimSpace(out)); err != nil || n > most || n < 50 {
		t.Errorf("%q processes, at most %d wanted: %s", out, most, errs)
	}
}

func TestPublicNetwork(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "public")
	s := spec(t, "cat /etc/resolv.conf; cat /proc/net/route | wc -l")
	s.Network = podman.NetworkPublic
	out, errs, code := output(t, e, s, "")
	if code != 0 || strings.TrimSpace(out) == "1" {
		t.Errorf("no route: %q %q", out, errs)
	}
}

func TestWarnings(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "warnings")
	c, err := e.Create(t.Context(), spec(t, "true"))
	if err != nil {
		t.Fatal(err)
	}
	_, noV2 := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	if ignored := e.Rootless() && noV2 != nil; ignored != (len(c.Warnings) > 0) {
		t.Errorf("rootless %v, %v: %q", e.Rootless(), noV2, c.Warnings)
	}
	if err := c.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDisk(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "disk")
	file := filepath.Join(t.TempDir(), "bot.img")
	s := spec(t, "cat kept 2>/dev/null; echo kept >kept; head -c 30000000 /dev/zero >big 2>/dev/null || echo full; rm -f big")
	s.Mounts[1] = podman.Mount{Kind: podman.Disk, Source: file, Target: "/bot", Size: 16 << 20, Owner: 1000}
	if os.Geteuid() != 0 {
		if _, err := e.Create(t.Context(), s); err == nil || !strings.Contains(err.Error(), "ordinary user") {
			t.Error(err)
		}
		return
	}
	for i, want := range []string{"full\n", "kept\nfull\n"} {
		if out, errs, _ := output(t, e, s, ""); out != want {
			t.Errorf("run %d: %q %q", i, out, errs)
		}
	}
}

// An engine that closes leaves nothing; one that sweeps finds what is left.
func TestClose(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "close")
	other := connect(t, "close")
	c, err := other.Create(t.Context(), spec(t, "sleep 60"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := other.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("swept %d of its own: %v", n, err)
	}
	start := time.Now()
	if n, err := e.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("swept %d: %v", n, err)
	}
	t.Logf("sweep of one in %v", time.Since(start))
}

// When what Init made is gone, podman would start the container in fresh
// namespaces; Ward does not.
func TestStartAfterDeath(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "death")
	c, err := e.Create(t.Context(), spec(t, "sleep 60"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := c.Init(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Skip("SKIPPED: an ordinary user cannot kill it: ", err)
	}
	await.True(t, "what Init made is gone", func() bool { // nobody here is the parent
		p, ok := process.Read(pid)
		return !ok || p.Dead
	})
	if err := c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Error(err)
	}
	if _, err := c.Inspect(t.Context()); err == nil {
		t.Error("the container is still there")
	}
}
