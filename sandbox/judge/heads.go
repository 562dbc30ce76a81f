package judge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/state"
	"git-ward/sandbox/verifier"
)

// Heads are the commits of the PM's branches that decide about a claim: the project's branch has
// everything but the work, the control branch has the directive. In a repository that Ward made they are
// one branch (CTRL-1).
type Heads struct{ Project, Control string }

// ReadHeads reads them. The error names a missing branch.
func ReadHeads(ctx context.Context, repo *git.Repo, c config.Control) (h Heads, err error) {
	for _, b := range []struct {
		key, ref string
		commit   *string
	}{{"branch", c.Ref(), &h.Control}, {"project", c.ProjectRef(), &h.Project}} {
		if *b.commit, err = repo.Ref(ctx, b.ref); err != nil {
			return h, err
		}
		if *b.commit == git.Zero {
			return h, diag.Hint(fmt.Errorf("there is no branch %s, which [control] %s names", b.ref, b.key),
				"push it, or mend %s in the repository", config.Path)
		}
	}
	return h, nil
}

// Base returns the project's commit on which a claim's work is judged: where the work left the project's
// branch, if the directive had its present text by then. Work that began earlier is judged on the
// branch's tip: otherwise an agent could choose, by where it begins, tests that the PM has long replaced.
func Base(ctx context.Context, repo *git.Repo, c verifier.Claim, h Heads, d *comms.Directive) (string, error) {
	commit, err := verifier.Base(ctx, repo, c.Main, c.Commit)
	if err != nil || commit == c.Main {
		return commit, err
	}
	reader := repo.Reader(ctx)
	defer reader.Close()
	fresh := false
	if h.Control == h.Project {
		fresh, err = says(reader, commit, d)
	} else {
		fresh, err = leftSince(ctx, repo, reader, commit, h, d)
	}
	if fresh && err == nil {
		return commit, nil
	}
	return c.Main, err
}

// says reports whether a commit's COMMS.md has the directive's present text.
func says(reader state.Files, commit string, d *comms.Directive) (bool, error) {
	doc, err := state.ReadComms(reader, commit)
	if _, ok := errors.AsType[*git.TooLarge](err); ok {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	then := doc.Directive(d.Name())
	return then != nil && then.Hash() == d.Hash(), nil
}

// leftSince reports whether the project's branch left a commit behind after the directive got
// its present text. The branches share no history, so it compares committer dates of the PM's
// branches, in seconds. For a commit made before and pushed after, the answer is no, which
// demands more of a claim, not less.
func leftSince(ctx context.Context, repo *git.Repo, reader state.Files, base string, h Heads, d *comms.Directive) (bool, error) {
	since, ok, err := writtenAt(ctx, repo, reader, h.Control, d)
	if err != nil || !ok {
		return false, err
	}
	out, err := repo.Output(ctx, "rev-list", "--first-parent", "--no-commit-header", "--format=%ct", base+".."+h.Project, "--")
	if err != nil {
		return false, err
	}
	for _, field := range strings.Fields(string(out)) {
		if at, err := strconv.ParseInt(field, 10, 64); err != nil || at <= since {
			return false, nil
		}
	}
	return true, nil
}

// maxTexts bounds how many versions of COMMS.md are read for that. Most versions are reports, a few for
// each long unit.
const maxTexts = 1000

// writtenAt returns the date of the control branch's commit that introduced a directive's present text;
// ok is false if it is older than the versions that are searched.
func writtenAt(ctx context.Context, repo *git.Repo, reader state.Files, control string, d *comms.Directive) (at int64, ok bool, err error) {
	n := 0
	for line, err := range repo.Lines(ctx, "rev-list", "--first-parent", "--no-commit-header", "--format=%H %ct", control, "--", comms.Path) {
		if err != nil {
			return 0, false, err
		}
		commit, date, _ := strings.Cut(line, " ")
		if n++; n > maxTexts {
			return 0, false, nil
		}
		there, err := says(reader, commit, d)
		if err != nil || !there {
			return at, at > 0, err
		}
		if at, err = strconv.ParseInt(date, 10, 64); err != nil {
			return 0, false, err
		}
	}
	return at, at > 0, nil
}
