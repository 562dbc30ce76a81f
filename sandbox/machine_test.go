package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"git-ward/internal/await"
	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/sandbox/lab"
)

// machine is a host of the tests' own, with a guarded repository: namespaces for
// its network, its mounts and its processes, in which everything of a launch
// runs, podman too. Its only wire leads to a world that owns every address there
// is and has no other wire.
type machine struct {
	*gittest.Pair
	host, world *lab.Process
	dir         string // where all lies that its programs make, but for the storage
	storage     string // podman's
}

// Who is where. The host has addresses and a route besides its wire's, and its
// name server is at a private address.
const (
	wireAddr   = "192.0.2.2"
	hostAddr   = "203.0.113.77"
	hostAddr6  = "2001:db8:77::9"
	hostRoute  = "203.0.113.128/25"
	hostRoute6 = "2001:db8:78::/48"
	resolver   = "10.9.9.53"
)

// machineMounts keeps the machine's podman apart from any other. Its default
// network has IPv6, which podman's own has not, so that those rules are tried; it
// is there for both of podman's backends, which never run together. Its addresses
// are none that are shut anyhow, so what shuts the bridge's is that it is the host's.
const machineMounts = `
	mount --make-rprivate /
	mount --make-rshared /
	mount -t proc proc /proc
	for d in /run /dev/shm %[1]s/run %[1]s/tmp; do
		mkdir -p $d
		mount -t tmpfs tmpfs $d
	done
	mknod -m 666 /run/tun c 10 200
	mount --bind /run/tun /dev/net/tun
	mkdir -p /run/netns /run/networks /etc/containers/networks /run/cni /etc/cni/net.d /var/lib/cni
	mount -t tmpfs tmpfs /var/lib/cni
	cat >/run/networks/podman.json <<-end
	{"name": "podman", "id": "2f259bab93aaaaa2542ba43ef33eb990d0999ee1b9924b557b7be53c0b7a1bb9", "driver": "bridge",
	 "network_interface": "podman0", "ipv6_enabled": true, "internal": false, "dns_enabled": false,
	 "subnets": [{"subnet": "10.88.0.0/16", "gateway": "10.88.0.1"}, {"subnet": "2001:db8:88::/64", "gateway": "2001:db8:88::1"}],
	 "ipam_options": {"driver": "host-local"}}
	end
	mount --bind /run/networks /etc/containers/networks
	cat >/run/cni/87-podman-bridge.conflist <<-end
	{"cniVersion": "0.4.0", "name": "podman", "plugins": [
	 {"type": "bridge", "bridge": "cni-podman0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
	  "ipam": {"type": "host-local", "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
	   "ranges": [[{"subnet": "10.88.0.0/16", "gateway": "10.88.0.1"}], [{"subnet": "2001:db8:88::/64", "gateway": "2001:db8:88::1"}]]}},
	 {"type": "portmap", "capabilities": {"portMappings": true}}, {"type": "firewall"}, {"type": "tuning"}]}
	end
	mount --bind /run/cni /etc/cni/net.d
	echo nameserver %[2]s >/run/resolv.conf
	mount --bind /run/resolv.conf $(readlink -f /etc/resolv.conf)
`

const hostNetwork = `
	ip link set lo up
	ip link add w0 type veth peer name w1 netns %d
	ip link set w0 up
	ip addr add 192.0.2.2/24 dev w0
	ip addr add 2001:db8:1::2/64 dev w0 nodad
	ip addr add ` + hostAddr + `/32 dev lo
	ip addr add ` + hostAddr6 + `/128 dev lo nodad
`

const worldNetwork = `
	for c in all w1; do echo 0 >/proc/sys/net/ipv4/conf/$c/rp_filter; done
	ip link set lo up
	ip link set w1 up
	ip addr add 192.0.2.1/24 dev w1
	ip addr add 2001:db8:1::1/64 dev w1 nodad
	ip route add local default dev lo table main
	ip -6 route add local default dev lo table main
	for a in 203.0.113.5/32 203.0.113.53/32 10.9.9.53/32 10.1.2.3/32; do ip addr add $a dev lo; done
	for a in 2001:db8::5/128 2001:db8::53/128 fd00::5/128; do ip addr add $a dev lo nodad; done
`

