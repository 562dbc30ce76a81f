// Package reports writes the watcher's reports into COMMS.md. It uses its own repository,
// which the agent can neither read nor write, and its own door, so that no agent can use up
// its turns (HOOK-4b, SBX-4).
//
// That repository has no work tree and no objects of its own: it uses those of the bare repository as
// alternates.
package reports

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/bootstrap/remote"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/internal/shellword"
	"git-ward/protocols/comms"
)

// Reports writes reports to one repository.
type Reports struct {
	Bare   string // absolute
	Dir    string // the watcher's own repository, made anew for each report
	Remote *remote.Remote
	// Connect is the command line that connects stdin and stdout to the door; if nil, reports are
	// pushed directly to the repository.
	Connect []string
}

const (
	// pushTime bounds one report.
	pushTime = time.Minute
	// ident is the author of the commits.
	ident = "Ward Watcher <watcher@ward>"
)

// Once appends a report and adds the incident's name to its text. COMMS.md has at most one report of an
// incident, so a report may be repeated after a push whose result is unknown.
func (r *Reports) Once(ctx context.Context, incident string, n comms.NewReport) error {
	ctx, cancel := context.WithTimeout(ctx, pushTime)
	defer cancel()
	repo, made, err := r.open()
	if err != nil {
		return err
	}
	defer made.Remove()
	n.Text = comms.WithIncident(n.Text, incident)
	return git.Update(ctx, git.Race{What: r.Remote.Control, While: "the report was pushed", Tries: 10}, func() (bool, error) {
		tip, err := r.Remote.Commit(ctx, r.Remote.Control)
		if err != nil {
			return false, err
		}
		commit, err := appended(ctx, repo, tip, incident, n)
		if err != nil || commit == "" {
			return true, err
		}
		pushErr := repo.Push(ctx, r.Bare, shellword.Line(r.Connect...), commit+":"+r.Remote.Control)
		if pushErr == nil || ctx.Err() != nil {
			return true, pushErr
		}
		if now, err := r.Remote.Commit(ctx, r.Remote.Control); err != nil || now == tip {
			return false, errors.Join(pushErr, err)
		}
		return false, nil
	})
}

// appended returns a commit on top of tip with one more report; "" if tip has it already.
func appended(ctx context.Context, repo *git.Repo, tip, incident string, n comms.NewReport) (commit string, err error) {
	batch := repo.Batch(ctx)
	defer batch.Close()
	_, data, err := batch.Read(tip+":"+comms.Path, comms.MaxBytes)
	if err != nil {
		return "", diag.Hint(fmt.Errorf("%s of %s cannot be read: %w", comms.Path, diag.Short(tip), err), "`git ward lint` says what is wrong with it")
	}
	if doc, _ := comms.Parse(data); doc.HasIncident(n, incident) {
		return "", nil
	}
	amended, err := comms.Amend(data, n, comms.Answers(comms.MaxWatched))
	if errors.Is(err, comms.ErrFull) {
		err = diag.Hint(err, "the watcher may only append: take out what is done, and push")
	}
	if err != nil {
		return "", err
	}
	return batch.Commit(ident, tip, map[string][]byte{comms.Path: amended.Data}, time.Now(), fmt.Sprintf("comms: report %s %s", n.Directive, n.Status))
}

// open makes a new repository; whatever an earlier report left was delivered or refused.
func (r *Reports) open() (*git.Repo, *scratch.Dir, error) {
	bare := git.Open(r.Bare)
	bare.Limits = config.Default().GitLimits()
	return bare.Borrow(r.Dir)
}
