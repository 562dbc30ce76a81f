package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/sandbox/lab"
)

// hole is a way out that is tried from inside: a script, and words of which each
// must be in what it says. Exit 0 is an escape, unless fine is set.
type hole struct {
	what, script string
	want         []string
	fine         bool
}

// clone starts a script that commits, with what a user inside would type.
const clone = "set -e; cd $(mktemp -d); git clone -q file:///mnt/remote w; cd w; echo $RANDOM > file; git add .; git commit -qm work; "

// holes in the repository's mount: those that led out of a fence
// whose mount could be written come first.
var mountHoles = []hole{
	{what: "planted hook", script: "cp /bin/true /mnt/remote/hooks/post-receive", want: []string{"cannot create regular file"}},
	{what: "hooks directory replaced", script: "mv /mnt/remote/hooks /mnt/remote/h && mkdir /mnt/remote/hooks", want: []string{"mv: cannot move"}},
	{what: "core.hooksPath in the repository", script: "git --git-dir=/mnt/remote config core.hooksPath /tmp", want: []string{"Read-only file system"}},
	{what: "core.hooksPath of the client", script: clone + "mkdir /tmp/h; git -c core.hooksPath=/tmp/h push origin HEAD:main", want: []string{"rights/main"}},
	{what: "core.hooksPath by the environment", script: clone + "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/tmp git push origin HEAD:main", want: []string{"rights/main"}},
	{what: "--receive-pack without hooks", script: clone + "git push --receive-pack='git -c core.hooksPath=/tmp receive-pack' origin HEAD:main", want: []string{"unable to create temporary object directory"}},
	{what: "a remote without the door", script: clone + "git push /mnt/remote HEAD:main", want: []string{"unable to create temporary object directory"}},
	{what: "a ref moved by hand", script: "git --git-dir=/mnt/remote update-ref refs/heads/main HEAD~0", want: []string{"Read-only file system"}},
	{what: "the mount renamed", script: "mv /mnt/remote /mnt/away", want: []string{"mv: cannot move"}},
	{what: "its parent renamed", script: "mv /mnt /away", want: []string{"mv: cannot move"}},
	{what: "the mount remounted", script: "mount -o remount,rw,bind /mnt/remote", want: []string{"mount: "}},
	{what: "the mount unmounted", script: "umount -l /mnt/remote", want: []string{"umount: "}},
	{what: "a mount over it", script: "mount -t tmpfs x /mnt/remote", want: []string{"mount: "}},
	{what: "ward/ uncovered", script: "ls -A /mnt/remote/ward | grep .; cat /mnt/remote/ward/door.key", want: []string{"No such file"}},
}

// socket is a script that opens one and sends nothing.
func socket(kind string) string { return "perl -MSocket -e 'socket(S, " + kind + ") or die $!'" }

