package command

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strings"

	"git-ward/internal/cli"
	"git-ward/sandbox/kube"
	"git-ward/sandbox/launch"
)

// The engines of a launch: podman's containers on this host, or Jobs in a cluster.
const (
	podmanEngine = "podman"
	kubeEngine   = "kube"
)

// kubeOptions are a launch's options for Kubernetes.
type kubeOptions struct {
	engine, namespace, gateAddress string
	print, podman                  bool
}

func (k *kubeOptions) flags(fs *flag.FlagSet) {
	fs.StringVar(&k.engine, "engine", podmanEngine, "where agents run: \"podman\" on this host, or \"kube\", each directive a Job of Kubernetes, a `NAME`")
	fs.StringVar(&k.namespace, "namespace", "", "the `NAME` of the Jobs' namespace, instead of [kube] namespace")
	fs.StringVar(&k.gateAddress, "gate-address", "", "where pods reach this host's sshd, an `ADDRESS` as HOST:PORT, instead of what [kube] gate says")
	fs.BoolVar(&k.print, "print", false, "print the YAML of a directive's Job, without its key, and launch nothing")
	fs.BoolVar(&k.podman, "podman", false, "with --print: the same pod for podman kube play")
}

// check reports options that exclude one another.
func (k *kubeOptions) check(env *cli.Env, o *launchOptions) error {
	switch {
	case k.engine != podmanEngine && k.engine != kubeEngine:
		return env.Usage(launchUsage, "--engine is %s or %s", podmanEngine, kubeEngine)
	case k.engine != kubeEngine && (k.print || k.namespace != "" || k.gateAddress != ""):
		return env.Usage(launchUsage, "--print, --namespace and --gate-address go with --engine %s", kubeEngine)
	case k.podman && !k.print:
		return env.Usage(launchUsage, "--podman goes with --print")
	case k.engine == kubeEngine && o.unfenced:
		return env.Usage(launchUsage, "--unfenced has no fence, and a pod is nothing without")
	case k.engine == kubeEngine && len(o.command) > 0:
		return env.Usage(launchUsage, "a command (%s) runs on this host: leave --engine %s out", o.command[0], kubeEngine)
	}
	return nil
}

// complete makes a launch run on Kubernetes where the options ask for it.
func (k *kubeOptions) complete(s *launch.Spec) (err error) {
	if k.engine != kubeEngine {
		return nil
	}
	if k.namespace != "" {
		s.Settings.Kube.Namespace = k.namespace
	}
	s.Kube = &launch.Kube{GateAddress: k.gateAddress, Image: s.Settings.Kube.Image}
	if s.Kube.Image == "" {
		s.Kube.Image, err = podImage()
	}
	return err
}

// printed is the output of `--print`.
func (k *kubeOptions) printed(ctx context.Context, env *cli.Env, s *launch.Spec, directive string) error {
	if err := k.complete(s); err != nil {
		return err
	}
	plan, err := launch.PlanKube(ctx, s, *s.Kube)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := launch.PrintKube(&text, plan, cmp.Or(directive, "D-1"), k.podman); err != nil {
		return err
	}
	_, err = fmt.Fprint(env.Stdout, text.String())
	return err
}

// verifyInPod is what a verifier's container runs; a launcher passes its arguments.
func verifyInPod(ctx context.Context, env *cli.Env) error {
	var p kube.InPod
	const usage = "verify-in-pod --bare DIR --order FILE --note FILE --scratch DIR --result SOCKET"
	rest, err := env.Flags("verify-in-pod", usage, func(fs *flag.FlagSet) {
		fs.StringVar(&p.Bare, "bare", "", "the mirror, a `DIR`")
		fs.StringVar(&p.Order, "order", "", "the verifier's order, a `FILE`")
		fs.StringVar(&p.Note, "note", "", "the fence's note of this pod, a `FILE`")
		fs.StringVar(&p.Scratch, "scratch", "", "a `DIR` for objects")
		fs.StringVar(&p.Result, "result", "", "near's `SOCKET` for the answer")
	})
	if err != nil {
		return err
	}
	if len(rest) > 0 || p.Bare == "" || p.Order == "" || p.Result == "" {
		return env.Usage(usage, "only a launcher calls this")
	}
	return p.Run(ctx)
}
