package command

import (
	"context"
	"slices"
	"strings"

	"git-ward/internal/branches"
	"git-ward/internal/cli"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/fsm"
	"git-ward/protocols/plan"
)

// Values completes the names on a command line (GET-1) from the local repository, without a
// fetch.
func Values() map[string]cli.Values {
	return map[string]cli.Values{
		"DIRECTIVE": directiveNames,
		"UNIT":      unitNames,
		"PLAN":      planNames,
		"MACHINE":   func(context.Context, *cli.Env) ([]string, error) { return fsm.Names(), nil },
	}
}

// around is the repository of a command line that is being completed: the argument of --bare,
// or the one around the directory.
func around(ctx context.Context, env *cli.Env) (*git.Repo, error) {
	if i := slices.Index(env.Args, "--bare"); i >= 0 && i+1 < len(env.Args) {
		return git.Named(ctx, env.Path(env.Args[i+1]))
	}
	return git.Discover(ctx, env.Dir)
}

// unitNames are the units that have a journal.
func unitNames(ctx context.Context, env *cli.Env) (names []string, err error) {
	repo, err := around(ctx, env)
	if err != nil {
		return nil, err
	}
	const journals = "refs/ward/uow/"
	out, err := repo.Output(ctx, "for-each-ref", "--format=%(refname)", "--count=1000", "--sort=-creatordate", journals)
	for name := range strings.FieldsSeq(string(out)) {
		names = append(names, strings.TrimPrefix(name, journals))
	}
	return names, err
}

// directiveNames are those of COMMS.md.
func directiveNames(ctx context.Context, env *cli.Env) (names []string, err error) {
	repo, err := around(ctx, env)
	if err != nil {
		return nil, err
	}
	data, err := controlFile(ctx, repo, comms.Path)
	if err != nil {
		return nil, err
	}
	doc, _ := comms.Parse(data) // the checks report its errors
	for _, d := range doc.Directives {
		names = append(names, d.Name())
	}
	return names, nil
}

// planNames are the registered plans.
func planNames(ctx context.Context, env *cli.Env) (names []string, err error) {
	repo, err := around(ctx, env)
	if err != nil {
		return nil, err
	}
	data, err := controlFile(ctx, repo, plan.RegistryPath)
	if err != nil {
		return nil, err
	}
	r, _ := plan.ParseRegistry(data)
	return r.Names(), nil
}

// controlFile reads a file of the control branch from the last fetch.
func controlFile(ctx context.Context, repo *git.Repo, path string) ([]byte, error) {
	names, err := branches.Of(ctx, repo)
	if err != nil {
		return nil, err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	_, data, err := batch.Read(names.ControlRef()+":"+path, plan.MaxRegistryBytes)
	return data, err
}
