package config

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// Identity says how a pusher is identified (ID-1 to ID-3).
type Identity struct {
	From    string   `toml:"from" shown:"audit" init:"yes"`
	PM      []string `toml:"pm" shown:"audit" init:"yes"`
	Agents  []string `toml:"agents" shown:"audit" init:"yes"`
	Members []string `toml:"members" shown:"audit" init:"yes"`
}

// The words that Identity.From takes besides "" and the name of a variable.
const (
	FromAccount    = "account"
	FromSignedPush = "signed-push"
)

// Variable is the environment variable that holds a pusher's name; "" when the
// name comes from elsewhere.
func (i Identity) Variable() string {
	switch i.From {
	case "", FromAccount, FromSignedPush:
		return ""
	}
	return i.From
}

// Group is the name or number of an entry that stands for a group, "@name".
func Group(entry string) (name string, ok bool) { return strings.CutPrefix(entry, "@") }

var (
	variableName = pattern.New(`^[A-Z][A-Z0-9_]*$`)
	// entries are what the lists may hold: names (internal/token), numeric ids,
	// groups.
	entries = pattern.New(`^@?[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,127}$`)
)

// chosenByClients are variables, and beginnings of variables, that whoever
// connects can set: request headers, what ssh passes on, what git takes from the
// client, and parts of the request itself. Others of these name a place or a
// program, never a person.
var chosenByClients = []string{
	"HTTP_", "REDIRECT_", "GIT_", "SSH_", "LC_", "LANG", "TERM", "COLORTERM", "DISPLAY", "XDG_", "XMODIFIERS", "TZ",
	"QUERY_STRING", "PATH_", "REQUEST_", "SCRIPT_", "DOCUMENT_", "CONTENT_", "SERVER_", "GATEWAY_", "AUTH_", "NO_",
	"REMOTE_ADDR", "REMOTE_HOST", "REMOTE_PORT", "REMOTE_IDENT", "REMOTE_PASS",
	"GL_REPO", "GL_PROJECT", "GL_PROTOCOL", "GITEA_REPO", "GITEA_KEY", "GITOLITE_",
	"PATH", "HOME", "SHELL", "PWD", "OLDPWD", "SHLVL", "MAIL", "EDITOR", "PAGER", "TMP", "TEMP", "LD_", "BASH_", "ENV",
	"WARD_PUSH_", "WARD_PRINCIPAL", "WARD_NAME",
	"USER", "LOGNAME", "SUDO_", // the account's, the same for every pusher
}

// whole are the names in this list that match exactly, not as a prefix.
var whole = []string{"PATH", "HOME", "SHELL", "PWD", "MAIL", "ENV", "TZ", "USER", "TERM"}

// pushers are the lists' entries: none that could never match, or match by accident.
func pushers(key string, values []string) error {
	for _, v := range values {
		if !entries.MatchString(v) {
			return fmt.Errorf("%s names %+q: a name or a user id is letters, digits and . _ @ + -, a group is written \"@group\"", key, v)
		}
	}
	return nil
}

// source is where names come from: none that a client can write.
func source(key string, values []string) error {
	name := Identity{From: values[0]}.Variable()
	switch {
	case name == "":
		return nil
	case !variableName.MatchString(name):
		return fmt.Errorf("%s is %+q, not \"\", %q, %q or the name of an environment variable such as GL_USER or REMOTE_USER", key, name, FromAccount, FromSignedPush)
	case clientSets(name):
		return fmt.Errorf("%s is %s, which a client can set or which names no person: use the variable in which your server puts the name that it proved, such as GL_USER, REMOTE_USER or GITEA_PUSHER_NAME", key, name)
	}
	return nil
}

func clientSets(name string) bool {
	return slices.ContainsFunc(chosenByClients, func(bad string) bool {
		return name == bad || !slices.Contains(whole, bad) && strings.HasPrefix(name, bad)
	})
}

// Means explains in one sentence who pushes as which principal, for doctor and init.
func (i Identity) Means() string {
	lists := fmt.Sprintf("pm %s, agents %s, members %s", words(i.PM), words(i.Agents), words(i.Members))
	switch i.From {
	case "":
		return "users of this machine: the owner is PM, but not through ssh or a server ([identity] from); " + lists
	case FromAccount:
		return "users of this machine, and whoever has an ssh key to the owner's account: the owner is PM; " + lists
	case FromSignedPush:
		return "the signer of the push, by ward/allowed_signers; " + lists
	}
	return "the name in " + i.From + ", which the server sets; " + lists
}

func words(list []string) string {
	if len(list) == 0 {
		return "nobody"
	}
	return strings.Join(list, " ")
}
