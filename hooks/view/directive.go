package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/review"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// The limits of a directive's lists. Older entries are left out.
const (
	MaxSteps   = 500
	maxUnits   = 50
	maxReports = 200
	maxCosts   = 200 // iterations
	maxLive    = 100 // events
)

// ErrUnknown means that there is no such directive or unit.
var ErrUnknown = errors.New("there is none of that name")

// Directive returns one of Overview's directives by name; any other is ErrUnknown.
func (s *Source) Directive(ctx context.Context, name string) (*Directive, error) {
	o, err := s.Overview(ctx)
	if err != nil {
		return nil, err
	}
	var d *Directive
	err = s.read(ctx, func(r *git.Reader) (err error) {
		if d, _, err = s.begin(o, name); err != nil {
			return err
		}
		defer clear(s.notes.data)
		return s.fill(ctx, reading{r, &s.notes, map[string]string{}}, d)
	})
	return d, err
}

// begin returns a directive with the data of the overview, and its position. fill reads the units.
func (s *Source) begin(o *Overview, name string) (*Directive, review.Position, error) {
	at, ok := o.at[name]
	now, still := s.refs.at[name]
	if !ok || !still { // another goroutine has read newer refs since
		return nil, review.Position{}, fmt.Errorf("%.40q: %w", name, ErrUnknown)
	}
	p := s.refs.positions[now]
	d := &Directive{Line: o.Directives[at], Waiting: append([]Waiting{}, o.waits[name]...), Units: []Unit{}, Reports: []Report{}, Questions: []Report{}}
	d.Reviewable = d.Line.Reviewable()
	p.Taken = d.TakenBy
	d.Outcome = p.Outcome(d.Standing)
	if p.Directive != nil {
		d.Text = diag.Untrusted(p.Directive.Raw)
	}
	d.Reports, d.Questions = reports(s.refs.desk.Doc.Document, name)
	return d, p, nil
}

// Reviewable reports whether there is work to review.
func (l Line) Reviewable() bool { return l.Commit != "" || l.State == review.Dropped }

// fill reads the units, which a list does not need.
func (s *Source) fill(ctx context.Context, r reading, d *Directive) error {
	units := s.refs.desk.UnitsOf(d.Directive)
	for i, unit := range units[max(0, len(units)-maxUnits):] {
		u, err := s.unit(ctx, r, unit, d.Standing)
		if err != nil {
			return fmt.Errorf("%s: %w", unit.ID, err)
		}
		if i == min(len(units), maxUnits)-1 {
			u.Live, _ = s.tail(d.Line, maxLive) // events are only for display, so an error shows none
		}
		d.Units = append(d.Units, u)
	}
	d.counted()
	return nil
}

// counted uses the agent's own token count if the gateway's is not available, as in a clone.
func (d *Directive) counted() {
	var sum int64
	for _, u := range d.Units {
		for _, c := range slices.Backward(u.Costs) {
			if c.Y != nil {
				sum += int64(*c.Y)
				break
			}
		}
	}
	if d.Spent.Tokens == nil && sum > 0 {
		d.Spent.Tokens, d.Spent.CountedBy = &sum, review.ByAgent
	}
}

// reports returns the newest reports and questions on a directive in COMMS.md.
func reports(doc *comms.Document, name string) (said, asked []Report) {
	said, asked = []Report{}, []Report{}
	for _, r := range doc.Reports {
		if r.Directive == name {
			said = append(said, Report{r.Name(), r.Time, string(r.Status), r.Status.Words(), diag.Untrusted(r.Said())})
		}
	}
	for _, q := range doc.Questions {
		if q.Directive == name {
			asked = append(asked, Report{Name: q.Name(), Time: q.Time, Text: diag.Untrusted(q.Text)})
		}
	}
	return said[max(0, len(said)-maxReports):], asked[max(0, len(asked)-maxReports):]
}

// unit reads one unit: the shown part of its journal, its verdicts, costs and transcripts.
func (s *Source) unit(ctx context.Context, r reading, unit state.Unit, of review.Standing) (Unit, error) {
	u := Unit{ID: unit.ID.String(), Steps: []Step{}, Costs: []Point{}, Claims: []Point{}, Verdicts: []loop.Verdict{}, Transcripts: []TranscriptRef{}, Residuals: s.notes.residuals(unit.ID.String())}
	if err := s.journal(ctx, r, unit, of, &u); err != nil || len(u.Steps) == 0 {
		return u, err
	}
	var claims []string
	for _, step := range u.Steps {
		if step.Claim != "" && !slices.Contains(claims, step.Claim) {
			claims = append(claims, step.Claim)
		}
	}
	var err error
	if u.Verdicts, err = state.VerdictsOf(r, unit.ID, claims); err != nil {
		return u, err
	}
	if u.Costs, err = costs(r, s.refs.records[record.Ref(unit.ID)], unit.ID.Directive); err != nil {
		return u, err
	}
	list, err := s.transcripts(r.Reader, s.refs.records[record.Ref(unit.ID)], unit.ID)
	u.Transcripts = append(u.Transcripts, list...)
	return u, err
}

