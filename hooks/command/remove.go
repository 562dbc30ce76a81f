package command

import (
	"context"
	"fmt"

	"git-ward/hooks/install"
	"git-ward/internal/cli"
)

// remove is `git ward init --remove --bare DIR`: it lists what removing Ward does, what is
// lost and what stays; with --yes it does it. The next removal completes a killed one.
func remove(ctx context.Context, env *cli.Env, dir string, o initOptions) error {
	plan, err := install.PlanRemoval(ctx, install.Removal{Dir: dir, Purge: o.purge})
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
