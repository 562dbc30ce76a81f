package command

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"git-ward/hooks/view"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/runstate"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// Status is `git ward status`: what runs on a repository, where each directive stands, and
// what waits for whom (SEE-3).
var Status = cli.Command{Name: "status", Doc: "say what runs, what waits for you, and where each directive stands", Run: status,
	Long: "On the host it also says what runs there; in a clone it fetches first, and cannot know what runs.\n\n" +
		"--json prints one object, whose members docs/admin.md lists.",
	Examples: []cli.Example{{Line: "status --bare /srv/git/project.git", Doc: "of a repository of this host"}}}

func status(ctx context.Context, env *cli.Env) error {
	const usage = "status [--json] [--fetched] [--bare DIR]"
	var bare string
	var asJSON, fetched bool
	err := env.Only("status", usage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.BoolVar(&asJSON, "json", false, "one JSON object")
		fs.BoolVar(&fetched, "fetched", false, "in a clone, use what was fetched last, without asking origin")
	})
	if err != nil {
		return err
	}
	l, err := look(ctx, env, bare, fetched)
	if err != nil {
		return err
	}
	if asJSON {
		units, err := l.Units(ctx, l.Overview)
		if err != nil {
			return err
		}
		return diag.WriteJSON(env.Stdout, newStatus(l, units))
	}
	return l.status(ctx, env.Stdout)
}

// looked is a repository that somebody looks at from here.
type looked struct {
	*view.Source
	*view.Overview
	at    string // the directory to name in commands; "" where the command stands in the repository
	stale string // why what is shown may be old; "" where it is not
}

// look opens the repository that --bare names, or the surrounding one, and reads it; a clone
// fetches first.
func look(ctx context.Context, env *cli.Env, bare string, fetched bool) (*looked, error) {
	repo, err := env.Repository(ctx, bare)
	if err != nil {
		return nil, err
	}
	source, err := view.Open(ctx, repo)
	if err != nil {
		if l, running := runstate.Now(repo.Dir); running { // true whatever somebody wrote into the settings since
			fmt.Fprintln(env.Stderr, runstate.LauncherText(repo.Dir, l.PID))
		}
		return nil, err
	}
	l := &looked{Source: source}
	if source.Bare() && bare != "" {
		l.at = source.Dir()
	}
	if !source.Bare() && !fetched {
		dir := env.Dir
		if bare != "" {
			dir = env.Path(bare)
		}
		l.stale = l.fetch(ctx, env, dir)
	}
	if l.Overview, err = source.Overview(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// fetchTimeout bounds the fetch, so that an unresponsive origin does not block showing what is
// known.
const fetchTimeout = 20 * time.Second

// fetch updates a clone; it returns why it could not. After two seconds it prints a message.
func (l *looked) fetch(ctx context.Context, env *cli.Env, dir string) string {
	asking, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- l.Fetch(asking, dir, os.Environ()) }()
	var err error
	select {
	case err = <-ended:
	case <-time.After(2 * time.Second):
		fmt.Fprintln(env.Stderr, "git-ward: asking origin ...")
		err = <-ended
	}
	if err != nil {
		return fmt.Sprintf("this shows what was fetched last: %s", diag.Clean(strings.SplitN(err.Error(), "\n", 2)[0]))
	}
	return ""
}

// command is one to paste here.
func (l *looked) command(command string) string {
	if l.at == "" {
		return command
	}
	return view.OnHost(command, l.at)
}

// status writes it for a person.
func (l *looked) status(ctx context.Context, w io.Writer) error {
	if l.stale != "" {
		fmt.Fprintf(w, "warning: %s\n", l.stale)
	}
	if l.Host != nil {
		if err := l.host(w); err != nil {
			return err
		}
	}
	for _, line := range l.Warnings {
		fmt.Fprintf(w, "warning: %s\n", line)
	}
	l.waiting(w)
	units, err := l.Units(ctx, l.Overview)
	if err != nil {
		return err
	}
	told := l.told()
	for _, u := range units {
		if told[u.Directive] { // what it waits for stands above
			u.Waits = uow.Waiting{For: uow.ForNobody}
		}
		for line := range strings.Lines(u.Text()) {
			fmt.Fprintln(w, diag.Clean(strings.TrimRight(line, "\n")))
		}
	}
	l.lines(w)
	return nil
}

// host writes what runs.
func (l *looked) host(w io.Writer) error {
	h, dir := l.Host, l.Dir()
	if !h.MayAsk {
		return runstate.MayAsk(dir)
	}
	if (h.Control != h.Project) || h.Control != mainBranch {
		fmt.Fprintf(w, "directives are on the branch %s, the project is on %s\n", h.Control, h.Project)
	}
	if h.Mode == config.Observe {
		fmt.Fprintln(w, `people's pushes pass in spite of findings ([hooks] mode = "observe"): git ward log --would lists what would have been refused`)
	}
	if !h.Running {
		fmt.Fprintf(w, "nothing runs on %s\nnext: git ward launch --bare %s\n", dir, diag.Word(dir))
		return nil
	}
	fmt.Fprintln(w, runstate.LauncherText(dir, h.PID)+since(h.Since))
	if !h.LastBeat.IsZero() {
		fmt.Fprintf(w, "the last sign of life was %s ago, the last work %s ago\n", ago(h.LastBeat), ago(h.LastWork))
	}
	l.workers(w)
	for _, v := range h.Verdicts {
		fmt.Fprintf(w, "verdict on %s: %s\n", v.Unit, v.Words)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Trouble)) {
		fmt.Fprintln(w, h.Trouble[name].Words)
	}
	return nil
}

