package fold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/token"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
)

// ident is whose the commits are: what they bring was said by the agent.
const ident = "Ward Agent <agent@ward>"

// commits makes a commit for each message that control's document does not have, one on top
// of the other, in a repository of their own; n is how many, and commit the last.
func (f *Fold) commits(ctx context.Context, tip string, list []pending, instead *refusal) (commit string, n int, err error) {
	repo, err := f.Repo.Borrow(f.Dir)
	if err != nil {
		return "", 0, err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	_, data, err := batch.Read(tip+":"+comms.Path, comms.MaxBytes)
	if err != nil {
		return "", 0, diag.Hint(fmt.Errorf("%s of %s cannot be read: %w", comms.Path, diag.Short(tip), err), "`git ward lint` says what is wrong with it")
	}
	commit = tip
	for _, p := range list {
		doc, found := comms.Parse(data)
		if diag.HasErrors(found) {
			return "", 0, diag.Hint(fmt.Errorf("%s of %s has errors, and takes no reports", comms.Path, diag.Short(tip)), "mend it and push; `git ward lint` says where")
		}
		m := p.message
		if instead != nil {
			if m, err = p.refused(instead); err != nil {
				return "", 0, err
			}
		}
		if p.void || doc.Has(m) {
			continue
		}
		out, trailers, err := put(data, m)
		if err != nil {
			return "", 0, fmt.Errorf("%s: %w", p.name(), err)
		}
		tree, err := batch.EditTree(commit+"^{tree}", map[string][]byte{comms.Path: out})
		if err != nil {
			return "", 0, err
		}
		if commit, err = repo.CommitTree(ident, tree, commit, time.Now(), subject(m)+trailers); err != nil {
			return "", 0, err
		}
		data, n = out, n+1
	}
	return commit, n, nil
}

// subject is that of the commit that brings a message.
func subject(m comms.Message) string {
	if m.Kind == comms.KindQuestion {
		return "comms: question on " + m.Directive
	}
	return fmt.Sprintf("comms: report %s %s", m.Directive, m.Status)
}

// put appends a message. Where the document is full its oldest reports go first, half of it
// at once, as the agent does it; trailers say so.
func put(data []byte, m comms.Message) (out []byte, trailers string, err error) {
	fit := func(data []byte) ([]byte, error) {
		out, _, err := m.Append(data)
		if err == nil {
			err = comms.FitAnswers(out, comms.MaxAnswers)
		}
		return out, err
	}
	out, err = fit(data)
	if !errors.Is(err, comms.ErrFull) {
		return out, "", err
	}
	pruned, removed, pruneErr := comms.Prune(data, comms.MaxBytes/2)
	if pruneErr == nil && len(removed) > 0 {
		out, err = fit(pruned)
	}
	if err = errors.Join(err, pruneErr); err != nil {
		return nil, "", diag.Hint(err, "take directives that are done out of %s, and push: their reports can go then", comms.Path)
	}
	return out, "\n\n" + comms.PruneTrailers(removed), nil
}

// refused is what stands in the document for a message that the gate does not take, without
// a word of it.
func (p pending) refused(why *refusal) (comms.Message, error) {
	what := string(p.message.Kind)
	if s := p.message.Status; s != "" {
		what += " " + string(s)
	}
	text := fmt.Sprintf("A %s of %s is left out, because the gate refused it for %s: %s.\n\n`git ward log --refused` on the host says more.",
		what, p.unit, strings.Join(why.rules, ", "), p.name())
	return comms.NewReport{Time: p.message.When(), Directive: p.unit.Directive, Status: comms.Info, Text: text}.Message()
}

// send pushes a commit to a branch, as the agent of record.FoldName. The error is a
// *refusal when the gate said that it does not take it; any other is trouble on the way.
func (f *Fold) send(ctx context.Context, commit, ref string) error {
	key, err := os.ReadFile(filepath.Join(f.Repo.Dir, token.KeyFile))
	if err != nil {
		return diag.Hint(fmt.Errorf("the door's key cannot be read: %w", err), "git ward init --bare %s --update", f.Repo.Dir)
	}
	repo, l := git.Open(f.Dir), f.Settings.Limits
	repo.Limits = git.Limits{Memory: l.Memory, Alloc: l.Alloc, CPU: l.CPU.Duration, File: 2 * l.InputSize}
	ctx, cancel := context.WithTimeout(ctx, f.Settings.Door.Time.Duration)
	defer cancel()
	said, err := repo.PushAs(ctx, token.Environ(key, token.NewID(time.Now()), "agent", record.FoldName), []string{"ward.format=json"}, f.Repo.Dir, commit+":"+ref)
	if rules := refusedFor(said); err != nil && rules != nil {
		return &refusal{rules, err}
	}
	return err
}

// refusal is the gate's word that a push may not enter.
type refusal struct {
	rules []string
	err   error
}

func (r *refusal) Error() string { return "refused for " + strings.Join(r.rules, ", ") }
func (r *refusal) Unwrap() error { return r.err }

// refusedFor is the rules for which Ward's hook refused a push, by the line of JSON that it
// says so in (HOOK-2); nil where it did not.
func refusedFor(said []byte) []string {
	for line := range bytes.Lines(said) {
		text, ok := bytes.CutPrefix(line, []byte("remote: "))
		var answer struct {
			Verdict  string `json:"verdict"`
			Findings []struct {
				Rule string `json:"rule"`
			} `json:"findings"`
		}
		if !ok || json.Unmarshal(bytes.TrimSpace(text), &answer) != nil || answer.Verdict != "refused" {
			continue
		}
		rules := []string{}
		for _, finding := range answer.Findings {
			if rule := diag.Clean(finding.Rule); !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
		return rules
	}
	return nil
}
