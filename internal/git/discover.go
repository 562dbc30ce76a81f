package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"git-ward/internal/diag"
)

// Discover finds the repository that dir lies in, bare or not. GIT_DIR, which the user set,
// takes precedence. Git itself, with the user's settings, decides whether it is safe to use,
// for example by its owner.
//
// A bare repository inside a checkout is refused: it may have been committed, and then its
// settings are the author's (GATE-7).
func Discover(ctx context.Context, dir string) (*Repo, error) {
	if os.Getenv("GIT_DIR") != "" {
		return ask(ctx, dir, os.Environ())
	}
	at, bare := around(dir)
	if at == "" {
		return nil, fmt.Errorf("%s is not in a git repository", dir)
	}
	if !bare {
		return ask(ctx, dir, Elsewhere(os.Environ()))
	}
	if tree := checkoutAround(at); tree != "" {
		return nil, fmt.Errorf("%s is a bare repository inside the working tree %s, which may have brought it: if it is meant, name it as git does, git --git-dir=%s ward", at, tree, diag.Word(at))
	}
	return Named(ctx, dir)
}

// Named is Discover for a directory that the user named: it takes precedence over GIT_DIR, and
// may be a bare repository anywhere.
func Named(ctx context.Context, dir string) (*Repo, error) {
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no directory %s", dir)
	} else if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	return ask(ctx, dir, Elsewhere(os.Environ()), [2]string{"safe.bareRepository", "all"})
}

// ask lets git find the repository, with the caller's own environment.
func ask(ctx context.Context, dir string, env []string, more ...[2]string) (*Repo, error) {
	out, err := child(ctx, dir, variables(Local(Harden(env)), more...), []string{"rev-parse", "--absolute-git-dir"}).Output()
	if err != nil {
		if owner := otherOwner(dir); owner != "" {
			return nil, diag.Hint(fmt.Errorf("%s belongs to user %s, not to you, and git reads a repository for its owner only", dir, owner),
				"run it as the owner: `sudo -u %s git ward ...`", owner)
		}
		return nil, fmt.Errorf("%s is not in a git repository: %w", dir, childWords(ctx, "rev-parse", err))
	}
	return Open(strings.TrimSuffix(string(out), "\n")), nil
}

// otherOwner is the user whose repository dir lies in, by name or as #1000 (sudo(8)); ""
// where it is the caller's, or none.
func otherOwner(dir string) string {
	at, bare := around(dir)
	if at != "" && !bare {
		at = filepath.Join(at, ".git")
	}
	info, err := os.Stat(at)
	if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid() {
		return ""
	}
	id := strconv.Itoa(int(info.Sys().(*syscall.Stat_t).Uid))
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "#" + id
}

// around is the nearest place that holds a repository: the top of a working tree, or a
// bare repository; "" when there is none.
func around(dir string) (at string, bare bool) {
	for at = dir; ; at = filepath.Dir(at) {
		if exists(filepath.Join(at, ".git")) {
			return at, false
		}
		if exists(filepath.Join(at, "HEAD")) && exists(filepath.Join(at, "objects")) && exists(filepath.Join(at, "refs")) {
			return at, true
		}
		if at == filepath.Dir(at) {
			return "", false
		}
	}
}

// checkoutAround is the top of the working tree that could have brought a directory, ""
// when there is none. No tree holds a .git, so what lies in one did not come that way.
func checkoutAround(dir string) string {
	for at := dir; filepath.Base(at) != ".git"; at = filepath.Dir(at) {
		if at == filepath.Dir(at) {
			return ""
		}
		if exists(filepath.Join(filepath.Dir(at), ".git")) {
			return filepath.Dir(at)
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
