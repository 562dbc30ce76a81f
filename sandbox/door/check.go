package door

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"git-ward/internal/cli"
	"git-ward/internal/git"
)

// Check says why no door can be opened on a repository, with the remedy; nil
// when one can. The repository must be bare and the caller's own, its hooks in
// place and its key good: a push that no hook judges must not come in (SBX-4).
func Check(ctx context.Context, bare string) error {
	if err := checkOwner(bare); err != nil {
		return err
	}
	if err := checkRepository(ctx, bare); err != nil {
		return err
	}
	_, err := readKey(bare)
	return err
}

// checkOwner refuses root too: objects that root writes into a user's
// repository are objects that the user cannot extend (FIELD-NOTES).
func checkOwner(bare string) error {
	info, err := os.Stat(bare)
	if err != nil {
		return err
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner == os.Geteuid() {
		return nil
	}
	name := "#" + strconv.Itoa(owner) // as sudo takes a numeric id
	if u, err := user.LookupId(strconv.Itoa(owner)); err == nil {
		name = u.Username
	}
	return cli.Hint(fmt.Errorf("%s belongs to user %s, not to you", bare, name),
		"run it as the owner: `sudo -u %s git ward launch --bare %s ...`", name, bare)
}

// checkRepository asks git, not the directory, where the hooks are: a line
// core.hooksPath in the repository's config would lead around them.
func checkRepository(ctx context.Context, bare string) error {
	hooks := []string{"pre-receive", "post-receive"}
	args := []string{"rev-parse", "--is-bare-repository"}
	for _, name := range hooks {
		args = append(args, "--git-path", "hooks/"+name)
	}
	out, err := git.Open(bare).Output(ctx, args...)
	answer := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || len(answer) != 1+len(hooks) || answer[0] != "true" {
		return cli.Hint(fmt.Errorf("%s is not a bare git repository", bare),
			"`git ward init --bare DIR` makes one")
	}
	for i, name := range hooks {
		path, runs := filepath.Join(bare, "hooks", name), answer[1+i]
		if !filepath.IsAbs(runs) { // core.hooksPath is relative to the repository
			runs = filepath.Join(bare, runs)
		}
		if runs != path {
			return initMends(bare, fmt.Errorf("git would run %s, not %s", runs, path))
		}
		if err := unix.Access(path, unix.X_OK); err != nil {
			return initMends(bare, fmt.Errorf("the hook %s does not run: %w", path, err))
		}
	}
	return nil
}

func initMends(bare string, err error) error {
	return cli.Hint(err, "`git ward init --bare %s` mends it", bare)
}