// holes in the container itself.
var privilegeHoles = []hole{
	{what: "new user namespace", script: "unshare --user true", want: []string{"not implemented"}},
	{what: "new user and network namespace", script: "unshare --user --map-root-user --net true", want: []string{"not implemented"}},
	{what: "new network namespace", script: "unshare --net true", want: []string{"not implemented"}},
	{what: "new user namespace, by clone", script: `perl -e 'syscall(56, 0x10000011, 0, 0, 0, 0) == -1 and die $!'`, want: []string{"not implemented"}},
	{what: "the namespace of the first process", script: "nsenter --target 1 --net true; nsenter --target 1 --user true", want: []string{"ns/net: Permission denied", "ns/user: Permission denied"}},
	{what: "raw socket", script: socket("PF_INET, SOCK_RAW, 1"), want: []string{"Operation not permitted"}},
	{what: "raw IPv6 socket", script: socket("PF_INET6, SOCK_RAW, 58"), want: []string{"Operation not permitted"}},
	{what: "packet socket", script: socket("17, SOCK_RAW, 768"), want: []string{"not implemented"}},
	{what: "packet socket, cooked", script: socket("17, SOCK_DGRAM, 768"), want: []string{"not implemented"}},
	{what: "vsock to the hypervisor", script: socket("40, SOCK_STREAM, 0"), want: []string{"not implemented"}},
	{what: "kernel crypto socket", script: socket("38, SOCK_SEQPACKET, 0"), want: []string{"not implemented"}},
	{what: "XDP socket", script: socket("44, SOCK_RAW, 0"), want: []string{"not implemented"}},
	{what: "netfilter's netlink", script: socket("16, SOCK_RAW, 12"), want: []string{"not implemented"}},
	{what: "the kernel's keyrings", script: `perl -e 'syscall(250, 0, -3, 1) == -1 and die $!'`, want: []string{"not implemented"}},
	{what: "a file system by its new calls", script: `perl -e '$fs = "tmpfs"; syscall(430, $fs, 0) == -1 and die $!'`, want: []string{"not implemented"}},
	{what: "the root of the first process", script: "cat /proc/1/root/etc/shadow", want: []string{"Permission denied"}},
	{what: "the host's processes", script: "cat /proc/[0-9]*/comm | grep -vE '^(ward-.*|bash|cat|grep)$'", want: nil},
	{what: "another user", script: "setpriv --reuid 0 --clear-groups true", want: []string{"Operation not permitted"}},
	{what: "a setuid program", script: "find / -xdev -perm /6000 -type f 2>/dev/null | grep .", want: nil},
	{what: "a kernel setting", script: "echo 1 > /proc/sys/net/ipv4/ip_forward", want: []string{"Read-only file system"}},
	{what: "a core pattern", script: "echo '|/bin/sh' > /proc/sys/kernel/core_pattern", want: []string{"Read-only file system"}},
	{what: "a cgroup's release agent", script: "ls -d /sys/fs/cgroup/*/release_agent && echo /tmp/x > /sys/fs/cgroup/memory/release_agent", want: []string{"release_agent"}},
	{what: "a container engine's socket", script: "find / -xdev -name '*.sock' 2>/dev/null | grep .", want: nil},
}

// try tries one, prints what was tried and what happened, and fails where it is
// open.
func (h hole) try(t *testing.T, p *lab.Process) lab.Ran {
	t.Helper()
	ran := p.Run(h.script)
	t.Logf("%-40s exit %-3d %s", h.what, ran.Code, lastLine(ran.Out, h.want))
	if (ran.Code == 0) != h.fine {
		t.Errorf("%s: exit %d\n%s", h.what, ran.Code, ran.Out)
	}
	for _, want := range h.want {
		if !strings.Contains(ran.Out, want) {
			t.Errorf("%s: no %q in:\n%s", h.what, want, ran.Out)
		}
	}
	return ran
}

func tryHoles(t *testing.T, p *lab.Process, holes []hole) {
	t.Helper()
	for _, h := range holes {
		h.try(t, p)
	}
}

// lastLine is what of an output is worth a place in a table: the line with the
// expected words, else the last.
func lastLine(out string, want []string) string {
	line := "(nothing)"
	for l := range strings.Lines(out) {
		line = strings.TrimSpace(l)
		if len(want) > 0 && strings.Contains(l, want[0]) {
			break
		}
	}
	return line
}

