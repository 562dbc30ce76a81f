package install

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// repository makes the bare repository where there is none, or makes HEAD of an empty one
// name the branch that is to come.
func (in *installer) repository(ctx context.Context) error {
	if in.fresh {
		return in.do(change("make", "the bare repository %s", in.Dir), func() error { return git.Init(ctx, in.Dir, in.branches.Project) })
	}
	out, err := in.repo.Output(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil || in.report.Project != "" || in.before.known && !in.before.Made || strings.TrimSpace(string(out)) == in.branches.ProjectRef() {
		return nil // the owner's choice
	}
	if id, err := in.repo.Ref(ctx, strings.TrimSpace(string(out))); err != nil || id != git.Zero {
		return err
	}
	return in.do(change("make", "HEAD name %s", in.branches.Project), func() error {
		_, err := in.repo.Output(ctx, "symbolic-ref", "HEAD", in.branches.ProjectRef())
		return err
	})
}

// existing refuses what is no bare repository of the caller's.
func (in *installer) existing(ctx context.Context) error {
	if err := in.owned(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(in.Dir, ".git")); err == nil {
		return diag.Hint(fmt.Errorf("%s is a repository with a work tree, not a bare one", in.Dir),
			"git clone --bare %s %s && git ward init --bare %[2]s", diag.Word(in.Dir), diag.Word(in.Dir+".git"))
	}
	out, err := in.repo.Output(ctx, "rev-parse", "--is-bare-repository", "--show-object-format")
	answer := strings.Fields(string(out))
	if err != nil || len(answer) != 2 || answer[0] != "true" {
		return diag.Hint(fmt.Errorf("%s is neither empty nor a bare git repository", in.Dir), "name a new directory")
	}
	if answer[1] != "sha1" {
		return fmt.Errorf("%s uses %s object ids; Ward reads sha1 repositories only", in.Dir, answer[1])
	}
	return nil
}

// owned refuses a repository of another user's, unless root acts for the user.
func (in *installer) owned() error {
	owner, err := ownerOf(in.Dir)
	if err != nil || int(owner.Uid) == os.Geteuid() || os.Geteuid() == 0 {
		return err
	}
	name := "#" + strconv.Itoa(int(owner.Uid)) // as sudo takes a numeric id
	if u, err := user.LookupId(strconv.Itoa(int(owner.Uid))); err == nil {
		name = u.Username
	}
	return diag.Hint(fmt.Errorf("%s belongs to user %s, not to you", in.Dir, name), "sudo -u %s git ward init --bare %s", name, diag.Word(in.Dir))
}

func ownerOf(dir string) (*syscall.Stat_t, error) {
	owner := new(syscall.Stat_t)
	return owner, syscall.Stat(dir, owner)
}
