package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/review"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Directive is `git ward directive` (CTRL-1).
var Directive = cli.Command{Name: "directive", Doc: "show, write and edit directives",
	Title: "each reads and pushes the control branch, and touches no working tree",
	Verbs: []cli.Command{
		{Name: "show", Doc: "show a directive, its newest report and its questions, or where all stand", Run: directiveShow, Ways: []cli.Way{{Run: directiveList}},
			Examples: []cli.Example{{Line: `directive show`, Doc: "where each stands, and for whom it waits"}, {Line: `directive show D-1`, Doc: "one"}}},
		{Name: "new", Doc: "write a directive, in your editor or by -m or -F, and push it", Run: directiveNew,
			Examples: []cli.Example{{Line: `directive new`, Doc: "in your editor"}, {Line: `directive new -m "Say hello"`, Doc: "of one line"}}},
		{Name: "edit", Doc: "change a directive, which opens it again, and push it", Run: directiveEdit,
			Examples: []cli.Example{{Line: `directive edit D-1`, Doc: "in your editor"}}},
		{Name: "hold", Doc: "hold out criteria, which only the host knows and runs", Run: directiveHold,
			Long:     "Criteria and files that no worker can see: they stay on the host, in no ref, and the directive has their number and a hash. The files are in the judged tree only while such a criterion's command runs. A verdict says whether each is met, and nothing else. Empty input removes what was held out.",
			Examples: []cli.Example{{Line: `directive hold --bare /srv/git/project.git D-1`, Doc: "on the host: the criteria of standard input"}}},
	}}

// shown is what `git ward directive show --json` prints.
type shownDirective struct {
	review.Standing
	Text      diag.Untrusted   `json:"text"`
	Said      diag.Untrusted   `json:"said"` // the newest report on it
	Questions []diag.Untrusted `json:"questions"`
}

func directiveShow(ctx context.Context, env *cli.Env) error {
	const usage = "directive show [--json] [--bare DIR] [--config FILE] D-n"
	var o options
	args, err := env.Flags("directive show", usage, o.flags)
	if err != nil {
		return err
	}
	name, err := oneDirective(env, usage, "show", args)
	if err != nil {
		return err
	}
	u, err := openDirectives(ctx, env, o, name)
	if err != nil {
		return err
	}
	defer u.close()
	p, err := u.standing(subject{name: name})
	if err != nil {
		return said(err)
	}
	doc, err := u.documents()
	if err != nil {
		return err
	}
	out := shownDirective{Standing: review.Stand(p), Questions: []diag.Untrusted{}}
	if p.Directive != nil {
		out.Text = diag.Untrusted(p.Directive.Raw)
	}
	if p.Report != nil {
		out.Said = diag.Untrusted(p.Report.Raw)
	}
	for _, q := range doc.Questions {
		if q.Directive == name {
			out.Questions = append(out.Questions, diag.Untrusted(q.Raw))
		}
	}
	if o.json {
		return diag.WriteJSON(env.Stdout, out)
	}
	return out.print(ctx, env, p.Outcome(out.Standing))
}

func (s *shownDirective) print(ctx context.Context, env *cli.Env, outcome string) error {
	page, err := env.Page(ctx)
	if err != nil {
		return err
	}
	page.Printf(cli.Bold, "%s %s: %s\n", s.Directive, s.Title, diag.Untrusted(outcome))
	if w := s.WaitsWords(); w != "" {
		page.Printf(cli.Note, "waits for %s\n", w)
	}
	for _, part := range append([]diag.Untrusted{s.Text, s.Said}, s.Questions...) {
		if part != "" {
			page.Print(cli.Plain, "\n"+part.Lines())
		}
	}
	return page.Close()
}

// writing are the options of who writes a directive.
type writing struct {
	options    options
	text, file string
	untried    bool
}

func (o *writing) flags(fs *flag.FlagSet) {
	o.options.flags(fs)
	fs.StringVar(&o.text, "m", "", "the `text`, its first line the title")
	fs.StringVar(&o.file, "F", "", "a `file` with the text; - is standard input")
	fs.BoolVar(&o.untried, "untried", false, "do not try the criteria on the project as it is")
}