// TestHoles tries the rest of the ways out from inside a real launch.
func TestHoles(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	config, err := os.ReadFile(filepath.Join(m.Bare, "config"))
	if err != nil {
		t.Fatal(err)
	}
	m.host.Tell(lab.Order{Listen: []string{"unix @ward-test"}})
	p := m.probe(t)
	t.Run("mount", func(t *testing.T) { tryHoles(t, p, mountHoles) })
	t.Run("privileges", func(t *testing.T) { tryHoles(t, p, privilegeHoles) })
	t.Run("abstract sockets", func(t *testing.T) {
		all := []lab.Attempt{{What: "an abstract socket of the host", Proto: "unix", Path: "@ward-test"}}
		outcomes, control := p.Try(all), m.host.Try(all)
		line(t, all[0], outcomes[0].String(), outcomes[0], "on the host: "+control[0].String())
		if outcomes[0].Err == "" || control[0].Err != "" {
			t.Errorf("%v; on the host %v", outcomes[0], control[0])
		}
	})
	t.Run("a second launch", func(t *testing.T) {
		out, err := m.in("", "echo in")
		if err == nil || !strings.Contains(out, "another launcher") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	if now, err := os.ReadFile(filepath.Join(m.Bare, "config")); err != nil || string(now) != string(config) {
		t.Errorf("the repository's config changed: %v\n%s", err, now)
	}
	m.Fsck()
}

// gatewayCall makes a request through the forwarder, as bash.
const gatewayCall = `
call() { # METHOD PATH BODY
	at=${ANTHROPIC_BASE_URL#http://}; at=${at%%/*}
	exec 3<>/dev/tcp/${at%:*}/${at#*:} || return
	printf '%s %s HTTP/1.1\r\nHost: g\r\nx-api-key: mine\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' "$1" "$2" ${#3} "$3" >&3
	cat <&3
	exec 3<&- 3>&-
}
`

const theKey = "sk-ant-test-0123456789abcdefghijklmnopqrstuv"

// TestKey looks for the host's key inside: in what can be read, and in what the
// gateway says when the provider quotes it. Then it makes the provider a way out.
func TestKey(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	m.host.Tell(lab.Order{Mirror: "127.0.0.1:8099"})
	key := filepath.Join(m.dir, "key")
	if err := os.WriteFile(key, []byte(theKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.set(`anthropic_url = "http://127.0.0.1:8099"`, `id = "claude-test"`, fmt.Sprintf("anthropic_key_file = %q", key))
	m.Env = append(m.Env, "OPENAI_API_KEY="+theKey)
	p := m.probe(t)
	body := `{"model":"claude-test","max_tokens":5,"messages":[%s]%s}`
	message := `{"role":"user","content":%s}`
	post := func(path, content, more string) string {
		return gatewayCall + fmt.Sprintf("call POST %s '%s'", path, fmt.Sprintf(body, fmt.Sprintf(message, content), more))
	}
	for _, h := range []hole{
		{what: "the key in an environment", script: "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | sort -u; env", fine: true},
		{what: "the key in a command line", script: "cat /proc/[0-9]*/cmdline; true", fine: true},
		{what: "the key in memory", script: "cat /proc/1/mem /proc/1/maps /proc/$$/maps >/dev/null; cat /proc/1/auxv | head -c 100; true", fine: true},
		{what: "the key in a file", script: "cat $(find /ward /bot /tmp /etc /mnt /run -type f -size -64k 2>/dev/null) 2>/dev/null; true", fine: true},
		{what: "the key beside the sockets", script: "ls -lR /ward/door /ward/gateway; cat /ward/gateway/sock /ward/door/sock", want: []string{"No such device or address"}},
		{what: "the key in what a provider quotes", script: post("/anthropic/v1/messages", `"hi"`, ""), want: []string{"200 OK", "mirror"}, fine: true},
		{what: "the key by a header echoed", script: gatewayCall + "call GET /anthropic/v1/models", want: []string{"200 OK"}, fine: true},
		{
			what:   "the key in an error message",
			script: gatewayCall + "call POST /anthropic/v1/messages '{'; call POST /anthropic/v1/nothing '{}'; call GET //anthropic/../../etc '{}'",
			want:   []string{"400 Bad Request", "403 Forbidden"},
			fine:   true,
		},
		{
			what:   "a web search at the provider",
			script: post("/anthropic/v1/messages", `"hi"`, `,"tools":[{"type":"web_search_20250305","name":"web_search"}]`),
			want:   []string{"400 Bad Request", "does not admit the type"},
			fine:   true,
		},
		{
			what:   "a web fetch at the provider",
			script: post("/anthropic/v1/messages", `"hi"`, `,"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]`),
			want:   []string{"400 Bad Request", "does not admit the type"},
			fine:   true,
		},
		{what: "the same, its type written with escapes", script: post("/anthropic/v1/messages", `"hi"`, `,"tools":[{"typ\u0065":"web_fetch_20250910","name":"web_fetch"}]`), want: []string{"400 Bad Request"}, fine: true},
		{what: "a server of the provider's (MCP)", script: post("/anthropic/v1/messages", `"hi"`, `,"mcp_servers":[{"type":"url","url":"https://x","name":"n"}]`), want: []string{"400 Bad Request", "mcp_servers"}, fine: true},
		{what: "an image that the provider fetches", script: post("/anthropic/v1/messages", `[{"type":"image","source":{"type":"url","url":"https://x/?secret"}}]`, ""), want: []string{"400 Bad Request"}, fine: true},
		{what: "a file at the provider", script: gatewayCall + "call POST /anthropic/v1/files '{}'", want: []string{"403 Forbidden"}, fine: true},
	} {
		ran := h.try(t, p)
		if strings.Contains(ran.Out, theKey[8:]) {
			t.Errorf("%s: the key:\n%s", h.what, ran.Out)
		}
	}
}
