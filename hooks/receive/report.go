package receive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
)

// report tells the pusher what was found. Git sends it as `remote: ` lines and
// colours those that start with error:, warning: or hint:.
func (s *session) report(result *checks.Result, r *audit.Record, options []string) error {
	if slices.Contains(options, checks.OptionFormat+"=json") {
		return diag.WriteJSON(s.env.Stdout, checks.NewAnswer(result, checks.Principal(r.Principal), r.Push))
	}
	if len(result.Findings) == 0 {
		return nil
	}
	errorCount := 0
	for _, d := range result.Findings {
		if d.IsError() {
			errorCount++
		}
	}
	if errorCount > 0 {
		fmt.Fprintf(s.env.Stdout, "error: push refused, nothing was changed: %s\n", diag.Count(len(result.Findings), "finding"))
	} else {
		fmt.Fprintf(s.env.Stdout, "warning: %s\n", diag.Count(len(result.Findings), "finding"))
	}
	diag.WriteText(s.env.Stdout, result.Findings)
	return nil
}

// chainedSuffix marks the hook that was there before Ward's and runs after it.
const chainedSuffix = ".chained"

// chained runs the hook that was installed before Ward's, with the same input
// and environment. For pre-receive, its refusal is ours.
func (s *session) chained(ctx context.Context, name string) error {
	path := filepath.Join(s.repo.Dir, "hooks", name+chainedSuffix)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&0o111 == 0 {
		return nil // git ignores a hook without the executable bit, too
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(s.input), cli.Raw(s.env.Stdout), cli.Raw(s.env.Stderr)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("hooks/%s%s, which stood here before Ward's hook, ended with: %w", name, chainedSuffix, err)
	}
	return nil
}
