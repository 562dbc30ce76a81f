package config

import (
	"strings"
	"testing"
)

// A name must not come from what a client sends (ID-2).
func TestIdentityFrom(t *testing.T) {
	for _, good := range []string{"", "account", "signed-push", "GL_USER", "REMOTE_USER", "GITEA_PUSHER_NAME", "GL_USERNAME", "WARD_USER", "GL_ID", "USERNAME_OF_MINE", "PATHFINDER"} {
		if _, err := Parse([]byte("[identity]\nfrom = \""+good+"\"\n"), "c"); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		"HTTP_USER", "HTTP_REMOTE_USER", "HTTP_AUTHORIZATION", "REDIRECT_HTTP_X", "GIT_PUSH_OPTION_0", "GIT_COMMITTER_NAME", "GIT_PROTOCOL",
		"SSH_ORIGINAL_COMMAND", "SSH_CONNECTION", "LC_ALL", "LC_WARD_USER", "LANG", "LANGUAGE", "TERM", "QUERY_STRING", "PATH_INFO", "REQUEST_URI",
		"REMOTE_ADDR", "REMOTE_IDENT", "SERVER_NAME", "CONTENT_TYPE", "USER", "LOGNAME", "HOME", "WARD_PUSH_ID", "WARD_PUSH_TOKEN", "WARD_NAME", "WARD_PRINCIPAL",
		"GL_REPO", "SUDO_USER", "remote_user", "REMOTE-USER", "Remote_User", "A B", "1X", "accounts", "signed_push",
	} {
		_, err := Parse([]byte("[identity]\nfrom = \""+bad+"\"\n"), "c")
		if err == nil || !strings.HasPrefix(err.Error(), "c: identity.from is ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestIdentityLists(t *testing.T) {
	if _, err := Parse([]byte("[identity]\npm = [\"pat\", \"1000\", \"@wheel\", \"@1001\", \"a@b.org\"]\nagents = [\"bot\"]\nmembers = [\"mo\"]\n"), "c"); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "@", "%wheel", "group:wheel", "a b", "*", "-x", "@@x", "a/b", "p\\u0430t"} {
		if _, err := Parse([]byte("[identity]\nmembers = [\""+bad+"\"]\n"), "c"); err == nil || !strings.Contains(err.Error(), "identity.members names ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
