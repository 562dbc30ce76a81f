package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/sandbox/forge"
	"git-ward/sandbox/forge/setup"
)

// check says whether the forge answers, and what the token lacks there.
func check(ctx context.Context, env *cli.Env, k *forge.Syncer, asJSON bool) error {
	f := k.Settings.Forge
	asked := setup.Asked{Forge: k.Forge, Page: f.URL, File: f.TokenFile, Branches: f.Branches}
	if f.WebhookURL != "" {
		hook, err := hookOf(ctx, k.Repo, k.Settings, setup.Kept)
		if err != nil {
			return err
		}
		asked.Hook = &hook
	}
	found := setup.Examine(ctx, asked)
	for _, one := range found {
		if asJSON {
			if err := diag.WriteJSON(env.Stdout, one); err != nil {
				return err
			}
			continue
		}
		write(env.Stdout, one)
	}
	if setup.Lacking(found) {
		return cli.ErrFindings
	}
	return nil
}

// write shows a finding as doctor does.
func write(w io.Writer, f setup.Finding) {
	fmt.Fprintf(w, "%-8s %-22s %s\n", f.State, f.Thing, diag.Clean(f.Detail))
	if f.Mend != "" {
		fmt.Fprintf(w, "%s mend: %s\n", strings.Repeat(" ", 31), diag.Clean(f.Mend))
	}
}
