package forge

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
)

// TestSaid: only a command that ended with findings was refused, and what people are told of it
// names nothing of the host.
func TestSaid(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "git-ward")
	runs := func(script string) error {
		gittest.Program(t, program, "#!/bin/sh\n"+script)
		_, err := Verbs{Program: program, Bare: dir}.run(t.Context(), nil, "", []string{"drop"})
		return err
	}
	for script, want := range map[string]string{
		"echo 'refs/ward/uow/D-1.1: uow/bad-state: it is paused'; echo 'hint: git ward uow show --bare /srv/git/p.git'; exit 1": "uow/bad-state: it is paused",
		"echo 'git-ward: error: D-1 was taken, by 0123' >&2; echo 'git-ward: hint: in /srv/git/p.git' >&2; exit 1":              "D-1 was taken, by 0123",
		"echo \"git-ward: error: git push: To '/srv/git/p.git'; say /ward drop\" >&2; exit 1":                                   "git push: To '(a path)'; say /ward drop",
		"echo 'remote: /srv/git/p.git is full' >&2; exit 1":                                                                     "the host has more on it",
	} {
		r, ok := errors.AsType[*refusal](runs(script))
		if !ok || r.said != want {
			t.Errorf("%s: %+v", script, r)
		}
	}
	for _, script := range []string{"echo 'git-ward: error: no space left' >&2; exit 2", "kill -9 $$"} {
		err := runs(script)
		if _, ok := errors.AsType[*refusal](err); ok || !errors.Is(err, errUnknown) {
			t.Errorf("%s: %v", script, err)
		}
		if strings.Contains(script, "space") && !strings.Contains(err.Error(), "no space left") {
			t.Error(err)
		}
	}
}
