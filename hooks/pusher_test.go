package hooks_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	door "git-ward/internal/token"
)

// setIdentity replaces [identity] of a pair's repository.
func setIdentity(p *gittest.Pair, lines string) {
	p.T.Helper()
	path := filepath.Join(p.Bare, "ward/config.toml")
	data, err := os.ReadFile(path)
	if err != nil {
		p.T.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "[rights]")
	if err := os.WriteFile(path, []byte("[identity]\n"+lines+"\n[rights]"+rest), 0o644); err != nil {
		p.T.Fatal(err)
	}
}

// lastPusher is principal, name and verdict of the newest record.
func lastPusher(p *gittest.Pair) string {
	p.T.Helper()
	var r struct{ Principal, Name, Verdict string }
	if err := json.Unmarshal([]byte(p.Run(p.Work, "git-ward", "log", "--json", "-n", "1", p.Bare)), &r); err != nil {
		p.T.Fatal(err)
	}
	return r.Principal + " " + r.Name + " " + r.Verdict
}

// tryPush pushes something new to main with more environment.
func tryPush(p *gittest.Pair, env ...string) (string, error) {
	p.T.Helper()
	p.Commit("f", strings.TrimSpace(p.Git("rev-list", "--count", "HEAD")))
	return p.Try(p.Work, env, "", "git", "push", "-q", "origin", "HEAD:main")
}

// The owner's user id behind a server is everybody's: refused, with the setting to
// write, whichever trace the server leaves (ID-2).
func TestTheOwnersIDBehindAServer(t *testing.T) {
	tier.Full(t, "twenty pushes, one for each variable of a server")
	t.Parallel()
	p := newPair(t)
	for variable, setting := range map[string]string{
		"SSH_CONNECTION": "account", "SSH_CLIENT": "account", "SSH_ORIGINAL_COMMAND": "account",
		"GATEWAY_INTERFACE": "REMOTE_USER", "REMOTE_USER": "REMOTE_USER", "REMOTE_ADDR": "REMOTE_USER", "REQUEST_METHOD": "REMOTE_USER", "HTTP_AUTHORIZATION": "REMOTE_USER",
		"GL_USER": "GL_USER", "GL_REPO": "GL_USER", "GITOLITE_HTTP_HOST": "GL_USER", "GL_ID": "GL_USERNAME", "GL_USERNAME": "GL_USERNAME", "GITLAB_HOST": "GL_USERNAME",
		"GITALY_HOOKS_PAYLOAD": "GL_USERNAME", "GITEA_PUSHER_NAME": "GITEA_PUSHER_NAME", "GITEA_REPO_NAME": "GITEA_PUSHER_NAME", "FORGEJO_X": "GITEA_PUSHER_NAME",
	} {
		out, err := tryPush(p, variable+"=pat")
		if err == nil || !strings.Contains(out, "the push comes through a server ("+variable+" is set)") || !strings.Contains(out, `from = "`+setting+`"`) || lastPusher(p) != "unknown  refused" {
			t.Errorf("%s: %v\n%s%s", variable, err, out, lastPusher(p))
		}
	}
	// What shows no transport takes nothing away.
	if out, err := tryPush(p, "SSH_AUTH_SOCK=/run/x", "SSH_AGENT_PID=1", "HTTP_PROXY=x", "GLOBAL=x", "REMOTELY=x", "REMOTE_CONTAINERS=true", "REMOTE_CONTAINERS_IPC=/x"); err != nil || !strings.HasPrefix(lastPusher(p), "pm ") {
		t.Errorf("%v\n%s", err, out)
	}
	setIdentity(p, `from = "account"`)
	if out, err := tryPush(p, "SSH_CONNECTION=x", "SSH_ORIGINAL_COMMAND=x"); err != nil || !strings.HasPrefix(lastPusher(p), "pm ") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := tryPush(p, "REMOTE_USER=pat"); err == nil || !strings.Contains(out, `from = "REMOTE_USER"`) {
		t.Errorf("%v\n%s", err, out)
	}
	p.Fsck()
}

