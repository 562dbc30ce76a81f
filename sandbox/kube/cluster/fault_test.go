package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
)

// atWork waits until the agent of a directive is at its first step.
func (g *gate) atWork() {
	g.t.Helper()
	await.True(g.t, "the agent is at work", func() bool {
		out, _ := g.try("git -C project.git for-each-ref refs/ward/uow && kubectl get pods -n ward --no-headers")
		return strings.Contains(out, "refs/ward/uow/D-1.1") && strings.Contains(out, "2/2") && strings.Contains(g.status(), "begun, iteration 1")
	})
}

// pod is the name of the pod that runs.
func (g *gate) pod() string {
	g.t.Helper()
	return g.sh(`kubectl get pods -n ward --no-headers --field-selector=status.phase=Running | awk '{print $1; exit}'`)
}

// process is one of the pod's, by the words of its command line: in the network namespace of
// the near that has this pod's volumes. What runs on the node itself sees those of all.
func (g *gate) process(words string) string {
	g.t.Helper()
	uid := g.sh("kubectl get pod -n ward " + g.pod() + " -o jsonpath='{.metadata.uid}'")
	return g.sh(fmt.Sprintf(`own=$(readlink /proc/self/ns/net); net=
for p in $(pgrep -f 'git-ward-launch near --gate'); do
	n=$(readlink /proc/$p/ns/net) && [ "$n" != "$own" ] && grep -qs %[2]s /proc/$p/mountinfo && net=$n; done
[ -n "$net" ]; for p in $(pgrep -f -- '%[1]s'); do [ "$(readlink /proc/$p/ns/net)" != "$net" ] || { echo $p; exit; }; done; exit 1`, words, uid))
}

// faults are what befalls a pod, a gate or a lease in the middle of a directive.
var faults = []struct {
	name string
	do   func(*gate)
}{
	{"nothing", func(*gate) {}},
	{"the pod's pause process is killed", func(g *gate) { g.sh("kill -9 " + g.process("catatonit -P")) }},
	{"near is killed", func(g *gate) { g.sh("kill -9 " + g.process("git-ward-launch near --gate")) }},
	{"the agent is killed", func(g *gate) { g.sh("kill -9 " + g.process("ward-agent --")) }},
	{"the pod is deleted", func(g *gate) { g.sh("kubectl delete pod -n ward --grace-period=1 " + g.pod()) }},
	{"the node is drained", func(g *gate) {
		g.sh("kubectl drain lab --force --delete-emptydir-data --ignore-daemonsets --grace-period=1 --timeout=5m")
		await.True(g.t, "a pod for which no node has room", func() bool {
			out, _ := g.try("kubectl get pods -n ward --no-headers")
			return strings.Contains(out, "Pending")
		})
		g.sh("kubectl uncordon lab")
	}},
	{"the gate is restarted", func(g *gate) {
		g.shut()
		near := "/var/log/pods/ward_" + g.pod() + "_*/near/*.log"
		await.True(g.t, "near finds nobody at the gate", func() bool {
			_, err := g.try("grep -q 'the gate does not answer' " + near)
			return err == nil
		})
		g.serve()
	}},
	{"the key has expired", func(g *gate) {
		path := filepath.Join(g.bare, "ward/authorized_keys")
		data, err := os.ReadFile(path)
		if err != nil {
			g.t.Fatal(err)
		}
		past := regexp.MustCompile(`expiry-time="[0-9]+Z"`).ReplaceAll(data, []byte(`expiry-time="20200101000000Z"`))
		if err := os.WriteFile(path, past, 0o600); err != nil {
			g.t.Fatal(err)
		}
		g.shut() // the sessions that it let in
		g.serve()
	}},
	{"the lease is revoked", func(g *gate) { g.sh("git-ward lease --revoke D-1 --bare project.git") }},
}

// TestFaults brings a directive to its proved end whatever happens on the way: once, with
// nothing lost and nothing left over.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			l := newLab(t)
			l.namespace()
			l.launcherConfig()
			g := l.newGate(untilGo)
			start := time.Now()
			r := g.launch("--once")
			g.atWork()
			then := time.Now()
			f.do(g)
			g.release()
			g.end(r)
			g.proved("D-1")
			t.Logf("%s: at work after %.0f s, proved %.0f s after it\n%s\n%s", f.name, then.Sub(start).Seconds(), time.Since(then).Seconds(), tail(r.said.String()), g.status())
		})
	}
}

// proved says that a directive is done, once, and that nothing is left of it in the cluster
// or at the gate's door.
func (g *gate) proved(directive string) {
	g.t.Helper()
	if status := g.status(); !strings.Contains(status, "the work is proved") {
		g.t.Errorf("%s is not proved:\n%s\n%s", directive, status, g.lookAround())
	}
	if out := g.sh("git-ward fsck --bare project.git"); !strings.Contains(out, " 0 findings") {
		g.t.Error(out)
	}
	control := g.sh("git -C project.git show main:COMMS.md")
	if n := strings.Count(control, directive+" EXIT_"); n != 1 {
		g.t.Errorf("%d reports of %s:\n%s", n, directive, control)
	}
	if v := g.sh("git -C project.git notes --ref=certificates show agent/" + directive); !strings.Contains(v, `"opened":["hello.txt"`) || strings.Contains(v, `"not_observed"`) {
		g.t.Errorf("what its command opened is not in the verdict: %s", v)
	}
	if units := g.sh("git -C project.git for-each-ref --format='%(refname)' refs/ward/uow/" + directive + ".*"); units != "refs/ward/uow/"+directive+".1" {
		g.t.Errorf("units: %s", units)
	}
	if keys, _ := os.ReadFile(filepath.Join(g.bare, "ward/authorized_keys")); strings.Contains(string(keys), "ssh-ed25519") {
		g.t.Errorf("keys are left: %s", keys)
	}
	await.True(g.t, "nothing is left in the namespace", func() bool {
		out, err := g.try("kubectl get jobs,pods,secrets,configmaps,networkpolicies -n ward -l app.kubernetes.io/managed-by=git-ward -o name")
		return err == nil && out == ""
	})
}