func directiveNew(ctx context.Context, env *cli.Env) error {
	const usage = "directive new [-m TEXT | -F FILE] [--untried] [--json] [--bare DIR] [--config FILE]"
	var o writing
	args, err := env.Flags("directive new", usage, o.flags)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return env.Usage(usage, "unexpected argument %q: the next free id is assigned", args[0])
	}
	return said(o.write(ctx, env, usage, ""))
}

func directiveEdit(ctx context.Context, env *cli.Env) error {
	const usage = "directive edit [-m TEXT | -F FILE] [--untried] [--json] [--bare DIR] [--config FILE] D-n"
	var o writing
	args, err := env.Flags("directive edit", usage, o.flags)
	if err != nil {
		return err
	}
	name, err := oneDirective(env, usage, "edit", args)
	if err != nil {
		return err
	}
	return said(o.write(ctx, env, usage, name))
}

// written is what `git ward directive new --json` and `edit --json` print.
type written struct {
	SchemaVersion string            `json:"schema_version"`
	Directive     string            `json:"directive"`
	Commit        string            `json:"commit"` // "" where nothing was to change, or could be
	Findings      []diag.Diagnostic `json:"findings"`
	NotMet        []string          `json:"not_met"` // commands of criteria that fail as the project is; null: not tried
	Untried       string            `json:"untried"` // why they were not tried to the end, where that was asked
}

// write makes or, with a name, changes a directive.
func (o *writing) write(ctx context.Context, env *cli.Env, usage, name string) error {
	if o.text != "" && o.file != "" {
		return env.Usage(usage, "use either -m or -F")
	}
	u, err := openDirectives(ctx, env, o.options, "D-*", state.AuditRef+"*:"+state.AuditRef+"*")
	if err != nil {
		return err
	}
	defer u.close()
	var old *comms.Directive
	if name != "" {
		doc, err := u.documents()
		if err != nil {
			return err
		}
		if old = doc.Directive(name); old == nil {
			return refused(env, "git ward directive show", "COMMS.md has no %s", name)
		}
	}
	file := u.kept("WARD_DIRECTIVE.*.md")
	draft, keep, err := o.draft(ctx, u, old, file)
	if errors.Is(err, comms.ErrNoText) {
		file.arrived()
		return refused(env, "", "the text is empty, so nothing was changed")
	}
	if err != nil {
		return err
	}
	if old != nil {
		if draft.ID != 0 && draft.ID != old.ID {
			return refused(env, keep(), "the text begins with another id than %s, and an id never changes", name)
		}
		draft.ID = old.ID
	}
	if err := o.publish(u, draft, old, keep); err != nil {
		return err
	}
	file.arrived()
	return nil
}

// draft is the text as it is given, or as the person writes it now. keep stores it in a
// file and says where, for one that cannot be used.
func (o *writing) draft(ctx context.Context, u *units, old *comms.Directive, file *kept) (d comms.Draft, keep func() string, err error) {
	text := o.text
	keep = func() string {
		again := "new"
		if old != nil {
			again = "edit " + old.Name()
		}
		if err := file.write(text); err != nil {
			return err.Error()
		}
		return fmt.Sprintf("the text is kept in %s; git ward directive %s -F %[1]s goes on with it", file.path, again)
	}
	switch {
	case o.file == "-":
		var data []byte
		data, err = io.ReadAll(io.LimitReader(u.env.Stdin, maxDraft))
		text = string(data)
	case o.file != "":
		text, err = readDraft(u.env.Path(o.file))
	case o.text == "":
		text, err = inEditor(ctx, u.env, file, template(old))
	}
	if err != nil {
		return d, keep, err
	}
	if d, err = comms.ParseDraft(text); err != nil && !errors.Is(err, comms.ErrNoText) {
		return d, keep, refused(u.env, keep(), "%v", err)
	}
	return d, keep, err
}

// template is what an editor begins with.
func template(old *comms.Directive) string {
	text := "\n\n"
	if old != nil {
		text = old.Draft().Text() + "\n"
	}
	return text + comms.Scissors + "\n" + `# The line above and all below it are left out; an empty text changes nothing.
#
# The first line is the title. Then comes the goal, in full, and what decides it:
#
# ` + comms.ExampleCriterion + `
#
# A command in backticks at a criterion's end decides it: exit 0 is met. Where all of them
# are met before the work, they prove nothing of it, and you are asked. Optional lines are
# "- key: value", with key one of:
# ` + strings.Join(comms.Keys(), ", ") + "\n"
}

