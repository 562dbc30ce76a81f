package client

import (
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// made asks for a label twice: it is made once.
func made(t *testing.T, f Forge) {
	t.Helper()
	for _, want := range []bool{true, false} {
		if got, err := f.Label(t.Context(), "ward"); err != nil || got != want {
			t.Errorf("made: %v %v, want %v", got, err, want)
		}
	}
}

// TestGiteaLabel: a label is made where none has its name.
func TestGiteaLabel(t *testing.T) {
	tier.Full(t, "needs a Gitea")
	b := newBox(t)
	if _, err := b.f.Label(t.Context(), "ward"); !strings.HasPrefix(kindOf(err), "denied: to make labels") {
		t.Errorf("of one who may only read: %v", err)
	}
	b.ann.Give("box", b.ward, "write")
	made(t, b.f)
	var all []struct{ Name, Color string }
	b.ann.Do("GET", b.at+"/labels", nil, &all)
	if len(all) != 1 || all[0].Name != "ward" || all[0].Color != "00aabb" {
		t.Errorf("%+v", all)
	}
}

// TestGitHubLabel: the call is as GitHub's description has it.
func TestGitHubLabel(t *testing.T) {
	_, p, as := hubBox(t)
	p.Give("ward", "write")
	made(t, as("ward"))
}

// TestGitLabLabel: the call is the one that GitLab's manual has.
func TestGitLabLabel(t *testing.T) {
	f, asked := lab(t, map[string]string{
		"GET /labels?per_page=100": `[{"id":1,"name":"bug"}]`,
		`POST /labels {"color":"#00aabb","description":"proposed to Ward as a directive","name":"ward"}`: `{"id":2,"name":"ward"}`,
	})
	if made, err := f.Label(t.Context(), "ward"); err != nil || !made {
		t.Errorf("%v %v\n%s", made, err, asked())
	}
	if made, err := f.Label(t.Context(), "Bug"); err != nil || made {
		t.Errorf("one that is there: %v %v\n%s", made, err, asked())
	}
}
