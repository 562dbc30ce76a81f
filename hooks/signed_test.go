package hooks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// signers are keys, and a guarded repository that takes names from signed pushes.
type signers struct {
	*gittest.Pair
	dir string
}

func newSigners(t *testing.T) *signers {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("SKIPPED: ssh-keygen is not installed (scripts/setup --hosting)")
	}
	s := &signers{newPair(t), t.TempDir()}
	s.settings("pm = [\"pat\"]\nmembers = [\"mo\"]\n")
	out := s.Run(s.Work, "git-ward", "init", "--bare", s.Bare)
	if !strings.Contains(out, "pushes are asked for a signature") {
		t.Error(out)
	}
	allowed := ""
	for name, options := range map[string]string{"pat": "", "mo": `namespaces="git"`, "file": `namespaces="file"`, "old": `valid-before="20200101"`, "eve": "-", "two": "", "any": ""} {
		s.Run(s.dir, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", s.key(name))
		pub, err := os.ReadFile(s.key(name) + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		who := name
		switch name {
		case "file", "old":
			who = "pat"
		case "two":
			who = "pat,mo"
		case "any":
			who = "*"
		}
		if options != "-" {
			allowed += who + " " + options + " " + string(pub)
		}
	}
	if err := os.WriteFile(filepath.Join(s.Bare, "ward/allowed_signers"), []byte(allowed), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *signers) key(name string) string { return filepath.Join(s.dir, name) }

// settings replaces [identity].
func (s *signers) settings(lists string) {
	s.T.Helper()
	path := filepath.Join(s.Bare, "ward/config.toml")
	data, err := os.ReadFile(path)
	if err != nil {
		s.T.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "[rights]")
	if err := os.WriteFile(path, []byte("[identity]\nfrom = \"signed-push\"\n"+lists+"[rights]"+rest), 0o644); err != nil {
		s.T.Fatal(err)
	}
}

// push pushes a new commit, signed by a key; more comes after `git push`.
func (s *signers) push(key, ref string, more ...string) (string, error) {
	s.T.Helper()
	s.Commit("f", ref+key+strings.Join(more, " "))
	line := append([]string{"-c", "gpg.format=ssh", "-c", "user.signingKey=" + s.key(key), "push", "--signed"}, more...)
	return s.Try(s.Work, nil, "", "git", append(line, "origin", "HEAD:"+ref)...)
}

// Whoever signs a push is who pushes: by ward/allowed_signers, as ssh-keygen reads
// it, and not by what git says of the signature (ID-2).
func TestSignedPush(t *testing.T) {
	tier.Full(t, "pushes signed by ssh-keygen, in several forms")
	t.Parallel()
	s := newSigners(t)
	for _, c := range []struct{ key, ref, log, out string }{
		{"pat", "main", "pm.*accepted", ""},
		{"mo", "topic", "member.*accepted", ""},
		{"mo", "main", "member.*refused", "a member may not push this ref"},
		{"eve", "main", "unknown.*refused", "the push's signature: "},                             // a key that nobody has
		{"file", "main", "unknown.*refused", "the push's signature: "},                            // for another namespace
		{"old", "main", "unknown.*refused", "the push's signature: "},                             // not any more
		{"two", "main", "unknown.*refused", "gives its key to 2 names, and a key belongs to one"}, // whose?
		{"any", "main", "unknown.*refused", "is no name of a pusher"},
	} {
		s.Git("fetch", "-q", "origin")
		s.Git("reset", "-q", "--hard", "origin/main")
		out, err := s.push(c.key, "refs/heads/"+c.ref)
		if (err == nil) != strings.Contains(c.log, "accepted") || !strings.Contains(out, c.out) {
			t.Errorf("%s: %v\n%s", c.key, err, out)
		}
		log := s.Run(s.Work, "git-ward", "log", "-n", "1", s.Bare)
		principal, verdict, _ := strings.Cut(c.log, ".*")
		if !strings.Contains(log, principal) || !strings.Contains(log, verdict) {
			t.Errorf("%s: %s", c.key, log)
		}
	}
	// The text of a certificate is kept with the record of its push; five pushes by
	// nobody came after mo's last one.
	text := s.Run(s.Bare, "git", "show", "refs/ward/audit~5:push-certificate")
	if !strings.HasPrefix(text, "certificate version 0.1\n") || !strings.HasSuffix(text, "-----END SSH SIGNATURE-----\n") {
		t.Error(text)
	}
	// The owner without a signature is nobody here.
	s.Git("reset", "-q", "--hard", "origin/main")
	s.Commit("f", "unsigned")
	if out, err := s.Push("HEAD:main"); err == nil || !strings.Contains(out, "the push is not signed") {
		t.Errorf("%v\n%s", err, out)
	}
	// Push options are signed, too: pat's may let a finding pass.
	if out, err := s.push("pat", "refs/heads/opt", "-o", "ward.format=json"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	s.Fsck()
}

// What git's environment says of a certificate is not believed: the hook reads the
// certificate itself.
func TestForgedCertificates(t *testing.T) {
	t.Parallel()
	s := newSigners(t)
	if out, err := s.push("pat", "refs/heads/one"); err != nil {
		t.Fatal(out)
	}
	head := strings.TrimSpace(s.Git("rev-parse", "HEAD"))
	zero := strings.Repeat("0", 40)
	line := zero + " " + head + " refs/heads/two"
	payload := "certificate version 0.1\npusher k 1700000000 +0000\nnonce n-1\n\n" + line + "\n"
	sign := func(payload, namespace string) string {
		out, err := s.Try(s.dir, nil, payload, "ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", s.key("pat"))
		if err != nil {
			t.Fatal(out)
		}
		return out[strings.Index(out, "-----BEGIN"):]
	}
	good := payload + sign(payload, "git")
	other := strings.Replace(payload, "refs/heads/two", "refs/heads/main", 1)
	unknown := strings.Replace(payload, "nonce", "oops x\nnonce", 1)
	for what, c := range map[string]struct {
		text, nonce, status, want string
		options                   []string
	}{
		"right":                {good, "n-1", "OK", "", nil},
		"another nonce":        {good, "n-2", "OK", "has another nonce", nil},
		"an old nonce":         {good, "n-1", "SLOP", `nonce is "SLOP", not OK`, nil},
		"no nonce asked for":   {good, "", "UNSOLICITED", "not OK", nil},
		"other refs":           {other + sign(other, "git"), "n-1", "OK", "names other refs", nil},
		"refs changed after":   {other + sign(payload, "git"), "n-1", "OK", "names other refs", nil},
		"text changed after":   {strings.Replace(good, "pusher k", "pusher x", 1), "n-1", "OK", "the push's signature", nil},
		"another namespace":    {payload + sign(payload, "file"), "n-1", "OK", "the push's signature", nil},
		"no signature":         {payload, "n-1", "OK", "no ssh signature", nil},
		"an unknown line":      {unknown + sign(unknown, "git"), "n-1", "OK", "which git does not write", nil},
		"options not signed":   {good, "n-1", "OK", "other push options", []string{"GIT_PUSH_OPTION_COUNT=1", "GIT_PUSH_OPTION_0=ward.allow=a:b"}},
		"a signature too much": {payload + sign(payload, "git") + line + "\n", "n-1", "OK", "goes on after its signature", nil},
		"not a certificate":    {"hello\n" + sign("hello\n", "git"), "n-1", "OK", "not of version 0.1", nil},
	} {
		t.Run(what, func(t *testing.T) {
			blob, err := s.Try(s.Bare, nil, c.text, "git", "hash-object", "-w", "--stdin")
			if err != nil {
				t.Fatal(blob)
			}
			env := append([]string{"GIT_DIR=" + s.Bare, "GIT_PUSH_CERT=" + strings.TrimSpace(blob), "GIT_PUSH_CERT_STATUS=G", "GIT_PUSH_CERT_SIGNER=pat",
				"GIT_PUSH_CERT_NONCE=" + c.nonce, "GIT_PUSH_CERT_NONCE_STATUS=" + c.status}, c.options...)
			out, err := s.Try(s.Bare, env, line+"\n", filepath.Join(s.Bare, "hooks/pre-receive"))
			if (err == nil) != (c.want == "") || !strings.Contains(out, c.want) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The seed of the nonces is not in the config that the fence shows.
func TestNonceSeedIsHidden(t *testing.T) {
	t.Parallel()
	s := newSigners(t)
	data, err := os.ReadFile(filepath.Join(s.Bare, "config"))
	if err != nil || strings.Contains(strings.ToLower(string(data)), "noncese") {
		t.Errorf("%v\n%s", err, data)
	}
	if out := s.Run(s.Bare, "git", "config", "receive.certNonceSeed"); len(strings.TrimSpace(out)) != 64 {
		t.Error(out)
	}
	info, err := os.Stat(filepath.Join(s.Bare, "ward/receive.config"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(err, info)
	}
}
