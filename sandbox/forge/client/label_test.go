package client

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
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

// TestLabelledApart: one issue that is too large to be read hides no other.
func TestLabelledApart(t *testing.T) {
	for _, kind := range []string{"gitea", "github"} {
		t.Run(kind, func(t *testing.T) {
			f := asked(t, kind, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				issue := func(n, size int) {
					fmt.Fprintf(w, `{"number":%d,"title":"t","state":"open","user":{"id":1,"login":"ann"},"labels":[{"name":"ward"}],"updated_at":"2026-11-30T12:00:00Z","body":"`, n)
					io.WriteString(w, strings.Repeat("x", size)+`"}`)
				}
				size := map[int]int{1: 10, 2: maxAnswer, 3: maxAnswer / maxPages, 4: 10}
				q := r.URL.Query()
				alone := q.Get("limit") == "1" || q.Get("per_page") == "1"
				page, _ := strconv.Atoi(q.Get("page"))
				io.WriteString(w, "[")
				switch {
				case !strings.HasSuffix(r.URL.Path, "/issues"): // an issue's events
				case !alone:
					for n := 1; n <= 4; n++ {
						if n > 1 {
							io.WriteString(w, ",")
						}
						issue(n, size[n])
					}
				case page <= 4:
					issue(page, size[page])
				}
				io.WriteString(w, "]")
			})
			issues, err := f.Labelled(t.Context(), "ward")
			var numbers []int64
			for _, i := range issues {
				numbers = append(numbers, i.Number)
			}
			if err != nil || !slices.Equal(numbers, []int64{1, 4}) {
				t.Errorf("%v %v", numbers, err)
			}
		})
	}
}
