package command

import (
	"context"
	"fmt"
	"os/exec"

	"git-ward/hooks/install"
	"git-ward/internal/cli"
)

// remove is `git ward init --remove --bare DIR`: it lists what removing Ward does, what is
// lost and what stays; with --yes it does it. The next removal completes a killed one.
func remove(ctx context.Context, env *cli.Env, dir string, o initOptions) error {
	plan, err := install.PlanRemoval(ctx, install.Removal{Dir: dir, Purge: o.purge, Webhook: func(ctx context.Context, page string) error {
		return offForge(ctx, env, page, dir)
	}})
	if err != nil {
		return err
	}
	w := env.Stdout
	if len(plan.Steps) == 0 && len(plan.Stays) == 0 {
		fmt.Fprintf(w, "nothing of Ward's is in %s\n", dir)
		return nil
	}
	list := func(title string, lines []string) {
		for i, line := range lines {
			if i == 0 {
				fmt.Fprintln(w, title)
			}
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	if o.yes {
		if err := plan.Carry(ctx, func(c install.Change) { fmt.Fprintln(w, c.Done()) }); err != nil {
			return err
		}
		list("what stays:", plan.Stays)
		fmt.Fprintf(w, "Ward is out of %s; what was merged stays\n", dir)
		return nil
	}
	var steps []string
	for _, s := range plan.Steps {
		steps = append(steps, s.Planned())
	}
	list("init --remove will", steps)
	list("what is lost:", plan.Lost)
	list("what stays:", plan.Stays)
	if len(steps) > 0 {
		fmt.Fprintln(w, "nothing was changed: the same with --yes does it")
	}
	return nil
}

// offForge has the program that speaks to the forge remove the repository's webhook there. It has
// said what failed.
func offForge(ctx context.Context, env *cli.Env, page, dir string) error {
	program, err := cli.Program("git-ward-forge")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "init", "--forge", page, "--remove", "--", dir)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = env.Dir, env.Stdin, env.Stdout, env.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("nothing was changed in %s: %w", dir, err)
	}
	return nil
}
