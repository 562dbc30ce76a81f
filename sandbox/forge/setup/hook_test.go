package setup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/sandbox/forge/client"
	"git-ward/sandbox/forge/client/githubtest"
	"git-ward/sandbox/gateway"
)

func named(t *testing.T, text string) gateway.Key {
	t.Helper()
	k, err := gateway.NewKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestAgree: the forge has the wanted webhook once, whatever was there of this repository's, and
// keeps what is another's.
func TestAgree(t *testing.T) {
	tier.First(t, "GitHub's description has 13 MB")
	s := githubtest.New(t)
	for _, login := range []string{"ann", "ward", "eve"} {
		s.User(login, "User")
	}
	p := s.Project("ann", "box")
	p.Give("ward", "admin")
	token, err := Secret(filepath.Join(t.TempDir(), "of-the-test"))
	if err != nil {
		t.Fatal(err)
	}
	own := Hook{Of: strings.Repeat("a", 40), To: "https://ward.example.org/hook", Listen: "127.0.0.1:7071", Secret: token}
	other := own
	other.Of = strings.Repeat("b", 40)
	const another = "https://ci.example.org/?ward=cc"
	p.Hook(another)
	p.Hook(other.marked())

	as, err := Find(t.Context(), s.URL+"/ann/box", []string{"github"}, named(t, "token-of-ward"))
	if err != nil {
		t.Fatal(err)
	}
	f := as.Forge
	agree := func(what string, h Hook, want, has string) {
		t.Helper()
		if did, err := h.Agree(t.Context(), f); err != nil || did != want {
			t.Errorf("%s: %q %v, want %q", what, did, err, want)
		}
		all, err := f.Hooks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		urls := map[string]int{}
		for _, one := range all {
			urls[one.URL]++
		}
		n := 2
		if has != "" {
			n++
		}
		if len(all) != n || urls[another] != 1 || urls[other.marked()] != 1 || has != "" && urls[has] != 1 {
			t.Errorf("%s: %v", what, urls)
		}
	}
	agree("none is wanted", Hook{Of: own.Of}, "", "")
	agree("first", own, "is made", own.marked())
	agree("second", own, "was there", own.marked())
	rotated := own
	if rotated.Secret, err = Secret(filepath.Join(t.TempDir(), "another")); err != nil {
		t.Fatal(err)
	}
	agree("another secret", rotated, "is made", rotated.marked())
	moved := rotated
	moved.To = "https://ward.example.org/hook?of=box"
	agree("another URL", moved, "is made", moved.To+"&ward="+moved.mark())
	p.Hook(own.marked())
	p.Hook(rotated.marked())
	agree("older ones of its own", moved, "was there", moved.marked())
	p.Give("eve", "write")
	lesser, err := Find(t.Context(), s.URL+"/ann/box", []string{"github"}, named(t, "token-of-eve"))
	if err != nil {
		t.Fatal(err)
	}
	if did, err := (Hook{Of: own.Of}).Agree(t.Context(), mayList{lesser.Forge, f}); err == nil || !strings.Contains(err.Error(), "still has") || Remedy(err, "FILE", "eve") == "" {
		t.Errorf("of one who may not remove it: %q %v", did, err)
	}
	agree("none is wanted any more", Hook{Of: own.Of}, "is removed", "")
}

// mayList is a forge as it is to a token that may list the webhooks, and whose removal of one GitHub
// answers with 404.
type mayList struct {
	client.Forge
	lists client.Forge
}

func (m mayList) Hooks(ctx context.Context) ([]client.Hook, error) { return m.lists.Hooks(ctx) }

// TestUsable: a webhook that nobody would hear, or that anybody could read, is not made.
func TestUsable(t *testing.T) {
	good := Hook{Of: strings.Repeat("a", 40), To: "https://ward.example.org/", Listen: "127.0.0.1:7071", Secret: key(t)}
	for want, change := range map[string]func(*Hook){
		"":          func(*Hook) {},
		"is no URL": func(h *Hook) { h.To = "ward.example.org" },
		"has a user name or password in it; leave it out": func(h *Hook) { h.To = "https://me:hidden@ward.example.org/" },
		`has a value "ward" in its query`:                 func(h *Hook) { h.To = "https://ward.example.org/?a=b&%77ard=c" },
		"would not be encrypted":                          func(h *Hook) { h.To = "http://ward.example.org/" },
		"nobody hears":                                    func(h *Hook) { h.Listen = "" },
		"no secret":                                       func(h *Hook) { h.Secret = gateway.Key{} },
	} {
		h := good
		change(&h)
		err := h.usable()
		if want == "" && err == nil {
			continue
		}
		if err == nil || want == "" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v", want, err)
		}
		if did, err := h.Agree(t.Context(), nil); err == nil {
			t.Errorf("%q: %s", want, did)
		}
	}
}

// TestSecret: it is made once, for its owner alone, and another one in its place stays.
func TestSecret(t *testing.T) {
	file := SecretFile(filepath.Join(t.TempDir(), "owner", "p.token"))
	first, err := Secret(file)
	if err != nil || len(first.Reveal()) < 20 || !strings.HasSuffix(file, "p.webhook") {
		t.Fatal(file, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if again, err := Secret(file); err != nil || again.Reveal() != first.Reveal() {
		t.Error("it was made twice", err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Secret(file); err == nil {
		t.Error("one that others read is taken")
	}
}