const hostRoutes = `
	for to in default ` + hostRoute + `; do ip route add $to via 192.0.2.1; done
	for to in default ` + hostRoute6 + `; do ip route add $to via 2001:db8:1::1; done
`

// newMachine makes one, or skips, out loud, where that cannot be.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{Pair: fenced(t), storage: testStorage}
	dir, err := os.MkdirTemp("", "m") // t.TempDir is too long for the names of sockets below it
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m.dir = dir
	m.Env = append(m.Env, "TMPDIR="+m.dir)
	m.world = lab.Start(t, "actor", syscall.CLONE_NEWNET)
	m.host = lab.Start(t, "machine", syscall.CLONE_NEWNET|syscall.CLONE_NEWNS|syscall.CLONE_NEWPID)
	m.Within = []string{"nsenter", fmt.Sprintf("--target=%d", m.host.Cmd.Process.Pid), "--mount", "--net", "--pid", "--"}
	m.sh(fmt.Sprintf(machineMounts, testStorage, resolver))
	m.host.Sh(fmt.Sprintf(hostNetwork, m.world.Cmd.Process.Pid))
	m.world.Sh(worldNetwork)
	m.host.Sh(hostRoutes)
	await.True(t, "the kernel has given the wire its own address", func() bool {
		return m.host.Sh("ip -6 -oneline address show dev w0 scope link -tentative") != ""
	})
	m.world.Tell(lab.Order{Sniff: "w1"}, lab.Order{Names: worldNames()}, lab.Order{Listen: []string{
		"tcp :22", "tcp :80", "tcp :443", "tcp :853", "tcp 203.0.113.53:53", "tcp [2001:db8::53]:53",
		"udp 203.0.113.53:53", "udp [2001:db8::53]:53", "udp 203.0.113.5:4444", "udp [2001:db8::5]:4444", "udp 10.1.2.3:4444", "udp [fd00::5]:4444",
	}})
	m.host.Tell(lab.Order{Listen: []string{"tcp :22", "tcp :80", "udp " + hostAddr + ":4444"}})
	return m
}

// worldNames is what the host's name server says.
func worldNames() *lab.Names {
	return &lab.Names{At: resolver + ":53", Turns: map[string][]string{
		"pkg.example.com":   {"203.0.113.5"},
		"ipv4only.arpa":     {"192.0.0.170 192.0.0.171 2001:db8:64:64::192.0.0.170"}, // a NAT64 (RFC 7050)
		"turns.example.com": {"10.1.2.3", "203.0.113.5", "169.254.169.254"},
		"mixed.example.com": {"127.0.0.1 ::1 ::ffff:10.1.2.3 64:ff9b::a01:203 2002:a01:203::1 fd00::5 203.0.113.77 203.0.113.200"},
	}}
}

// alone waits for other processes' tests on the same storage to end. A machine's podman,
// which has a /run of its own, resets the state of every container that another one has
// there (TestStopsWhatPodmanForgot).
func alone(t *testing.T) {
	f, err := os.OpenFile(testStorage+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
}

// sh runs a script on the machine, as root.
func (m *machine) sh(script string) string {
	m.T.Helper()
	return m.Run(filepath.Dir(m.Bare), "sh", "-ec", script)
}

// buryOrphans is the duty of the machine's first process.
func buryOrphans() {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	go func() {
		for range children {
			for {
				if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 || err != nil {
					break
				}
			}
		}
	}()
}

// state is the agent's directory.
func (m *machine) state() string { return filepath.Join(filepath.Dir(m.Bare), "state") }

// launch is a `git ward launch` of a command on the machine.
func (m *machine) launch(command ...string) *exec.Cmd {
	m.T.Helper()
	args := []string{"launch", "--bare", m.Bare, "--state", m.state(), "--"}
	return m.Command(m.Work, nil, "git-ward", append(args, command...)...)
}

// in runs a shell command in a fence.
func (m *machine) in(stdin, command string) (string, error) {
	m.T.Helper()
	cmd := m.launch("sh", "-c", command)
	cmd.Stdin = strings.NewReader(stdin)
	return await.Output(m.T, cmd)
}

// set changes the repository's settings.
func (m *machine) set(lines ...string) {
	m.T.Helper()
	configtest.Set(m.T, m.Bare, lines...)
}
