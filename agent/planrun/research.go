package planrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ward/agent/lookup"
	"git-ward/agent/orient"
	"git-ward/agent/web"
	"git-ward/internal/diag"
	"git-ward/internal/pattern"
	"git-ward/protocols/knowledge"
	"git-ward/protocols/plan"
)

// Bounds of research: findings of its report, bytes of one, pages that are remembered.
const (
	maxFindings = 24
	maxFinding  = 500
	maxPages    = 20
	maxPerStep  = 12 // findings that one step brings
)

// research is what a research plan's steps have gathered (PLAN-8), the only source of its
// report.
type research struct {
	topic    string
	phases   []phase
	hits     []lookup.Hit
	pages    []string // that the searches named, the best first
	silent   []string // searches and pages that gave no answer, with why
	engine   error    // why the search engine is not asked any more
	written  bool     // a report was
	findings int      // in it
	came     int      // places found by the last step
	finder   *lookup.Finder
}

// phase is a part of the research, and its result.
type phase struct {
	name string
	did  []string
	hits int
}

// begins notes the topic and the phases from the steps.
func (r *research) begins(p point) {
	if p.Tool == plan.SetPlan && r.topic == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(p.Text()), "\n")
		r.topic = strings.TrimSpace(strings.TrimPrefix(first, "Research:"))
	}
	if name := p.Phase(); name != "" || len(r.phases) == 0 {
		r.phases = append(r.phases, phase{name: cmp.Or(name, "Gathering")})
	}
}

// gathered adds a step's result.
func (r *research) gathered(p point, args, output string, hits []lookup.Hit) {
	if hits == nil {
		hits = r.read(p, args, output)
	}
	now := &r.phases[len(r.phases)-1]
	what := strings.TrimSpace(p.Tool + " " + diag.Clean(diag.Cut(args, 80)))
	if p.Tool == plan.Bash {
		what = diag.Clean(diag.Cut(p.Text(), 100))
	}
	r.came = len(hits)
	now.did = append(now.did, fmt.Sprintf("`%s`: %s", strings.ReplaceAll(what, "`", "'"), diag.Count(len(hits), "place")))
	now.hits += len(hits)
	r.hits = append(r.hits, hits...)
}

var (
	grepLine = pattern.New(`^(.+?):([0-9]+):(.*)$`)
	pageLink = pattern.New(`<?(https?://[^\s<>"]+)>?`)
)

// read extracts the places from a step's output.
func (r *research) read(p point, args, output string) (list []lookup.Hit) {
	if strings.TrimSpace(output) == "" {
		return nil
	}
	switch p.Tool {
	case plan.ReadFile:
		return lookup.Passages(r.topic, output, lookup.Documents, func(line int) string { return fmt.Sprintf("%s:%d", args, line) }, 3)
	case plan.Grep:
		for line := range strings.Lines(output) {
			if m := grepLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil && len(list) < maxPerStep {
				list = append(list, lookup.Hit{Source: lookup.Files, Place: m[1] + ":" + m[2], Text: m[3]})
			}
		}
	case plan.GoogleSearch:
		return r.results(output)
	case plan.ViewTextWebsite:
		return lookup.Passages(r.topic, output, lookup.Web, func(int) string { return args }, 3)
	case plan.Bash:
		list = append(list, lookup.Hit{Source: lookup.Output, Place: "the output of `" + strings.ReplaceAll(diag.Clean(diag.Cut(p.Text(), 100)), "`", "'") + "`", Text: lastLines(output, maxFinding)})
	}
	return list
}

// results are the pages that a search names, each with what it says of it.
func (r *research) results(output string) (list []lookup.Hit) {
	lines := strings.Split(output, "\n")
	for i, line := range lines {
		for _, m := range pageLink.FindAllStringSubmatch(line, 4) {
			url := strings.TrimRight(m[1], ".,;)")
			if len(r.pages) < maxPages && !slices.Contains(r.pages, url) {
				r.pages = append(r.pages, url)
			}
			text := strings.TrimSpace(pageLink.ReplaceAllString(strings.Join(lines[i:min(len(lines), i+3)], " "), ""))
			if text != "" && len(list) < maxPerStep {
				list = append(list, lookup.Hit{Source: lookup.Web, Place: url, Text: text})
			}
		}
	}
	return list // one that names no page has nothing to cite, whatever it says
}

