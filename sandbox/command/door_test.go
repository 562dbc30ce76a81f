package command

import (
	"strings"
	"testing"

	"git-ward/internal/cli"
)

// TestDoorUsage: who has the key, and the repository, are the host's to say; what it
// did not say is not taken from the client.
func TestDoorUsage(t *testing.T) {
	for words, want := range map[string]string{
		"--bare BARE --pm pat":                         "door takes --stdio",
		"--stdio --pm pat":                             "--bare is missing",
		"--stdio --bare BARE":                          "who has the key is missing",
		"--stdio --bare BARE --pm pat --agent a":       "one of --agent, --pm, --member, --lease and --hand",
		"--stdio --bare BARE --lease D-1.x --pm a":     "one of --agent, --pm, --member, --lease and --hand",
		"--stdio --bare BARE --verdict /s --pm a":      "--verdict stands alone",
		"--stdio --bare BARE --pm @wheel":              "no name of a pusher",
		"--stdio --bare BARE --pm 1000":                "is a number",
		"--stdio --bare BARE --pm pat extra":           "no other words",
		"--stdio --bare BARE --agent ../../etc/passwd": "no name of a pusher",
	} {
		var out strings.Builder
		env := &cli.Env{Args: strings.Fields(words), Stdout: &out, Stderr: &out, Dir: "/", Getenv: func(string) string { return "" }}
		if s, err := parseDoor(env); err == nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %+v %v\n%s", words, s, err, &out)
		}
	}
	sent := map[string]string{"SSH_ORIGINAL_COMMAND": "git-receive-pack 'x'", "GIT_PROTOCOL": "version=2"}
	env := &cli.Env{Args: strings.Fields("--stdio --bare repo.git --member pat"), Dir: "/srv", Getenv: func(name string) string { return sent[name] }}
	s, err := parseDoor(env)
	if err != nil || s.Bare != "/srv/repo.git" || s.Principal != "member" || s.Name != "pat" || s.Command != "git-receive-pack 'x'" || s.Protocol != "version=2" {
		t.Errorf("%+v %v", s, err)
	}
}