// workers writes who works on what, if that is more than the launcher's single local worker.
func (l *looked) workers(w io.Writer) {
	if !l.Several() {
		return
	}
	for i, worker := range l.Workers {
		if i == maxLines {
			fmt.Fprintf(w, "and %s more: git ward status --json has them all\n", diag.Count(len(l.Workers)-i, "worker"))
			break
		}
		name := cmp.Or(worker.Directive, "no directive")
		fmt.Fprintf(w, "%s: %s\n", name, worker.Words)
	}
}

func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " since " + t.UTC().Format(time.RFC3339)
}

func ago(t time.Time) string {
	if t.IsZero() {
		return "some time"
	}
	return time.Since(t).Round(time.Second).String()
}

// mainBranch is where both are that nobody has to be told of.
const mainBranch = "main"

// maxWaiting is how many waiting things are shown to a person.
const maxWaiting = 20

// waiting writes what waits, each with its command.
func (l *looked) waiting(w io.Writer) {
	for i, one := range l.Waiting {
		if i == maxWaiting {
			fmt.Fprintf(w, "and %s more: git ward status --json has them all\n", diag.Count(len(l.Waiting)-i, "thing"))
			break
		}
		fmt.Fprintf(w, "waits for %s: %s %s: %s\n    %s\n", one.For, name(one), diag.Cut(one.Title.String(), 60), one.What, l.command(one.Command))
		if one.Or != "" {
			fmt.Fprintf(w, "    or: %s\n", l.command(one.Or))
		}
		if one.Words != "" && (one.Directive == "" || one.Kind == view.Question || one.Kind == view.Blocked || one.Kind == view.Incident) {
			fmt.Fprintf(w, "    it says: %s\n", diag.Cut(one.Words.OneLine(), 300))
		}
	}
}

// told are the directives of what waits, as far as it is shown.
func (l *looked) told() map[string]bool {
	told := map[string]bool{}
	for _, one := range l.Waiting[:min(len(l.Waiting), maxWaiting)] {
		told[one.Directive] = true
	}
	return told
}

// name is the unit of what waits, or its directive; Ward's own where it is of none.
func name(w view.Waiting) string {
	return cmp.Or(w.Unit, w.Directive, "Ward")
}

// maxLines is how many directives have a line of their own.
const maxLines = 50

// lines writes the unfinished directives, and counts the others.
func (l *looked) lines(w io.Writer) {
	over, told := map[review.State]int{}, l.told()
	shown := 0
	for _, line := range l.Directives {
		switch {
		case told[line.Directive]:
		case line.State == review.Open, line.State == review.Working:
			if shown++; shown > maxLines {
				over[line.State]++
				continue
			}
			words := line.Words
			if line.State == review.Working && line.Unit != "" {
				words += "; " + line.Spent.Words()
			}
			fmt.Fprintf(w, "%s %s: %s\n", line.Directive, diag.Cut(line.Title.String(), 60), words)
			if line.Live != nil && line.Live.Text != "" {
				fmt.Fprintf(w, "    %s ago: %s\n", ago(line.Live.Time), diag.Cut(diag.Clean(line.Live.Text), 100))
			}
		default:
			over[line.State]++
		}
	}
	var words []string
	for _, state := range review.States {
		if over[state] > 0 {
			words = append(words, fmt.Sprintf("%d %s", over[state], state.Words()))
		}
	}
	if len(words) > 0 {
		fmt.Fprintf(w, "of the others: %s (git ward directive show)\n", strings.Join(words, ", "))
	}
}

// statusJSON is the output of --json: the data of every view, and what only this command on
// the host knows.
type statusJSON struct {
	*view.Overview
	Bare         string                  `json:"bare"`    // the host's directory; "" in a clone
	Stale        string                  `json:"stale"`   // why this may be old; "" where it is not
	Running      *bool                   `json:"running"` // null where nobody here can know
	PID          int                     `json:"pid"`
	Units        []view.Standing         `json:"units"` // those that are not archived
	Control      string                  `json:"control"`
	Project      string                  `json:"project"`
	Mode         string                  `json:"mode"`
	Backpressure map[string]view.Trouble `json:"backpressure"`
}

func newStatus(l *looked, units []view.Standing) statusJSON {
	s := statusJSON{Overview: l.Overview, Stale: l.stale, Units: units}
	if h := l.Host; h != nil {
		s.Bare, s.Control, s.Project, s.Mode, s.Backpressure = l.Dir(), h.Control, h.Project, h.Mode, h.Trouble
		if h.MayAsk {
			s.Running, s.PID = &h.Running, h.PID
		}
	}
	return s
}
