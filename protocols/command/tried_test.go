package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/branches"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/protocols/comms"
)

// TestJudgeTried: each way in which a criterion says nothing is named for what it is, and one
// that fails as long as nobody did the work is none.
func TestJudgeTried(t *testing.T) {
	doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n### D-1: the total\n\n- [ ] it is right (`sh right.sh`)\n- [ ] it is right again (`sh right.sh`)\n- [ ] it is linted (`nonesuch --all`)\n- [ ] tests pass (`sh tests.sh`)\n" +
		"- [ ] all pass (`sh tests.sh; true`)\n- [ ] it is there (`true`)\n- [ ] it reads well\n\n## Reports\n"))
	d := doc.Directive("D-1")
	read := func(text string) *tried {
		var f tried
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		return &f
	}
	all := read(`{"replays":[[{"line":"sh right.sh","end":"exit","exit":1},{"line":"nonesuch --all","end":"exit","exit":127},{"line":"sh tests.sh","end":"exit"},{"line":"sh tests.sh; true","end":"exit"},{"line":"true","end":"exit"}]],
		"missing":{"line":"nonesuch --all","tool":"nonesuch"}}`)
	again := read(`{"replays":[[{"line":"sh tests.sh","end":"exit"},{"line":"sh tests.sh; true","end":"exit"},{"line":"true","end":"exit"}]],"controls":[{"says":"fails"},{"says":"cannot_fail"},{"says":"not_applicable"}]}`)
	found, notMet := judgeTried(d, "main", all, again)
	var got []string
	for _, f := range append(lackingCommand(d), found...) {
		got = append(got, f.Rule+": "+f.Message)
		if !strings.Contains(f.Hint, "git ward directive edit D-1") || f.Severity != "warning" {
			t.Errorf("%+v", f)
		}
		if strings.Contains(f.Hint, "until the work is done") && !strings.Contains(f.Hint, "another one fails") { // one does
			t.Errorf("%+v", f)
		}
	}
	want := []string{
		"criteria/no-command: no command decides: it reads well",
		"criteria/unknown-program: unknown program nonesuch: it is linted (`nonesuch --all`)",
		"criteria/holds-already: it holds already on main: tests pass (`sh tests.sh`)",
		"criteria/cannot-fail: it cannot fail, for it holds with the tests broken that it runs: all pass (`sh tests.sh; true`)",
		"criteria/holds-already: it holds already on main, and no test decides it: it is there (`true`)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || !slices.Equal(notMet, []string{"sh right.sh"}) {
		t.Errorf("%q are not met:\n%s", notMet, strings.Join(got, "\n"))
	}
}

// TestJudgeTriedBroken: a test decides a criterion where the directive says how the tests break, which
// a try of lines alone does not know.
func TestJudgeTriedBroken(t *testing.T) {
	for option, want := range map[string]bool{"": true, "- breaks: `sh break.sh`\n": false} {
		doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n### D-1: the total\n" + option + "\n- [ ] it is there (`true`)\n\n## Reports\n"))
		var all tried
		if err := json.Unmarshal([]byte(`{"replays":[[{"line":"true","end":"exit"}]],"controls":[{"says":"not_applicable"}]}`), &all); err != nil {
			t.Fatal(err)
		}
		found, _ := judgeTried(doc.Directive("D-1"), "main", &all, &all)
		if len(found) != 1 || found[0].Rule != ruleHolds || strings.Contains(found[0].Message, "no test decides it") != want || strings.Contains(found[0].Hint, "another one fails") {
			t.Errorf("%q: %+v", option, found)
		}
	}
}

// TestTriedForSoLong: a try that does not end is ended, and one line says so and what goes on.
func TestTriedForSoLong(t *testing.T) {
	programs, bare := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{filepath.Join(programs, "git-ward-launch"): "#!/bin/sh\nexec sleep 20\n", filepath.Join(bare, config.Path): ""} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		gittest.Program(t, name, text)
	}
	t.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n### D-1: the total\n\n- [ ] it is there (`true`)\n\n## Reports\n"))
	var out, words bytes.Buffer
	u := &units{ctx: t.Context(), env: &cli.Env{Stdout: &out, Stderr: &words}, repo: git.Open(bare), remote: bare, names: branches.Names{Control: config.Default().Control}}
	if tried := u.tryCriteria(doc.Directive("D-1"), 100*time.Millisecond); tried.notMet != nil || tried.found != nil {
		t.Errorf("%+v", tried)
	} else {
		tried.print(u)
	}
	if want := "the criteria were not tried to the end on main: it takes longer than 100ms; `git ward verify --bare " + diag.Word(bare) + " main D-1` tries them\n"; words.String() != want || out.Len() > 0 {
		t.Errorf("%s%s", &out, &words)
	}
}
