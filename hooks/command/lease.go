package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"git-ward/hooks/leases"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
)

// Lease is `git ward lease`: which worker may work on which directive, and an end of that
// (MANY-2).
var Lease = cli.Command{Name: "lease", Doc: "show who works on which directive, or revoke it", Run: leaseList,
	Long: "A worker has the lease of its directive; without it, it gets no push, model call or verdict. " +
		"A launch gives leases out and renews them. In a clone the list is as it was fetched.",
	Ways: []cli.Way{{Switch: "revoke", Doc: "revoke a lease: its worker's later pushes and calls are refused", Run: leaseRevoke}},
	Examples: []cli.Example{{Line: "lease --bare /srv/git/project.git", Doc: "all of them: holder, place, since and until when"},
		{Line: "lease --revoke --bare /srv/git/project.git D-3", Doc: "end the work on D-3; the next launch or pass starts it again"}}}

// shownLease is a lease as `git ward lease --json` prints it.
type shownLease struct {
	Directive string         `json:"directive"`
	State     string         `json:"state"` // live, ended, free, broken
	Holder    string         `json:"holder,omitempty"`
	Where     string         `json:"where,omitempty"`
	Since     time.Time      `json:"since,omitzero"`
	Until     time.Time      `json:"until,omitzero"`
	Trouble   diag.Untrusted `json:"trouble,omitempty"`
}

func newShownLease(directive string, s leases.Standing) shownLease {
	shown := shownLease{Directive: directive, State: "broken"}
	if s.Broken != nil {
		shown.Trouble = diag.Untrusted(s.Broken.Error())
		return shown
	}
	l := s.Lease
	shown.Holder, shown.Where, shown.Since, shown.Until = l.Holder, l.Where, l.Since, l.Until
	switch {
	case s.Lost(l.ID) == "":
		shown.State = "live"
	case s.Held():
		shown.State = "ended" // and in its grace
	default:
		shown.State = "free"
	}
	return shown
}

func leaseList(ctx context.Context, env *cli.Env) error {
	const usage = "lease [--json] [--bare DIR]"
	var bare string
	var asJSON bool
	args, err := env.Flags("lease", usage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.BoolVar(&asJSON, "json", false, "one JSON object")
	})
	if err != nil {
		return err
	}
	repo, err := repository(ctx, env, bare, args, usage)
	if err != nil {
		return err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	all, err := leases.List(ctx, repo, batch, time.Now())
	if err != nil {
		return err
	}
	shown := []shownLease{}
	for _, e := range all {
		name := e.Directive
		if name == "" {
			name = diag.Clean(strings.TrimPrefix(e.Ref, lease.Prefix))
		}
		shown = append(shown, newShownLease(name, e.Standing))
	}
	if asJSON {
		return diag.WriteJSON(env.Stdout, map[string]any{"leases": shown})
	}
	return writeLeases(env, shown)
}

func writeLeases(env *cli.Env, all []shownLease) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(env.Stdout, "no worker has a lease")
		return err
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, l := range all {
		if l.State == "broken" {
			fmt.Fprintf(w, "%s\t%s\t%s\n", l.Directive, l.State, l.Trouble)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\tsince %s\tuntil %s\n", l.Directive, l.State, l.Holder, l.Where, l.Since.Format(time.DateTime), l.Until.Format(time.DateTime))
	}
	return w.Flush()
}

func leaseRevoke(ctx context.Context, env *cli.Env) error {
	const usage = "lease --revoke [--json] [--bare DIR] D-n"
	var bare string
	var asJSON bool
	args, err := env.Flags("lease", usage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.BoolVar(&asJSON, "json", false, "one JSON object")
	})
	if err != nil {
		return err
	}
	if len(args) != 1 || !lease.IsDirective(args[0]) {
		return env.Usage(usage, "which directive's lease? such as D-3")
	}
	repo, err := env.Repository(ctx, bare)
	if err != nil {
		return err
	}
	if err := onHost(ctx, repo); err != nil {
		return err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	was, err := leases.Revoke(ctx, repo, batch, args[0])
	if errors.Is(err, leases.ErrNone) {
		return diag.Hint(err, "git ward lease shows those there are")
	}
	var moving *leases.Moving
	if err != nil && !errors.As(err, &moving) {
		return err
	}
	shown := newShownLease(args[0], was)
	if asJSON {
		if err := diag.WriteJSON(env.Stdout, map[string]any{"revoked": shown}); err != nil {
			return err
		}
	} else {
		writeRevoked(env, shown)
	}
	if moving != nil {
		return diag.Hint(fmt.Errorf("the lease is revoked, but %w", moving), "end their git receive-pack on this host; the ids are in ward/pending")
	}
	return nil
}

func writeRevoked(env *cli.Env, l shownLease) {
	who := "nobody could read it"
	if l.Holder != "" {
		who = l.Holder + " had it"
	}
	fmt.Fprintf(env.Stdout, "revoked the lease of %s: %s\n", l.Directive, who)
	fmt.Fprintln(env.Stdout, "that worker's pushes are refused from now on; another may take the directive at once")
	fmt.Fprintf(env.Stdout, "next: git ward uow pause %s.<k> keeps it still; git ward log shows what was pushed as agent:%s\n", l.Directive, l.Directive)
}

// onHost refuses a clone: a lease is the gate's.
func onHost(ctx context.Context, repo *git.Repo) error {
	bare, err := repo.Bare(ctx)
	if err == nil && !bare {
		err = diag.Hint(errors.New("a lease is revoked on the host, in the bare repository"), "git ward lease --revoke --bare DIR D-n")
	}
	return err
}
