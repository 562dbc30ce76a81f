package firewall

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/tier"
	"git-ward/sandbox/lab"
)

// following is what a follower's process is told, and followed its answer.
type following struct {
	NetNS  string
	Policy Policy
	Child  []string
}

type followed struct {
	Err, Broken string
	Refused     []netip.Addr // so far
}

// follower is the launcher: it is in the host's namespace, and keeps the rules of a
// container's. On each further line it says whether it still can.
func follower(stdin io.Reader, stdout io.Writer) error {
	lines, answers := bufio.NewScanner(stdin), json.NewEncoder(stdout)
	var w following
	if lines.Scan(); json.Unmarshal(lines.Bytes(), &w) != nil {
		return lines.Err()
	}
	f, err := Follow(context.Background(), Target{NetNS: w.NetNS, Child: w.Child}, func(ctx context.Context, _ bool) (p Policy, err error) {
		p = w.Policy
		p.HostAddrs, p.HostRoutes, err = HostFacts(ctx)
		return p, err
	})
	var answer followed
	if err != nil {
		answer.Err = err.Error()
	}
	defer f.Close()
	for {
		if answer.Err == "" {
			if answer.Refused, err = f.Refused(context.Background()); err != nil {
				return err
			}
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
		if !lines.Scan() {
			return nil
		}
		select {
		case err := <-f.Broken():
			answer.Broken = err.Error()
		default:
		}
	}
}

// follow has a host of its own keep the rules of a container.
func follow(t *testing.T, inside *lab.Process) *lab.Process {
	t.Helper()
	host := lab.Start(t, "follow", syscall.CLONE_NEWNET)
	host.Sh("ip link set lo up; ip link add d0 type veth peer name d1; ip link set d0 up; ip link set d1 up; ip addr add 192.0.2.200/24 dev d0")
	p := openPolicy()
	p.Resolvers = addrs("10.0.2.3", "fd00:53::3")
	var answer followed
	if host.Ask(following{NetNS: inside.NetNS(), Policy: p}, &answer); answer.Err != "" {
		t.Fatal(answer.Err)
	}
	return host
}

// TestFollow: what the host gains while a container runs is refused to it at once, what it
// loses is open again, and a flood of changes in between changes neither.
func TestFollow(t *testing.T) {
	tier.Full(t, "follows a host through twelve changes and a flood of them")
	l := newWire(t)
	host := follow(t, l.inside)
	// until waits for an attempt to end as it should: with nothing else that changes, it is the follower's doing.
	until := func(what string, change string, a lab.Attempt, refused bool) {
		t.Helper()
		host.Sh(change)
		begin := time.Now()
		await.True(t, what, func() bool {
			o := l.inside.Try([]lab.Attempt{a})[0]
			return (o.Err != "" && !o.Timeout) == refused
		})
		t.Logf("%-60s after %3d ms", what, time.Since(begin).Milliseconds())
	}
	four := lab.Attempt{Proto: "tcp", To: netip.MustParseAddr("203.0.113.88"), Port: 80}
	six := lab.Attempt{Proto: "tcp", To: netip.MustParseAddr("2001:db8:88::1"), Port: 80}
	for _, a := range []lab.Attempt{four, six} {
		if o := l.inside.Try([]lab.Attempt{a})[0]; o.Err != "" {
			t.Fatalf("before, %v: %v", a, o)
		}
	}
	until("an address, refused", "ip addr add 203.0.113.88/32 dev d0", four, true)
	until("an address gone, open", "ip addr del 203.0.113.88/32 dev d0", four, false)
	until("an IPv6 address, refused", "ip addr add 2001:db8:88::1/128 dev d0 nodad", six, true)
	until("an IPv6 address gone, open", "ip addr del 2001:db8:88::1/128 dev d0", six, false)
	until("a route, refused", "ip route add 203.0.113.80/28 via 192.0.2.201", four, true)
	until("a route gone, open", "ip route del 203.0.113.80/28", four, false)
	until("an IPv6 route, refused", "ip -6 route add 2001:db8:88::/48 dev d0", six, true)
	until("an IPv6 route gone, open", "ip -6 route del 2001:db8:88::/48 dev d0", six, false)
	until("a route of another table, refused", "ip route add 203.0.113.80/28 dev d0 table 52; ip rule add from 192.0.2.200 table 52", four, true)
	until("the other table gone, open", "ip route flush table 52", four, false)
	until("an interface, refused", "ip link add d2 type veth peer name d3; ip link set d2 up; ip addr add 203.0.113.81/28 dev d2", four, true)
	until("the interface gone, open", "ip link del d2", four, false)

	end := flood(t, host)
	await.True(t, "the flood has begun", func() bool { return number(t, host.Sh("ip -o addr show dev d0 2>/dev/null | wc -l")) > 20 })
	until("an address amid a flood of changes, refused", "ip addr add 203.0.113.88/32 dev d0", four, true)
	until("gone amid the flood, open", "ip addr del 203.0.113.88/32 dev d0", four, false)
	end()
	var answer followed
	if host.Ask("still?", &answer); answer.Broken != "" {
		t.Error(answer.Broken)
	}
}

// TestRefused: the addresses that programs asked for and no packet may reach are told, once each and
// up to a bound, over changes of the host and beyond the container's end. What a packet reached, a
// name server and a ping are not among them.
func TestRefused(t *testing.T) {
	tier.First(t, "it makes network namespaces")
	l := newWire(t)
	host := follow(t, l.inside)
	try := func(proto string, port int, to ...string) {
		for _, a := range addrs(to...) {
			l.inside.Try([]lab.Attempt{{Proto: proto, To: a, Port: port}})
		}
	}
	met := func(want ...string) {
		t.Helper()
		var answer followed
		if host.Ask("what?", &answer); answer.Broken != "" || !slices.Equal(answer.Refused, addrs(want...)) {
			t.Errorf("%+v, not %v", answer, want)
		}
	}
	met()
	try("tcp", 80, "169.254.169.254", "203.0.113.5", "2001:db8::5", "192.0.2.200", "169.254.169.254", "fd00::1")
	try("udp", 4444, "192.168.7.7", "203.0.113.5")
	try("udp", 53, "10.0.2.3", "203.0.113.5")
	try("icmp", 0, "172.16.0.1")
	met("169.254.169.254", "192.0.2.200", "192.168.7.7", "fd00::1")
	host.Sh("ip addr add 198.51.100.9/32 dev d0")
	await.True(t, "the new address is refused", func() bool {
		return l.inside.Try([]lab.Attempt{{Proto: "tcp", To: netip.MustParseAddr("198.51.100.9"), Port: 80}})[0].Err != ""
	})
	met("169.254.169.254", "192.0.2.200", "192.168.7.7", "198.51.100.9", "fd00::1")
	var many []lab.Attempt
	for i := range byte(200) {
		many = append(many, lab.Attempt{Proto: "udp", To: netip.AddrFrom4([4]byte{10, 9, 9, i}), Port: 9})
	}
	l.inside.Try(many)
	var answer followed
	if host.Ask("what?", &answer); len(answer.Refused) != maxMet+1 || answer.Broken != "" {
		t.Errorf("%d: %+v", len(answer.Refused), answer)
	}
}

// TestWithoutFollow is the same attack on rules that are put in place once.
func TestWithoutFollow(t *testing.T) {
	tier.Full(t, "the attack of TestFollow without a follower")
	l := newWire(t)
	apply(t, openPolicy(), l.inside)
	host := lab.Start(t, "actor", syscall.CLONE_NEWNET)
	host.Sh("ip link add d0 type veth peer name d1; ip link set d0 up; ip link set d1 up; ip addr add 203.0.113.88/32 dev d0")
	if o := l.inside.Try([]lab.Attempt{{Proto: "tcp", To: netip.MustParseAddr("203.0.113.88"), Port: 80}})[0]; o.Err != "" {
		t.Errorf("refused without a follower (%v): the attack proves nothing", o)
	}
}

// What went in and did not read back is not taken for what was there before: when the host
// is again as it was, the rules are, too.
func TestFollowAfterFailure(t *testing.T) {
	tier.First(t, "it makes network namespaces")
	inside := fresh(t)
	before, after := openPolicy(), openPolicy()
	before.HostAddrs = addrs("203.0.113.88")
	apply(t, before, inside)
	to, ns := target(inside), opened(t, inside)
	is := func(p Policy) Source { return func(context.Context, bool) (Policy, error) { return p, nil } }

	inside.Sh("nft add table inet other") // reads back as something that nobody asked for
	there, err := to.renew(t.Context(), ns, &before, is(after), false)
	if err == nil {
		t.Fatal("a foreign table reads back as Ward's rules")
	}
	inside.Sh("nft delete table inet other")
	if _, err := to.renew(t.Context(), ns, there, is(before), false); err != nil {
		t.Fatal(err)
	}
	if err := Compare(before, readBack(t, inside)); err != nil {
		t.Error(err)
	}
}

// Rules that cannot be kept are told, so that the container ends.
func TestFollowBroken(t *testing.T) {
	tier.First(t, "it makes network namespaces")
	for name, do := range map[string]func(inside, host *lab.Process){
		"the table is gone":   func(inside, _ *lab.Process) { inside.Sh("nft delete table inet ward") },
		"a rule is gone":      func(inside, _ *lab.Process) { inside.Sh("nft flush chain inet ward input") },
		"more than the bound": func(_, host *lab.Process) { host.Sh(many(maxHost + 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			inside := fresh(t)
			host := follow(t, inside)
			do(inside, host)
			host.Sh("ip addr add 203.0.113.88/32 dev d0")
			begin := time.Now()
			var answer followed
			await.True(t, "the follower says that it is broken", func() bool {
				host.Ask("still?", &answer)
				return answer.Broken != ""
			})
			t.Logf("after %d ms: %s", time.Since(begin).Milliseconds(), answer.Broken)
		})
	}
}

// What a container has open to what is refused later is cut: nothing comes in by it, even
// where the container sends nothing.
func TestEstablishedIsCut(t *testing.T) {
	tier.Full(t, "sixteen rounds of packets that do not come")
	l := newWire(t)
	for _, c := range []struct{ set, peer string }{
		{"host4", "203.0.113.5"},
		{"host6", "2001:db8::5"},
		{"reserved4", "203.0.113.5"},
		{"reserved6", "2001:db8::5"},
	} {
		t.Run(c.set, func(t *testing.T) {
			peer := netip.MustParseAddr(c.peer)
			refusing, err := compile(openPolicy())
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range refusing.sets {
				if s.name == c.set {
					refusing.sets[i].elements = prefixElements([]netip.Prefix{netip.PrefixFrom(peer, peer.BitLen())})
				}
			}
			without := refusing
			without.chains = slices.Clone(refusing.chains)
			for i, ch := range without.chains {
				without.chains[i].rules = slices.DeleteFunc(slices.Clone(ch.rules), func(r rule) bool {
					return ch.name == "input" && strings.Contains(r.text(), "saddr @"+c.set)
				})
			}
			if n := l.heard(t, c.peer, refusing, false); n != 0 {
				t.Errorf("%d of 5 packets came in on an old connection", n)
			}
			if n := l.heard(t, c.peer, without, true); n != 5 {
				t.Errorf("without the rule %d of 5 packets came in: the attack proves nothing", n)
			}
		})
	}
}

// heard is how many packets come in from outside on a connection that the container has
// opened before other rules were put in place, while ten come in on one that no rule
// refuses; where some are expected, it waits for five.
func (l *wire) heard(t *testing.T, peer string, after program, some bool) int {
	t.Helper()
	apply(t, openPolicy(), l.inside)
	dir := t.TempDir()
	got := make(chan lab.Ran, 1)
	least := 0
	if some {
		least = 5
	}
	go func() {
		got <- l.inside.Run(fmt.Sprintf(`
			exec 3<>/dev/udp/%s/4446 4<>/dev/udp/203.0.113.6/4446; echo >&3; read -u 3 line; echo >&4; read -u 4 line; touch %[2]s/open
			while [ ! -e %[2]s/closed ]; do sleep 0.02; done
			for fd in 3 4; do while read -t 0.01 -u $fd line; do :; done; done # what came before
			n=0; while [ $n -lt %[3]d ]; do read -u 3 line; n=$((n+1)); done
			for i in 1 2 3 4 5 6 7 8 9 10; do read -u 4 line; done
			while [ $n -lt 5 ] && read -t 0.01 -u 3 line; do n=$((n+1)); done; echo $n`, peer, dir, least))
	}()
	await.True(t, "a connection", func() bool { _, err := os.Stat(dir + "/open"); return err == nil })
	if err := enforce(t.Context(), int(opened(t, l.inside).Fd()), after, queue); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/closed", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return number(t, await.Value(t, "what came in", got).Out)
}

// flood adds and takes away addresses, hundreds a second, until its end.
func flood(t *testing.T, host *lab.Process) (end func()) {
	cmd := exec.Command("nsenter", "--net="+host.NetNS(), "sh", "-c",
		"while :; do\n"+many(200)+strings.ReplaceAll(many(200), "addr add", "addr del")+"done")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	t.Cleanup(end)
	return end
}

// TestFollowFlood: however many changes there are, a look waits for what belongs to its
// first, and the next look for those that follow: a flood costs a few looks a second.
func TestFollowFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := &hostChanges{seen: make(chan struct{}, 1)}
		ctx, stop := context.WithCancel(t.Context())
		policy, looks := openPolicy(), 0
		followed := make(chan error)
		go func() {
			followed <- Target{}.follow(ctx, nil, policy, changes, func(context.Context, bool) (Policy, error) {
				looks++
				return policy, nil
			})
		}()
		const seconds = 10
		for range seconds * 1000 {
			changes.tell()
			time.Sleep(time.Millisecond) // of the test's own clock
		}
		stop()
		if err := <-followed; err != nil {
			t.Error(err)
		}
		if looks < seconds || looks > 20*seconds {
			t.Errorf("%d looks in %d s of a change each millisecond", looks, seconds)
		}
	})
}

// many are so many addresses that none of them joins another.
func many(n int) string {
	var b strings.Builder
	b.WriteString("ip -batch - <<END\n")
	for i := range n {
		fmt.Fprintf(&b, "addr add 9.%d.%d.1/32 dev d0\n", i/250, i%250)
	}
	b.WriteString("END\n")
	return b.String()
}
