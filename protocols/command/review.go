package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/export"
	"git-ward/internal/filename"
	"git-ward/internal/git"
	"git-ward/internal/held"
	"git-ward/internal/sources"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// maxPatch bounds the difference in JSON, in bytes; as text there is no bound.
const maxPatch = 16 << 20

// options are those of commands that look at work.
type options struct {
	bare, config string
	json         bool
}

func (o *options) flags(fs *flag.FlagSet) {
	cli.Bare(fs, &o.bare)
	cli.Config(fs, &o.config)
	fs.BoolVar(&o.json, "json", false, "JSON, as docs/pm.md says")
}

// Review is `git ward review` (REC-3).
var Review = cli.Command{Name: "review", Doc: "show a directive's work: what decided, what changed, what it cost", Run: reviewWork,
	Long:     "The criteria come first, each with its command and the host's result; then what to look at, the diff, and the cost. The last lines are the commands to choose from.",
	Examples: []cli.Example{{Line: `review D-1`, Doc: "through the pager"}, {Line: `review --json D-1`, Doc: "for a program"}}}

func reviewWork(ctx context.Context, env *cli.Env) error {
	const usage = "review [--json] [--format FORMAT] [--fetched] [--bare DIR] [--config FILE] D-n|D-n.k..."
	var o options
	var format export.Format
	var fetched bool
	args, err := env.Flags("review", usage, func(fs *flag.FlagSet) {
		o.flags(fs)
		fs.BoolVar(&fetched, "fetched", false, "use what was fetched last, without asking origin")
		format.Flag(fs)
	})
	if err != nil {
		return err
	}
	asJSON := !format.Foreign() && (o.json || format == export.JSON)
	if len(args) != 1 && !(len(args) > 1 && asJSON && fetched) {
		return env.Usage(usage, "review takes one directive, such as D-1; as JSON, of what is fetched, several")
	}
	var list []subject
	for _, arg := range args {
		of, err := parseSubject(arg)
		if err != nil {
			return env.Usage(usage, "%v", err)
		}
		list = append(list, of)
	}
	u, err := openDirectivesAs(ctx, env, o, fetched, list[0].name)
	if err != nil {
		return err
	}
	defer u.close()
	if len(list) > 1 {
		if err := u.openAll(list); err != nil {
			return err
		}
	}
	c, err := u.comparer()
	if err != nil {
		return err
	}
	defer c.close()
	for _, of := range list {
		if err := c.show(of, format, asJSON); err != nil {
			return err
		}
	}
	return nil
}

// show prints the review of a subject.
func (c *comparer) show(of subject, format export.Format, asJSON bool) error {
	u := c.units
	w, err := c.look(of)
	if err != nil {
		return said(u.lacking(err))
	}
	if w.Commit == "" && w.State != review.Dropped {
		return refused(u.env, "git ward directive show "+of.name, "there is no work on %s yet, so there is nothing to review", of.name)
	}
	switch {
	case format.Foreign():
		err = w.exportTo(c, format)
	case asJSON:
		err = c.printJSON(w)
	default:
		err = c.print(w)
	}
	return u.lacking(err)
}

// said is the error of a command that has printed its message already.
func said(err error) error {
	if errors.Is(err, cli.ErrFindings) {
		return cli.ErrFindings
	}
	return err
}

// work is a review, and what else taking it needs.
type work struct {
	review.Review
	from string // what the difference is shown from: a commit, or the empty tree
	tree string // of the project with the work, "" where there is none
}

