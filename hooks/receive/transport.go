package receive

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// transportVars are traces of a remote transport in receive-pack's environment: variable
// names, or prefixes that end in _. With one of them, everybody has the owner's user id
// (ID-2).
var transportVars = []string{
	"GATEWAY_INTERFACE", "REQUEST_METHOD", "SERVER_PROTOCOL", "REMOTE_", "HTTP_AUTHORIZATION", "HTTP_HOST", "HTTP_USER_AGENT",
	"GL_", "GITOLITE_", "GITEA_", "FORGEJO_", "GOGS_", "GITLAB_", "GITALY_", "GITHUB_USER_LOGIN", "GITHUB_VIA", "BB_USER_NAME", "STASH_USER_NAME",
}

// sshVars are those of ssh alone, where the account may be the name.
var sshVars = []string{"SSH_CONNECTION", "SSH_CLIENT", "SSH_ORIGINAL_COMMAND", "SSH_TTY"}

// remoteTransport is the first such variable in an environment, "" for none. With account, ssh
// alone does not count.
func remoteTransport(environ []string, account bool) string {
	marks := transportVars
	if !account {
		marks = slices.Concat(transportVars, sshVars)
	}
	for _, mark := range marks {
		for _, v := range environ {
			name, _, _ := strings.Cut(v, "=")
			if strings.HasPrefix(name, "REMOTE_CONTAINERS") {
				continue // an editor's, in a container for development
			}
			if name == mark || strings.HasSuffix(mark, "_") && strings.HasPrefix(name, mark) {
				return name
			}
		}
	}
	return ""
}

// throughServer refuses a push whose user id everybody shares, and names the setting that
// would identify the pusher.
func throughServer(seen string) error {
	setting := ""
	for _, s := range []struct{ prefix, from string }{
		{"GITEA_", "GITEA_PUSHER_NAME"}, {"FORGEJO_", "GITEA_PUSHER_NAME"}, {"GL_USERNAME", "GL_USERNAME"}, {"GL_ID", "GL_USERNAME"},
		{"GITLAB_", "GL_USERNAME"}, {"GITALY_", "GL_USERNAME"}, {"GL_", "GL_USER"}, {"GITOLITE_", "GL_USER"},
		{"GITHUB_", "GITHUB_USER_LOGIN"}, {"BB_", "BB_USER_NAME"}, {"STASH_", "STASH_USER_NAME"},
		{"SSH_", "account"}, {"", "REMOTE_USER"},
	} {
		if strings.HasPrefix(seen, s.prefix) {
			setting = s.from
			break
		}
	}
	what := fmt.Sprintf("write from = %q into [identity] of ward/config.toml, and the names on its lists pm, agents and members", setting)
	if setting == "account" {
		what = `write from = "account" into [identity] of ward/config.toml where every key of this account is a PM's;` +
			` else give each key the forced command git ward door --stdio --bare DIR --pm NAME (or --agent, --member)`
	}
	return diag.Hint(errors.New("the push comes through a server ("+seen+" is set), where everybody has the owner's user id: nothing says who pushes"), "%s", what)
}