// A name from a server is one on one list, letter by letter; entries that stand for
// user ids and groups of the machine are nobody's name.
func TestNamesFromAServer(t *testing.T) {
	tier.Full(t, "twenty pushes; hooks/receive TestIdentify reads the same names in one process")
	t.Parallel()
	p := newPair(t)
	setIdentity(p, "from = \"REMOTE_USER\"\npm = [\"pat\", \"both\", \"@pms\", \"1000\", \"@0\"]\nagents = [\"robo\"]\nmembers = [\"mo\", \"both\"]")
	for name, want := range map[string]string{
		"pat": "pm pat accepted", "robo": "agent robo refused", "mo": "member mo refused",
		"eve": "unknown eve refused", "Pat": "unknown Pat refused", "pat ": "unknown  refused", " pat": "unknown  refused", "both": "unknown both refused",
		"@pms": "unknown  refused", "pms": "unknown pms refused", "1000": "unknown  refused", "0": "unknown  refused", "": "unknown  refused",
		"p\u0430t": "unknown  refused", "pat\x1b[31m": "unknown  refused", "pat\nmo": "unknown  refused", "pat,mo": "unknown  refused", "../pat": "unknown  refused",
		strings.Repeat("p", 5000): "unknown  refused", "\xff": "unknown  refused",
	} {
		out, err := tryPush(p, "REMOTE_USER="+name, "GATEWAY_INTERFACE=CGI/1.1")
		if got := lastPusher(p); got != want || (err == nil) != strings.HasSuffix(want, "accepted") {
			t.Errorf("%q: %q, want %q: %v\n%s", name, got, want, err, out)
		}
		if strings.Contains(out, "\x1b[31m") {
			t.Errorf("%q reached the terminal raw", name)
		}
	}
	p.Fsck()
}