// failed takes down a source that gave no answer. The others go on without it.
func (r *research) failed(p point, args string, err error) string {
	why, _, _ := strings.Cut(err.Error(), "\n")
	text := fmt.Sprintf("`%s`: no answer: %s", strings.ReplaceAll(p.Tool+" "+diag.Clean(diag.Cut(args, 80)), "`", "'"), diag.Clean(diag.Cut(why, 300)))
	now := &r.phases[len(r.phases)-1]
	now.did, r.silent = append(now.did, text), append(r.silent, text)
	return text
}

// page is the page for the step's {found1}, "" for none.
func (r *research) page(args string) (url string, field bool) {
	number, ok := strings.CutPrefix(args, plan.FieldFound)
	n, err := strconv.Atoi(strings.TrimSuffix(number, "}"))
	if !ok || err != nil {
		return args, false
	}
	if n < 1 || n > len(r.pages) {
		return "", true
	}
	return r.pages[n-1], true
}

// best are the places that were found, the best first. A page that has no word of the topic
// is none, whatever the engine says.
func (r *research) best() []lookup.Hit {
	ranked := slices.DeleteFunc(lookup.Rank(r.topic, r.hits), func(h lookup.Hit) bool { return h.Source == lookup.Web && h.Weight == 0 })
	return ranked[:min(len(ranked), maxFindings)]
}

// report fills the gathered findings into a report's text; without a placeholder they are
// appended.
func (r *research) report(text string) string {
	if !strings.Contains(text, plan.FieldFindings) {
		text = strings.TrimRight(text, "\n") + "\n\n## What was gathered, each with its source\n\n" + plan.FieldFindings + "\n"
	}
	var findings, phases strings.Builder
	best := r.best()
	for _, h := range best {
		body := diag.Clean(diag.Cut(strings.Join(strings.Fields(h.Text), " "), maxFinding))
		fmt.Fprintf(&findings, "- %s [%s: %s]\n", body, h.Source, diag.Clean(h.Place))
	}
	if len(best) == 0 {
		findings.WriteString("No findings: nothing that was looked at says anything about it.\n")
	}
	for _, s := range r.silent {
		fmt.Fprintf(&findings, "- Not looked at: %s\n", s)
	}
	for _, p := range r.phases {
		if len(p.did) == 0 {
			continue
		}
		fmt.Fprintf(&phases, "- %s: %s\n", diag.Clean(p.name), diag.Count(p.hits, "place"))
		for _, did := range p.did {
			fmt.Fprintf(&phases, "  - %s\n", did)
		}
	}
	r.written, r.findings = true, len(best)
	return strings.NewReplacer(plan.FieldFindings, strings.TrimRight(findings.String(), "\n"), plan.FieldPhases, strings.TrimRight(phases.String(), "\n"),
		plan.FieldUnknown, r.unknown(best)).Replace(text)
}

// unknown are the topic's words that were not found anywhere.
func (r *research) unknown(best []lookup.Hit) string {
	var all strings.Builder
	for _, h := range best {
		all.WriteString(strings.ToLower(h.Text+" "+h.Place) + "\n")
	}
	var missing []string
	for _, w := range knowledge.Words(r.topic) {
		if !strings.Contains(all.String(), knowledge.Stem(w)) {
			missing = append(missing, w)
		}
	}
	if len(missing) == 0 {
		return "Whether what was found answers the question: each word of it was found somewhere."
	}
	return "No finding has these words: " + diag.Clean(strings.Join(missing, ", ")) + "."
}

// closes refuses the end of research without findings (PLAN-8).
func (r *research) closes() error {
	switch {
	case !r.written:
		return errors.New("research ends without a report in research/")
	case r.findings == 0:
		return diag.Hint(fmt.Errorf("the research into %q has no findings: the report says so, and is all that came of it", diag.Clean(diag.Cut(r.topic, 100))),
			"word the topic as the repository would, or set [search] url")
	}
	return nil
}

// gathers reports whether a step only reads: a phase's reading steps share one commit.
func (r *research) gathers(p point) bool {
	_, find := p.Find()
	return find || p.Action() == plan.ReadOp || p.Tool == plan.ForEachFile
}

