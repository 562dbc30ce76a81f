package terminal

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/view"
	"git-ward/internal/diag"
	"git-ward/internal/live"
	"git-ward/internal/runstate"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

var update = flag.Bool("update", false, "write the screens anew")

// at is a time of the tests' day.
func at(clock string) time.Time {
	when, err := time.ParseInLocation("2006-01-02 15:04:05", "2026-11-21 "+clock, time.Local)
	if err != nil {
		panic(err)
	}
	return when
}

func y(v float64) *float64 { return &v }

// busy is a repository in which much goes on, with text that somebody made to trouble a
// terminal.
func busy() Scene {
	tokens, money := int64(1234567), "0.42"
	line := func(name, title string, state review.State, words string) view.Line {
		l := view.Line{Words: words}
		l.Directive, l.Title, l.State, l.Unit = name, diag.Untrusted(title), state, name+".1"
		return l
	}
	work := line("D-3", "part politely", review.Working, "at work: iteration 2 of 3")
	work.Spent = view.Spent{Tokens: &tokens, Money: &money, Iterations: 2, Allowed: 3, Prices: "2026-11-01"}
	work.Residuals = []view.Point{{Y: y(5)}, {Y: y(3)}, {}, {Y: y(1)}}
	said := live.Event{Time: at("09:31:02"), Unit: "D-3.1", Kind: live.Called, Tool: "bash", Text: "go test ./..."}
	work.Live = &said
	work.Sign = &runstate.Sign{Beat: at("09:31:08"), Work: at("09:31:02")}
	return Scene{
		Dir: "/srv/git/project.git",
		Now: at("09:31:10"),
		Over: &view.Overview{
			Repository: "project.git",
			Host:       &view.Host{Running: true, MayAsk: true, PID: 4711, Verdicts: []runstate.Judging{{Unit: "D-3.1", Words: "criterion 2 of 5: go test ./... runs, 12 s"}}},
			Waiting: []view.Waiting{
				{Directive: "D-1", Unit: "D-1.1", Title: "greet the user \u202egnp.exe \x1b[2J", What: "the work is proved; look at it, and take it or drop it", Command: "git ward review D-1", Kind: "ready", For: uow.ForYou},
				{Directive: "D-2", Unit: "D-2.1", Words: "May I spend 20 iterations?", Title: "\u5411\u7528\u6237\u95ee\u597d\uff0c\u7136\u540e\u793c\u8c8c\u5730\u9053\u522b", What: "the unit waits for your approval: it wants to spend more than it may", Command: "git ward uow approve D-2.1 --reason RISK_ACCEPTED", Kind: "approval", For: uow.ForYou},
			},
			Directives: []view.Line{line("D-1", "greet", review.Ready, "proved"), line("D-2", "hello", review.Waiting, "waits"), work,
				line("D-4", "count words \U0001f680 quickly", review.Open, "not begun"), line("D-5", "\u0633\u0644\u0651\u0645 \u0639\u0644\u0649 \u0627\u0644\u0645\u0633\u062a\u062e\u062f\u0645", review.Taken, "taken")},
			Warnings: []string{"the host's disk is nearly full"},
		},
	}
}

// open is the same with the directive at work open.
func open() Scene {
	s := busy()
	s.Name = "D-3"
	s.One = &view.Directive{Line: s.Over.Directives[2], Text: "### D-3: part politely\n\nAdd part.sh.\n", Units: []view.Unit{{ID: "D-3.1", Words: "at work",
		Steps:       []view.Step{{Time: at("09:00:00"), Words: "the agent begins"}, {Time: at("09:30:57"), Words: "the PM clarifies", Note: "use the\x1b[31m second parser"}},
		Transcripts: []view.TranscriptRef{{Unit: "D-3.1", Iteration: 0}}}}}
	event := func(clock, kind, tool, text string) live.Event {
		return live.Event{Time: at(clock), Unit: "D-3.1", Kind: live.Kind(kind), Tool: tool, Text: text}
	}
	s.Live = []live.Event{
		event("09:30:58", "told", "", "Go on with D-3: part politely."),
		event("09:31:00", "said", "", "I read the script first,\nthen I mend it.\x1b]0;owned\x07"),
		event("09:31:01", "called", "read_file", "part.sh"),
		event("09:31:01", "answered", "read_file", "echo \"Good-bye, $1.\""),
		event("09:31:02", "called", "bash", "go test ./... -run 'TestPart|TestGreet' -count=1 -timeout 10m -v"),
		event("09:31:09", "failed", "bash", "exit 1: --- FAIL: TestPart (0.01s)"),
		{Time: at("09:31:10"), Unit: "D-3.1", Kind: live.Tokens, Input: 12345, Output: 678},
	}
	return s
}

var scenes = map[string]struct {
	scene Scene
	state state
}{
	"overview":  {busy(), state{chosen: "D-2"}},
	"directive": {open(), state{}},
	"facts":     {open(), state{facts: true}},
	"help":      {busy(), state{help: true}},
}

// TestScreens compares each screen, at each width, with the picture of it in testdata.
func TestScreens(t *testing.T) {
	for name, of := range scenes {
		for _, size := range [][2]int{{10, 12}, {40, 20}, {80, 24}, {200, 24}} {
			for kind, g := range map[string]glyphs{"": drawn, "-ascii": letters} {
				if kind != "" && size[0] != 80 {
					continue
				}
				title := fmt.Sprintf("%s-%d%s", name, size[0], kind)
				t.Run(title, func(t *testing.T) {
					var b strings.Builder
					for _, r := range screen(of.scene, of.state, size[0], size[1], g) {
						b.WriteString(strings.TrimRight(r.String(), " ") + "|\n")
					}
					path := filepath.Join("testdata", title+".txt")
					if *update {
						if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
							t.Fatal(err)
						}
						return
					}
					want, err := os.ReadFile(path)
					if err != nil || string(want) != b.String() {
						t.Errorf("%v: got\n%s\nwant\n%s", err, b.String(), want)
					}
				})
			}
		}
	}
}

// String is the row's text.
func (r row) String() string {
	var b strings.Builder
	for _, p := range r {
		b.WriteString(p.text)
	}
	return b.String()
}

// TestOutageWaitsForNobody: an outage stands apart from what waits for the reader.
func TestOutageWaitsForNobody(t *testing.T) {
	s := Scene{Over: &view.Overview{Waiting: []view.Waiting{{Kind: view.Outage, For: uow.ForCause, Key: "a", Directive: "D-1", What: "it is out", Command: "git ward uow retry D-1.1"}}}}
	var b strings.Builder
	for _, r := range screen(s, state{}, 80, 24, drawn) {
		b.WriteString(r.String() + "\n")
	}
	(&printer{}).standings(s, func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) })
	if text := b.String(); strings.Contains(strings.ToLower(text), "waits for you") || !strings.Contains(text, "Waits for the cause") || !strings.Contains(text, "D-1 waits for the cause: it is out: git ward uow retry D-1.1") {
		t.Error(text)
	}
}

// TestNotBegun: of a directive that nobody works on, a line says "not begun" once.
func TestNotBegun(t *testing.T) {
	d := view.Line{Words: "not begun"}
	d.Directive, d.Title, d.State = "D-1", "greet", review.Open
	s := Scene{Over: &view.Overview{Directives: []view.Line{d}}}
	var said []string
	(&printer{}).standings(s, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	if len(said) != 1 || said[0] != "D-1 greet: not begun" {
		t.Errorf("%q", said)
	}
}