// A door's token is for its principal and its name, and for nothing else.
func TestBoundTokens(t *testing.T) {
	tier.Full(t, "a push for each way to bend a token")
	t.Parallel()
	p := newPair(t)
	key, err := os.ReadFile(filepath.Join(p.Bare, door.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	const id = "20261121T090000Z-0123456789abcdef"
	with := func(principal, name, token string) []string {
		return []string{"WARD_PUSH_ID=" + id, "WARD_PRINCIPAL=" + principal, "WARD_NAME=" + name, "WARD_PUSH_TOKEN=" + token}
	}
	for what, c := range map[string]struct {
		env  []string
		want string
	}{
		"the agent's plain token":    {with("", "", door.Plain(key, id)), "agent  refused"}, // main is not the agent's
		"a PM's":                     {with("pm", "pat", door.Bound(key, id, "pm", "pat")), "pm pat accepted"},
		"a member's":                 {with("member", "mo", door.Bound(key, id, "member", "mo")), "member mo refused"},
		"an agent's with a name":     {with("agent", "robo", door.Bound(key, id, "agent", "robo")), "agent robo refused"},
		"the plain one for a PM":     {with("pm", "pat", door.Plain(key, id)), "unknown  refused"},
		"another principal":          {with("pm", "pat", door.Bound(key, id, "agent", "pat")), "unknown  refused"},
		"another name":               {with("pm", "pat", door.Bound(key, id, "pm", "mo")), "unknown  refused"},
		"a bound one as plain":       {with("", "", door.Bound(key, id, "agent", "robo")), "unknown  refused"},
		"a name without a principal": {with("", "pat", door.Plain(key, id)), "unknown  refused"},
		"a principal without a name": {with("pm", "", door.Plain(key, id)), "unknown  refused"},
		"a principal of one's own":   {with("host", "x", door.Bound(key, id, "host", "x")), "unknown x refused"},
		"the parts cut elsewhere":    {with("pmpat", "", door.Bound(key, id, "pm", "pat")), "unknown  refused"},
		"a name that is not one":     {with("pm", "@pms", door.Bound(key, id, "pm", "@pms")), "unknown  refused"},
		"no token at all":            {with("pm", "pat", ""), "unknown  refused"},
		"a token and no id":          {[]string{"WARD_PUSH_TOKEN=" + door.Plain(key, "")}, "unknown  refused"},
		"names and no token":         {[]string{"WARD_PRINCIPAL=agent", "WARD_NAME=robo"}, "pm"}, // they prove nothing
	} {
		out, err := tryPush(p, c.env...)
		if got := lastPusher(p); !strings.HasPrefix(got, c.want) || (err == nil) != strings.HasSuffix(got, "accepted") {
			t.Errorf("%s: %q, want %q: %v\n%s", what, got, c.want, err, out)
		}
	}
	p.Fsck()
}

// A member's branches are every one but main; what is Ward's own is not a member's.
func TestMemberRights(t *testing.T) {
	tier.Full(t, "a push for each right of a member")
	t.Parallel()
	p := newPair(t)
	setIdentity(p, "from = \"WARD_USER\"\npm = [\"pat\"]\nmembers = [\"mo\"]")
	for ref, ok := range map[string]bool{
		"refs/heads/topic": true, "refs/heads/agent/x": true, "refs/heads/release/1": true, "refs/heads/main": false,
		"refs/tags/v1": true, "refs/ward/uow/D-1.1": false, "refs/ward/audit": false, "refs/changes/1": false,
	} {
		out, err := p.Try(p.Work, []string{"WARD_USER=mo"}, "", "git", "push", "-q", "origin", "HEAD~0:"+ref, "--force")
		if ref == "refs/heads/main" {
			p.Git("commit", "-q", "--allow-empty", "-m", "x")
			out, err = p.Try(p.Work, []string{"WARD_USER=mo"}, "", "git", "push", "-q", "origin", "HEAD:"+ref)
		}
		if (err == nil) != ok || !ok && !strings.Contains(out, "rights/ref") && !strings.Contains(out, "ref/") {
			t.Errorf("%s: %v\n%s", ref, err, out)
		}
	}
	if out, err := p.Try(p.Work, []string{"WARD_USER=mo"}, "", "git", "push", "-q", "origin", ":main"); err == nil {
		t.Error(out)
	}
	for branch, ok := range map[string]bool{"main": false, "topic": true} { // in the clone, too
		if out, err := p.Try(p.Work, nil, "", "git-ward", "lint", "--as", "member", "--ref", branch); (err == nil) != ok || !ok && !strings.Contains(out, "a member may not push this ref") {
			t.Errorf("lint for %s: %v\n%s", branch, err, out)
		}
	}
	p.Fsck()
}

// A push that names a ref of the host's gets git's own refusal, too, and fetches
// still see them (AUD-2).
func TestHostRefsAreHiddenFromPushes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, ref := range []string{"refs/ward/audit", "refs/ward/last-good", "refs/ward/boot/before/1", "refs/ward/boot/pin/to", "refs/ward/lease/D-1", "refs/ward/forge/issue/1", "refs/notes/audit", "refs/notes/lessons", "refs/notes/certificates", "refs/replace/" + strings.Repeat("1", 40)} {
		out, err := p.Push("--force", "HEAD:"+ref)
		if err == nil || !strings.Contains(out, "deny updating a hidden ref") {
			t.Errorf("%s: %v\n%s", ref, err, out)
		}
	}
	if out := p.Git("ls-remote", "origin"); !strings.Contains(out, "refs/ward/audit") || !strings.Contains(out, "refs/notes/audit") {
		t.Error(out)
	}
	// A repository of the first version's gets all of it by init.
	p.Run(p.Bare, "git", "config", "--unset-all", "receive.hideRefs")
	p.Run(p.Bare, "git", "config", "--remove-section", "ward")
	for name, mode := range map[string]os.FileMode{"ward": 0o755, "ward/pending": 0o777, "ward/door.key": 0o644, "hooks/pre-receive": 0o644} {
		if err := os.Chmod(filepath.Join(p.Bare, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	out := p.Run("", "git-ward", "init", "--bare", p.Bare)
	if !strings.Contains(out, "receive.hideRefs for 11 refs") || !strings.Contains(out, "closed ward to others") {
		t.Error(out)
	}
	for name, mode := range map[string]os.FileMode{"ward": 0o700, "ward/pending": 0o700, "ward/door.key": 0o600, "hooks/pre-receive": 0o755} {
		if info, err := os.Stat(filepath.Join(p.Bare, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, err, info.Mode())
		}
	}
	if out := p.Run(p.Bare, "git", "config", "ward.preReceive"); strings.TrimSpace(out) != "hooks/pre-receive" {
		t.Error(out)
	}
	p.Fsck()
}
