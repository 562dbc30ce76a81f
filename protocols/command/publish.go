package command

import (
	"errors"
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// publish is publishRef for a branch of the host's.
func (u *units) publish(branch, old, commit string) (moved bool, words string, err error) {
	return u.publishRef("refs/heads/"+branch, old, commit)
}

// publishRef pushes a ref of the host's from old to commit, or deletes it where commit is "",
// with old as the lease; false is a lost race, which the ref itself says. What was
// fetched is new then. words are the host's.
func (u *units) publishRef(ref, old, commit string) (moved bool, words string, err error) {
	out, pushErr := u.git("push", "--quiet", "--force-with-lease="+ref+":"+old, u.remote, commit+":"+ref)
	if pushErr == nil {
		u.fetchBack()
		return true, out, nil
	}
	err = git.Update(u.ctx, looks, func() (bool, error) {
		tip, err := u.hostTip(ref)
		switch {
		case err != nil:
		case tip == commit: // ours arrived, and only git's answer not
			moved = true
			u.fetchBack()
		case tip != old:
			err = u.fetch()
		default:
			return false, nil
		}
		return true, err
	})
	if errors.Is(err, git.ErrLostRace) {
		return false, out, u.how.Explain(fmt.Errorf("git push: %s", strings.TrimSpace(out)))
	}
	return moved, "", err
}

// fetchBack is fetch after a push that the host took: that it is done stays true where
// this fails, and is not to be told as a failure.
func (u *units) fetchBack() {
	if err := u.fetch(); err != nil {
		fmt.Fprintf(u.env.Stderr, "git-ward: warning: it is pushed, and this clone knows it only after the next git fetch: %s\n", diag.Clean(err.Error()))
	}
}

// hostTip is where a ref stands on the host now, "" where there is none.
func (u *units) hostTip(ref string) (tip string, err error) {
	if u.bare() {
		return u.reader.Tip(ref)
	}
	out, err := u.git("ls-remote", "--quiet", u.remote, ref)
	if err != nil {
		return "", u.how.Explain(fmt.Errorf("git ls-remote: %s", strings.TrimSpace(out)))
	}
	for line := range strings.Lines(out) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && name == ref && git.IsID(id) {
			tip = id
		}
	}
	return tip, nil
}

// hear prints what the host said of a push that it took, but for the lines that say
// nothing more than that.
func (u *units) hear(words string) {
	for line := range strings.Lines(words) {
		if strings.HasPrefix(line, "remote: ward: ") {
			continue
		}
		fmt.Fprintln(u.env.Stderr, diag.Clean(strings.TrimRight(line, "\n")))
	}
}

// identity is who commits, as git has it here: "Name <mail>".
func (u *units) identity() (string, error) {
	out, err := u.how.Child(u.ctx, u.env.Dir, "var", "GIT_COMMITTER_IDENT").Output()
	name, _, ok := strings.Cut(string(out), ">")
	if err != nil || !ok {
		return "", diag.Hint(fmt.Errorf("git does not know who you are: %w", err), "git config --global user.name NAME, git config --global user.email MAIL")
	}
	return name + ">", nil
}
