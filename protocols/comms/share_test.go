package comms

import (
	"fmt"
	"strings"
	"testing"
)

// listing is a document with directives D-1 to D-n.
func listing(n int) []byte {
	text := "# COMMS\n\n## Directives\n"
	for i := range n {
		text += fmt.Sprintf("\n### D-%d: x\n- [ ] y\n", i+1)
	}
	return []byte(text + "\n## Reports\n")
}

// TestShares: of n directives that all say as much as they can, each has its words in the
// document, the longest last ones included; and the gate holds an agent of its own to it.
func TestShares(t *testing.T) {
	long := strings.Repeat("word ", 4000)
	for _, n := range []int{1, 2, 13, 60} {
		data := listing(n)
		for round := range 3 {
			for i := 1; i <= n; i++ {
				directive := fmt.Sprintf("D-%d", i)
				for _, change := range []Change{
					NewReport{Time: noon, Directive: directive, Status: ExitBlocked, Text: fmt.Sprint(round, " ", long)},
					NewQuestion{Time: noon, Directive: directive, Text: fmt.Sprint(round, " ", long)},
				} {
					a, err := Amend(data, change, Share(""))
					out, removed := a.Data, a.Removed
					if err != nil {
						t.Fatalf("%d of %d, round %d: %v", i, n, round, err)
					}
					ranges, err := ParsePrune("s\n\n" + PruneTrailers(removed))
					if ds := append(CheckAgentChange(data, out, ranges), CheckShares(data, out, "")...); err != nil || len(ds) > 0 {
						t.Fatalf("%d of %d, round %d: %v %v", i, n, round, ds, err)
					}
					data = out
				}
			}
		}
		doc := parseClean(t, string(data))
		if len(doc.Questions) != n || doc.answers() > MaxAnswers {
			t.Errorf("%d questions of %d directives, %d bytes", len(doc.Questions), n, doc.answers())
		}
		for i := 1; i <= n; i++ {
			if !strings.Contains(string(data), fmt.Sprintf(" D-%d EXIT_BLOCKED", i)) {
				t.Errorf("D-%d of %d says nothing", i, n)
			}
		}
	}
	data := listing(13)
	for i := range 4 {
		data = fmt.Appendf(data, "\n### R-%d 2026-11-21T12:00:00Z D-1 INFO\n%s\n", i+1, long[:6000])
	}
	if ds := CheckShares(listing(13), data, ""); len(ds) != 1 || !strings.Contains(ds[0].Message, "its share is 13107") {
		t.Errorf("more than a share: %v", ds)
	}
	for name, text := range map[string]string{
		"two":   "\n### Q-1 2026-11-21T12:00:00Z D-1\na\n\n### Q-2 2026-11-21T12:00:00Z D-1\nb\n",
		"large": "\n### Q-1 2026-11-21T12:00:00Z D-1\n" + long[:3000] + "\n",
	} {
		if ds := CheckShares(listing(1), []byte(string(listing(1))+"\n## Questions\n"+text), ""); len(ds) != 1 {
			t.Errorf("%s questions: %v", name, ds)
		}
	}
}

// TestShareRemedies: what the gate advises is what its leases let a worker do: it takes out reports
// on its own directive only.
func TestShareRemedies(t *testing.T) {
	long := strings.Repeat("word ", 3000)
	full := func(directive string) []byte {
		data := listing(12)
		for i := range 4 {
			data = fmt.Appendf(data, "\n### R-%d 2026-11-21T12:00:00Z %s INFO\n%s\n", i+1, directive, long[:6000])
		}
		return data
	}
	for _, c := range []struct{ directive, own, want string }{
		{"-", "", "take its oldest reports out, with a trailer such as Comms-Prune: R-1; "},
		{"D-1", "D-1", "take its oldest reports out, with a trailer such as Comms-Prune: R-1; "},
		{"-", "D-1", "leave it out, or say it in a report on D-1: a worker takes out reports on its own directive only, and the PM those on -; "},
		{"-", "D-99", "leave it out: a worker takes out reports on its own directive only, "},
		{"D-98", "D-99", "leave it out: a worker takes out reports on its own directive only, and the PM those on directives that are gone; "},
		{"D-99", "D-99", "take its oldest reports out, with a trailer such as Comms-Prune: R-1; "},
	} {
		if ds := CheckShares(listing(12), full(c.directive), c.own); len(ds) != 1 || !strings.HasPrefix(ds[0].Hint, c.want) {
			t.Errorf("reports on %s, of a worker with %q: %+v", c.directive, c.own, ds)
		}
	}
}

// TestGone: what is said on directives that are gone puts out what else is said on them, and
// nothing that the watcher says of the agent's program.
func TestGone(t *testing.T) {
	data := listing(3)
	add := func(n NewReport, how Room) {
		t.Helper()
		a, err := Amend(data, n, how)
		if err != nil {
			t.Fatal(err)
		}
		data = a.Data
	}
	long := strings.Repeat("word ", 3000)
	watcher := NewReport{Time: noon, Directive: "-", Status: Guard, Text: long}
	add(watcher, Answers(MaxWatched))
	add(watcher, Answers(MaxWatched))
	for i := range 40 {
		add(NewReport{Time: noon, Directive: fmt.Sprintf("D-%d", 7+i%2), Status: Info, Text: long}, Share(""))
	}
	said := map[string]int{}
	for _, r := range parseClean(t, string(data)).Reports {
		said[r.Directive]++
	}
	if said["-"] != 2 || said["D-7"] == 0 || said["D-8"] == 0 || said["D-7"]+said["D-8"] == 40 {
		t.Errorf("%v", said)
	}
}
