package firewall

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/nftables/expr"

	"git-ward/internal/tier"
	"git-ward/sandbox/lab"
)

func addrs(list ...string) (all []netip.Addr) {
	for _, s := range list {
		all = append(all, netip.MustParseAddr(s))
	}
	return all
}

func prefixes(list ...string) (all []netip.Prefix) {
	for _, s := range list {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

// public is the ordinary policy of these tests. Its lists are in disorder, with
// doubles, neighbours and prefixes in prefixes.
func public() Policy {
	return Policy{
		Mode:        Public,
		Resolvers:   addrs("10.0.2.3", "fd00:53::3", "10.0.2.3"),
		HostAddrs:   addrs("203.0.113.77", "::ffff:198.51.100.3", "127.0.0.1", "fe80::1%eth0", "2001:db8:77::1"),
		Refuse:      prefixes("203.0.113.66/32", "203.0.113.32/28", "2001:db8:66::/48", "10.3.0.0/16"),
		Translators: prefixes("2001:db8:6464::/48", "2001:db8:96::/96", "64:ff9b::/96"),
		Connections: 4096, Packets: 20_000,
		HostRoutes: prefixes("198.51.100.0/24", "203.0.113.76/32", "10.88.0.0/16", "2001:db8:78::/48", "2001:db8:77::/48", "2001:db8:77:1::/64"),
	}
}

func apply(t *testing.T, p Policy, to *lab.Process) {
	t.Helper()
	if err := once(t.Context(), p, target(to)); err != nil {
		t.Fatal(err)
	}
}

// once puts a policy in place as Follow begins, and leaves it so.
func once(ctx context.Context, p Policy, to Target) error {
	ns, err := to.place(ctx, p)
	ns.Close()
	return err
}

func readBack(t *testing.T, p *lab.Process) Ruleset {
	t.Helper()
	r, err := look(t, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// look reads a namespace's rules, which may be none that Ward knows.
func look(t *testing.T, p *lab.Process) (Ruleset, error) {
	t.Helper()
	ns := opened(t, p)
	return target(p).run(t.Context(), ns, nil, nothing)
}

func opened(t *testing.T, p *lab.Process) *os.File {
	t.Helper()
	ns, err := target(p).open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

// openPolicy is mode public without anything of a host's.
func openPolicy() Policy { return Policy{Mode: Public, Connections: 4096, Packets: 20_000} }

func TestReplacesAsAWhole(t *testing.T) {
	tier.First(t, "it makes network namespaces")
	ns := fresh(t)
	if err := Compare(public(), readBack(t, ns)); err == nil {
		t.Error("an empty namespace compares equal")
	}
	apply(t, public(), ns)
	first := ns.Sh("nft list ruleset")
	apply(t, public(), ns)
	if second := ns.Sh("nft list ruleset"); second != first {
		t.Errorf("the second time differs:\n%s\n%s", first, second)
	}
	closed := Policy{Mode: Allowlist}
	apply(t, closed, ns)
	if err := Compare(public(), readBack(t, ns)); err == nil {
		t.Error("the allowlist reads back as the public policy")
	}
	if text := ns.Sh("nft list ruleset"); strings.Contains(text, "set ") {
		t.Errorf("left over:\n%s", text)
	}
	apply(t, public(), ns)
	if third := ns.Sh("nft list ruleset"); third != first {
		t.Errorf("the third time differs:\n%s\n%s", first, third)
	}
}

// The text is the same policy: what nft makes of it reads back as what place
// asks for, and lists word by word as what place has made.
func TestTextIsThePolicy(t *testing.T) {
	tier.First(t, "it makes network namespaces")
	for _, p := range []Policy{public(), openPolicy(), {Mode: Allowlist}, pod(Public), pod(Allowlist)} {
		a, b := fresh(t), fresh(t)
		apply(t, p, a)
		text, err := Text(p)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "ward.nft")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b.Sh("nft -c -f " + file + "; nft -f " + file + "; nft -f " + file)
		if err := Compare(p, readBack(t, b)); err != nil {
			t.Errorf("%s by nft: %v\n%s", p.Mode, err, text)
		}
		if x, y := a.Sh("nft list ruleset"), b.Sh("nft list ruleset"); x != y {
			t.Errorf("%s: place made\n%s\nnft made\n%s", p.Mode, x, y)
		}
	}
}

// Whatever changes afterwards is seen.
func TestCompareSeesEveryChange(t *testing.T) {
	tier.First(t, "it makes network namespaces")
	ns := fresh(t)
	text, err := Text(public())
	if err != nil {
		t.Fatal(err)
	}
	load := func(t *testing.T, text string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "x.nft")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ns.Sh("nft flush ruleset; nft -f " + file)
	}
	replace := func(old, by string) string {
		if strings.Count(text, old) == 0 {
			t.Fatalf("%q is not in the text", old)
		}
		return strings.Replace(text, old, by, 1)
	}
	for name, changed := range map[string]string{
		"a rule less":          replace("\t\tip daddr @reserved4 goto never\n", ""),
		"a rule more":          replace("\t\ttcp dport @dns", "\t\ttcp dport 53 accept\n\t\ttcp dport @dns"),
		"another order":        replace("\t\tmeta l4proto @protocols goto connections\n", "\t\tgoto refuse\n\t\tmeta l4proto @protocols goto connections\n"),
		"another verdict":      replace("ip6 daddr @reserved6 goto never", "ip6 daddr @reserved6 accept"),
		"a narrower rule":      replace("ip daddr @reserved4 goto", "ip daddr @reserved4 limit rate 5/second goto"),
		"an unknown narrowing": replace("ip daddr @reserved4 goto", "ip daddr @reserved4 rt classid 7 goto"),
		"another set":          replace("ip daddr @host4 goto", "ip daddr @resolver4 goto"),
		"an element less":      replace("\t\t\t169.254.0.0/16,", "#"),
		"an element more":      replace("\t\t\t10.0.2.3,", "\t\t\t10.0.2.3, 10.0.2.4,"),
		"a smaller element":    replace("10.0.0.0/8,", "10.0.0.0/9,"),
		"a smaller last one":   replace("240.0.0.0/4,", "240.0.0.0-255.255.255.254,"),
		"a set that can grow":  replace("\t\tflags constant\n", ""),
		"a note less":          replace("\t\tmeta l4proto @protocols add @met4 { ip daddr }\n", ""),
		"a note elsewhere":     replace("add @met4 { ip daddr }", "add @met4 { ip saddr }"),
		"a longer list":        replace("\t\tsize 64\n", "\t\tsize 65\n"),
		"another policy":       replace("hook output priority filter; policy drop", "hook output priority filter; policy accept"),
		"another hook":         replace("hook forward", "hook input"),
		"another priority":     replace("hook forward priority filter", "hook forward priority -10"),
		"another answer":       replace("icmpx admin-prohibited", "icmpx port-unreachable"),
		"another interface":    strings.Replace(text, `oif "lo"`, "oif 2", 1),
		"a chain more":         replace("\tchain refuse", "\tchain other {\n\t}\n\tchain refuse"),
		"a chain less":         text[:strings.Index(text, "\n\t# The container is not a router")] + "}\n",
		"a sleeping table":     replace("table inet ward {", "table inet ward {\n\tflags dormant;"),
		"another table":        text + "table ip nat { chain x { type nat hook output priority 100; dnat to 10.0.0.1; }; }\n",
	} {
		t.Run(name, func(t *testing.T) {
			load(t, changed)
			r, err := look(t, ns)
			if err == nil {
				err = Compare(public(), r)
			}
			if err == nil {
				t.Fatal("not seen")
			}
			t.Log(err)
		})
	}
	load(t, text)
	if err := Compare(public(), readBack(t, ns)); err != nil {
		t.Error(err)
	}
}

// A batch whose last rule the kernel refuses changes nothing.
func TestErrorLeavesWhatWasThere(t *testing.T) {
	ns := fresh(t)
	f := opened(t, ns)
	broken, err := compile(public())
	if err != nil {
		t.Fatal(err)
	}
	broken.chains = append(broken.chains, chain{name: "broken", rules: []rule{
		{"", []part{{"", []expr.Any{&expr.Lookup{SourceRegister: reg, SetName: "nowhere"}}}}},
	}})
	if err := enforce(t.Context(), int(f.Fd()), broken, queue); err == nil {
		t.Fatal("the broken program was accepted")
	} else {
		t.Log(err)
	}
	if left := ns.Sh("nft list ruleset"); left != "" {
		t.Errorf("half a program stayed in an empty namespace:\n%s", left)
	}
	closed := Policy{Mode: Allowlist}
	apply(t, closed, ns)
	if err := enforce(t.Context(), int(f.Fd()), broken, queue); err == nil {
		t.Fatal("the broken program was accepted")
	}
	if err := Compare(closed, readBack(t, ns)); err != nil {
		t.Errorf("what was there did not stay: %v", err)
	}
}

func TestManyRoutes(t *testing.T) {
	ns := fresh(t)
	p := openPolicy()
	random := rand.New(rand.NewPCG(1, 2))
	for range maxHost {
		bits := 33 + random.IntN(90)
		a := netip.AddrFrom16([16]byte{0x2a, byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32()), 15: byte(random.Uint32())})
		p.HostRoutes = append(p.HostRoutes, netip.PrefixFrom(a, bits))
	}
	apply(t, p, ns)
	for i := range maxHost {
		p.HostRoutes = append(p.HostRoutes, netip.MustParsePrefix(fmt.Sprintf("9.0.%d.%d/32", i/256, i%256)))
	}
	if err := once(t.Context(), p, target(ns)); err == nil {
		t.Error("more than the bound was accepted")
	}
}

func TestTargetsThatAreRefused(t *testing.T) {
	needRoot(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/proc/self/ns/net", "/proc/self/ns/user", "/proc/0/ns/net", file} {
		if err := once(t.Context(), Policy{Mode: Allowlist}, Target{NetNS: path}); err == nil {
			t.Errorf("%s was accepted", path)
		} else {
			t.Log(err)
		}
	}
}

func TestContextEndsTheWork(t *testing.T) {
	ns := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := once(ctx, public(), target(ns)); err == nil {
		t.Error("a cancelled context was ignored")
	}
	if left := ns.Sh("nft list ruleset"); left != "" {
		t.Errorf("rules in spite of it:\n%s", left)
	}
}

// BenchmarkPlace is what a fence adds to a launch: in place, read back, compared.
func BenchmarkPlace(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("SKIPPED: needs root")
	}
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	target := Target{NetNS: fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid)}
	for b.Loop() {
		if err := once(b.Context(), public(), target); err != nil {
			b.Fatal(err)
		}
	}
}
