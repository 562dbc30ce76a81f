package forge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/flock"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	protocol "git-ward/protocols/forge"
	"git-ward/sandbox/forge"
	"git-ward/sandbox/forge/client"
)

// away is a forge that does not answer: to ask it anything but who asks would panic.
type away struct {
	client.Forge
	err error
}

func (a away) Self(context.Context) (client.Person, error) { return client.Person{}, a.err }

// TestLater: a forge that is away, or wants to be asked less, is asked nothing more in that look;
// status says until when, and which right a token lacks (FORGE-5).
func TestLater(t *testing.T) {
	tier.First(t, "a guarded repository")
	p := gittest.New(t)
	at := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	junk, err := p.Try(p.Bare, nil, "junk", "git", "hash-object", "-w", "--stdin") // a word that nobody can read is none
	if err != nil {
		t.Fatal(junk)
	}
	p.Run(p.Bare, "git", "update-ref", protocol.WordRef, strings.TrimSpace(junk))
	k := &forge.Syncer{Repo: git.Open(p.Bare), Settings: config.Default(), Log: zerolog.Nop()}
	for _, c := range []struct {
		err   error
		until time.Time
		says  string
		to    string // the remedy
	}{
		{&client.ErrLater{Call: "GET /user", At: at, Err: errors.New("429 Too Many Requests")}, at, "GET /user: not now: 429 Too Many Requests", ""},
		{&client.ErrDenied{Call: "GET /user", Right: "to be known at all"}, time.Time{}, "GET /user: the token lacks a right: to be known at all", "give the token's user, or the token, that right"},
		{&client.ErrDenied{Call: "GET /user", Right: client.NotTaken}, time.Time{}, "GET /user: the token lacks a right: to be known at all", "make a token on the forge"},
		{&client.ErrMoved{Call: "GET /repos/a/b", To: "https://api.example/repositories/7"}, time.Time{}, `GET /repos/a/b: it has moved to "https://api.example/repositories/7"`, "name the project as it is called now: git ward config --bare "},
		{fmt.Errorf("GET /repos/a/b: %w", client.ErrNotFound), time.Time{}, "GET /repos/a/b: the forge knows no such thing", "see whether the URL is the project's"},
	} {
		k.Forge = away{err: c.err}
		word, err := k.Once(t.Context())
		if err != nil || !word.Until.Equal(c.until) || len(word.Troubles) != 1 || !strings.HasPrefix(word.Troubles[0].Remedy.Raw(), c.to) || c.to == "" && word.Troubles[0].Remedy != "" {
			t.Fatalf("%+v %v", word, err)
		}
		var kept protocol.Word
		if err := json.Unmarshal([]byte(p.Run(p.Bare, "git", "cat-file", "blob", protocol.WordRef)), &kept); err != nil || !kept.Until.Equal(c.until) {
			t.Fatalf("%+v %v", kept, err)
		}
		if out := p.Run(p.Bare, "git-ward", "status", "--bare", p.Bare); !strings.Contains(out, "it says: "+c.says) {
			t.Fatal(out)
		}
	}
}

// TestAlone: two of these processes do not work on one repository at a time.
func TestAlone(t *testing.T) {
	tier.First(t, "a guarded repository")
	p := gittest.New(t)
	k := &forge.Syncer{Repo: git.Open(p.Bare), Settings: config.Default(), Log: zerolog.Nop()}
	k.Forge = beside{t: t, again: func() error {
		_, err := (&forge.Syncer{Repo: k.Repo, Settings: k.Settings, Log: k.Log, Forge: away{err: errors.New("it was asked")}}).Once(t.Context())
		return err
	}}
	if _, err := k.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// beside has another look begin in the middle of one.
type beside struct {
	client.Forge
	t     *testing.T
	again func() error
}

func (b beside) Self(context.Context) (client.Person, error) {
	if err := b.again(); err == nil || !strings.Contains(err.Error(), "another git ward forge is at work") {
		b.t.Errorf("%v", err)
	}
	return client.Person{}, errors.New("that is all")
}

// asked is a forge that says when it is asked.
type asked struct {
	client.Forge
	once chan struct{}
}

func (a asked) Self(context.Context) (client.Person, error) {
	select {
	case a.once <- struct{}{}:
	default:
	}
	return client.Person{}, errors.New("that is all")
}

// waits is a context that says when somebody waits for a lock by it.
type waits struct {
	context.Context
	once chan struct{}
}

func (w waits) Err() error {
	select {
	case w.once <- struct{}{}:
	default:
	}
	return w.Context.Err()
}

// told says that something was logged.
type told chan struct{}

func (c told) Write(data []byte) (int, error) {
	select {
	case c <- struct{}{}:
	default:
	}
	return len(data), nil
}

// TestBeside: a take waits for the look of one that serves, and one that serves looks again after
// a take.
func TestBeside(t *testing.T) {
	tier.First(t, "a guarded repository")
	p := gittest.New(t)
	hold := func() *os.File {
		lock, err := flock.Within(t.Context(), filepath.Join(p.Bare, "refs"), flock.Exclusive, 0)
		if err != nil {
			t.Fatal(err)
		}
		return lock
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks, said := make(chan struct{}, 1), make(told, 1)
	k := &forge.Syncer{Repo: git.Open(p.Bare), Settings: config.Default(), Log: zerolog.Nop(), Forge: asked{once: looks}}
	lock, at, ended := hold(), waits{ctx, make(chan struct{}, 1)}, make(chan error, 1)
	go func() {
		_, err := k.Take(at, "D-1", false)
		ended <- err
	}()
	select {
	case <-at.once:
	case err := <-ended:
		t.Fatalf("the take did not wait: %v", err)
	}
	lock.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	<-looks
	lock = hold()
	k.Log = zerolog.New(said)
	go func() { ended <- k.Serve(ctx) }()
	select {
	case <-said:
	case err := <-ended:
		t.Fatalf("it does not serve any more: %v", err)
	}
	lock.Close()
	select {
	case <-looks:
	case err := <-ended:
		t.Fatalf("it does not serve any more: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
