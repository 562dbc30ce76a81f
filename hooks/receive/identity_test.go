package receive

import (
	"errors"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/hookdir"
	"git-ward/internal/token"
)

// proof is one of a process with that environment, in a repository of its own user's.
func proof(t *testing.T, identity config.Identity, env map[string]string) *transportProof {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "ward"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, token.KeyFile), doorKey, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &transportProof{dir: dir, owner: os.Geteuid(), process: os.Geteuid(), identity: identity, getenv: func(name string) string { return env[name] }}
	for name, value := range env {
		p.environ = append(p.environ, name+"="+value)
	}
	return p
}

var doorKey = []byte(strings.Repeat("k", token.MinKey))

const pushID = "20261121T090000Z-0123456789abcdef"

// door is a door's environment.
func door(principal, name string) map[string]string {
	env := map[string]string{}
	for _, v := range token.Environ(doorKey, pushID, principal, name) {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

// with is an environment with some variables set otherwise.
func with(env map[string]string, pairs ...string) map[string]string {
	env = maps.Clone(env)
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return env
}

func TestIdentify(t *testing.T) {
	none := config.Identity{}
	remote := config.Identity{From: "REMOTE_USER", PM: []string{"pat", "both"}, Agents: []string{"robo"}, Members: []string{"mo", "both", "@all", "0"}}
	for name, c := range map[string]struct {
		identity config.Identity
		env      map[string]string
		want     string // principal and name, or refused, a colon and a part of why
	}{
		"the owner":               {none, nil, "pm"},
		"the owner, among others": {config.Identity{Members: []string{"mo"}}, nil, "pm " + userName(t)},
		"the owner on a list of agents": {config.Identity{Agents: []string{strconv.Itoa(os.Geteuid())}}, nil,
			"refused " + userName(t) + ": [identity] has it on agents and on pm"},
		"a door's plain token":    {none, door("", ""), "agent"},
		"a worker's door":         {none, door("agent", "D-3.0123456789abcdef"), "agent D-3.0123456789abcdef of D-3 0123456789abcdef"},
		"a lease's name, by hand": {none, door("agent", "D-3.01"), "refused D-3.01: D-3.01 may not push: the name is one of a directive's lease"},
		"a lease's name, a PM's":  {none, door("pm", "D-3.0123456789abcdef"), "refused D-3.0123456789abcdef: D-3.0123456789abcdef may not push"},
		"a lease's name on a list": {config.Identity{From: "REMOTE_USER", Agents: []string{"D-3.0123456789abcdef"}}, map[string]string{"REMOTE_USER": "D-3.0123456789abcdef"},
			"refused D-3.0123456789abcdef: D-3.0123456789abcdef may not push"},
		"one in other letters on a list": {config.Identity{From: "REMOTE_USER", Members: []string{"d-3"}}, map[string]string{"REMOTE_USER": "d-3"}, "refused d-3: d-3 may not push"},
		"another's lease's name":         {none, with(door("agent", "D-3.0123456789abcdef"), token.NameVar, "D-4.0123456789abcdef"), "refused: the push token is wrong"},
		"a lease's name, the plain form": {none, with(door("", ""), token.NameVar, "D-3.0123456789abcdef"), "refused: the push token is wrong"},
		"a PM's door":                    {none, door("pm", "pat"), "pm pat"},
		"a member's door":                {none, door("member", "mo"), "member mo"},
		"a door against the settings":    {remote, door("member", "pat"), "refused pat: the door says that pat is member, and [identity] says pm"},
		"a door for the host":            {none, door("host", "x"), "refused x: there are doors for pm, agent, member and watcher"},
		"another principal":              {none, with(door("agent", "pat"), token.PrincipalVar, "pm"), "refused: the push token is wrong"},
		"another name":                   {none, with(door("agent", "pat"), token.NameVar, "mo"), "refused: the push token is wrong"},
		"another id":                     {none, with(door("", ""), token.IDVar, pushID+"0"), "refused: the push token is wrong"},
		"an id that is a path":           {none, with(door("", ""), token.IDVar, "../../../etc"), "refused: the push id is not one"},
		"an id alone":                    {none, map[string]string{token.IDVar: pushID}, "refused: the push token is wrong"},
		"a token alone":                  {none, map[string]string{token.TokenVar: "00"}, "refused: the push id is not one"},
		"a name by a server":             {remote, map[string]string{"REMOTE_USER": "pat"}, "pm pat"},
		"an agent by a server":           {remote, map[string]string{"REMOTE_USER": "robo"}, "agent robo"},
		"a name on two lists":            {remote, map[string]string{"REMOTE_USER": "both"}, "refused both: [identity] has it on pm and on members"},
		"a name on no list":              {remote, map[string]string{"REMOTE_USER": "eve"}, "refused eve: on none of the lists"},
		"a group's name":                 {remote, map[string]string{"REMOTE_USER": "@all"}, "refused: REMOTE_USER:"},
		"a number":                       {remote, map[string]string{"REMOTE_USER": "0"}, "refused: REMOTE_USER:"},
		"no name by a server":            {remote, nil, "refused: REMOTE_USER is not set"},
		"a server that nobody named":     {none, map[string]string{"GL_ID": "key-1"}, "refused: the push comes through a server (GL_ID is set)"},
		"ssh that nobody named":          {none, map[string]string{"SSH_CONNECTION": "x"}, "refused: the push comes through a server (SSH_CONNECTION is set)"},
		"ssh, one account":               {config.Identity{From: config.FromAccount}, map[string]string{"SSH_CONNECTION": "x"}, "pm " + userName(t)},
		"http, one account":              {config.Identity{From: config.FromAccount}, map[string]string{"REMOTE_USER": "x"}, "refused: the push comes through a server"},
		"no signature":                   {config.Identity{From: config.FromSignedPush}, nil, "refused: the push is not signed"},
		"an old nonce": {config.Identity{From: config.FromSignedPush}, map[string]string{"GIT_PUSH_CERT": some, "GIT_PUSH_CERT_NONCE": "n", "GIT_PUSH_CERT_NONCE_STATUS": "SLOP"},
			`refused: the push certificate's nonce is "SLOP"`},
	} {
		t.Run(name, func(t *testing.T) {
			who, err := proof(t, c.identity, c.env).identify(t.Context(), pusher{id: "own"})
			checkPusher(t, who, err, c.want)
		})
	}
}

// TestIdentifyAnotherUser: whoever is not the owner has set his environment himself, so
// only the lists of users and groups count, and a door's token.
func TestIdentifyAnotherUser(t *testing.T) {
	number := strconv.Itoa(os.Geteuid())
	group := "@" + strconv.Itoa(os.Getegid())
	other := userName(t) + "2" // whatever the user who tests is called
	for name, c := range map[string]struct {
		identity config.Identity
		env      map[string]string
		want     string
	}{
		"a stranger":          {config.Identity{}, nil, "refused: user id " + number + " may not push"},
		"by number":           {config.Identity{PM: []string{number}}, nil, "pm " + userName(t)},
		"by group":            {config.Identity{Members: []string{group}}, nil, "member " + userName(t)},
		"by group and number": {config.Identity{PM: []string{number}, Members: []string{group}}, nil, "refused " + userName(t) + ": [identity] has it on pm and on members"},
		"by a name that he says": {config.Identity{From: "REMOTE_USER", PM: []string{other}}, map[string]string{"REMOTE_USER": other},
			"refused: user id " + number + " may not push"},
		"through a door": {config.Identity{}, door("pm", "pat"), "pm pat"},
	} {
		t.Run(name, func(t *testing.T) {
			p := proof(t, c.identity, c.env)
			p.owner++
			who, err := p.identify(t.Context(), pusher{id: "own"})
			checkPusher(t, who, err, c.want)
		})
	}
}

func checkPusher(t *testing.T, who pusher, err error, want string) {
	t.Helper()
	got := strings.TrimSpace(string(who.principal) + " " + who.name)
	if who.lease != (push.Lease{}) {
		got += " of " + who.lease.Directive + " " + who.lease.ID
	}
	if who.id == "" {
		t.Error("a push without an id has no record")
	}
	if err == nil {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
		return
	}
	claimed, why, _ := strings.Cut(want, ": ")
	if strings.TrimSpace("refused "+got) != claimed || !strings.Contains(err.Error(), why) {
		t.Errorf("refused %q: %v, want %q", got, err, want)
	}
	var hinted *diag.Hinted
	if errors.As(err, &hinted) && strings.Contains(hinted.Hint, string(doorKey)) || strings.Contains(err.Error(), string(doorKey)) {
		t.Error("the error tells the key")
	}
}

func userName(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// TestShortKey: a key that somebody emptied proves nothing.
func TestShortKey(t *testing.T) {
	p := proof(t, config.Identity{}, nil)
	if err := os.WriteFile(filepath.Join(p.dir, token.KeyFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{token.IDVar: pushID, token.TokenVar: token.Plain(nil, pushID)}
	p.getenv = func(name string) string { return env[name] }
	if who, err := p.identify(t.Context(), pusher{id: "own"}); err == nil {
		t.Errorf("%+v by an empty key", who)
	}
}

func TestWithoutCredentials(t *testing.T) {
	in := []string{"PATH=/bin", "GIT_DIR=/r", "WARD_PUSH_ID=1", "WARD_PUSH_TOKEN=x", "HTTP_AUTHORIZATION=x", "HTTP_COOKIE=x", "HTTP_X_API_KEY=x", "HTTP_HOST=h",
		"REDIRECT_HTTP_AUTHORIZATION=x", "REDIRECT_REDIRECT_HTTP_COOKIE=x", "REMOTE_PASSWORD=x", "REMOTE_USER=pat", "PHP_AUTH_PW=x", "HTTP_USER_AGENT=git"}
	want := []string{"PATH=/bin", "GIT_DIR=/r", "WARD_PUSH_ID=1", "HTTP_HOST=h", "REMOTE_USER=pat", "HTTP_USER_AGENT=git"}
	if got := withoutCredentials(in); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestChainedDirectory: chained hooks are run from where init puts them. The hook does
// not link what init reads layouts with.
func TestChainedDirectory(t *testing.T) {
	if got := hookdir.ChainedDir("/r.git/hooks"); got != "/r.git/hooks"+chainedSuffix {
		t.Error(got)
	}
	if !slices.Equal(hookdir.Names, []string{preReceive, postReceive}) {
		t.Error(hookdir.Names)
	}
}
