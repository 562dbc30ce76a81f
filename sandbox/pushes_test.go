package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// hooked puts shell before the repository's own hook. It has the push as $list, and exits
// where that is refused.
func (d *desk) hooked(shell string) {
	d.t.Helper()
	hook := filepath.Join(d.Bare, "hooks", "pre-receive")
	wards := filepath.Join(d.Bare, "hooks", "ward", "pre-receive")
	if err := errors.Join(os.Mkdir(filepath.Dir(wards), 0o755), os.Rename(hook, wards)); err != nil {
		d.t.Fatal(err)
	}
	script := "#!/bin/sh\nlist=$(cat)\n" + shell + "\necho \"$list\" | exec " + wards + "\n"
	gittest.Program(d.t, hook, script)
}

// holding is shell that goes on where a ref of the push holds a path with that text.
func holding(path string) string {
	return "set -- $list\nheld=\nwhile test $# -gt 2; do\n! git ls-tree -r --name-only $2 2>/dev/null | grep -q " + path + " || held=1\nshift 3\ndone\ntest -n \"$held\""
}

// pushes are those of the agent, and of the host, which the audit has as accepted and as refused.
func (d *desk) pushes() (accepted, refused []string) {
	d.t.Helper()
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

// TestPushes: a directive is three pushes of its agent, and one of the host's. Where a
// repository's own hook refuses a part of its end, the other parts go alone (WORK-2).
func TestPushes(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	for name, c := range map[string]struct{ unwanted, pushes string }{
		"as ever": {"", "agent ward/record/D-1.1, ward/uow/D-1.1; agent ward/record/D-1.1, ward/uow/D-1.1, agent/D-1; " +
			"agent ward/record/D-1.1, ward/uow/D-1.1"},
		"no analysis": {"refinement-", "agent ward/record/D-1.1, ward/uow/D-1.1; agent ward/record/D-1.1, ward/uow/D-1.1, agent/D-1; " +
			"agent ward/record/D-1.1, ward/uow/D-1.1; agent ward/uow/D-1.1; agent ward/record/D-1.1; agent ward/uow/D-1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.launch()
			d.await("the work", func() bool { return d.ticked() > 0 })
			if c.unwanted != "" {
				d.hooked(holding(c.unwanted) + " && exit 1")
			}
			d.letFree()
			d.exact("D-1")
			var accepted, refused []string
			d.await("the audit of each push", func() bool { // post-receive writes it after the refs have moved
				accepted, refused = d.pushes()
				return len(accepted) > strings.Count(c.pushes, ";")+1
			})
			// The host reports the end as soon as it is there, beside what the agent still pushes.
			if main := slices.Index(accepted, "agent main"); main < 3 {
				t.Errorf("the report is push %d of %q", main, accepted)
			} else {
				accepted = slices.Delete(accepted, main, main+1)
			}
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

// TestRefusedFromTheStart: a unit whose first evidence no hook lets in is there all the same,
// ends, and is reported.
func TestRefusedFromTheStart(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	d := newDesk(t)
	d.launch()
	d.await("the work", func() bool { return d.ticked() > 0 })
	d.hooked("case $list in *refs/ward/record/D-2.*) exit 1;; esac")
	d.Git("pull", "--quiet", "--rebase")
	text := d.comms()
	d.Write("COMMS.md", strings.Replace(text, "## Reports", "### D-2: make another\nMake other.txt.\n- [ ] it is there (`test -s other.txt`)\n- work: other.txt\n\n## Reports", 1))
	d.push("another directive")
	d.letFree()
	d.await("the report of D-2", func() bool { return strings.Contains(d.comms(), " D-2 EXIT_BLOCKED\n") })
	if got := d.unit("D-2.1").Line(d.unit("D-2.1").Waits()); !strings.HasPrefix(got, "D-2.1: blocked, iteration 0, ") {
		t.Error(got)
	}
	d.Fsck()
}

// TestPausedAtItsEnd: the PM's pause that comes between the loop's end and its push holds the
// unit, and nothing tells of an end before there is one.
func TestPausedAtItsEnd(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	d := newDesk(t)
	var env []string
	for _, pair := range d.Env {
		env = append(env, "'"+pair+"'")
	}
	once := filepath.Join(d.state, "paused")
	d.launch()
	d.await("the work", func() bool { return d.ticked() > 0 })
	d.hooked("if test ! -e " + once + " && {\n" + holding("refinement-") + "\n}; then\n: >" + once +
		"\n(cd " + d.Work + " && env -i " + strings.Join(env, " ") + " git-ward uow pause -m lunch D-1.1) || exit 1\nfi")
	d.letFree()
	d.await("the pause", func() bool { return d.last().State == "PAUSED" })
	d.silent("the unit is paused")
	if got := d.comms(); strings.Contains(got, "EXIT_") {
		t.Error(got)
	}
	d.uow("resume", "D-1.1")
	d.exact("D-1")
	if got := d.comms(); strings.Count(got, "EXIT_CONVERGED") != 1 {
		t.Error(got)
	}
	d.Fsck()
}
