package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/flock"
	"git-ward/protocols/plan"
)

// registry reads the tree's registry; none is an empty one.
func (t *Tree) registry() (*plan.Registry, []diag.Diagnostic, error) {
	data, err := t.ReadFile(plan.RegistryPath, plan.MaxRegistryBytes)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	r, found := plan.ParseRegistry(data)
	return r, found, nil
}

// changeRegistry rewrites the registry by rename, one change at a time: a lock on
// the directory, which ends with the process, keeps others out meanwhile.
func (t *Tree) changeRegistry(change func(*plan.Registry) error) error {
	path := filepath.Join(t.Top, filepath.FromSlash(plan.RegistryPath))
	if err := t.root.MkdirAll(filepath.Dir(plan.RegistryPath), 0o755); err != nil {
		return err
	}
	lock, err := flock.Dir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer lock.Close()
	r, found, err := t.registry()
	if err != nil {
		return err
	}
	if diag.HasErrors(found) {
		return diag.Hint(fmt.Errorf("%s: %s", found[0].Pos, found[0].Message), "mend %s first: git ward plan lint", plan.RegistryPath)
	}
	if err := change(r); err != nil {
		return err
	}
	return atomicfile.Write(path, r.Format(), 0o644)
}

func planRegister(ctx context.Context, env *cli.Env) error {
	const usage = "plan register NAME FILE"
	t, args, err := registryArgs(ctx, env, usage, 2)
	if err != nil {
		return err
	}
	defer t.Close()
	path, err := t.rel(env, args[1])
	if err != nil {
		return err
	}
	if kind, err := t.Kind(path); err != nil || kind != plan.File {
		return diag.Hint(fmt.Errorf("%s is not a file", path), "write the plan first")
	}
	if !strings.HasSuffix(path, ".udc") {
		found, err := t.Linter(ctx).Lint(path)
		if err != nil {
			return err
		}
		if diag.HasErrors(plan.Relaxed(found)) {
			diag.WriteText(env.Stdout, found)
			return cli.ErrFindings
		}
	}
	if err := t.changeRegistry(func(r *plan.Registry) error { return r.Set(args[0], path) }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "%s is %s\nnext: git add %s && git commit\n", args[0], diag.Clean(path), plan.RegistryPath)
	return err
}

func planDeregister(ctx context.Context, env *cli.Env) error {
	const usage = "plan register --remove PLAN"
	t, args, err := registryArgs(ctx, env, usage, 1)
	if err != nil {
		return err
	}
	defer t.Close()
	err = t.changeRegistry(func(r *plan.Registry) error {
		if r.Remove(args[0]) {
			return nil
		}
		hint := "`git ward plan show` lists the registered plans"
		if near := diag.Nearest(args[0], r.Names()); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return diag.Hint(fmt.Errorf("%q is not registered", args[0]), "%s", hint)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "%s is no longer registered\n", args[0])
	return t.warnCallers(ctx, env, args[0])
}

// warnCallers names the plans that still call a name.
func (t *Tree) warnCallers(ctx context.Context, env *cli.Env, name string) error {
	paths, err := t.plans(ctx, env, nil)
	if err != nil {
		return err
	}
	l := t.Linter(ctx)
	for _, path := range paths {
		p, err := l.Plan(path)
		if err != nil {
			return err
		}
		if p != nil && p.Calls(name) {
			fmt.Fprintf(env.Stderr, "git-ward: warning: %s calls %s\n", diag.Clean(path), name)
		}
	}
	return nil
}

func registryArgs(ctx context.Context, env *cli.Env, usage string, n int) (*Tree, []string, error) {
	args, err := env.Flags("plan register", usage, func(*flag.FlagSet) {})
	if err != nil {
		return nil, nil, err
	}
	if len(args) != n {
		return nil, nil, env.Usage(usage, "plan register takes %d arguments", n)
	}
	t, err := OpenTree(ctx, env.Dir)
	return t, args, err
}
