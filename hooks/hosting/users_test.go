package hosting

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// pushAs clones as a user, commits, and pushes main.
func (h *host) pushAs(a *account, env []string, ref string) (string, error) {
	h.t.Helper()
	if out, err := a.run(h.t, nil, "git", "config", "--global", "safe.directory", h.bare); err != nil {
		h.t.Fatal(out)
	}
	script := `set -e; umask 022; rm -rf w; git clone -q "$1" w; cd w; date +%N%s >"$0"; git add .; git commit -qm "by $0"; git push -q origin HEAD:"$2"`
	return a.run(h.t, env, "sh", "-c", script, a.name, h.bare, ref)
}

// ID-3: users who are on the list, or in the group on it, really can push, one
// after the other's objects and refs; who is not cannot; nobody reads the key.
func TestSeveralPMsOnOneMachine(t *testing.T) {
	tier.Full(t, "it makes users of this machine, or starts a server of git")
	t.Run("a group", func(t *testing.T) { severalPMs(t, true) })
	t.Run("users by name", func(t *testing.T) { severalPMs(t, false) })
}

func severalPMs(t *testing.T, byGroup bool) {
	group, users := newAccounts(t, "o", "a", "b", "x")
	owner, a, b, x := users["o"], users["a"], users["b"], users["x"]
	owner.join(t, group)
	a.join(t, group)
	b.join(t, group)
	h := newHost(t)
	h.give(owner)
	if byGroup {
		h.identity(`pm = ["@` + group + `"]`)
	} else {
		h.identity(`pm = ["` + a.name + `", "` + b.name + `"]`)
	}
	if out := must(t, "git-ward", "init", "--bare", h.bare); !strings.Contains(out, "owners in effect") || !strings.Contains(out, "safe.directory") {
		t.Error(out)
	}
	for range 2 {
		for _, u := range []*account{a, b, owner} {
			if out, err := h.pushAs(u, nil, "main"); err != nil {
				t.Fatalf("%s: %v\n%s", u.name, err, out)
			}
			if got, want := h.last().String(), "pm "+u.name+" accepted main"; got != want {
				t.Errorf("audit: %s, want %s", got, want)
			}
		}
	}
	// Refused pushes are counted in a file that all of them write.
	for _, u := range []*account{a, a, b, b, owner} {
		if out, err := h.pushAs(u, nil, "refs/ward/nothing"); err == nil || !strings.Contains(out, "ref/ward") {
			t.Errorf("%v\n%s", err, out)
		}
	}
	// The environment of a user says nothing, whatever a server would put there.
	if out, err := h.pushAs(x, []string{"GL_USER=" + a.name, "REMOTE_USER=" + a.name}, "main"); err == nil {
		t.Error(out)
	}
	key := filepath.Join(h.bare, "ward/door.key")
	for _, u := range []*account{a, x} {
		if out, err := u.run(t, nil, "cat", key); err == nil {
			t.Errorf("%s reads the door's key: %s", u.name, out)
		}
	}
	if out, err := x.run(t, nil, "ls", filepath.Dir(key)); err == nil {
		t.Errorf("a stranger lists ward/: %s", out)
	}
	if out, err := owner.run(t, nil, "git-ward", "doctor", "--bare", h.bare); !strings.Contains(out, "owners in effect") {
		t.Errorf("%v\n%s", err, out)
	}
	h.whole()
	// A second init changes nothing, whoever pushed meanwhile.
	if out := must(t, "git-ward", "init", "--bare", h.bare); !strings.Contains(out, "nothing to do") {
		t.Error(out)
	}
}

// A member pushes branches, not main; a name on two lists pushes nothing.
func TestMembersAndDoubleNames(t *testing.T) {
	tier.Full(t, "it makes users of this machine, or starts a server of git")
	group, users := newAccounts(t, "o", "m", "d")
	for _, u := range users {
		u.join(t, group)
	}
	h := newHost(t)
	h.give(users["o"])
	h.identity(`members = ["` + users["m"].name + `", "` + users["d"].name + `", "@` + group + `"]` + "\npm = [\"" + users["d"].name + `"]`)
	must(t, "git-ward", "init", "--bare", h.bare)
	if out, err := h.pushAs(users["m"], nil, "topic"); err != nil || h.last().String() != "member "+users["m"].name+" accepted topic" {
		t.Error(err, out, h.last())
	}
	for ref, want := range map[string]string{"main": "a member may not push this ref", "refs/ward/uow/D-1.1": "a member may not push this ref"} {
		if out, err := h.pushAs(users["m"], nil, ref); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", ref, err, out)
		}
	}
	if out, err := h.pushAs(users["d"], nil, "topic2"); err == nil || !strings.Contains(out, "on pm and on members") || h.last().Principal != "unknown" {
		t.Error(err, out, h.last())
	}
	// The owner is in the members' group, and PM all the same.
	if out, err := h.pushAs(users["o"], nil, "main"); err != nil || h.last().Principal != "pm" {
		t.Error(err, out)
	}
	if out, _ := users["o"].run(t, nil, "git-ward", "doctor", "--bare", h.bare); !strings.Contains(out, "is on [identity] pm and on members") {
		t.Error(out)
	}
	h.whole()
}

// A user whose list says PM, but who has no way to write, is told at init how to
// get one; nothing is opened to a group that has others.
func TestNoGroupOfTheirs(t *testing.T) {
	tier.Full(t, "it makes users of this machine, or starts a server of git")
	group, users := newAccounts(t, "o", "a", "x")
	users["a"].join(t, group)
	users["x"].join(t, group)
	h := newHost(t)
	h.give(users["o"])
	h.identity(`pm = ["` + users["a"].name + `"]`)
	out := must(t, "git-ward", "init", "--bare", h.bare)
	// useradd made a group of a's alone, which is his to take.
	if !strings.Contains(out, "owners in effect") {
		t.Error(out)
	}
	h2 := newHost(t)
	h2.give(users["o"])
	h2.identity(`pm = ["` + users["a"].name + `", "` + users["x"].name + `", "nobody"]`)
	out = must(t, "git-ward", "init", "--bare", h2.bare)
	if !strings.Contains(out, "no group of them and nobody else") || !strings.Contains(out, "groupadd ward-pms && usermod -aG ward-pms "+users["a"].name) {
		t.Error(out)
	}
	for path, mode := range modes(t, h2.bare) {
		if mode.Perm()&0o020 != 0 {
			t.Errorf("%s is group-writable: %v", path, mode)
		}
	}
}

func modes(t *testing.T, dir string) map[string]os.FileMode {
	t.Helper()
	all := map[string]os.FileMode{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		all[path] = info.Mode()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
