package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"git-ward/agent/correct"
	"git-ward/agent/model"
	"git-ward/agent/orchestrator"
	"git-ward/agent/orient"
	"git-ward/agent/prompt"
	"git-ward/agent/session"
	"git-ward/agent/task"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

const promptUsage = "agent prompt [--kind model|program|scout] D-n"

// maxPaper bounds a document read for a prompt, in bytes.
const maxPaper = 1 << 20

// Agent is `git ward agent`: it shows what the agent would be told.
var Agent = cli.Command{Name: "agent", Doc: "show what the agent would be told of a directive", Verbs: []cli.Command{
	{Name: "prompt", Doc: "print what would be sent to a model or a command", Run: showPrompt},
}}

// showPrompt prints what would be sent for a directive: a model's system prompt and first
// messages, or a command's complete input (PLAN-9, WORK-1). It uses the worker's own code.
func showPrompt(ctx context.Context, env *cli.Env) error {
	kind := string(prompt.Model)
	args, err := env.Flags("agent prompt", promptUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&kind, "kind", kind, "who is told: a `kind` of worker: model, program or scout")
	})
	switch {
	case err != nil:
		return err
	case len(args) != 1:
		return env.Usage(promptUsage, "prompt takes one directive, such as D-1")
	case !slices.Contains(prompt.Kinds(), prompt.Kind(kind)):
		return env.Usage(promptUsage, "%q is no kind of worker; there are %v", kind, prompt.Kinds())
	}
	tree, err := worktree.Find(env.Dir)
	if err != nil {
		return err
	}
	g := &gatherer{ctx: ctx, env: env, tree: tree}
	p, begun, err := g.gather(args[0], prompt.Kind(kind))
	if err != nil {
		return err
	}
	fmt.Fprintln(env.Stderr, "git-ward: the orientation is of this clone and this machine; the agent's own is of where it works")
	if p.Kind == prompt.Program {
		p.Orientation, p.AskPath = begun, "$WARD_ASK"
		_, err = io.WriteString(env.Stdout, diag.CleanLines(p.Text()))
		return err
	}
	return g.show(p, begun)
}

// gatherer finds a prompt's parts in a clone.
type gatherer struct {
	ctx  context.Context
	env  *cli.Env
	tree *worktree.Tree

	iteration int // of the capsule
}

// gather reads what is known of a directive before its orientation, and runs that.
func (g *gatherer) gather(name string, kind prompt.Kind) (p *prompt.Prompt, orientation string, err error) {
	system, err := g.tree.Document(g.ctx, "SYSTEM.md", maxPaper)
	if err != nil {
		return nil, "", err
	}
	source, err := g.tree.Document(g.ctx, "COMMS.md", comms.MaxBytes)
	if err != nil {
		return nil, "", err
	}
	doc, _ := comms.Parse(source)
	d := doc.Directive(name)
	if d == nil {
		return nil, "", diag.Hint(fmt.Errorf("COMMS.md has no directive %s", diag.Clean(name)), "git ward directive show shows those that there are")
	}
	names, err := g.tree.Branches(g.ctx)
	if err != nil {
		return nil, "", err
	}
	p = &prompt.Prompt{Kind: kind, System: prompt.System(system, source, d.Name(), names.ControlRef()), Directive: *d, Branch: "agent/" + d.Name(), Judged: true}
	unit, err := g.unit(p)
	if err != nil {
		return nil, "", err
	}
	if p.Skills, err = g.skills(); err != nil {
		return nil, "", err
	}
	begun, err := task.Preview(g.ctx, *d, orient.Options{Tree: g.tree, Getenv: g.env.Getenv, Unit: unit})
	if err != nil {
		return nil, "", err
	}
	if p.Guidance, err = orient.Guidance(g.ctx, g.tree); err != nil || kind != prompt.Program {
		return p, begun.Text(), err
	}
	lessons, left, err := correct.Remember(g.ctx, g.tree)
	p.Lessons, _ = correct.Text(lessons, left)
	return p, begun.Text(), err
}

