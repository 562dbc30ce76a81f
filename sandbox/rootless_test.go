package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/image"
	"git-ward/sandbox/lab"
)

// rootlessStorage is testStorage of the ordinary user.
const rootlessStorage = "/var/tmp/ward-test-rootless"

// ordinary is the same machine for an ordinary user, with a repository of its
// own and the image in a podman storage of its own.
func (m *machine) ordinary(t *testing.T) *machine {
	t.Helper()
	u := lab.OrdinaryUser(t)
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	dir, err := os.MkdirTemp("/var/tmp", "wr-") // t.TempDir is root's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, d := range []string{dir, dir + "/tmp", dir + "/run", rootlessStorage, rootlessStorage + "/run", rootlessStorage + "/tmp"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(d, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	m.sh(fmt.Sprintf("for d in run tmp; do mount -t tmpfs -o uid=%d,gid=%d,mode=700 tmpfs %s/$d; done", uid, gid, rootlessStorage))
	env, err := gittest.Environ(dir)
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "TMPDIR="+dir+"/tmp", "XDG_RUNTIME_DIR="+dir+"/run", storageVar+"="+rootlessStorage)
	o := &machine{storage: rootlessStorage, host: m.host, world: m.world, dir: dir + "/run", Pair: &gittest.Pair{T: t, Bare: dir + "/remote.git", Work: dir + "/work", Env: env,
		Within: append(m.Within[:len(m.Within):len(m.Within)], "setpriv", "--reuid", u.Uid, "--regid", u.Gid, "--init-groups", "--")}}
	o.Run(dir, "git-ward", "init", "--bare", o.Bare)
	o.Run(dir, "git-ward", "clone", o.Bare, o.Work)
	o.copyImage(m)
	return o
}

// copyImage takes the image from the machine's root: there is no way to Debian's
// packages from here.
func (o *machine) copyImage(from *machine) {
	o.T.Helper()
	var recipe image.Recipe
	if err := recipe.Complete(); err != nil {
		o.T.Fatal(err)
	}
	dir := filepath.Dir(o.Bare)
	if _, err := o.Try(dir, nil, "", "sh", "-c", podmanOn(rootlessStorage)+"image exists "+recipe.Name()); err == nil {
		return
	}
	archive := dir + "/image.tar"
	from.sh(podmanOn(testStorage) + "save --quiet --output " + archive + " " + recipe.Name() + "; chmod a+r " + archive)
	o.Run(dir, "sh", "-c", podmanOn(rootlessStorage)+"load --quiet --input "+archive)
	os.Remove(archive)
}

// TestRootlessFence is the fence of an ordinary user, the recommended one: a
// command, a push, the probe in both modes, the table of addresses, and a killed
// launcher. Its network is slirp4netns's, which has no IPv6 by default, so the
// control is for IPv4.
func TestRootlessFence(t *testing.T) {
	tier.Full(t, "it launches containers")
	o := newMachine(t).ordinary(t)
	t.Run("command", func(t *testing.T) {
		out, err := o.in("from stdin\n", "cat; id -u; df --output=fstype,size /bot | tail -n 1; exit 7")
		var exit *exec.ExitError
		if !asExit(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(out, "from stdin\n1000\n") || !strings.Contains(out, "tmpfs") {
			t.Errorf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
	})
	t.Run("push", func(t *testing.T) {
		if out, err := o.in("", clone+"git push origin HEAD:agent/one && ! git push origin HEAD:main"); err != nil || !strings.Contains(out, "rights/main") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("holes", func(t *testing.T) {
		p := o.probe(t)
		tryHoles(t, p, mountHoles)
		tryHoles(t, p, privilegeHoles)
		p.End()
	})
	t.Run("addresses", func(t *testing.T) {
		var four, openFour []lab.Attempt
		for _, a := range append(shut("fe80::1%tap0"), attempt("slirp's own name server", "udp", "10.0.2.3", 53), attempt("slirp's way to the host", "tcp", "10.0.2.2", 22)) {
			if a.To.Unmap().Is4() {
				four = append(four, a)
			}
		}
		for _, a := range open {
			if a.To.Is4() {
				openFour = append(openFour, a)
			}
		}
		p := o.probe(t)
		answered(t, openFour, p.Try(openFour))
		o.world.Seen()
		outcomes := p.Try(four)
		refused(t, four, outcomes, nil, o.world.Seen())
		o.withoutRules(t)
		through := 0
		for i, c := range p.Try(four) {
			t.Logf("without rules: %-38s %-38v %v", four[i].What, four[i], c)
			if c.Err == "" {
				through++
			}
		}
		if through < len(four)/2 {
			t.Errorf("without rules %d of %d get through: the table proves nothing", through, len(four))
		}
		p.End()
	})
	t.Run("probe", func(t *testing.T) {
		for _, mode := range []string{"allowlist", "public"} {
			o.set(`[egress] mode = "` + mode + `"`)
			out, err := o.Try(o.Work, nil, "", "git-ward", "probe", "--bare", o.Bare)
			if err != nil || !strings.Contains(out, " promises tried, 0 broken") {
				t.Errorf("%s: %v\n%s", mode, err, out)
			}
		}
	})
	t.Run("watcher", func(t *testing.T) {
		o.set(`run = ["sh", "agent.sh"]`, `probation = false`)
		o.Commit("agent.sh", enter+"/ward/bin/ward-agent connect /ward/watcher/sock </dev/null | grep -q . && exit 5\nls /ward/watcher /bot/.watcher && exit 6\n"+
			"mkdir -p /bot/.signal/bootstrap/a; chmod 777 /bot/.signal/bootstrap\nwhile [ -e /bot/.signal/bootstrap ]; do sleep 0.1; done\nexit 0\n") // it is looked at while the agent lives
		o.Commit("COMMS.md", toBeWatched)
		o.Git("push", "-q", "origin", "main")
		out, err := o.Try(o.Work, nil, "", "git-ward", "launch", "--once", "--bare", o.Bare, "--model", "script")
		t.Logf("%v\n%s", err, out) // its agent does nothing on the directive
		if text := o.Run(o.Bare, "git", "show", "main:COMMS.md"); !strings.Contains(text, "malformed signal `bootstrap`") {
			t.Error(text)
		}
		if who := o.Run(o.Bare, "git", "log", "--notes=audit", "--format=%N", "main"); !strings.Contains(who, `"principal":"watcher"`) {
			t.Error(who)
		}
		o.set(`run = []`)
	})
	t.Run("kill", func(t *testing.T) {
		o.settles(t)
		before := o.traces()
		for _, target := range []string{"launcher", "service", "container"} {
			o.killed(t, target, 0)
			o.works(t)
			if target == "service" {
				o.allows(t, before)
			}
			o.clean(t, before)
		}
	})
	o.Fsck()
}