// look makes the review of a subject, without the patch.
func (c *comparer) look(of subject) (*work, error) {
	p, err := c.standing(of)
	if err != nil {
		return nil, err
	}
	if err := c.hear(&p); err != nil {
		return nil, err
	}
	w := &work{Review: review.Review{Standing: review.Stand(p), Word: p.Verdict}}
	r := &w.Review
	r.Outcome = p.Outcome(r.Standing)
	if p.Directive != nil {
		r.Text = diag.Untrusted(p.Directive.Raw)
	}
	if p.Unit != nil {
		id, err := uow.ParseID(p.Unit.ID)
		if err != nil {
			return nil, err
		}
		r.Record = record.Ref(id)
	}
	r.Criteria = review.Criteria(declared(p.Directive), p.Verdict)
	if r.Cost, err = c.cost(p); err != nil {
		return nil, err
	}
	if r.Refused, err = c.refused(p.Name); err != nil {
		return nil, err
	}
	if r.Commit != "" {
		if err := c.compare(w, p); err != nil {
			return nil, err
		}
	}
	if r.Said, err = c.said(p, r); err != nil {
		return nil, err
	}
	r.Commands = r.Offers()
	return w, nil
}

// hear adds to a verdict, on the host, the results of held-out criteria, which only the host
// knows.
func (c *comparer) hear(p *review.Position) error {
	if !c.bare() || p.Verdict == nil || p.Directive == nil || p.Directive.Options.Held.Count == 0 {
		return nil
	}
	word, err := held.ReadWord(c.repo.Dir, p.Directive.Name(), p.Directive.Options.Held.SHA256)
	if err == nil && word.Commit == p.Verdict.Commit {
		v := p.Verdict.Hear(word.Says)
		p.Verdict = &v
	}
	return err
}

// declared are the criteria of a directive and their commands.
func declared(d *comms.Directive) (list [][2]string) {
	if d == nil {
		return nil
	}
	for _, c := range d.Criteria {
		list = append(list, [2]string{c.Text, c.Command})
	}
	return list
}

// compare fills in what the work changes, and what a merge of it would change.
func (c *comparer) compare(w *work, p review.Position) (err error) {
	r := &w.Review
	there, err := c.reader.Contains(r.Commit, r.Commit)
	if err != nil {
		return err
	}
	if !there {
		return diag.Hint(fmt.Errorf("the commit %s, which %s claims, is not in this repository", r.Commit, r.Unit), "git fetch origin; where it is gone from the host, git ward fsck there says since when")
	}
	if r.Project, err = c.reader.Tip(c.names.ProjectRef()); err != nil {
		return err
	}
	if r.Base, err = c.base(r.Project, r.Commit, p); err != nil {
		return err
	}
	if w.from = r.Base; w.from == "" {
		w.from = git.EmptyTree // it shares no history with the project
	}
	if r.Changes, err = c.changes(w.from, r.Commit); err != nil {
		return err
	}
	never := slices.Clone(c.settings.Verify.Pinned)
	if p.Directive != nil {
		never = append(never, p.Directive.Options.Frozen...)
	}
	tests := func(path string) bool { return sources.IsTest(path) || review.InGlobs(never, path) }
	protected := filename.NewList(slices.Concat(c.settings.Rights.Protected, c.settings.Rights.ProtectedOnMain)...)
	entries, err := c.reader.Entries(w.from, "")
	if err != nil {
		return err
	}
	root := make(map[string]review.Kind, len(entries))
	for _, e := range entries {
		root[e.Name] = review.KindOf(uint32(e.Mode))
	}
	r.Touched = review.Touch(r.Changes, protected.Covers, filename.Instructions().Covers, tests, root)
	r.Merge, w.tree, err = c.merge(r.Project, r.Base, r.Commit, p)
	return err
}

// said collects the agent's last words: at the end of the claimed iteration, in its newest
// report, and in the commit, unless the project has that too: then it is somebody else's.
func (c *comparer) said(p review.Position, r *review.Review) ([]review.Said, error) {
	list, err := c.lastWords(p)
	if err != nil {
		return nil, err
	}
	if p.Report != nil && !p.Report.Dropped() {
		list = append(list, review.Said{Where: p.Report.Name() + " " + string(p.Report.Status), Text: diag.Untrusted(p.Report.Said())})
	}
	if r.Commit == "" || r.Commit == r.Base {
		return list, nil
	}
	message, err := c.message(r.Commit)
	if err != nil {
		return nil, err
	}
	return append(list, review.Said{Where: "commit " + diag.Short(r.Commit), Text: diag.Untrusted(message)}), nil
}

