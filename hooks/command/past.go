package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// pastCommits is how many of a project's commits init judges.
const pastCommits = 1000

// places is how many places a rule's line names.
const places = 3

// past is the checks' result for existing commits, as somebody's pushes (CTRL-2).
type past struct {
	Who     push.Principal       `json:"who"`
	Commits int                  `json:"commits"`
	Refused int                  `json:"refused"` // commits that would have been
	Rules   map[string]*pastRule `json:"rules"`
}

// pastRule is what a rule would have refused.
type pastRule struct {
	Findings int        `json:"findings"`
	Commits  int        `json:"commits"`
	Places   []diag.Pos `json:"places"` // the newest few
}

// judgePast judges commits (ids, oldest first) as if each had been pushed to the project's
// branch by a member, or to its own branch by the agent.
func judgePast(ctx context.Context, repo *git.Repo, settings *config.Config, commits []string, who ...push.Principal) ([]*past, error) {
	all := make([]*past, len(who))
	errs := make([]error, len(who))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	for i, principal := range who {
		p := &past{Who: principal, Rules: map[string]*pastRule{}}
		all[i] = p
		ref := settings.Control.ProjectRef()
		if principal == push.Agent {
			ref = "refs/heads/agent/D-1"
		}
		group.Go(func() {
			batch := repo.Batch(ctx)
			defer batch.Close()
			if errs[i] = checks.JudgePast(ctx, repo, batch, checks.Past{Principal: principal, Config: settings, Ref: ref, Commits: commits}, p.add); errs[i] != nil {
				cancel()
			}
		})
	}
	group.Wait()
	return all, cmp.Or(errs...)
}

// add counts one commit's result.
func (p *past) add(commit string, r *checks.Result) error {
	p.Commits++
	if r.Refused() {
		p.Refused++
	}
	seen := map[string]bool{}
	for _, d := range r.Findings {
		if !d.IsError() {
			continue
		}
		rule := p.Rules[d.Rule]
		if rule == nil {
			rule = &pastRule{}
			p.Rules[d.Rule] = rule
		}
		rule.Findings++
		if seen[d.Rule] {
			continue
		}
		seen[d.Rule] = true
		rule.Commits++
		at := d.Pos
		at.Commit = commit
		if rule.Places = append(rule.Places, at); len(rule.Places) > places {
			rule.Places = rule.Places[1:]
		}
	}
	return nil
}

// commitsOf are the commits of a range, ids, the oldest first.
func commitsOf(ctx context.Context, repo *git.Repo, args ...string) ([]string, error) {
	out, err := repo.Output(ctx, append([]string{"rev-list", "--reverse"}, args...)...)
	return strings.Fields(string(out)), err
}

// writePast says it to a person: for each pusher a line, and below it one for each rule.
func writePast(w io.Writer, all []*past, took time.Duration) {
	for _, p := range all {
		who := map[push.Principal]string{push.Member: "a member's", push.Agent: "the agent's", push.PM: "the PM's"}[p.Who]
		if p.Refused == 0 {
			fmt.Fprintf(w, "as %s pushes: none of %s would have been refused\n", who, diag.Count(p.Commits, "commit"))
			continue
		}
		fmt.Fprintf(w, "as %s pushes: %d of %s would have been refused\n", who, p.Refused, diag.Count(p.Commits, "commit"))
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, name := range p.byCount() {
			rule := p.Rules[name]
			var at []string
			for _, pos := range slices.Backward(rule.Places) {
				at = append(at, where(pos))
			}
			more := ""
			if rule.Commits > len(at) {
				more = ", ..."
			}
			fmt.Fprintf(t, "  %s\t%s\tin %s\t%s%s\n", name, diag.Count(rule.Findings, "finding"), diag.Count(rule.Commits, "commit"), strings.Join(at, ", "), more)
		}
		t.Flush()
	}
	fmt.Fprintf(w, "judged in %s\n", took.Round(10*time.Millisecond))
}

// byCount are the rules, the one that meets most commits first.
func (p *past) byCount() []string {
	return slices.SortedFunc(maps.Keys(p.Rules), func(a, b string) int {
		if d := p.Rules[b].Commits - p.Rules[a].Commits; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

// where is a place in a commit, as people name it.
func where(p diag.Pos) string {
	text := diag.Short(p.Commit)
	if p.Path != "" {
		text += ":" + diag.Clean(p.Path)
	}
	if p.Line > 0 {
		text += fmt.Sprintf(":%d", p.Line)
	}
	return text
}
