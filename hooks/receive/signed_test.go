package receive

import (
	"strings"
	"testing"

	"git-ward/hooks/push"
	"git-ward/internal/git"
)

// TestCertificate: the text of a push certificate says exactly this push, or is refused.
func TestCertificate(t *testing.T) {
	update := push.Update{Old: git.Zero, New: some, Ref: "refs/heads/a"}
	other := push.Update{Old: git.Zero, New: some, Ref: "refs/heads/b"}
	line := func(u push.Update) string { return u.Old + " " + u.New + " " + u.Ref + "\n" }
	const head = "certificate version 0.1\npusher key 1 +0000\npushee url\nnonce n\n"
	const signature = sshSignature + "c2ln" + sshEnd
	for name, c := range map[string]struct {
		text    string
		updates []push.Update
		options []string
		want    string // "" for a good one
	}{
		"good":                  {head + "\n" + line(update) + signature, []push.Update{update}, nil, ""},
		"in another order":      {head + "\n" + line(other) + line(update) + signature, []push.Update{update, other}, nil, ""},
		"with an option":        {head + "push-option o\n\n" + line(update) + signature, []push.Update{update}, []string{"o"}, ""},
		"without the option":    {head + "\n" + line(update) + signature, []push.Update{update}, []string{"o"}, "other push options"},
		"with more refs":        {head + "\n" + line(update) + line(other) + signature, []push.Update{update}, nil, "names other refs"},
		"with fewer refs":       {head + "\n" + line(update) + signature, []push.Update{update, other}, nil, "names other refs"},
		"another nonce":         {strings.Replace(head, "nonce n", "nonce m", 1) + "\n" + line(update) + signature, []push.Update{update}, nil, "another nonce"},
		"two nonces":            {head + "nonce n\n\n" + line(update) + signature, []push.Update{update}, nil, "another nonce"},
		"two pushers":           {head + "pusher k\n\n" + line(update) + signature, []push.Update{update}, nil, "not one pusher"},
		"another line":          {head + "x-y z\n\n" + line(update) + signature, []push.Update{update}, nil, "which git does not write"},
		"another version":       {strings.Replace(head, "0.1", "0.2", 1) + "\n" + line(update) + signature, []push.Update{update}, nil, "not of version 0.1"},
		"no signature":          {head + "\n" + line(update), []push.Update{update}, nil, "holds no ssh signature"},
		"a signature and more":  {head + "\n" + line(update) + signature + "x\n", []push.Update{update}, nil, "goes on after its signature"},
		"nothing but signature": {signature, []push.Update{update}, nil, "holds no ssh signature"},
		"a signature in a line": {head + "\n" + line(update) + "x" + signature, []push.Update{update}, nil, "holds no ssh signature"},
		"two signatures":        {head + "\n" + line(update) + signature + signature, []push.Update{update}, nil, "goes on after its signature"},
		"nothing":               {"", []push.Update{update}, nil, "holds no ssh signature"},
	} {
		t.Run(name, func(t *testing.T) {
			payload, sig, err := certificate{"n", c.options, c.updates}.check([]byte(c.text))
			if c.want == "" && (err != nil || string(payload)+string(sig) != c.text || !strings.HasPrefix(string(sig), sshSignature)) {
				t.Errorf("%v: %q, %q", err, payload, sig)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
