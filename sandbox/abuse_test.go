package sandbox

import (
	"strings"
	"testing"
	"time"

	"git-ward/internal/tier"
	"git-ward/sandbox/lab"
)

// honest is a push that must get through whatever others do.
const honest = clone + "git push -q origin HEAD:agent/honest-$RANDOM && echo pushed"

// knock is a script that sends its standard input to the door and prints what
// comes back.
const knock = "/ward/bin/ward-agent connect /ward/door/sock"

// TestAbuse sends garbage to the door and to the gateway, floods them and hangs,
// from inside a real launch, and then does honest work.
func TestAbuse(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	m.host.Tell(lab.Order{Mirror: "127.0.0.1:8099"})
	// A quarter of the deadline is the patience with a silent client.
	m.set(`deadline = "8s"`, `anthropic_url = "http://127.0.0.1:8099"`, `id = "claude-test"`)
	p := m.probe(t)
	call := gatewayCall + `call POST /anthropic/v1/messages '{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}'`
	for _, h := range []hole{
		{what: "the door: noise", script: "for i in 1 2 3 4 5 6 7 8; do head -c 200000 /dev/urandom | timeout 10 " + knock + " >/dev/null; done; " + honest, want: []string{"pushed"}, fine: true},
		{
			what:   "the door: another service, another path",
			script: `printf '0032git-upload-pack /etc\0host=x\0' | timeout 10 ` + knock + ` | tail -c 100; printf '003fgit-receive-pack /mnt/other.git\0host=x\0' | timeout 10 ` + knock + ` | grep -a -c report-status; ` + honest,
			want:   []string{"pushed"},
			fine:   true,
		},
		{what: "the door: half a command, then silence", script: "for i in 1 2 3 4; do (printf '00a'; sleep 20) | timeout 20 " + knock + " >/dev/null & done; sleep 0.2; " + honest, want: []string{"pushed"}, fine: true},
		{what: "the door: 100 clients at once", script: "for i in $(seq 100); do timeout 20 " + knock + " </dev/null >/dev/null & done; " + honest, want: []string{"pushed"}, fine: true},
		{what: "the door: clients that read nothing", script: "for i in 1 2 3 4; do (sleep 20 | timeout 20 " + knock + " | sleep 20) & done; sleep 0.2; " + honest, want: []string{"pushed"}, fine: true},
		{
			what:   "the gateway: noise",
			script: gatewayCall + "at=${ANTHROPIC_BASE_URL#http://127.0.0.1:}; for i in 1 2 3 4 5 6 7 8; do exec 3<>/dev/tcp/127.0.0.1/${at%%/*}; head -c 200000 /dev/urandom >&3; exec 3>&-; done; " + call,
			want:   []string{"200 OK"},
			fine:   true,
		},
		{
			what:   "the gateway: clients that hang",
			script: "at=${ANTHROPIC_BASE_URL#http://127.0.0.1:}; for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/${at%%/*}; printf 'POST /anthr' >&3; sleep 20) & done; sleep 0.3; " + call,
			want:   []string{"200 OK"},
			fine:   true,
		},
		{
			what:   "the gateway: a flood",
			script: "at=${ANTHROPIC_BASE_URL#http://127.0.0.1:}; for i in $(seq 150); do (exec 3<>/dev/tcp/127.0.0.1/${at%%/*}; printf 'GET / HTTP/1.1\\r\\nHost: g\\r\\n\\r\\n' >&3) & done; wait; " + call,
			want:   []string{"200 OK"},
			fine:   true,
		},
		{
			what:   "the gateway: a body without an end",
			script: "at=${ANTHROPIC_BASE_URL#http://127.0.0.1:}; exec 3<>/dev/tcp/127.0.0.1/${at%%/*}; printf 'POST /anthropic/v1/messages HTTP/1.1\\r\\nHost: g\\r\\nContent-Length: 99999999999\\r\\n\\r\\n' >&3; timeout 5 cat /dev/zero >&3; " + call,
			want:   []string{"200 OK"},
			fine:   true,
		},
	} {
		start := time.Now()
		h.try(t, p)
		t.Logf("%-40s took %v", "", time.Since(start).Round(time.Millisecond))
	}
	if err := p.End(); err != nil {
		t.Errorf("the launch: %v", err)
	}
	m.Fsck()
}

// TestNames asks for names in allow-list mode: the gateway resolves them, on the
// host, and opens those that are allowed and lead to the public network.
func TestNames(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	m.set(`[egress] mode = "allowlist"`, `allow = ["pkg.example.com", "turns.example.com", "mixed.example.com"]`)
	p := m.probe(t)
	// A tunnel, as every https client asks for it.
	ask := func(target string) string {
		return `at=${HTTPS_PROXY#http://127.0.0.1:}; exec 3<>/dev/tcp/127.0.0.1/$at; printf 'CONNECT ` + target + ` HTTP/1.1\r\nHost: ` + target + `\r\n\r\n' >&3; head -c 300 <&3`
	}
	for _, h := range []hole{
		{what: "an allowed name", script: ask("pkg.example.com:443"), want: []string{"200 Connection established"}},
		{what: "a name that is not allowed", script: ask("other.example.com:443"), want: []string{"403 Forbidden", "not on the list"}},
		{what: "a name that turns: private now", script: ask("turns.example.com:443"), want: []string{"403 Forbidden", "private or special"}},
		{what: "the same name: public now", script: ask("turns.example.com:443"), want: []string{"200 Connection established"}},
		{what: "the same name: metadata now", script: ask("turns.example.com:443"), want: []string{"403 Forbidden", "private or special"}},
		{what: "a name for the host and what is behind it", script: ask("mixed.example.com:443"), want: []string{"403 Forbidden", "private or special"}},
		{what: "an address", script: ask("203.0.113.5:443"), want: []string{"403 Forbidden", "only names"}},
		{what: "the metadata address", script: ask("169.254.169.254:80"), want: []string{"403 Forbidden", "only names"}},
		{what: "an address in one number", script: ask("2852039166:80"), want: []string{"403 Forbidden", "only names"}},
		{what: "another port", script: ask("pkg.example.com:22"), want: []string{"403 Forbidden", "only ports 443 and 80"}},
		{ // whatever the port, behind it is the gateway and no other service of the host's
			what:   "the gateway itself",
			script: strings.Replace(ask("localhost:22"), `\r\n\r\n'`, `\r\n\r\nGET /none HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n'`, 1),
			want:   []string{"200 Connection established", "ward: this gateway serves"},
		},
		{what: "a name by DNS", script: "getent hosts pkg.example.com && exit 9; echo unknown", want: []string{"unknown"}},
	} {
		h.fine = true
		h.try(t, p)
	}
	for packet := range m.world.Seen() {
		if !strings.HasSuffix(packet, " "+resolver+" 53") && packet != "tcp 203.0.113.5 443" && !strings.HasPrefix(packet, "icmp ff0") && !strings.HasPrefix(packet, "protocol ") {
			t.Errorf("got out: %s", packet)
		}
	}
}
