package plan

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/fsm"
)

// The rules about what a plan does (PLAN-4). Three have the names that 002 gives
// them.
const (
	RulePath      = "plan/path"
	RuleClosure   = "plan/closure-mandate"
	RuleFSM       = "plan/fsm-adherence"
	RuleMissing   = "plan/missing-file"
	RuleExists    = "plan/file-exists"
	RuleGone      = "plan/gone-file"
	RuleCall      = "plan/call-target"
	RuleRecursion = "plan/bounded-recursion"
	RuleDepth     = "plan/max-recursion-depth"
	RuleModel     = "plan/model"
	RuleMachine   = "plan/machine"
	RuleEvidence  = "plan/evidence"
	RuleGathering = "plan/gathering"
	RuleReport    = "plan/report"
	RuleCitation  = "plan/citation"
)

// Kind is the kind of what a path of a tree names.
type Kind int

// The kinds. Other is a link or a submodule: no plan reads it.
const (
	Missing Kind = iota
	File
	Folder
	Other
)

// KindOf is the kind of a tree's entry.
func KindOf(e TreeEntry, there bool) Kind {
	switch {
	case !there:
		return Missing
	case e.IsDir():
		return Folder
	case e.IsRegular():
		return File
	}
	return Other
}

// Tree is the tree that plans are judged in: of a commit, or a working tree.
// Paths are relative to its top, with forward slashes. An error but for
// fs.ErrNotExist and diag.ErrTooLarge is trouble and ends the lint.
type Tree interface {
	Kind(path string) (Kind, error)
	// ReadFile reads a regular file of at most limit bytes.
	ReadFile(path string, limit int64) ([]byte, error)
}

// TreeEntry is an entry of a tree of git's.
type TreeEntry interface {
	IsDir() bool
	IsRegular() bool
}

// InCommit is the tree of a commit, by what looks its entries up and reads its files.
type InCommit[E TreeEntry] struct {
	Files interface {
		Entry(path string) (e E, ok bool, err error)
		ReadFile(path string, limit int64) ([]byte, error)
	}
}

// Kind implements Tree.
func (t InCommit[E]) Kind(path string) (Kind, error) {
	if path == "." {
		return Folder, nil
	}
	e, ok, err := t.Files.Entry(path)
	return KindOf(e, ok), err
}

// ReadFile implements Tree.
func (t InCommit[E]) ReadFile(path string, limit int64) ([]byte, error) {
	return t.Files.ReadFile(path, limit)
}

// Bounds of all plans that one Linter follows calls to.
const (
	maxPlans = 10_000
	maxRead  = 64 << 20
	maxWork  = 2_000_000 // effects of callees, applied to callers

	maxSearch = 1_000_000 // calls followed in search of the circles that findings name
	maxNear   = 100       // findings that name the nearest registered plan
)

// Linter checks plans of one tree. It remembers what it has read, so that linting
// all plans of a tree reads each of them once. It is not for concurrent use.
type Linter struct {
	// Model is the CSDC model that all plans are held to, "" for each one's own.
	Model string

	tree     Tree // that steps work in
	earlier  []Tree
	cited    Known
	ran      bool
	sources  Tree // of the plans' texts and of the registry
	machines func(path string) ([]byte, error)
	registry *Registry
	lookup   map[string]string
	names    []string // that are registered, once a hint asks for them
	nodes    map[string]*node
	loaded   map[string]*fsm.Machine
	read     int64
	work     int
	searched int
	near     int
}

// NewLinter makes a Linter. Machines reads a machine that a plan names by its
// path, from main's tree (CONF-1); with fs.ErrNotExist there is none. Nil: plans
// may name embedded machines only.
func NewLinter(tree Tree, machines func(path string) ([]byte, error)) *Linter {
	return &Linter{tree: tree, sources: tree, machines: machines, nodes: map[string]*node{}, loaded: map[string]*fsm.Machine{}}
}

// Lint checks the plan at a path: its text, its word, what it does to files, and
// the plans that it calls, as far as they concern this one. All findings come
// back at once, normalized; faults of a callee's own are for a lint of that one.
func (l *Linter) Lint(path string) ([]diag.Diagnostic, error) {
	n, err := l.resolved(path)
	if err != nil {
		return nil, err
	}
	return l.lint(n)
}

// LintText is Lint for a text that stands for the plan at a path.
func (l *Linter) LintText(path string, data []byte) ([]diag.Diagnostic, error) {
	if l.nodes[path] == nil {
		l.nodes[path] = l.parse(path, data)
	}
	return l.Lint(path)
}

// Plan returns the parsed plan at a path, nil when there is none.
func (l *Linter) Plan(path string) (*Plan, error) {
	n, err := l.node(path)
	if err != nil {
		return nil, err
	}
	return n.plan, nil
}

// Resolve is the path that a name of call_plan stands for: registry first, then
// path (002, rule registry-first-resolution).
func (l *Linter) Resolve(name string) (string, error) {
	if l.lookup == nil {
		data, err := l.sources.ReadFile(RegistryPath, MaxRegistryBytes)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, diag.ErrTooLarge) {
			return "", err
		}
		l.registry, _ = ParseRegistry(data)
		l.lookup = make(map[string]string, len(l.registry.Entries))
		for _, e := range l.registry.Entries {
			l.lookup[e.Name] = e.Path
		}
	}
	if path, ok := l.lookup[name]; ok {
		return path, nil
	}
	return name, nil
}

// ReadFile reads a file, such as a program, from the place where a call of its path finds it.
func (l *Linter) ReadFile(path string, limit int64) ([]byte, error) {
	return l.sources.ReadFile(path, limit)
}

