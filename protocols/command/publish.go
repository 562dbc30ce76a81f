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

// publishRef pushes a ref of the host's from old to commit (or deletes it if commit is ""),
// with old as the lease. It returns false for a lost race, which it recognizes by the ref;
// then it has fetched the new tip. words is the host's output.
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
		case tip == commit: // our push arrived, and only the answer was lost
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

// fetchBack fetches after a push that the host accepted. A failure is not reported as one,
// because the push itself is done.
func (u *units) fetchBack() {
	if err := u.fetch(); err != nil {
		fmt.Fprintf(u.env.Stderr, "git-ward: warning: it is pushed, and this clone knows it only after the next git fetch: %s\n", diag.Clean(err.Error()))
	}
}

// hostTip is the host's present tip of a ref, "" if there is none.
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

// hear prints the host's output on an accepted push, without the lines that say only that.
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
