package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/sandbox/gateway"
)

// Forge checks the forge that a repository is kept in step with: whether others can read the
// token, whether the forge answers, and which right the token lacks (FORGE-5). Only the program
// speaks to a forge, so it is asked; "" is none.
func Forge(ctx context.Context, bare string, settings *config.Config, program string) []Finding {
	f := settings.Forge
	if f.URL == "" {
		return nil
	}
	e := &examiner{ctx: ctx}
	if _, err := gateway.ReadKey(f.TokenFile); err != nil {
		e.add("forge: token", Missing, "put the token alone into the file, mode 0600; git ward init --forge "+diag.Word(f.URL)+" --bare "+diag.Word(bare)+" asks for one", "[forge] token_file: %v", err)
		return e.found
	}
	if f.App != 0 {
		if _, err := gateway.ReadPrivate(f.AppKeyFile); err != nil {
			e.add("forge: app", Missing, "put the private key of app "+fmt.Sprint(f.App)+" into the file, as GitHub gives it, mode 0600", "[forge] app_key_file: %v", err)
			return e.found
		}
	}
	if f.Webhook != "" {
		if _, err := gateway.ReadKey(f.WebhookSecretFile); err != nil {
			e.add("forge: webhook", Missing, "the secret is alone in the file, mode 0600; where there is no file, git ward init --forge "+diag.Word(f.URL)+" --bare "+diag.Word(bare)+" again makes one, if forge.webhook_url is set", "[forge] webhook_secret_file: %v", err)
		}
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "forge", "--check", "--json", "--bare", bare)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && !git.SaidNo(err) { // 1 is for findings
		e.add("forge", Missing, "git ward forge --check --bare "+diag.Word(bare), "it cannot be asked: %s", diag.Cut(diag.Clean(fmt.Sprintf("%v: %s", err, said.String())), 300))
		return e.found
	}
	for lines := json.NewDecoder(bytes.NewReader(out)); ; {
		var one Finding
		if lines.Decode(&one) != nil {
			return e.found
		}
		e.found = append(e.found, one)
	}
}