// finding adds to the findings about a plan.
type findings struct {
	path string
	list []diag.Diagnostic
}

func (f *findings) at(s *Step, rule, message, hint string) {
	f.add(s.Line, s.Col, rule, message, hint)
}

func (f *findings) add(line, col int, rule, message, hint string) {
	if len(f.list) < MaxFindings {
		f.list = append(f.list, diag.Diagnostic{Pos: diag.Pos{Path: f.path, Line: line, Col: col}, Rule: rule, Severity: diag.Error, Message: brief(message), Hint: brief(hint)})
	}
}

func (l *Linter) lint(n *node) ([]diag.Diagnostic, error) {
	if n.plan == nil {
		return []diag.Diagnostic{{Pos: diag.Pos{Path: n.path}, Rule: RuleCall, Severity: diag.Error,
			Message: "there is no plan: the file " + n.broken, Hint: "name a plan's file"}}, nil
	}
	if n.linted != nil { // many names of a registry can mean one plan
		return slices.Clone(n.linted), nil
	}
	out := &findings{path: n.path, list: slices.Clone(n.found)}
	l.calls(n, out)
	l.model(n, out)
	if err := l.word(n, out); err != nil {
		return nil, err
	}
	research(n.plan, out)
	if err := l.files(n, out); err != nil {
		return nil, err
	}
	n.linted = append([]diag.Diagnostic{}, diag.Normalize(out.list)...)
	return slices.Clone(n.linted), nil
}

// calls reports calls that lead nowhere, in a circle, or too deep.
func (l *Linter) calls(n *node, out *findings) {
	for i := range n.calls {
		if len(out.list) >= MaxFindings {
			return
		}
		c := &n.calls[i]
		s := c.step
		switch {
		case c.target == "":
			if path, ok := l.lookup[s.Args]; ok {
				out.at(s, RuleCall, fmt.Sprintf("%s is registered as %s, which is not a file", s.Args, path), "add the plan, or register another: git ward plan register "+s.Args+" PATH")
				continue
			}
			hint := "register it (git ward plan register NAME PATH), or give the path of a file in the tree"
			out.at(s, RuleCall, fmt.Sprintf("%s is neither a registered plan nor a file", cut(s.Args)), l.nearHint(s.Args, hint))
		case c.program:
		case c.callee.plan == nil:
			out.at(s, RuleCall, fmt.Sprintf("%s cannot be called: it %s", c.target, c.callee.broken), "give the path of a plan")
		case c.circles:
			ring := l.circle(n, c)
			if ring == nil {
				ring = []string{n.path, c.target, "..."}
			}
			out.at(s, RuleRecursion, fmt.Sprintf("calls in a circle: %s", strings.Join(ring, " -> ")), "break the circle: a plan must end")
		case n.depth > MaxRecursionDepth && c.callee.depth+1 > MaxRecursionDepth:
			out.at(s, RuleDepth, fmt.Sprintf("%d plans would be on the stack, more than %d: %s", c.callee.depth+1, MaxRecursionDepth, chain(n, c)), "put steps of the deeper plans into their callers")
		case diag.HasErrors(c.callee.found):
			first := c.callee.found[slices.IndexFunc(c.callee.found, diag.Diagnostic.IsError)]
			out.at(s, RuleCall, fmt.Sprintf("%s cannot be called: %s: %s", c.target, first.Pos, first.Message), "mend that plan first: git ward plan lint "+c.target)
		case c.callee.plan.Machine() == fsm.FDC:
			out.at(s, RuleCall, fmt.Sprintf("%s is a cycle of its own (fdc); only sub plans and research are called", c.target), "begin it with `# FSM: sub`, and take plan, closing and submit out of it")
		}
	}
}

// nearHint is a hint that names the nearest registered plan, as often as that is
// worth its search.
func (l *Linter) nearHint(word, hint string) string {
	if l.near++; l.near > maxNear {
		return hint
	}
	if l.names == nil {
		l.names = l.registry.Names()
	}
	return nearHint(word, l.names, hint)
}

// chain is the deepest way of calls.
func chain(n *node, c *call) string {
	names := []string{n.path}
	for c != nil && len(names) < 2*MaxRecursionDepth {
		names = append(names, c.target)
		c = c.callee.deepest()
	}
	return strings.Join(names, " -> ")
}

// model holds the plan and its callees to the plan's CSDC model.
func (l *Linter) model(n *node, out *findings) {
	forbidden, use := DefineDiagonal, func(u *uses) bool { return u.diagonal }
	model := cmp.Or(l.Model, n.plan.Model)
	switch model {
	case "B":
		forbidden, use = DefineNames, func(u *uses) bool { return u.names }
	case "A":
	default:
		return
	}
	hint := fmt.Sprintf("take the step out, or change the line `# Model: %s`", model)
	if l.Model != "" {
		hint = "take the step out, or hold the plan to the other model"
	}
	eachStep(n.plan.Steps, func(s *Step) {
		if s.Tool == forbidden {
			out.at(s, RuleModel, fmt.Sprintf("model %s forbids %s", model, forbidden), hint)
		}
	})
	for i := range n.calls {
		if c := &n.calls[i]; c.callee != nil && use(&c.callee.uses) {
			out.at(c.step, RuleModel, fmt.Sprintf("model %s forbids %s, which %s leads to", model, forbidden, c.target), hint)
		}
	}
}

// eachStep visits all steps, bodies included.
func eachStep(steps []Step, visit func(*Step)) {
	for i := range steps {
		visit(&steps[i])
		eachStep(steps[i].Body, visit)
	}
}
