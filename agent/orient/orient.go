// Package orient is the orientation cascade (ORI-1): who the agent is, what the repository contains,
// what the environment allows and, on request, research into open questions. Levels 1 to 3 read and
// probe, and change nothing.
package orient

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"git-ward/agent/lookup"
	"git-ward/agent/survey"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/knowledge"
)

// Options say what to examine.
type Options struct {
	Tree   *worktree.Tree
	Getenv func(string) string
	// Index is the tree's index; nil if there is none yet.
	Index *survey.Index
	// Task is the directive to begin, Unit its current unit, "" for the newest. Bare is the
	// remote if it is on this machine, else "".
	Task, Unit, Bare string
	// Connect are external addresses, HOST:PORT, that must be reachable. Only these are tried.
	Connect []string
	// About is the task's description, to search the repository for; "" for none.
	About string
	// Unknowns are the task's open questions. They are searched for in the repository first.
	Unknowns []Question
	// Search searches the web for a question; nil if no search is configured.
	Search func(ctx context.Context, query string) (string, error)
	// Topic is what level 4 investigates, "" for nothing. Research investigates it and returns
	// the report's path; nil if this program cannot.
	Topic    string
	Research func(ctx context.Context, topic string) (string, error)
}

// Report has the findings, level by level.
type Report struct {
	Time        time.Time      `json:"time"`
	Identity    *Identity      `json:"l1_identity"`
	Repository  *Repository    `json:"l2_repository,omitempty"`
	Environment *Environment   `json:"l3_environment,omitempty"`
	About       *lookup.Result `json:"l3_about,omitempty"`
	Unknowns    []Unknown      `json:"l3_unknowns,omitempty"`
	Research    *Research      `json:"l4_research,omitempty"`
	// Problems prevent work: with any of them orientation has failed.
	Problems []string `json:"problems"`
}

// Identity is level 1.
type Identity struct {
	Name         string   `json:"name"`
	Version      string   `json:"version,omitempty"`
	Description  string   `json:"description,omitempty"`
	Capabilities []string `json:"capabilities"`
	Limitations  []string `json:"limitations"`
}

// Research is level 4.
type Research struct {
	Topic  string `json:"topic"`
	Report string `json:"report,omitempty"` // a path
	Error  string `json:"error,omitempty"`
}

// Failed reports whether work may not begin.
func (r *Report) Failed() bool { return len(r.Problems) > 0 }

// Run does the levels in order. It stops after a failed level 1, because the others need the agent's
// identity. What prevents work is in Report.Problems; the error is for failures of Run itself.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &Report{Time: time.Now().UTC().Truncate(time.Second), Problems: []string{}}
	var err error
	if r.Identity, err = identity(ctx, o.Tree); err != nil {
		r.Problems = append(r.Problems, err.Error())
		return r, nil
	}
	if r.Repository, err = repository(ctx, o); err != nil {
		return nil, err
	}
	r.Environment = environment(ctx, o)
	r.Problems = append(r.Problems, r.Environment.problems()...)
	if err := r.search(ctx, o); err != nil {
		return nil, err
	}
	if o.Topic != "" {
		r.Research = research(ctx, o)
	}
	return r, ctx.Err()
}

// identity does level 1. The error is a sentence for the report.
func identity(ctx context.Context, t *worktree.Tree) (*Identity, error) {
	data, err := t.Document(ctx, knowledge.MetaPath, knowledge.MaxMeta)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: the agent does not know what it is", knowledge.MetaPath)
	}
	if err != nil {
		return nil, err
	}
	m, found := knowledge.ParseMeta(data)
	if len(found) > 0 {
		return nil, fmt.Errorf("%s: %s", found[0].Pos, found[0].Message)
	}
	return &Identity{*m.Name, m.Version, m.Description, append([]string{}, m.Capabilities...), append([]string{}, *m.Limitations...)}, nil
}

func research(ctx context.Context, o Options) *Research {
	r := &Research{Topic: o.Topic}
	if o.Research == nil {
		r.Error = "level 4 is not set up here: git ward research plan and run do it"
		return r
	}
	var err error
	if r.Report, err = o.Research(ctx, o.Topic); err != nil {
		r.Error = errorText(err)
	}
	return r
}

func errorText(err error) string {
	if hinted, ok := errors.AsType[*diag.Hinted](err); ok && hinted.Hint != "" {
		return diag.Clean(err.Error() + "; " + hinted.Hint)
	}
	return diag.Clean(err.Error())
}
