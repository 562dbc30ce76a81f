package worker

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/interaction"
	"git-ward/agent/model"
	"git-ward/agent/orchestrator"
	"git-ward/agent/preset"
	"git-ward/agent/program"
	"git-ward/agent/prompt"
	"git-ward/agent/session"
	"git-ward/agent/store"
	"git-ward/agent/tool"
	"git-ward/agent/web"
	"git-ward/internal/config"
	"git-ward/protocols/comms"
)

// solver works in the working tree (AGT-3): a model with tools, or a command.
type solver interface {
	// Solve runs until the solver says that it is done. The refusal is "" at first, and later
	// the findings of its refused push. The error is stop.Unfinished, Spent or Blocked if it
	// did not finish by itself.
	Solve(ctx context.Context, refusal string) (interaction.Done, error)
	// Told is its input besides SYSTEM.md and COMMS.md, before its first turn. The path is the
	// capsule's in the working tree.
	Told(capsulePath string) (string, error)
}

// solvers makes independent solvers for one directive.
type solvers struct {
	deps      *deps
	directive comms.Directive
	work      *store.Work
	model     model.Model     // nil: a program works
	order     *model.Order    // of the models that it is told to use; nil: the first alone
	system    string          // SYSTEM.md and what concerns the directive of COMMS.md (AGT-2)
	guidance  string          // of an adopted project's own documents, likewise for a program
	lessons   string          // of earlier directives, for a program; a model that converses is told by its orientation
	words     func() []string // the PM's, on the unit as it stands; nil: none
	skills    []prompt.Skill  // of the capsule's skill pack, where control has them
	log       zerolog.Logger
}

// iteration is what a solver gets of the bounded loop, and its limits.
type iteration struct {
	number  int
	path    string // of the capsule, in the working tree
	capsule []byte // canonical JSON
	gate    *interaction.Gate
}

// new makes a solver for an iteration, nil for work without the bounded loop.
func (f *solvers) new(it *iteration) solver {
	d := f.deps
	if f.model == nil {
		return f.program(it)
	}
	box := &tool.Box{
		Dir: f.work.Dir(), State: d.store.State, Env: append(d.store.Environ(), web.Environ(d.config.Search.URL)...), Repo: f.work,
		Timeout:    d.config.Agent.BashTimeout.Duration,
		OutputSize: d.config.Agent.OutputSize,
		WriteSize:  d.config.Limits.BlobSize,
		Running:    f.work.Branch == d.launch.Branch,
	}
	worker, _ := config.FindWorker(d.config.Model.Name)
	return &orchestrator.Orchestrator{
		Directive: f.directive, Prompt: f.prompt(prompt.Model, it), Scout: d.config.Agent.Scout && worker.Kind == config.API, Work: f.work, Session: f.session(box, it), Box: box, Config: d.config, Bare: d.store.Bare,
		Logs: filepath.Join(d.store.State, "logs"), Getenv: d.getenv, Message: f.tellPM, Redact: d.redact, Live: d.live, Log: f.log,
	}
}

// program is a command that works on an iteration.
func (f *solvers) program(it *iteration) *program.Program {
	d := f.deps
	p := &program.Program{
		Config: d.config, Preset: preset.Of(d.config.Model.Name), Dir: f.work.Dir(), State: d.store.State, AskGrace: program.AskGrace,
		Unit: f.work.Record.Unit().String(), Bare: d.store.Bare, Redact: d.redact, Live: d.live,
		Executable: d.store.Executable, Settings: d.store.Settings, Env: d.store.Environ(), Getenv: d.getenv, Log: f.log,
		Prompt: f.prompt(prompt.Program, it), Models: f.order,
	}
	if it != nil {
		p.Iteration, p.Gate = fmt.Sprint(it.number), it.gate
	}
	return p
}

// prompt is the worker's input that is known before its orientation.
func (f *solvers) prompt(kind prompt.Kind, it *iteration) prompt.Prompt {
	p := prompt.Prompt{Kind: kind, System: f.system, Directive: f.directive, Guidance: f.guidance, Skills: f.skills, Branch: f.work.Branch, Judged: f.deps.config.Agent.Loop, Kept: f.work.TookUp()}
	if kind == prompt.Program {
		p.Lessons = f.lessons
	}
	if f.words != nil {
		p.Clarifications = f.words()
	}
	if it != nil {
		p.Capsule, p.CapsulePath, p.MaxCalls = string(it.capsule), it.path, it.gate.MaxCalls
	}
	return p
}

// session is a conversation with the model that begins with its prompt.
func (f *solvers) session(box *tool.Box, it *iteration) *session.Session {
	name := f.directive.Name()
	s := &session.Session{
		Model: f.model, Name: f.deps.config.Model.Name, MaxTurns: f.deps.config.Agent.MaxTurns, Log: f.log,
		Talk: model.Conversation{
			System: f.system, Directive: name, Title: f.directive.Title.String(), Plan: orchestrator.PlanPath(name), Tools: box.Tools(),
		},
	}
	if it == nil {
		s.Open(0, "", nil)
		return s
	}
	s.Gate, s.Talk.Plan = it.gate, orchestrator.IterationPlanPath(name, it.number)
	s.Open(it.number, it.path, it.capsule)
	return s
}

// tellPM is the tool message_user.
func (f *solvers) tellPM(ctx context.Context, text string) error {
	return f.deps.store.Report(ctx, comms.NewReport{Time: time.Now(), Directive: f.directive.Name(), Status: comms.Info, Text: text})
}

// maxSystem bounds SYSTEM.md, in bytes; COMMS.md has a bound of its own.
const maxSystem = 1 << 20

// systemPrompt is a snapshot's SYSTEM.md, followed by the directive's part of COMMS.md.
func (d *deps) systemPrompt(ctx context.Context, main store.Snapshot, source []byte, directive string) (string, error) {
	system, err := main.File(ctx, "SYSTEM.md", maxSystem)
	return prompt.System(system, source, directive, d.store.ControlRef()), err
}
