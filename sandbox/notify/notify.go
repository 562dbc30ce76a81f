// Package notify tells a PM what waits, each thing once, by a command that the host's admin
// chooses (SEE-3): mail, a webhook, a desktop notification.
//
// It is for people who do not look, and decides nothing. Each thing is told at least once:
// it counts as told when the command has exited 0, so a launcher that is killed between the
// two tells it again, with the same key, by which a receiver can drop doubles. What others
// wrote goes to the command's standard input, and into no argument and no variable.
package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/diag"
	"git-ward/internal/process"
	"git-ward/internal/runstate"
)

// Settings are [notify] of the repository's settings.
type Settings struct {
	Command []string // none: nobody is told
	Timeout time.Duration
	PerHour int // runs per hour and directive; further messages wait and are sent together
}

// Notifier sends the notifications of one repository.
type Notifier struct {
	Bare     string
	Settings func() Settings                          // the current settings
	Version  func() string                            // cheap; if unchanged, there is nothing to read
	Look     func(context.Context) ([]Waiting, error) // what waits now
	Log      zerolog.Logger

	told   *ledger
	seen   string        // Version at the last reading
	looked time.Time     // its end
	took   time.Duration // its time
	cut    bool          // the launch's end ended a run
}

const (
	interval = 2 * time.Second // how often Version is checked, which nothing announces
	// idle is how often everything is read although nothing moved, because some things begin
	// to wait by the clock.
	idle = time.Minute
	// easy bounds the share of time that reading takes.
	easy = 10
	// atEnd is how long the launch's end waits for the last messages, all together.
	atEnd = 5 * time.Second
	// maxOutput bounds a command's output, in bytes; the log gets its end.
	maxOutput = 64 << 10
	maxSaid   = 500
	// maxRuns bounds the runs of one turn; the rest is sent together in one more.
	maxRuns = 10
)

// Serve notifies until ctx ends, and then once more about what the launch's end left waiting.
// Errors are logged, and never end a launch.
func (n *Notifier) Serve(ctx context.Context) error {
	var err error
	if n.told, err = readTold(n.path()); err != nil {
		n.Log.Warn().Err(err).Msg("what was notified before cannot be read: it is notified again")
	}
	for {
		n.pass(ctx, false)
		select {
		case <-ctx.Done():
			if n.cut { // the command is slow; the next launch sends it
				return nil
			}
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), atEnd)
			defer cancel()
			n.pass(last, true)
			return nil
		case <-time.After(interval):
		}
	}
}

func (n *Notifier) path() string { return filepath.Join(n.Bare, runstate.NotifiedPath) }

// pass reads and sends, if a recipient is set and something may have changed.
func (n *Notifier) pass(ctx context.Context, last bool) {
	s := n.Settings()
	if len(s.Command) == 0 || ctx.Err() != nil {
		return
	}
	now := time.Now()
	version := n.Version()
	since := now.Sub(n.looked)
	if !last && since >= 0 && (since < easy*n.took || version == n.seen && since < idle && !n.told.due(now)) {
		return
	}
	list, err := n.Look(ctx)
	n.seen, n.looked, n.took = version, time.Now(), time.Since(now)
	if err != nil {
		if ctx.Err() == nil {
			n.Log.Warn().Err(err).Msg("what waits cannot be told")
		}
		return
	}
	n.tell(ctx, s, list)
}

// tell runs the command for new messages, one directive at a time.
func (n *Notifier) tell(ctx context.Context, s Settings, list []Waiting) {
	n.told.keep(list)
	if !n.told.retry(time.Now()) {
		return // it failed a short while ago
	}
	groups := n.told.untold(list, s.PerHour, time.Now())
	if len(groups) > maxRuns {
		rest := message{Kind: "several"}
		for _, g := range groups[maxRuns:] {
			rest.Things = append(rest.Things, g.Things...)
		}
		groups = append(groups[:maxRuns:maxRuns], rest)
	}
	for _, g := range groups {
		err := n.run(ctx, s, g)
		if n.cut = ctx.Err() != nil && err != nil; n.cut {
			return // it is unknown whether it was sent: send it again
		}
		n.told.ran(g, err, time.Now())
		if saveErr := n.told.save(n.path()); saveErr != nil {
			n.Log.Warn().Err(saveErr).Msg("what was notified cannot be kept")
		}
		if err != nil {
			n.Log.Warn().Err(err).Str("directive", g.Directive).Msg("the [notify] command failed; it is tried again")
			return
		}
		n.Log.Info().Str("directive", g.Directive).Str("kind", g.Kind).Int("things", len(g.Things)).Msg("notified")
	}
}

// run runs the command once with a message on its standard input. Nothing of it is left when
// run returns.
func (n *Notifier) run(ctx context.Context, s Settings, m message) error {
	var out tail
	c := process.Command{
		Args: s.Command, Dir: "/", Stdin: strings.NewReader(m.text()), Stdout: &out, Stderr: &out,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8", "WARD_DIRECTIVE=" + word(m.Directive), "WARD_KIND=" + word(m.Kind)},
		Tag: "WARD_NOTIFY=" + rand.Text(), DieWithThread: true, Timeout: s.Timeout, Output: maxOutput, Grace: time.Second,
	}
	status, stopped, err := c.Run(ctx)
	said := ""
	if text := strings.TrimSpace(string(out)); text != "" {
		said = ": " + diag.Clean(strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\n", "; "))
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s cannot be started: %w", diag.Clean(s.Command[0]), err)
	case stopped != nil:
		return fmt.Errorf("%s was ended: %w%s", diag.Clean(s.Command[0]), stopped, said)
	case !status.OK():
		return errors.New(diag.Clean(s.Command[0]) + " failed (" + status.String() + ")" + said)
	}
	return nil
}

// word is a fixed word of Ward's for the environment: a directive's name, a kind.
func word(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, diag.Cut(text, 40))
}

// tail keeps the end of what is written.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	*t = slices.Clone((*t)[max(0, len(*t)-maxSaid):])
	return len(p), nil
}
