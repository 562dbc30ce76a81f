package cluster_test

import (
	"strings"
	"testing"
)

// connects says for each of TARGETS whether a connection is made.
const connects = `for to in $TARGETS; do
	timeout 60 bash -c "exec 3<>/dev/tcp/${to%:*}/${to##*:}" 2>/dev/null; case $? in
	0) echo "$(id -u) $to CONNECTED" ;; 124) echo "$(id -u) $to TIMEOUT" ;; *) echo "$(id -u) $to refused" ;; esac
done`

// reaches tries what an agent would try on files and rights; what it gets is written out.
const reaches = `cat /ward/secret/key && echo GOT the key
find / -xdev -path /proc -prune -o -name key -path "*secret*" -print 2>/dev/null | grep . && echo GOT a key
ls /var/run/secrets/kubernetes.io /run/secrets/kubernetes.io && echo GOT a token
cat /proc/[0-9]*/comm | grep git-ward-launch && echo GOT near in sight
touch /ward/near/x && echo GOT the sockets
rm -f /ward/near/door/sock && echo GOT rid of the door
touch /mnt/remote/x && echo GOT the mirror
echo >/ward/net/note && echo GOT the note
cat /proc/1/environ && echo GOT an environment
unshare -Ur true && echo GOT a namespace
env | grep -i -e key= -e token= | grep -v -e =ward$ -e TOKEN=$ && echo GOT a secret
true`

// TestAgentReachesNothing: the agent itself, from its shell, tries the gate, the node, the API
// server, the metadata and kubelets, and near's files. Besides it each user of the pod tries
// the same from its network: only near's reaches the gate, and nothing else.
func TestAgentReachesNothing(t *testing.T) {
	l := newLab(t)
	l.namespace()
	api := l.sh(`kubectl get service kubernetes -n default -o jsonpath='{.spec.clusterIP}'`)
	gateAt := nodeAddr + ":" + gatePort
	targets := []string{gateAt, nodeAddr + ":22", nodeAddr + ":10250", nodeAddr + ":6443", api + ":443", "169.254.169.254:80", "203.0.113.9:10250", "203.0.113.9:10255"}
	list := "TARGETS='" + strings.Join(targets, " ") + "'\n"
	g := l.newGate("exec >tried.txt 2>&1\n" + list + connects + "\n" + reaches + "\n" + untilGo)
	r := g.launch("--once")
	g.atWork()
	l.write("tries", list+connects, 0o644)
	pid := g.process("ward-watcher --agent")
	for _, user := range []string{"0", "1000", "1001", "1002"} {
		out := g.sh("nsenter -t " + pid + " -n setpriv --reuid " + user + " --regid " + user + " --clear-groups bash tries")
		t.Log("\n" + out)
		for _, to := range targets {
			want := user + " " + to + " refused"
			if user == "1002" && to == gateAt {
				want = user + " " + to + " CONNECTED"
			}
			if !strings.Contains(out, want) {
				t.Errorf("want %q", want)
			}
		}
	}
	g.release()
	g.end(r)
	g.proved("D-1")
	tried := g.sh("git -C project.git show agent/D-1:tried.txt")
	t.Log("the agent, from its own shell:\n" + tried)
	if n := strings.Count(tried, " refused"); n != len(targets) || strings.Contains(tried, "GOT ") || strings.Contains(tried, "CONNECTED") {
		t.Errorf("%d of %d are refused", n, len(targets))
	}
}
