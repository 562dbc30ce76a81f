package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/lines"
	"git-ward/sandbox/doctor"
	"git-ward/sandbox/doctor/finding"
)

// examine is `git ward doctor` (SBX-5).
func examine(ctx context.Context, env *cli.Env) error {
	var asJSON, build bool
	var bare string
	const usage = "doctor [--bare DIR] [--build] [--json]"
	err := env.Only("doctor", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON object a line")
		fs.StringVar(&bare, "bare", "", "also look at this repository `DIR`: its hooks, who pushes, what its worker needs")
		fs.BoolVar(&build, "build", false, "with --bare: have the project's own build run where its workers work, by [verify] suite or the files at its top")
	})
	if err != nil {
		return err
	}
	if build && bare == "" {
		return env.Usage(usage, "--build is of a repository: --bare DIR")
	}
	settings := config.Default()
	if bare != "" {
		if settings, err = config.Load(env.Path(bare)); err != nil {
			return err
		}
	}
	defer env.Slow("looking at the machine, and trying podman")()
	found := append(doctor.Examine(ctx), doctor.Runtime(ctx, settings)...)
	if bare != "" {
		found = append(found, doctor.Repository(ctx, env.Path(bare), settings)...)
		hook, _ := cli.Program("ward-hook") // Version reports that it is missing
		found = append(found, doctor.Version(ctx, env.Path(bare), hook)...)
		found = append(found, doctor.Sandbox(ctx, settings)...)
		asks, _ := cli.Program("git-ward-forge") // Forge says that it is missing
		found = append(found, doctor.Forge(ctx, env.Path(bare), settings, asks)...)
		found = append(found, doctor.Model(settings, env.Getenv)...)
	}
	if build {
		more, err := tryBuild(ctx, env.Path(bare), settings)
		if err != nil {
			more = []doctor.Finding{{Thing: "the project's build", State: doctor.Missing, Detail: diag.Clean(err.Error())}}
		}
		found = append(found, more...)
	}
	if asJSON {
		return writeFindingsJSON(env.Stdout, found)
	}
	finding.Write(env.Stdout, found)
	return foundIf(finding.Lacking(found))
}

// tryBuild has the project's branch build behind the fence.
func tryBuild(ctx context.Context, bare string, settings *config.Config) ([]doctor.Finding, error) {
	ref := settings.Control.ProjectRef()
	out, err := git.Open(bare).Output(ctx, "ls-tree", "--name-only", "-z", ref)
	if err != nil {
		return nil, err
	}
	self, err := cli.Program("git-ward-launch")
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, line string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, self, "verify", "--bare", bare, "--json", "--run", line, ref)
		words := new(lines.Head)
		cmd.Stderr = words
		cmd.Env = git.Elsewhere(os.Environ())
		out, err := cmd.Output()
		if git.SaidNo(err) {
			return out, nil // the line does not hold, which the answer says
		}
		if err != nil {
			err = fmt.Errorf("%w: %s", err, words)
		}
		return out, err
	}
	return doctor.Build(ctx, doctor.Lines(settings.Verify.Suite, strings.Split(string(out), "\x00")), run), nil
}

func writeFindingsJSON(w io.Writer, found []doctor.Finding) error {
	if err := finding.WriteJSON(w, found); err != nil {
		return err
	}
	return foundIf(finding.Lacking(found))
}
