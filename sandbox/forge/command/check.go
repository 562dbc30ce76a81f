package command

import (
	"context"

	"git-ward/internal/cli"
	"git-ward/sandbox/doctor/finding"
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
	if asJSON {
		if err := finding.WriteJSON(env.Stdout, found); err != nil {
			return err
		}
	} else {
		finding.Write(env.Stdout, found)
	}
	if finding.Lacking(found) {
		return cli.ErrFindings
	}
	return nil
}
