package forge_test

import (
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
	"git-ward/sandbox/forge/client"
)

// eachCall kills a command before its first call is sent and after that is answered, then the
// second, and so on until it comes to its end before that many; and reports how many kills there were.
func (h *hub) eachCall(args ...string) (kills int) {
	h.t.Helper()
	for n := 1; ; n++ {
		before := kills
		for _, point := range []string{"asks", "answered"} {
			out, err := h.Try(h.Bare, []string{fmt.Sprintf("WARD_FAILPOINT=forge/%s#%d=kill", point, n)}, "", "git-ward", args...)
			switch {
			case err == nil, strings.Contains(out, "it is taken by"): // a take whose merge was made
			case strings.Contains(err.Error(), "killed") || strings.Contains(out, "killed"):
				kills++
			default:
				h.t.Fatalf("%v at %s#%d: %v: %s", args, point, n, err, out)
			}
		}
		if kills == before {
			return kills
		}
	}
}

// TestKilledAtEachCall: from the label to the take, each call of the API is where the process is
// killed, before it and after it: there is one proposal, one directive, one request, one of each
// answer, one merge, and no status on what nobody judged (FORGE-5).
func TestKilledAtEachCall(t *testing.T) {
	tier.Full(t, "GitHub's description, and git's own server")
	h := newHub(t)
	look := []string{"forge", "--once", "--bare", h.Bare}
	n := h.p.Issue("eve", "greet the user", body)
	h.p.Label(n, "ann", "ward", true)
	kills := []int{h.eachCall(look...)}
	h.p.Say(n, "ann", approveLine.FindString(h.said(n)))
	kills = append(kills, h.eachCall(look...))
	u := h.begin("D-1")
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	kills = append(kills, h.eachCall(look...))
	made, state := h.request("D-1")
	if state != "pending" {
		t.Fatal(state)
	}
	h.p.Say(made.Number, "ann", "/ward pause")
	kills = append(kills, h.eachCall(look...))
	h.p.Say(made.Number, "ann", "/ward resume")
	h.p.Review(made.Number, "ann", "CHANGES_REQUESTED", "in French", "here")
	kills = append(kills, h.eachCall(look...))
	h.proposed("greet in Welsh")
	u = h.begin("D-2")
	proved := u.claims("helo.sh", "echo \"Helo, $1.\"\n")
	u.verdict(loop.Exact)
	u.step("LOOP_CONVERGED", uowComplete)
	u.push()
	kills = append(kills, h.eachCall(look...), h.eachCall("take", "--bare", h.Bare, "D-2"), h.eachCall(look...))
	t.Logf("kills: %d", kills)
	for i, want := range []int{2, 4, 10, 4, 4, 10, 4, 2} {
		if kills[i] < want {
			t.Errorf("%d kills in step %d, fewer than %d", kills[i], i, want)
		}
	}
	seen := map[string]bool{}
	for number := range int64(5) {
		list, err := h.as("ann", "User").Comments(t.Context(), client.Thread{Number: number + 1})
		for _, c := range list {
			if c.Author.Login == "ward" && seen[c.Body.Raw()] {
				t.Errorf("said twice: %s", c.Body)
			}
			seen[c.Body.Raw()] = true
		}
		if err != nil && number < 4 {
			t.Error(err)
		}
	}
	if text := h.Run(h.Bare, "git", "show", "ward:COMMS.md"); strings.Count(text, "\n### D-") != 2 {
		t.Error(text)
	}
	for _, directive := range []string{"D-1", "D-2"} {
		f := h.as("ward", "User")
		if list, err := f.Requests(t.Context(), "ward", "agent/"+directive); err != nil || len(list) != 1 {
			t.Errorf("%s: %+v %v", directive, list, err)
		}
	}
	for of, success := range map[string]bool{commit: false, proved: true} {
		list, err := h.as("ward", "User").Statuses(t.Context(), of)
		if err != nil || len(list) == 0 || (list[0].State == "success") != success {
			t.Errorf("%+v %v", list, err)
		}
	}
	if main := h.at("main"); h.at("main^2") != proved || h.at("main^1") == main {
		t.Error(h.Run(h.Bare, "git", "log", "--graph", "main"))
	}
	if refs := h.Run(h.Bare, "git", "for-each-ref", "refs/ward/forge/intent"); refs != "" {
		t.Error(refs)
	}
	h.Fsck()
}