// lastWords are the worker's words at the end of the claimed iteration, from the record; none
// if the record is not here, such as an expired one.
func (c *comparer) lastWords(p review.Position) ([]review.Said, error) {
	list := []review.Said{}
	if p.Unit == nil || p.Unit.Claim == nil || p.Unit.Claim.Record == "" {
		return list, nil
	}
	claim := p.Unit.Claim
	if there, err := c.reader.Contains(claim.Record, claim.Record); err != nil || !there {
		return list, err
	}
	n, err := c.newest(claim.Record, p.Name)
	if n < 0 || err != nil {
		return list, err
	}
	where := loop.IterationDir(p.Name, n) + "/" + loop.WordsFile
	data, err := c.reader.File(claim.Record, where, 2*loop.MaxWords)
	if _, large := errors.AsType[*git.TooLarge](err); large { // a record may hold it
		data, err = []byte("(more than fits here: git show "+claim.Record+":"+where+")"), nil
	}
	if text := strings.TrimSpace(string(data)); text != "" {
		list = append(list, review.Said{Where: fmt.Sprintf("the end of iteration %d of %s", claim.Iteration, p.Unit.ID), Text: diag.Untrusted(text)})
	}
	return list, err
}

// newest is the newest iteration with evidence in a record's commit, -1 for none. For a claim
// it is the claimed one: a journal counts from 1, and evidence that continues an earlier
// unit's may begin at any number.
func (c *comparer) newest(commit, directive string) (n int, err error) {
	n = -1
	entries, err := c.reader.Entries(commit, loop.Dir(directive))
	if err != nil {
		return n, err
	}
	for _, e := range entries {
		if at, ok := loop.ParseEvidencePath(loop.Dir(directive) + "/" + e.Name + "/" + loop.WordsFile); ok && e.IsDir() {
			n = max(n, at.Iteration)
		}
	}
	return n, nil
}

// colours are those of a review's lines.
var colours = map[review.Look]cli.Style{review.Title: cli.Bold, review.Good: cli.Good, review.Bad: cli.Bad, review.Warn: cli.Note}

// print shows a review as text, by the person's pager.
func (c *comparer) print(w *work) (err error) {
	page, err := c.env.Page(c.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.Close()) }()
	show := func(lines []review.Line) {
		for _, line := range lines {
			page.Print(colours[line.Look], line.Text+"\n")
		}
	}
	show(w.Above())
	if len(w.Changes) > 0 {
		page.Print(cli.Plain, "\n")
		for line, err := range c.patch(w) {
			if err != nil {
				return err
			}
			if page.Print(styleOf(line), line+"\n") != nil {
				return nil // the reader left; Close reports anything else
			}
		}
	}
	show(w.Below())
	return nil
}

// styleOf is git's colour for a line of a difference.
func styleOf(line string) cli.Style {
	switch {
	case strings.HasPrefix(line, "@@"):
		return cli.Frag
	case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		return cli.Bold
	case strings.HasPrefix(line, "+"):
		return cli.Good
	case strings.HasPrefix(line, "-"):
		return cli.Bad
	case strings.HasPrefix(line, " "), line == "":
		return cli.Plain
	}
	return cli.Bold
}

// printJSON prints a review as JSON. It counts the bytes of the patch that do not fit.
func (c *comparer) printJSON(w *work) error {
	var patch strings.Builder
	if len(w.Changes) > 0 {
		for line, err := range c.patch(w) {
			if err != nil {
				return err
			}
			if patch.Len()+len(line) < maxPatch && w.Omitted == 0 {
				patch.WriteString(line + "\n")
			} else {
				w.Omitted += int64(len(line)) + 1
			}
		}
	}
	w.Patch = diag.Untrusted(patch.String())
	return diag.WriteJSON(c.env.Stdout, w.Review)
}

// bare reports whether the repository is the bare one.
func (u *units) bare() bool { return u.remote != "origin" }
