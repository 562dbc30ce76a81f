package command

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/probe"
)

// probeVar carries probe.Surroundings as JSON into the fence.
const probeVar = "WARD_PROBE"

// tryFence is `git ward probe`: it launches itself in a fence and tries every promise from
// inside (SBX-6).
func tryFence(ctx context.Context, env *cli.Env) error {
	if inside := env.Getenv(probeVar); inside != "" {
		return tryFromInside(ctx, env, inside)
	}
	var asJSON bool
	bare, err := bareFlag(ctx, env, "probe", "probe [--bare DIR] [--json]", func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON object a line")
	})
	if err != nil {
		return err
	}
	known, err := surroundings(ctx, bare, env.Stderr)
	if err != nil {
		return err
	}
	text, err := json.Marshal(known)
	if err != nil {
		return err
	}
	sub := *env
	sub.Args = []string{"--bare", bare, "--", "/usr/bin/env", probeVar + "=" + string(text), fence.InsideBin + "/git-ward-launch", "probe"}
	if asJSON {
		sub.Args = append(sub.Args, "--json")
	}
	return runLaunch(ctx, &sub, nil)
}

// tryFromInside is the probe inside the fence; its only argument may be --json.
func tryFromInside(ctx context.Context, env *cli.Env, text string) error {
	var known probe.Surroundings
	if err := json.Unmarshal([]byte(text), &known); err != nil {
		return err
	}
	results := probe.Run(ctx, &known)
	if len(env.Args) > 0 && env.Args[0] == "--json" {
		return writeResultsJSON(env.Stdout, results)
	}
	return writeResults(env.Stdout, results)
}

// surroundings tells a probe what it cannot find out from inside.
func surroundings(ctx context.Context, bare string, warnings io.Writer) (*probe.Surroundings, error) {
	settings, err := config.Load(bare)
	if err != nil {
		return nil, err
	}
	policy, err := fence.Policy(ctx, settings, warnings)
	if err != nil {
		return nil, err
	}
	known := fence.Surroundings(&policy)
	known.Door, known.Gateway = fence.InsideDoor, fence.InsideGateway
	return known, nil
}

// writeResults writes a line for each attempt and the totals.
func writeResults(w io.Writer, results []probe.Result) error {
	width := 0
	for _, r := range results {
		width = max(width, len(r.Promise))
	}
	for _, r := range results {
		word := "held  "
		if !r.Held {
			word = "BROKEN"
		}
		fmt.Fprintf(w, "%s %s  %-*s %s\n", word, r.ID, width, r.Promise, diag.Clean(r.Detail))
	}
	fmt.Fprintf(w, "%d promises tried, %d broken\n", len(results), broken(results))
	return foundIf(broken(results) > 0)
}

func writeResultsJSON(w io.Writer, results []probe.Result) error {
	for _, r := range results {
		if err := diag.WriteJSON(w, r); err != nil {
			return err
		}
	}
	return foundIf(broken(results) > 0)
}

func broken(results []probe.Result) (n int) {
	for _, r := range results {
		if !r.Held {
			n++
		}
	}
	return n
}
