package command

import (
	"encoding/json"
	"strings"
	"testing"

	"git-ward/protocols/comms"
)

// TestJudgeTried: each way in which a criterion says nothing is named for what it is, and one
// that fails as long as nobody did the work is none.
func TestJudgeTried(t *testing.T) {
	doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n### D-1: the total\n\n- [ ] it is right (`sh right.sh`)\n- [ ] it is linted (`nonesuch --all`)\n- [ ] tests pass (`sh tests.sh`)\n" +
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
	found, failing := judgeTried(d, "main", all, again)
	var got []string
	for _, f := range append(lackingCommand(d), found...) {
		got = append(got, f.Rule+": "+f.Message)
		if !strings.Contains(f.Hint, "git ward directive edit D-1") || f.Severity != "warning" {
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
	if strings.Join(got, "\n") != strings.Join(want, "\n") || failing != 1 {
		t.Errorf("%d are not met:\n%s", failing, strings.Join(got, "\n"))
	}
}
