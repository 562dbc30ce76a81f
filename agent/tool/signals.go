package tool

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"git-ward/internal/atomicfile"
)

// Repository is what the signal tools ask of the working tree's repository.
type Repository interface {
	// Unpublished says what of the working tree is not on the remote, "" when
	// all of it is.
	Unpublished(ctx context.Context) (string, error)
	// HasBranch reports whether the remote has a branch of that name.
	HasBranch(ctx context.Context, name string) (bool, error)
	// HasRevision reports whether the remote has a branch, a full ref or a commit
	// of that name.
	HasRevision(ctx context.Context, name string) (bool, error)
}

type bootstrapArgs struct {
	Branch string `json:"branch"`
}

type rollbackArgs struct {
	Ref string `json:"ref"`
}

func (b *Box) bootstrap() Tool {
	return define("bootstrap",
		"Ask the watcher to start the agent anew from a branch of the remote, and end this process. Commit and push first: "+
			"a working tree with anything unpushed is refused.",
		[]param{{name: "branch", kind: "string", doc: "the branch, as in agent/D-1"}},
		func(ctx context.Context, a bootstrapArgs) (Result, error) {
			return b.signal(ctx, "bootstrap", a.Branch, b.Repo.HasBranch)
		})
}

func (b *Box) rollback() Tool {
	return define("rollback",
		"Ask the watcher to go back to a branch, ref or commit of the remote and start the agent from there, and end this process. "+
			"A working tree with anything unpushed is refused.",
		[]param{{name: "ref", kind: "string", doc: "a branch, a full ref name (refs/...), or a commit id"}},
		func(ctx context.Context, a rollbackArgs) (Result, error) {
			return b.signal(ctx, "rollback", a.Ref, b.Repo.HasRevision)
		})
}

// signal writes <state>/.signal/<kind> and ends the process. It refuses what the
// watcher could only fail at, while the model can still do something about it.
func (b *Box) signal(ctx context.Context, kind, name string, exists func(context.Context, string) (bool, error)) (Result, error) {
	if why := badName(name); why != "" {
		return fail("%s: %q %s", kind, name, why), nil
	}
	if ok, err := exists(ctx, name); err != nil {
		return fail("%s: %v", kind, err), ctx.Err()
	} else if !ok {
		return fail("%s: the remote has no %s; push it first", kind, name), nil
	}
	if why, err := b.Repo.Unpublished(ctx); err != nil {
		return fail("%s: %v", kind, err), ctx.Err()
	} else if why != "" {
		return fail("%s: %s; commit and push it first, or throw it away", kind, why), nil
	}
	dir := filepath.Join(b.State, ".signal")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Result{}, err
	}
	if err := atomicfile.Write(filepath.Join(dir, kind), []byte(name+"\n"), 0o644); err != nil {
		return Result{}, err
	}
	return Result{Text: kind + " " + name}, ErrExit
}

// badName says why a name cannot stand in a signal, which is one line that the
// watcher gives to git.
func badName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > 255:
		return "is longer than 255 bytes"
	case strings.HasPrefix(name, "-"):
		return "begins with a dash"
	case strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("~^:?*[\\", r)
	}) || strings.Contains(name, "..") || strings.Contains(name, "@{"):
		return "is not a plain name: give a branch, a ref or a commit id"
	}
	return ""
}
