package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/sandbox/forge/client"
	"git-ward/sandbox/forge/setup"
	"git-ward/sandbox/gateway"
)

// hookOf is the webhook that a repository's settings want, with the secret that secret reads or
// makes.
func hookOf(ctx context.Context, repo *git.Repo, settings *config.Config, secret func(file string) (gateway.Key, error)) (setup.Hook, error) {
	f := settings.Forge
	h := setup.Hook{To: f.WebhookURL, Listen: f.Webhook}
	first, err := repo.Output(ctx, "rev-list", "--first-parent", "--max-parents=0", "--end-of-options", settings.Control.Ref())
	if err != nil {
		return h, err
	}
	h.Of = strings.TrimSpace(string(first))
	if h.To != "" && f.WebhookSecretFile != "" {
		if h.Secret, err = secret(f.WebhookSecretFile); err != nil {
			return h, fmt.Errorf("[forge] webhook_secret_file: %w", err)
		}
	}
	return h, nil
}

// hook has the forge have the webhook that is wanted, or none.
func (s *site) hook(ctx context.Context) {
	h, err := hookOf(ctx, git.Open(s.bare), s.settings, setup.Secret)
	did := ""
	if err == nil {
		did, err = h.Agree(ctx, s.on.Forge)
	}
	_, denied := errors.AsType[*client.ErrDenied](err)
	switch {
	case h.To == "" && denied: // who may make none has none
	case err != nil:
		s.lacks("webhook", err)
	case h.To != "":
		s.say("the webhook to %s %s; its secret is in %s", h.To, did, s.settings.Forge.WebhookSecretFile)
	case did != "":
		s.say("the webhook %s", did)
	}
}

// unhook is for git ward init --remove: no webhook of the repository's stays on the forge.
func (s *site) unhook(ctx context.Context) error {
	err := s.look(ctx)
	if err == nil && s.settings == nil {
		err = fmt.Errorf("%s is not guarded by Ward", s.bare)
	}
	if err == nil {
		err = s.ask(ctx)
	}
	var h setup.Hook
	if err == nil {
		s.settings.Forge.WebhookURL = ""
		h, err = hookOf(ctx, git.Open(s.bare), s.settings, setup.Kept)
	}
	if err == nil {
		_, err = h.Agree(ctx, s.on.Forge)
	}
	if err != nil {
		return diag.Hint(fmt.Errorf("removing the webhook from %s: %w", s.page, err),
			"remove it on the forge's page, then git ward config --bare %s forge.webhook_url=, and do this again", diag.Word(s.bare))
	}
	return nil
}
