package tool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"git-ward/agent/stop"
	"git-ward/internal/atomicfile"
	"git-ward/protocols/boot"
)

// Repository is what the signal tools ask of the working tree's repository.
type Repository interface {
	// Unpublished says what of the working tree is not at the remote, "" if nothing.
	Unpublished(ctx context.Context) (string, error)
	// HasBranch reports whether the remote has a branch of that name.
	HasBranch(ctx context.Context, name string) (bool, error)
	// HasRevision reports whether the remote has a branch, a full ref or a commit
	// of that name.
	HasRevision(ctx context.Context, name string) (bool, error)
	// SameCode reports whether a commit and a remote branch have the same program, whatever
	// else differs.
	SameCode(ctx context.Context, commit, branch string) (bool, error)
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
			if why, done := b.history(ctx, a.Branch); why != "" {
				return fail("bootstrap: %s", why), nil
			} else if done {
				return Result{Text: fmt.Sprintf("%s was started before with the same code, and it started well: there is nothing left to try", a.Branch)}, nil
			}
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

// signal writes <state>/.signal/<kind> and ends the process. It refuses what the watcher could
// not do, while the model can still fix it.
func (b *Box) signal(ctx context.Context, kind, name string, exists func(context.Context, string) (bool, error)) (Result, error) {
	check := boot.CheckName
	if kind == "bootstrap" {
		check = boot.CheckBranch
	}
	if why := check(name); why != "" {
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
	if err := WriteSignal(b.State, kind, name); err != nil {
		return Result{}, err
	}
	return Result{Text: kind + " " + name}, Restart()
}

// Restart is the end of a process that has written a signal: it exits with 0, and
// the watcher starts what the signal names.
func Restart() error {
	return stop.New(stop.Restart, "a signal is written; the agent ends so that the watcher can act on it")
}

// WriteSignal writes <state>/.signal/<kind>, whole or not at all.
func WriteSignal(state, kind, name string) error {
	dir := filepath.Join(state, ".signal")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, kind), []byte(name+"\n"), 0o644)
}

// history is a branch's earlier starts from bootstrap.log: why is a reason against another
// one, done says that the last was of the same code.
func (b *Box) history(ctx context.Context, branch string) (why string, done bool) {
	log, err := os.ReadFile(filepath.Join(b.logs(), "bootstrap.log"))
	if err != nil {
		return "", false
	}
	if n := boot.Failures(log, branch); n >= boot.MaxFailures {
		return fmt.Sprintf("%s failed to start %d times in a row; logs/bootstrap.log and logs/errors.log say why. Report it instead, or take another branch", branch, n), false
	}
	last := boot.Last(log, branch)
	if last.Event != boot.Success || branch == boot.Main {
		return "", false
	}
	same, err := b.Repo.SameCode(ctx, last.Commit, branch)
	return "", err == nil && same
}
