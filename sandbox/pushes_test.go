package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// TestPushes: a directive is four pushes of its agent, and one of the host's. Where a
// repository's own hook refuses a part of its end, the other parts go alone (WORK-2).
func TestPushes(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	pushes := func(d *desk) (accepted, refused []string) {
		for line := range strings.Lines(d.Run(d.Bare, "git", "log", "--reverse", "--format=%s", "--all")) {
			_, what, _ := strings.Cut(strings.TrimSpace(line), " accepted: ")
			if what != "" && !strings.HasPrefix(what, "pm ") {
				accepted = append(accepted, what)
			}
			if strings.Contains(line, " refused: agent ") {
				refused = append(refused, line)
			}
		}
		return accepted, refused
	}
	for name, c := range map[string]struct{ unwanted, pushes string }{
		"as ever": {"", "agent ward/record/D-1.1, ward/uow/D-1.1; agent ward/record/D-1.1, ward/uow/D-1.1, agent/D-1; " +
			"agent ward/record/D-1.1, ward/uow/D-1.1; agent main; agent ward/uow/D-1.1"},
		"no analysis": {"refinement-", "agent ward/record/D-1.1, ward/uow/D-1.1; agent ward/record/D-1.1, ward/uow/D-1.1, agent/D-1; " +
			"agent ward/record/D-1.1, ward/uow/D-1.1; agent ward/uow/D-1.1; agent ward/record/D-1.1; agent main; agent ward/uow/D-1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.launch()
			d.await("the work", func() bool { return d.ticked() > 0 })
			if c.unwanted != "" { // in place of Ward's own hook, which it goes on to
				hook := filepath.Join(d.Bare, "hooks", "pre-receive")
				wards := filepath.Join(d.Bare, "hooks", "ward", "pre-receive")
				if err := errors.Join(os.Mkdir(filepath.Dir(wards), 0o755), os.Rename(hook, wards)); err != nil {
					t.Fatal(err)
				}
				script := "#!/bin/sh\nlist=$(cat)\nset -- $list\nwhile test $# -gt 2; do\n" +
					"! git ls-tree -r --name-only $2 | grep -q " + c.unwanted + " || exit 1\nshift 3\ndone\necho \"$list\" | exec " + wards + "\n"
				if err := os.WriteFile(hook, []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			d.letFree()
			d.exact("D-1")
			accepted, refused := pushes(d)
			if got := strings.Join(accepted, "; "); got != c.pushes || len(refused) > 0 {
				t.Errorf("%s\nrefused: %q", strings.Join(accepted, "\n"), refused)
			}
			if got := string(d.last().State); got != "ARCHIVED" || strings.Count(d.comms(), "EXIT_CONVERGED") != 1 {
				t.Errorf("%s\n%s", got, d.comms())
			}
			files := d.Run(d.Bare, "git", "ls-tree", "-r", "--name-only", "refs/ward/record/D-1.1")
			if !strings.Contains(files, "halting_report") {
				t.Errorf("no halting report:\n%s", files)
			}
			d.Fsck()
		})
	}
}
