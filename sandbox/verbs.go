package sandbox

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
	"git-ward/sandbox/probe"
)

const imageUsage = "image build [--from IMAGE] [--force]"

// Image is `git ward image build`: the container image, once (SBX-5).
func Image(ctx context.Context, env *cli.Env) error {
	if len(env.Args) == 0 || env.Args[0] != "build" {
		return env.Usage(imageUsage, "image takes the word build")
	}
	sub := *env
	sub.Args = env.Args[1:]
	o := image.Options{Progress: env.Stderr}
	_, err := sub.Flags("image build", imageUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&o.Recipe.From, "from", "", "on top of a registry's `IMAGE`, in place of Debian packages")
		fs.BoolVar(&o.Force, "force", false, "build it again, with today's packages")
	})
	if err != nil {
		return err
	}
	engine, err := podman.Connect(ctx, podman.Options{Owner: "image", Storage: env.Getenv(storageVar)})
	if err != nil {
		return diag.Hint(err, "`git ward doctor` says what this machine lacks")
	}
	defer engine.Close()
	name, err := image.Build(ctx, engine, o)
	if err == nil {
		fmt.Fprintln(env.Stdout, name)
	}
	return err
}

// ShowFirewall is `git ward firewall show`: the rules of a launch on this machine,
// now, as nft text.
func ShowFirewall(ctx context.Context, env *cli.Env) error {
	const usage = "firewall show [--bare DIR]"
	if len(env.Args) == 0 || env.Args[0] != "show" {
		return env.Usage(usage, "firewall takes the word show")
	}
	sub := *env
	sub.Args = env.Args[1:]
	var bare string
	if _, err := sub.Flags("firewall show", usage, func(fs *flag.FlagSet) {
		fs.StringVar(&bare, "bare", "", "the settings of this repository, a `DIR`; default: Ward's own")
	}); err != nil {
		return err
	}
	s := &Spec{Settings: config.Default(), Stderr: env.Stderr}
	if bare != "" {
		var err error
		if s.Settings, err = config.Load(env.Path(bare)); err != nil {
			return err
		}
	}
	policy, err := s.firewallPolicy(ctx)
	if err != nil {
		return err
	}
	text, err := firewall.Text(policy)
	fmt.Fprint(env.Stdout, text)
	return err
}

// placeVar carries a probe.Place into the fence.
const placeVar = "WARD_PROBE"

// Probe is `git ward probe`: it launches itself into a fence and tries every
// promise from inside (SBX-6).
func Probe(ctx context.Context, env *cli.Env) error {
	var asJSON bool
	if inside := env.Getenv(placeVar); inside != "" {
		var place probe.Place
		if err := json.Unmarshal([]byte(inside), &place); err != nil {
			return err
		}
		return probe.Write(env.Stdout, probe.Run(ctx, &place), len(env.Args) > 0 && env.Args[0] == "--json")
	}
	bare, err := bareFlag(env, "probe", "probe --bare DIR [--json]", func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON object a line")
	})
	if err != nil {
		return err
	}
	place, err := placeFor(ctx, bare, env)
	if err != nil {
		return err
	}
	text, err := json.Marshal(place)
	if err != nil {
		return err
	}
	sub := *env
	sub.Args = []string{"--bare", bare, "--", "/usr/bin/env", placeVar + "=" + string(text), insideBin + "/git-ward-launch", "probe"}
	if asJSON {
		sub.Args = append(sub.Args, "--json")
	}
	return Command(ctx, &sub)
}

// placeFor tells a probe what it cannot know from inside.
func placeFor(ctx context.Context, bare string, env *cli.Env) (*probe.Place, error) {
	settings, err := config.Load(bare)
	if err != nil {
		return nil, err
	}
	s := &Spec{Settings: settings, Stderr: env.Stderr}
	policy, err := s.firewallPolicy(ctx)
	if err != nil {
		return nil, err
	}
	p := &probe.Place{Bare: insideBare, State: insideState, Door: insideDoor + "/sock", Gateway: insideGateway + "/sock", Egress: string(policy.Mode)}
	for _, a := range policy.HostAddrs {
		if !a.IsLoopback() && !a.IsLinkLocalUnicast() && !slices.Contains(p.Hosts, a.String()) {
			p.Hosts = append(p.Hosts, a.String())
		}
	}
	if len(policy.Resolvers) > 0 {
		p.Resolver = policy.Resolvers[0].String()
	}
	return p, nil
}

// payer names who pays for a model's call: the directive of the ACTIVE unit, else
// the oldest open directive of main, or "shell" for a user's own command when none
// is open. "" refuses the call.
func (s *Spec) payer() string {
	if name := activeUnit(s.Bare); name != "" {
		return name
	}
	if name := openDirective(s.Bare); name != "" || len(s.Command) == 0 {
		return name
	}
	return "shell"
}

// activeUnit is the directive of the first unit that is ACTIVE, "" for none.
func activeUnit(bare string) string {
	reader := git.Open(bare).Reader(context.Background())
	defer reader.Close()
	units, _, _ := state.Units(reader)
	for _, u := range units {
		if last, err := state.Record(reader, u.Tip); err == nil && last.State == uow.Active {
			return last.Directive
		}
	}
	return ""
}

// openDirective is the oldest open directive of main, "" when there is none or
// COMMS.md cannot be read.
func openDirective(bare string) string {
	reader := git.Open(bare).Reader(context.Background())
	defer reader.Close()
	doc, err := state.ReadComms(reader, "refs/heads/main")
	if err != nil {
		return ""
	}
	if open := doc.Open(); len(open) > 0 {
		return open[0].Name()
	}
	return ""
}
