package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/model"
	"git-ward/agent/store"
	"git-ward/agent/tool"
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
)

// promptSize bounds SYSTEM.md; COMMS.md has a bound of its own.
const promptSize = 1 << 20

// job is the work on one directive.
type job struct {
	*agent
	log       zerolog.Logger
	directive comms.Directive
	work      *store.Work
	model     model.Model
	talk      model.Conversation
	lastWords string // of the model
}

// directive takes one directive to its report. Nothing that it knows outlives
// it: after a kill the next run finds out from the remote how far this one came.
func (a *agent) directive(ctx context.Context, main store.Snapshot, source []byte, d comms.Directive) error {
	j := &job{agent: a, directive: d, log: a.log.With().Str("directive", d.Name()).Logger()}
	var err error
	if j.work, err = a.store.Work(ctx, d); err != nil {
		return err
	}
	if j.work.Done == nil {
		if err := j.prepare(ctx, main, source); err != nil {
			return err
		}
		err = j.solve(ctx)
	} else {
		j.log.Info().Str("commit", diag.Short(j.work.Done.Commit)).Msg("the work was done before; only the report is missing")
	}
	return j.report(ctx, err)
}

// prepare makes the prompt (AGT-2), the tools and the model.
func (j *job) prepare(ctx context.Context, main store.Snapshot, source []byte) error {
	system, err := main.File(ctx, "SYSTEM.md", promptSize)
	if err != nil {
		return err
	}
	if j.model, err = openModel(ctx, j.Config, main); err != nil {
		return err
	}
	box := &tool.Box{
		Dir: j.work.Dir(), State: j.State, Env: j.store.Environ(), Repo: j.work,
		Timeout:    j.Config.Agent.BashTimeout.Duration,
		OutputSize: j.Config.Agent.OutputSize,
		WriteSize:  j.Config.Limits.BlobSize,
	}
	j.talk = model.Conversation{
		System:    systemPrompt(system, source),
		Directive: j.directive.Name(),
		Title:     j.directive.Title,
		Tools:     box.Tools(),
		Messages:  []model.Message{{Role: model.User, Text: "Continue."}},
	}
	return nil
}

// systemPrompt is SYSTEM.md followed by COMMS.md. A line end is put between them
// where SYSTEM.md lacks its last one, or COMMS.md would lose its heading.
func systemPrompt(system, comms []byte) string {
	s := string(system)
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s + string(comms)
}

// blocked ends the work on a directive without success, by a report.
type blocked struct{ text string }

func (b *blocked) Error() string { return b.text }

// solve lets the model work until the remote has the result. The findings of a
// refused push go back to it, a bounded number of times.
func (j *job) solve(ctx context.Context) error {
	j.log.Info().Str("title", diag.Clean(j.directive.Title)).Msg("work begins")
	for refusals := 0; ; refusals++ {
		if err := j.converse(ctx); err != nil {
			return err
		}
		err := j.work.Publish(ctx, j.lastWords, true)
		var refused *store.Refused
		if !errors.As(err, &refused) {
			return err
		}
		j.log.Warn().Int("refusals", refusals+1).Str("findings", refused.Text).Msg("the push was refused")
		if refusals == j.Config.Agent.Refusals {
			return &blocked{fmt.Sprintf("%s was refused %d times, so the work is not on the server. The last refusal:\n\n%s",
				j.work.Branch, refusals+1, indent(refused.Text))}
		}
		j.talk.Messages = append(j.talk.Messages, model.Message{Role: model.User, Refusal: true, Text: refusal(j.work.Branch, refused.Text)})
	}
}

// refusal is what the model is told.
func refusal(branch, findings string) string {
	return fmt.Sprintf("The push of %s was refused:\n\n%s\nWhat the server does not have is in the working tree, uncommitted. "+
		"Mend it there and end your turn: it is then committed and pushed again.", branch, findings)
}

// indent makes lines of a program stand as they are in Markdown.
func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// report puts the end of the work into COMMS.md: DONE, or EXIT_BLOCKED with the
// reason. Other errors are no end, and go to the loop.
func (j *job) report(ctx context.Context, err error) error {
	r := comms.NewReport{Time: time.Now(), Directive: j.directive.Name(), DirectiveHash: j.directive.Hash()}
	var stop *blocked
	switch {
	case errors.As(err, &stop):
		r.Status, r.Text = comms.ExitBlocked, stop.text+"\nEdit "+j.directive.Name()+" to have it taken up again.\n"
	case err != nil:
		return err
	default:
		done := j.work.Done
		r.Status, r.Text = comms.Done, fmt.Sprintf("%s\n\n%s holds the work, at commit %s; `git merge origin/%s` takes it.\n",
			done.Text, j.work.Branch, diag.Short(done.Commit), j.work.Branch)
	}
	if err := j.store.Report(ctx, r); err != nil {
		return err
	}
	j.log.Info().Str("status", string(r.Status)).Msg("reported")
	return nil
}
