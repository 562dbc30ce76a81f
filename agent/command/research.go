package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/fsm"
	"git-ward/protocols/plan"
)

const (
	researchPlanning = "research plan [--offline] TOPIC..."
	researchRunUsage = "research run [--task-id ID] [--again] [--config FILE] PLAN"
)

// Research is `git ward research` (PLAN-8).
func Research(redact func(string) string) cli.Command {
	return cli.Command{Name: "research", Doc: "plan and run deep research", Verbs: []cli.Command{
		{Name: "plan", Doc: "write a plan of research into a topic", Run: researchPlan},
		{Name: "run", Doc: "execute it, a commit a step, or go on with it", Run: runOf("research run", researchRunUsage, redact, fsm.Research)},
	}}
}

// researchPath is a topic's short name, and its plan's path.
func researchPath(topic string) (slug, path string) {
	slug = plan.Slug(topic)
	return slug, "plans/research/" + slug + ".txt"
}

// researchPlan writes a research plan into the working tree.
func researchPlan(ctx context.Context, env *cli.Env) error {
	var offline bool
	args, err := env.Flags("research plan", researchPlanning, func(fs *flag.FlagSet) {
		fs.BoolVar(&offline, "offline", false, "plan without a search, for hosts without [search] url")
	})
	if err != nil {
		return err
	}
	topic := strings.Join(args, " ")
	if strings.TrimSpace(topic) == "" {
		return env.Usage(researchPlanning, "plan takes a topic")
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	slug, path := researchPath(topic)
	paper, err := tree.RecordPath(ctx, path)
	if err != nil {
		return err
	}
	if _, err := tree.Read(paper, plan.MaxBytes); !errors.Is(err, fs.ErrNotExist) {
		return diag.Hint(fmt.Errorf("%s is there already", paper), "remove it, or word the topic otherwise")
	}
	text := plan.Research(diag.Clean(topic), slug, !offline).String()
	if _, found := plan.Parse([]byte(text), path); diag.HasErrors(found) {
		return fmt.Errorf("the topic does not fit into a plan: %s: %s", found[0].Pos, found[0].Message)
	}
	if err := tree.Write(paper, []byte(text)); err != nil {
		return err
	}
	if paper != path {
		_, err = fmt.Fprintf(env.Stdout, "wrote %s\nnext: git ward research run %s\n", paper, paper)
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "wrote %s\nnext: git add %s && git commit, then git ward research run %s\n", path, path, path)
	return err
}

// research is level 4 of the orientation: it commits and executes a plan of the machine
// research. search is [search] url, "" for none. It returns the report's path.
func research(ctx context.Context, env *cli.Env, tree *worktree.Tree, topic, search string, redact func(string) string) (string, error) {
	sub := *env
	var said bytes.Buffer
	sub.Stdout, sub.Stderr = &said, &said
	slug, name := researchPath(topic)
	path, err := tree.RecordPath(ctx, name)
	if err != nil {
		return "", err
	}
	report, err := tree.RecordPath(ctx, "research/"+slug+".md")
	if err != nil {
		return "", err
	}
	if _, err := tree.Read(path, plan.MaxBytes); errors.Is(err, fs.ErrNotExist) {
		if sub.Args = []string{"--", topic}; search == "" {
			sub.Args = append([]string{"--offline"}, sub.Args...)
		}
		if err := researchPlan(ctx, &sub); err != nil {
			return "", err
		}
	}
	if path == name {
		if err := commitPlan(ctx, tree, path, slug); err != nil {
			return "", err
		}
	}
	sub.Dir = tree.Dir
	if err := (&planOptions{search: search}).run(ctx, &sub, path, redact, fsm.Research); err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return report, nil
}

// commitPlan commits a plan to a person's branch if it is not there yet.
func commitPlan(ctx context.Context, tree *worktree.Tree, path, slug string) error {
	if _, err := tree.Git(ctx, "add", "--", path); err != nil {
		return err
	}
	if _, err := tree.Git(ctx, "diff", "--cached", "--quiet", "--", path); err == nil {
		return nil
	}
	_, err := tree.Git(ctx, "commit", "--quiet", "-m", "research: plan "+slug, "--", path)
	return err
}