// skills are those on the control branch (003, skill_pack).
func (g *gatherer) skills() ([]prompt.Skill, error) {
	ref, err := g.tree.Documents(g.ctx)
	if err != nil {
		return nil, err
	}
	out, err := g.tree.Git(g.ctx, "ls-tree", "--name-only", "-z", cmp.Or(ref, "HEAD"), loop.SkillsDir+"/")
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range strings.SplitSeq(out, "\x00") {
		names = append(names, path.Base(name))
	}
	list, lacking := prompt.Skills(loop.SkillPack(names), func(path string, limit int64) ([]byte, error) { return g.tree.Document(g.ctx, path, limit) })
	if lacking != nil {
		fmt.Fprintln(g.env.Stderr, "git-ward: not all skills can be told:", diag.Clean(lacking.Error()))
	}
	return list, nil
}

// unit adds the directive's newest unit: the PM's messages, and the newest capsule.
func (g *gatherer) unit(p *prompt.Prompt) (id string, err error) {
	dir, err := g.tree.Git(g.ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return "", err
	}
	r := git.Open(dir).Reader(g.ctx)
	defer r.Close()
	list, _, err := state.Units(r)
	if err != nil {
		return "", err
	}
	for _, u := range slices.Backward(list) {
		if u.ID.Directive != p.Directive.Name() {
			continue
		}
		j, err := state.ReadJournal(r, u)
		if err != nil {
			return "", err
		}
		p.Clarifications = uow.Words(j.Records)
		return u.ID.String(), g.capsule(u.ID, p)
	}
	return "", nil
}

// capsule is the newest on the unit's record. An iteration's capsule is made when it begins.
func (g *gatherer) capsule(id uow.ID, p *prompt.Prompt) error {
	top := loop.Dir(id.Directive)
	out, err := g.tree.Git(g.ctx, "ls-tree", "--name-only", "-z", record.Ref(id)+":"+top)
	if err != nil {
		return nil // it has none yet, or it was not fetched
	}
	g.iteration = -1
	for name := range strings.SplitSeq(out, "\x00") {
		if n, ok := loop.ParseIteration(name); ok {
			g.iteration = max(g.iteration, n)
		}
	}
	if g.iteration < 0 {
		return nil
	}
	at := path.Join(top, fmt.Sprintf("iter_%d", g.iteration), loop.CapsuleFile)
	data, err := g.tree.At(g.ctx, record.Ref(id), at, maxPaper)
	if err != nil {
		return err
	}
	p.Capsule, p.CapsulePath = string(data), path.Join(record.Dir, at)
	fmt.Fprintf(g.env.Stderr, "git-ward: the capsule is that of iteration %d; the next one's is made when it begins\n", g.iteration)
	return nil
}

// show prints the beginning of a conversation.
func (g *gatherer) show(p *prompt.Prompt, orientation string) error {
	if p.Kind == prompt.Model {
		at := orchestrator.PlanPath(p.Directive.Name())
		if p.Capsule != "" {
			at = orchestrator.IterationPlanPath(p.Directive.Name(), g.iteration)
		}
		p = (&orchestrator.Orchestrator{Directive: p.Directive, Prompt: *p}).Ask(orientation, path.Join(record.Dir, at))
	} else {
		p.Orientation = orientation
	}
	s := &session.Session{Talk: model.Conversation{System: p.System}}
	var capsule []byte
	if p.Capsule != "" {
		capsule = []byte(p.Capsule)
	}
	s.Open(g.iteration, p.CapsulePath, capsule)
	s.Tell("", p.Text())
	var err error
	say := func(who, text string) {
		_, e := fmt.Fprintf(g.env.Stdout, "--- %s ---\n%s\n", who, strings.TrimRight(diag.CleanLines(text), "\n"))
		err = errors.Join(err, e)
	}
	say("system", s.Talk.System)
	for _, m := range s.Talk.Messages {
		for _, c := range m.Calls {
			say("the model calls "+c.Name, string(c.Args))
		}
		for _, result := range m.Results {
			say("result", result.Text)
		}
		if m.Text != "" {
			say("user", m.Text)
		}
	}
	return err
}