// journal reads a unit's journal. It reads and verifies a short one completely, and reads only the
// newest records of a long one.
func (s *Source) journal(ctx context.Context, r reading, unit state.Unit, of review.Standing, u *Unit) error {
	count, err := s.count(ctx, r, unit.Tip)
	if err != nil {
		return err
	}
	var records []*uow.Record
	var commits []string
	if count <= MaxSteps {
		j, err := state.ReadJournal(r, unit)
		if err != nil {
			return err
		}
		if len(j.Findings) > 0 {
			u.Broken = diag.Clean(j.Findings[0].Message)
		}
		records, commits = j.Records, j.Commits
	} else if records, commits, err = newest(r.Reader, unit.Tip); err != nil {
		if _, broken := errors.AsType[*state.BrokenRecord](err); !broken {
			return err
		}
		u.Broken = diag.Clean(err.Error())
	}
	u.LeftOut = max(0, count-len(commits))
	for i, record := range records {
		u.add(record, u.LeftOut+i+1, commits[i])
	}
	if len(records) > 0 {
		u.setState(records[len(records)-1], of)
	}
	return nil
}

// count returns the number of records of a journal. It walks a short journal itself and lets git count
// a long one.
func (s *Source) count(ctx context.Context, r reading, tip string) (int, error) {
	var files []string
	for at := tip; at != "" && len(files) <= MaxSteps; {
		if s.held && len(files)%maxAhead == 0 {
			if err := r.ahead(at); err != nil {
				return 0, err
			}
		}
		files = append(files, at+":"+uow.File)
		parent, err := r.Parent(at)
		if err != nil {
			return 0, err
		}
		at = parent
	}
	if len(files) <= MaxSteps {
		return len(files), r.Prefetch(files, uow.MaxRecord)
	}
	out, err := s.repo.Output(ctx, "rev-list", "--count", "--first-parent", "--end-of-options", tip)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// newest returns the newest MaxSteps records of a journal, oldest first, with their commits.
func newest(r *git.Reader, tip string) (records []*uow.Record, commits []string, err error) {
	for range MaxSteps {
		var record *uow.Record
		if record, err = state.Record(r, tip); err != nil {
			break
		}
		records, commits = append(records, record), append(commits, tip)
		if tip, err = r.Parent(tip); err != nil || tip == "" {
			break
		}
	}
	slices.Reverse(records)
	slices.Reverse(commits)
	return records, commits, err
}

// setState fills in the unit's state.
func (u *Unit) setState(last *uow.Record, of review.Standing) {
	u.State, u.Words, u.Updated, u.Iteration = last.State, last.Words(), parse(last.Time), last.Iteration
	u.Begun = u.Steps[0].Time
	if w := of.WaitsOf(last); w.For != uow.ForNobody {
		u.WaitsWords = w.String()
	}
}

// add adds a record as a step.
func (u *Unit) add(r *uow.Record, n int, commit string) {
	step := Step{N: n, Time: parse(r.Time), Actor: r.Actor, Event: r.Event, State: r.State, Reason: r.ReasonCode, Iteration: r.Iteration,
		Words: words(r), Note: diag.Untrusted(r.Note), Commit: commit}
	if r.Event == uow.MakeClaim && r.Claim != nil {
		step.Claim = r.Claim.Commit
		u.Claims = append(u.Claims, Point{X: int(r.Iteration), Time: step.Time, Label: "claims " + diag.Short(r.Claim.Commit)})
	}
	u.Steps = append(u.Steps, step)
}

// words describes a step in one sentence.
func words(r *uow.Record) string {
	s := r.Actor.Words() + " " + r.Event.Words()
	if r.Event == uow.Iterate || r.Event == uow.MakeClaim {
		s += fmt.Sprintf(" (iteration %d)", r.Iteration)
	}
	if why := r.ReasonCode.Words(); why != "" {
		s += ": " + why
	}
	return s
}

// costs returns a unit's cumulative tokens by iteration. It reads the agent's own count from the unit's
// record, whose tip is rev; without a count or a record there are no points.
func costs(r reading, rev, directive string) ([]Point, error) {
	list := []Point{}
	if rev == "" {
		return list, nil
	}
	last, err := newestIteration(r.Reader, rev, directive)
	if err != nil {
		return list, err
	}
	file := func(n int) string { return loop.IterationDir(directive, n) + "/" + loop.BudgetFile }
	first := max(0, last-maxCosts+1)
	var files []string
	for n := first; n <= last; n++ {
		files = append(files, rev+":"+file(n))
	}
	if err := r.Prefetch(files, loop.MaxEvidence); err != nil {
		return list, err
	}
	var sum float64
	for n := first; n <= last; n++ {
		data, err := r.File(rev, file(n), loop.MaxEvidence)
		if err != nil {
			return list, err
		}
		var log loop.BudgetLog
		point := Point{X: n + 1, Label: "not counted"}
		if data != nil && json.Unmarshal(data, &log) == nil {
			if m := iterationUse(log); m != nil {
				sum += float64(m.Input + m.Output)
				now := sum
				point.Y, point.Label = &now, diag.Count(m.Input+m.Output, "token")
			}
		}
		list = append(list, point)
	}
	return list, nil
}

// iterationUse returns the model's use in a log's newest iteration; nil if unknown.
func iterationUse(log loop.BudgetLog) *loop.ModelUsage {
	if len(log.Iterations) == 0 {
		return nil
	}
	return log.Iterations[len(log.Iterations)-1].Model
}

// newestIteration returns the newest iteration with evidence on a record, -1 for none.
func newestIteration(r *git.Reader, rev, directive string) (int, error) {
	n := -1
	entries, err := r.Entries(rev, strings.TrimSuffix(loop.Dir(directive), "/"))
	if err != nil {
		return n, err
	}
	for _, e := range entries {
		if i, ok := loop.ParseIteration(e.Name); ok && e.IsDir() {
			n = max(n, i)
		}
	}
	return n, nil
}
