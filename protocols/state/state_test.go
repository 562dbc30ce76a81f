package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/object"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// repository is one in memory, with what tests put into it.
type repository struct {
	*object.Store
	t *testing.T
}

func newRepository(t *testing.T) repository { return repository{object.Memory(), t} }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// commit puts a commit of files on top of a ref and returns its id.
func (r repository) commit(ref string, files map[string]string) string {
	r.t.Helper()
	contents := map[string][]byte{}
	for path, text := range files {
		contents[path] = []byte(text)
	}
	c := object.Commit{Who: object.Signature("T", "t@t", noon), Message: "test\n"}
	base := ""
	tip, err := r.Tip(ref)
	if err == nil && tip != "" {
		c.Parents = []string{tip}
		base, _, err = r.Tree(tip)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	id, err := r.WriteCommit(base, contents, c)
	if err == nil {
		err = r.SetRef(ref, id)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// unit appends the records of events to a unit's journal, as their actors would.
func (r repository) unit(name string, events ...uow.Input) (commits []string, last *uow.Record) {
	r.t.Helper()
	id, err := uow.ParseID(name)
	if err != nil {
		r.t.Fatal(err)
	}
	if last, err = Last(r, id); err != nil {
		r.t.Fatal(err)
	}
	for _, in := range events {
		in.Time = noon
		main := &uow.Main{DirectiveHash: hash('d'), Total: uow.Totals(5), Policy: uow.DefaultPolicy()}
		next, found := uow.Advance(id, last, in, uow.World{Main: main, Verdict: func(string) bool { return true }})
		if len(found) > 0 {
			r.t.Fatal(in.Event, found)
		}
		data, err := next.Marshal()
		if err != nil {
			r.t.Fatal(err)
		}
		commits = append(commits, r.commit(id.Ref(), map[string]string{uow.File: string(data)}))
		last = next
	}
	return commits, last
}

func hash(c rune) string { return strings.Repeat(string(c), 64) }

var (
	first   = strings.Repeat("1", 40) // claimed commits
	second  = strings.Repeat("2", 40)
	open    = uow.Input{Event: uow.Open, Actor: uow.Agent, Reason: "DIRECTIVE_OPEN"}
	start   = uow.Input{Event: uow.Activate, Actor: uow.Agent, Reason: "WORK_STARTED"}
	iterate = uow.Input{Event: uow.Iterate, Actor: uow.Agent, Reason: "ITERATION_STARTED", Interactions: 1}
)

func claim(commit string) uow.Input {
	return uow.Input{Event: uow.MakeClaim, Actor: uow.Agent, Reason: "WORK_CLAIMED", Commit: commit, Record: strings.Repeat("e", 40), Interactions: 1}
}

// verdict is a line of a note.
func (r repository) verdict(v loop.Verdict) string {
	r.t.Helper()
	line, err := v.Line()
	if err != nil {
		r.t.Fatal(err)
	}
	return string(line) + "\n"
}

func (r repository) note(commit, text string) {
	r.commit(loop.VerdictsRef, map[string]string{commit[:2] + "/" + commit[2:]: text})
}

func TestUnitsInOrder(t *testing.T) {
	r := newRepository(t)
	for _, name := range []string{"D-10.1", "D-2.10", "D-2.2", "D-2.1", "D-02.1", "notes"} {
		r.commit(uow.RefPrefix+name, nil)
	}
	units, strangers, err := Units(r)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, u := range units {
		names = append(names, u.ID.String())
		if tip, err := r.Tip(u.ID.Ref()); tip != u.Tip || err != nil {
			t.Error(u, tip, err)
		}
	}
	if got := fmt.Sprint(names, strangers); got != "[D-2.1 D-2.2 D-2.10 D-10.1] [refs/ward/uow/D-02.1 refs/ward/uow/notes]" {
		t.Error(got)
	}
}

// listed counts how often refs are listed.
type listed struct {
	Reader
	lists int
}

func (l *listed) Refs(prefix string) (map[string]string, error) {
	l.lists++
	return l.Reader.Refs(prefix)
}

// TestNewest: the newest unit of a directive is found by its number without a list, as long as the
// one that was it before is there.
func TestNewest(t *testing.T) {
	r := newRepository(t)
	for _, name := range []string{"D-1.2", "D-1.9", "D-1.10", "D-1.11", "D-11.1", "D-11.12"} {
		r.commit(uow.RefPrefix+name, nil)
	}
	for _, c := range []struct {
		directive string
		before    int
		want      string
		lists     int
	}{
		{"D-1", 0, "D-1.11", 1}, {"D-1", 10, "D-1.11", 0}, {"D-1", 11, "D-1.11", 0},
		{"D-1", 12, "D-1.11", 1}, // gone
		{"D-11", 0, "D-11.12", 1}, {"D-2", 0, "", 1}, {"D-2", 3, "", 1},
	} {
		l := &listed{Reader: r}
		u, err := Newest(l, c.directive, c.before)
		got := ""
		if u != nil {
			got = u.ID.String()
			if tip, _ := r.Tip(u.ID.Ref()); tip != u.Tip {
				t.Error(u, tip)
			}
		}
		if got != c.want || err != nil || l.lists != c.lists {
			t.Errorf("%+v: %q, listed %d times, %v", c, got, l.lists, err)
		}
	}
}

func TestJournal(t *testing.T) {
	r := newRepository(t)
	commits, last := r.unit("D-1.1", open, start, iterate, claim(first), iterate, claim(second), claim(second))
	j, err := ReadJournal(r, Unit{uow.ID{Directive: "D-1", K: 1}, commits[len(commits)-1]})
	if err != nil || j.Err() != nil || fmt.Sprint(j.Commits) != fmt.Sprint(commits) || len(j.Records) != len(commits) {
		t.Fatal(err, j)
	}
	if got, err := Last(r, j.ID); err != nil || got.Hash != last.Hash {
		t.Error(got, err)
	}
	if got, err := Last(r, uow.ID{Directive: "D-1", K: 2}); err != nil || got != nil {
		t.Error("a unit that is not there:", got, err)
	}
	for limit, want := range map[int]string{1: "[" + second + "]", 9: "[" + first + " " + second + "]"} {
		if got, err := Claims(r, j.Tip, limit); err != nil || fmt.Sprint(got) != want {
			t.Error(limit, got, err)
		}
	}
}

// A broken record ends a proof, stops whoever needs it, and hides no other.
func TestBrokenRecords(t *testing.T) {
	for name, content := range map[string]map[string]string{
		"no record":  {"uow.json": "{}"},
		"too large":  {"uow.json": strings.Repeat(" ", uow.MaxRecord+1)},
		"a stranger": {"uow.json": "not JSON"},
	} {
		r := newRepository(t)
		id := uow.ID{Directive: "D-1", K: 1}
		r.unit("D-1.1", open, start, iterate, claim(first))
		broken := r.commit(id.Ref(), content)
		var e *BrokenRecord
		if _, err := Last(r, id); !errors.As(err, &e) || e.Commit != broken {
			t.Errorf("%s: Last: %v", name, err)
		}
		j, err := ReadJournal(r, Unit{id, broken})
		if err != nil || len(j.Records) != 4 || len(j.Commits) != 5 || len(j.Findings) == 0 || !strings.Contains(j.Err().Error(), "record 5") {
			t.Errorf("%s: ReadJournal: %v %+v", name, err, j)
		}
		if claims, err := Claims(r, broken, 9); err != nil || len(claims) != 1 {
			t.Errorf("%s: Claims: %v %v", name, claims, err)
		}
		if ok, err := Converged(r, "D-1", ""); ok || err != nil {
			t.Errorf("%s: Converged: %v %v", name, ok, err)
		}
	}
}

func TestVerdicts(t *testing.T) {
	const other = "D-1.2"
	id := uow.ID{Directive: "D-1", K: 1}
	exact := loop.Verdict{Unit: id.String(), Commit: first, DirectiveHash: hash('d'), Claim: hash('c'), Verdict: loop.Exact, Agree: true, Time: "one"}
	none, copied, foreign := exact, exact, exact
	none.Verdict, none.Time = loop.None, "two"
	copied.Commit = second
	foreign.Unit = other
	for _, test := range []struct {
		name   string
		lines  []loop.Verdict
		broken string // what stands behind them
		shown  string // times of the unit's verdicts
		proved bool
	}{
		{name: "nothing", shown: "[]"},
		{name: "met", lines: []loop.Verdict{exact}, shown: "[one]", proved: true},
		{name: "taken back", lines: []loop.Verdict{exact, none}, shown: "[one two]"},
		{name: "met at last", lines: []loop.Verdict{none, exact}, shown: "[two one]", proved: true},
		{name: "copied from another commit", lines: []loop.Verdict{copied}, shown: "[]"},
		{name: "another unit's", lines: []loop.Verdict{foreign}, shown: "[]"},
		{name: "a broken line", lines: []loop.Verdict{exact}, broken: "EXACT!\n", shown: "[one]", proved: true},
		{name: "a note beyond its bound", lines: []loop.Verdict{exact}, broken: strings.Repeat("\n", MaxNote), shown: "[]"},
	} {
		r := newRepository(t)
		r.unit("D-1.1", open, start, iterate, claim(first))
		text := ""
		for _, v := range test.lines {
			text += r.verdict(v)
		}
		r.note(first, text+test.broken)
		list, err := VerdictsOf(r, id, []string{first, second})
		times := []string{}
		for _, v := range list {
			times = append(times, v.Time)
		}
		if fmt.Sprint(times) != test.shown || err != nil {
			t.Errorf("%s: %v %v", test.name, times, err)
		}
		if ok, err := Converged(r, "D-1", hash('d')); ok != test.proved || err != nil {
			t.Errorf("%s: converged %v %v", test.name, ok, err)
		}
		if ok, err := Converged(r, "D-1", hash('e')); ok || err != nil {
			t.Errorf("%s: converged for another text: %v", test.name, err)
		}
		counts := len(test.lines) > 0 && len(test.broken) < MaxNote
		if v, err := Answer(r, first, hash('c')); (v != nil) != counts || err != nil {
			t.Errorf("%s: answer %v %v", test.name, v, err)
		}
		for n, err := range AllVerdicts(r) {
			if err != nil || n.Object != first || (n.Broken != nil) != (test.broken != "") {
				t.Errorf("%s: %+v %v", test.name, n, err)
			}
		}
	}
}

func TestDocuments(t *testing.T) {
	const directive = "# COMMS\n\n## Directives\n\n### D-1: one\nIt works.\n- [ ] it does `true`\n\n## Reports\n\n## Questions\n"
	r := newRepository(t)
	const main = "refs/heads/main"
	empty := r.commit(main, map[string]string{"a": "b"})
	if doc, err := ReadComms(r, empty); err != nil || doc.Data != nil || len(doc.Directives) != 0 {
		t.Error(doc, err)
	}
	if m, err := ReadMain(r, empty, nil, loop.Base{}); err != nil || m.DirectiveHash != "" || m.Policy.MaxRetries != uow.DefaultPolicy().MaxRetries {
		t.Error(m, err)
	}
	r.commit(main, map[string]string{comms.Path: directive})
	doc, err := ReadComms(r, main)
	if err != nil || string(doc.Data) != directive || doc.Directive("D-1") == nil {
		t.Fatal(doc, err)
	}
	m, err := ReadMain(r, main, doc.Directive("D-1"), loop.Base{Profile: "strict", MaxIterations: 7})
	if err != nil || m.DirectiveHash != doc.Directive("D-1").Hash() || m.Total.Iterations != 7 {
		t.Error(m, err)
	}
	r.commit(main, map[string]string{uow.PolicyPath: "max_retries = 1\nnobody_knows = 2\n"})
	var hinted *diag.Hinted
	if m, err := ReadMain(r, main, nil, loop.Base{}); m != nil || !errors.As(err, &hinted) || !strings.Contains(err.Error(), "nobody_knows") {
		t.Error(m, err)
	}
	r.commit(main, map[string]string{comms.Path: strings.Repeat("x", comms.MaxBytes+1), uow.PolicyPath: strings.Repeat("#", uow.MaxPolicy+1)})
	if _, err := ReadComms(r, main); !errors.Is(err, diag.ErrTooLarge) {
		t.Error(err)
	}
	if _, err := ReadMain(r, main, nil, loop.Base{}); !errors.Is(err, diag.ErrTooLarge) {
		t.Error(err)
	}
}
