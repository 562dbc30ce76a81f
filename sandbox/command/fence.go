package command

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/firewall"
)

const fenceUsage = "fence --policy JSON --note FILE [--state DIR]"

// fencePod is `git ward fence`: a pod's init container, which installs the rules before
// anything else runs in the pod (MANY-3).
func fencePod(ctx context.Context, env *cli.Env) error {
	var text, note, state string
	rest, err := env.Flags("fence", fenceUsage, func(flags *flag.FlagSet) {
		flags.StringVar(&text, "policy", "", "what may leave, as `JSON`: a launch writes it")
		flags.StringVar(&note, "note", "", "where to note the network namespace and what it refuses, a `FILE`")
		flags.StringVar(&state, "state", "", "the volume that the watcher and the agent share, a `DIR`: in it each one's files are to stay theirs")
	})
	if err != nil {
		return err
	}
	if len(rest) > 0 || text == "" || note == "" {
		return env.Usage(fenceUsage, "a policy and a note's file are needed")
	}
	var policy firewall.Policy
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&policy); err != nil {
		return env.Usage(fenceUsage, "--policy is not what a launch writes: %v", err)
	}
	if state != "" { // a Kubernetes volume may be writable by everybody
		if err := os.Chmod(env.Path(state), fs.ModeSticky|fs.ModePerm); err != nil {
			return err
		}
	}
	found, err := fence.EnterPod(ctx, policy, env.Getenv, env.Stderr)
	if err != nil {
		return diag.Hint(fmt.Errorf("the pod's network is not fenced, and nothing starts in it: %w", err), "docs/cluster.md names each refusal")
	}
	if err := found.Write(env.Path(note)); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "fenced: network namespace %s, mode %s, read back; user %d alone reaches %s; refused besides: %s\n",
		found.Namespace, policy.Mode, policy.GateUser, gateText(policy), strings.Join(found.Refused, " "))
	return nil
}

func gateText(p firewall.Policy) string {
	var all []string
	for _, g := range p.Gates {
		all = append(all, g.String())
	}
	return strings.Join(all, " ")
}
