package command

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"text/tabwriter"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/review"
	"git-ward/protocols/state"
)

func directiveList(ctx context.Context, env *cli.Env) error {
	const usage = "directive list [--json] [--bare DIR]"
	var d desk
	args, err := env.Flags("directive list", usage, d.flags)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return env.Usage(usage, "unexpected argument %q", args[0])
	}
	u, err := openDesk(ctx, env, d.bare, d.config, "D-*")
	if err != nil {
		return err
	}
	defer u.close()
	doc, err := u.documents()
	if err != nil {
		return err
	}
	all, _, err := state.Units(u.reader)
	if err != nil {
		return err
	}
	positions, err := u.positions(doc, all)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	if !d.json {
		fmt.Fprintln(w, "DIRECTIVE\tSTATE\tUNIT\tVERDICT\tWAITS FOR\tTITLE")
	}
	for _, p := range positions {
		s := review.Stand(p)
		if d.json {
			if err := diag.WriteJSON(env.Stdout, s); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", s.Directive, s.State, dash(s.Unit), dash(s.Verdict), dash(waits(s)), diag.Cut(s.Title.String(), 60))
	}
	return w.Flush()
}

// positions are those of all directives that COMMS.md has, in its order.
func (u *units) positions(doc state.Comms, all []state.Unit) ([]review.Position, error) {
	var list []review.Position
	var commits []string
	for i := range doc.Directives {
		p, err := u.position(doc, subject{name: doc.Directives[i].Name()}, all)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
		if commit := asked(p); commit != "" {
			commits = append(commits, commit)
		}
	}
	project, err := u.reader.Tip(u.names.ProjectRef())
	if err != nil {
		return nil, err
	}
	history, err := u.lineage(project, commits)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Taken, err = state.Taken(history, project, asked(list[i])); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// dash is a text, or "-" for none.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// waits is for whom a directive waits, with the command where it is the PM.
func waits(s review.Standing) string {
	if s.WaitsFor == "you" && s.Next != "" {
		return "you: " + s.Next
	}
	return s.WaitsFor
}

// lineage answers as a reader does about the project's history, for who asks about many
// commits: three children of git tell of all, and walk no further back than the oldest of
// them that the project does not have.
type lineage struct {
	known   map[string]bool // the commits that there are
	outside map[string]bool // what they lead to and the project does not
	said    [][2]string     // commits of the project that take work by saying so, newest first
}

func (u *units) lineage(tip string, commits []string) (*lineage, error) {
	l := &lineage{known: map[string]bool{}, outside: map[string]bool{}}
	args := []string{"rev-list", "--end-of-options", "^" + tip}
	for _, id := range commits {
		there, err := u.reader.Tip(id)
		if err != nil {
			return nil, err
		}
		if there != "" && !l.known[id] {
			l.known[id] = true
			args = append(args, id)
		}
	}
	if tip == "" || len(l.known) == 0 {
		return l, nil
	}
	for id, err := range u.repo.Lines(u.ctx, args...) {
		if err != nil {
			return nil, err
		}
		l.outside[id] = true
	}
	args = []string{"merge-base", "--octopus", "--end-of-options", tip}
	for id := range l.known {
		if l.outside[id] {
			args = append(args, id)
		}
	}
	if len(args) == 4 {
		return l, nil
	}
	out, err := u.repo.Output(u.ctx, args...)
	base := strings.TrimSpace(string(out))
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 { // one of them shares no history
		base, err = git.Zero, nil
	}
	if err != nil {
		return nil, err
	}
	l.said, err = u.reader.Saying(tip, base, record.TrailerTaken+": ")
	return l, err
}

// Contains is that of state.Ancestry, for the commits that were asked about.
func (l *lineage) Contains(_, commit string) (bool, error) {
	return l.known[commit] && !l.outside[commit], nil
}

// Saying is that of state.Ancestry, for a trailer Ward-Taken.
func (l *lineage) Saying(_, _, text string) (said [][2]string, err error) {
	for _, m := range l.said {
		if strings.Contains(m[1], text) {
			said = append(said, m)
		}
	}
	return said, nil
}
