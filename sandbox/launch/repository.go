package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/pattern"
	"git-ward/sandbox/door"
)

// secretKeys and secretValues are settings of a repository that hold or fetch
// credentials (git-config(1)): http.<url>.extraHeader, credential.helper, an
// address with a password.
var (
	secretKeys   = pattern.New(`(?i)extraheader$|^credential\.|password|passwd|token|secret|certnonceseed`)
	secretValues = pattern.New(`://[^/@\s]+@`)
)

// FindRepository finds the caller's own repository and its settings, which takes next to
// no time. The path that it returns has no symbolic links, so that one repository has
// one state directory however it is called.
func FindRepository(ctx context.Context, dir string) (bare string, settings *config.Config, err error) {
	if bare, err = filepath.EvalSymlinks(dir); err != nil {
		return "", nil, diag.Hint(err, "`git ward init --bare DIR` makes a repository")
	}
	if err := door.CheckOwner(bare); err != nil {
		return "", nil, err
	}
	if settings, err = config.Load(bare); err != nil {
		if checkErr := door.Check(ctx, bare); checkErr != nil {
			err = checkErr // the cause: this is no Ward repository
		}
	}
	return bare, settings, err
}

// OpenRepository finds a repository on which a launch is possible, and its settings.
func OpenRepository(ctx context.Context, dir string) (bare string, settings *config.Config, err error) {
	if bare, settings, err = FindRepository(ctx, dir); err == nil {
		err = door.Check(ctx, bare)
	}
	return bare, settings, err
}

// Check says why a launch is not possible: the repository's hooks do not run, it cannot
// be shown in a fence, or the disk has no room for all workers.
func (s *Spec) Check(ctx context.Context) error {
	at := newLaunch(*s).engine
	visible := make(chan error, 1)
	go func() { visible <- at.visible(ctx) }()
	if err := door.Check(ctx, s.Bare); err != nil {
		return err // such a repository has no settings to check
	}
	if err := <-visible; err != nil {
		return err
	}
	return at.room(s.agents(), s.workerState)
}

// checkVisible lists all reasons why a repository cannot be shown read-only in a fence
// (SBX-4): secrets in its config, which everybody inside can read, and objects stored
// elsewhere, which nobody inside can.
func checkVisible(ctx context.Context, bare string) error {
	out, err := git.Open(bare).Output(ctx, "config", "--file", filepath.Join(bare, "config"), "--null", "--list")
	if err != nil {
		return err
	}
	var errs []error
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		if secretKeys.MatchString(key) || secretValues.MatchString(value+key) {
			key = secretValues.ReplaceAllString(key, "://***@")
			errs = append(errs, fmt.Errorf("%s: %s holds a secret, and the agent can read it", filepath.Join(bare, "config"), key))
		}
	}
	if len(errs) > 0 {
		return diag.Hint(errors.Join(errs...), "git -C %s config --unset-all KEY; what the repository's owner needs belongs in ~/.gitconfig", diag.Word(bare))
	}
	alternates := filepath.Join(bare, "objects/info/alternates")
	if data, err := os.ReadFile(alternates); err == nil && len(strings.TrimSpace(string(data))) > 0 {
		return diag.Hint(fmt.Errorf("%s: objects are kept in other repositories, which a fence does not show", alternates),
			"git -C %s repack -a -d && rm %s", diag.Word(bare), diag.Word(alternates))
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