// gather performs a reading step, and keeps its result.
func (u *run) gather(ctx context.Context, p point, args string) (message string, err error) {
	output := ""
	var hits []lookup.Hit
	switch f, find := p.Find(); {
	case find:
		output, hits, err = u.find(ctx, f)
	case p.Tool == plan.ForEachFile:
		files, err := u.cursor.files(args)
		return fmt.Sprintf("%d files", len(files)), err
	case p.Tool == plan.ReadFile:
		output, err = u.readFile(args)
	case p.Tool == plan.ListFiles:
		output, err = u.listFiles(args)
	case p.Tool == plan.Grep:
		output, err = u.grep(ctx, p)
	case p.Tool == plan.GoogleSearch:
		output, err = u.ask(ctx, args)
	default:
		args, output, err = u.view(ctx, args)
	}
	switch {
	case err != nil && ctx.Err() == nil && (p.Tool == plan.GoogleSearch || p.Tool == plan.ViewTextWebsite):
		message, err = u.research.failed(p, args, err), nil
	case err == nil:
		u.research.gathered(p, args, output, hits)
		message = fmt.Sprintf("%d bytes, %s", len(output), diag.Count(u.research.came, "place"))
	}
	if u.deps.Output != nil && (output != "" || err != nil) {
		u.deps.Output(u.name(p.n), diag.Cut(output, maxOutput))
	}
	return u.plainText(message), err
}

// ask asks the search engine, but not again once it has failed.
func (u *run) ask(ctx context.Context, words string) (output string, err error) {
	if u.research.engine != nil {
		return "", fmt.Errorf("not asked, for the engine failed before: %w", u.research.engine)
	}
	output, err = web.Search(ctx, u.deps.Search, words)
	u.research.engine = err
	return output, err
}

// commitPhase commits the steps of a phase that have no commit yet, as one.
func (u *run) commitPhase(ctx context.Context) error {
	if len(u.pending) == 0 {
		return nil
	}
	text, at := strings.Join(u.pending, "\n"), u.last
	if n := len(u.research.phases); n > 0 {
		text = u.research.phases[n-1].name + "\n\n" + text
	}
	u.pending = nil
	return u.commit(ctx, at, u.plainText(text))
}

// again repeats the reading of done steps, because their results are stored only in the report
// to be made.
func (u *run) again(ctx context.Context, p point) error {
	switch {
	case !p.research():
		return nil
	case u.research.gathers(p):
		u.research.begins(p)
		_, err := u.gather(ctx, p, u.place(p, plan.Fill(p.Args, p.files)))
		if ctx.Err() != nil {
			return err
		}
		return nil // a file that has gone is left out
	case p.Action() == plan.WriteOp:
		u.research.report(p.Block)
	default:
		u.research.begins(p)
	}
	return nil
}

// find performs a step that is `git ward knowledge find`.
func (u *run) find(ctx context.Context, f plan.Find) (output string, hits []lookup.Hit, err error) {
	if u.research.finder == nil {
		if u.research.finder, err = orient.Finder(ctx, orient.Options{Tree: u.deps.Tree, Bare: u.deps.Bare, Task: u.deps.Task}); err != nil {
			return "", nil, err
		}
	}
	r, err := Find(ctx, u.research.finder, f)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	r.WriteText(func(format string, args ...any) { fmt.Fprintf(&b, format, args...) })
	return b.String(), r.Hits, nil
}

// Find is what `git ward knowledge find` finds.
func Find(ctx context.Context, finder *lookup.Finder, f plan.Find) (lookup.Result, error) {
	sources, err := lookup.ParseSources(f.In)
	if err != nil {
		return lookup.Result{}, err
	}
	if f.Deep {
		return finder.Deep(ctx, f.Text)
	}
	list, err := finder.In(ctx, sources, f.Text)
	if err != nil {
		return lookup.Result{}, err
	}
	return list[0], nil
}

// view reads a page that the plan names or its searches found.
func (u *run) view(ctx context.Context, args string) (page, output string, err error) {
	page, field := u.research.page(args)
	if field && page == "" {
		return args, "", nil // the searches found fewer
	}
	output, err = web.View(ctx, u.deps.Search, page)
	return page, output, err
}
