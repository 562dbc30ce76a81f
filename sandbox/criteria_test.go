package sandbox

import (
	"encoding/json"
	"slices"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestCriteriaAreTried: a directive's criteria run behind the fence as soon as it is pushed, and
// each that decides nothing is named for what it is; where there is no fence, nothing runs.
func TestCriteriaAreTried(t *testing.T) {
	tier.Full(t, "criteria run in containers")
	p := fenced(t)
	p.Write("total.sh", "echo $(($1 + $2))\n")
	p.Write("tests/total.sh", "test \"$(sh total.sh 4 3)\" = 12\n")
	p.Write("tests/sum.sh", "test \"$(sh total.sh 4 3)\" = 7\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "a total")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	const text = "the total\n\n- [ ] it is right (`sh tests/total.sh`)\n- [ ] sums hold (`sh tests/sum.sh`)\n- [ ] it is linted (`nonesuch total.sh`)\n- [ ] it reads well\n- work: total.sh\n"
	said := p.Run(p.Work, "git-ward", "directive", "new", "-m", text)
	gittest.InOrder(t, said, "criteria/no-command: no command decides: it reads well", "criteria/holds-already: it holds already on main: sums hold",
		"criteria/unknown-program: unknown program nonesuch: it is linted", "hint: if the work does not bring it: `git ward image build --with PACKAGE`", "git ward directive edit D-1")
	gittest.InOrder(t, said, "criteria tried on main: 1 of 3 not met yet, as it should be\n")
	// A program reads the same as data.
	out, err := p.Try(p.Work, nil, "", "git-ward", "directive", "edit", "--json", "-m", text+"- max_iterations: 2\n", "D-1")
	var data struct {
		Findings []struct{ Rule string }
		NotMet   []string `json:"not_met"`
		Untried  string
	}
	if no := json.Unmarshal([]byte(out), &data); no != nil || err != nil || data.Untried != "" || !slices.Equal(data.NotMet, []string{"sh tests/total.sh"}) {
		t.Errorf("%v, %v: %+v\n%s", err, no, data, out)
	}
	var rules []string
	for _, f := range data.Findings {
		rules = append(rules, f.Rule)
	}
	if !slices.Equal(rules, []string{"criteria/no-command", "criteria/holds-already", "criteria/unknown-program"}) {
		t.Errorf("%q", rules)
	}
	p.Env = append(p.Env, storageVar+"=/dev/null/storage")
	gittest.InOrder(t, p.Run(p.Work, "git-ward", "directive", "new", "-m", text), "D-2 the total: pushed to main", "the criteria were not tried on main: ")
	p.Fsck()
}