// publish puts the draft into COMMS.md and pushes it.
func (o *writing) publish(u *units, draft comms.Draft, old *comms.Directive, keep func() string) error {
	done := written{SchemaVersion: review.SchemaVersion}
	refusal := error(nil)
	var err error
	var text []byte
	done.Commit, err = u.amend(func() string { return done.Directive + ": " + draft.Title }, func(doc state.Comms) ([]byte, error) {
		amended, err := put(u, doc, draft, old)
		if err != nil {
			return nil, err
		}
		done.Directive, done.Findings = fmt.Sprintf("D-%d", amended.ID), append([]diag.Diagnostic{}, amended.Found...)
		if diag.HasErrors(amended.Found) {
			refusal = cli.ErrFindings
		}
		text = amended.Data
		return amended.Data, nil
	})
	switch {
	case errors.Is(err, errMoved):
		return refused(u.env, keep(), "%s was changed or taken out by somebody else meanwhile", old.Name())
	case errors.Is(err, errNotTaken):
		return refused(u.env, keep(), "%v", err)
	case err != nil:
		return diag.Hint(err, "%s", keep())
	}
	var d *comms.Directive // whose criteria are to be tried
	if doc, _ := comms.Parse(text); done.Commit != "" && refusal == nil && !o.untried {
		d = doc.Directive(done.Directive)
	}
	if o.options.json {
		if d != nil {
			t := u.tryCriteria(d, tryFor)
			done.Findings = slices.Concat(done.Findings, u.named(d), t.found)
			done.NotMet, done.Untried = t.notMet, t.untried
		}
		if err := diag.WriteJSON(u.env.Stdout, done); refusal == nil || err != nil {
			return err
		}
		return refused(u.env, keep(), "%s breaks the grammar of COMMS.md, and was not pushed", "the text")
	}
	for i := range done.Findings { // lines of the person's own text, not of COMMS.md
		done.Findings[i].Pos.Path = "text"
	}
	diag.WriteText(u.env.Stderr, done.Findings)
	switch {
	case refusal != nil:
		return refused(u.env, keep(), "%s breaks the grammar of COMMS.md, and was not pushed", "the text")
	case done.Commit == "":
		fmt.Fprintf(u.env.Stdout, "%s is as it was, and nothing was pushed\n", done.Directive)
	default:
		fmt.Fprintf(u.env.Stdout, "%s %s: pushed to %s as %s; no working tree was touched\n", done.Directive, diag.Clean(draft.Title), u.names.Branch, diag.Short(done.Commit))
		if d != nil {
			diag.WriteText(u.env.Stderr, u.named(d))
			t := u.tryCriteria(d, tryFor)
			t.print(u)
		}
	}
	return nil
}

// errMoved is for a directive that changed while it was edited.
var errMoved = errors.New("the directive moved")

// put makes the document with the draft. It returns no Data if nothing changes or nothing can.
func put(u *units, doc state.Comms, draft comms.Draft, old *comms.Directive) (comms.Amended, error) {
	if old == nil {
		retired, err := u.retired()
		if err != nil {
			return comms.Amended{}, err
		}
		return comms.Amend(doc.Data, comms.Addition{Draft: draft, Retired: retired}, comms.Whole)
	}
	now := doc.Directive(old.Name())
	if now == nil || now.Raw != old.Raw {
		return comms.Amended{}, errMoved
	}
	if now.Draft() == draft {
		return comms.Amended{ID: old.ID}, nil
	}
	return comms.Amend(doc.Data, comms.Edit{Draft: draft}, comms.Whole)
}

// retired are the ids that were used: what the newest record of the audit says of those
// that were listed once, and those that units and the agent's branches name. The host
// refuses what this does not know.
func (u *units) retired() (set comms.Set, err error) {
	last, err := state.ReadPush(u.reader, state.AuditRef)
	if err != nil {
		return set, err
	}
	if set, err = comms.ParseSet(last.Retired); err != nil {
		return set, err
	}
	all, _, err := state.Units(u.reader)
	if err != nil {
		return set, err
	}
	for _, unit := range all {
		if err := retire(&set, unit.ID); err != nil {
			return set, err
		}
	}
	return set, nil
}

func retire(set *comms.Set, id uow.ID) error {
	var n int
	if _, err := fmt.Sscanf(id.Directive, "D-%d", &n); err != nil {
		return err
	}
	return set.Add(n)
}
