package command

import (
	"context"
	"flag"
	"fmt"
	"io"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/sandbox/doctor"
)

// examine is `git ward doctor [--bare DIR] [--json]` (SBX-5).
func examine(ctx context.Context, env *cli.Env) error {
	var asJSON bool
	var bare string
	const usage = "doctor [--bare DIR] [--json]"
	rest, err := env.Flags("doctor", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON object a line")
		fs.StringVar(&bare, "bare", "", "also look at this repository `DIR`: its hooks, who pushes, what its worker needs")
	})
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return env.Usage(usage, "unexpected argument %q", rest[0])
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
	if asJSON {
		return writeFindingsJSON(env.Stdout, found)
	}
	return writeFindings(env.Stdout, found)
}

// writeFindings writes each finding on a line of its own, and its remedy below it.
func writeFindings(w io.Writer, found []doctor.Finding) error {
	for _, f := range found {
		fmt.Fprintf(w, "%-8s %-22s %s\n", f.State, f.Thing, diag.Clean(f.Detail))
		if f.Mend != "" {
			fmt.Fprintf(w, "%-8s %-22s mend: %s\n", "", "", f.Mend)
		}
	}
	return foundIf(doctor.Lacking(found))
}

func writeFindingsJSON(w io.Writer, found []doctor.Finding) error {
	for _, f := range found {
		if err := diag.WriteJSON(w, f); err != nil {
			return err
		}
	}
	return foundIf(doctor.Lacking(found))
}
