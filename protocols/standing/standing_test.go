package standing

import (
	"strings"
	"testing"

	"git-ward/protocols/comms"
	"git-ward/protocols/review"
	"git-ward/protocols/state"
)

// documents is a repository of nothing but COMMS.md.
type documents string

func (d documents) File(string, string, int64) ([]byte, error) { return []byte(d), nil }
func (documents) Refs(prefix string) (map[string]string, error) {
	return map[string]string{prefix + "D-2": "b"}, nil
}
func (documents) Tip(string) (string, error)                           { return "", nil }
func (documents) Parent(string) (string, error)                        { return "", nil }
func (documents) Note(string, string, int64) ([]byte, error)           { return nil, nil }
func (documents) Contains(tip, commit string) (bool, error)            { return commit == "b", nil }
func (documents) Saying(tip, commit, text string) ([][2]string, error) { return nil, nil }

const head = "# COMMS\n\n## Directives\n\n### D-1: one\nIt works.\n\n### D-2: two\nIt works, too.\n\n## Reports\n"

func hash(name string) string {
	doc, _ := comms.Parse([]byte(head + "\n## Questions\n"))
	return doc.Directive(name).Hash()
}

// What reports say counts for the text that they name, the newest of them for the eye.
func TestReports(t *testing.T) {
	for said, want := range map[string]review.State{
		"": review.Open,
		"### R-1 2026-11-21T09:00:00Z D-1 EXIT_DIVERGED\nDirective: " + hash("D-1") + "\n":             review.Unproved,
		"### R-1 2026-11-21T09:00:00Z D-1 EXIT_DIVERGED\nDirective: " + strings.Repeat("0", 64) + "\n": review.Open,
		"### R-1 2026-11-21T09:00:00Z D-1 DONE\nDirective: " + hash("D-1") + "\nDropped: not needed\n": review.Dropped,
		"### R-1 2026-11-21T09:00:00Z D-1 EXIT_NEED_INFO\nDirective: " + hash("D-1") + "\n":            review.Waiting,
	} {
		r := documents(head + "\n" + said + "\n## Questions\n")
		d, err := Open(r, Refs{"control", "project", "refs/heads/agent/"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := d.Positions(func(string, []string) (state.Ancestry, error) { return r, nil }, nil)
		if err != nil || len(list) != 2 {
			t.Fatal(list, err)
		}
		if s := review.Stand(list[0]); s.State != want {
			t.Errorf("%q: %s, want %s", said, s.State, want)
		}
		if list[1].Branch != "b" || review.Stand(list[1]).State != review.Open {
			t.Errorf("a branch of the name alone is nobody's work: %+v", list[1])
		}
		if p, err := d.Position("D-3", 0); err != nil || Known(p) {
			t.Error(p, err)
		}
	}
}

func TestDocumentsSayWhereTheyShouldBe(t *testing.T) {
	if _, err := Documents(nothing{}, "refs/heads/ward"); err == nil || !strings.Contains(err.Error(), "refs/heads/ward") {
		t.Error(err)
	}
}

type nothing struct{}

func (nothing) File(string, string, int64) ([]byte, error) { return nil, nil }
