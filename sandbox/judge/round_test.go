package judge

import (
	"context"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
	"git-ward/sandbox/verifier"
)

// TestTurns: a directive whose agent claims again and again takes no place of another's: the
// claim that waited longest is the next, and of those that came together the one whose
// directive had no verdict.
func TestTurns(t *testing.T) {
	tier.First(t, "it makes claims of several units")
	t.Parallel()
	const criteria = "\n- [ ] the check passes (`sh check.sh`)\n- R_p: 0.5\n"
	const all = asked + "\n### D-2: the same\n" + criteria + "\n### D-3: the same\n" + criteria
	one := newCourt(t, all)
	doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n" + all + "\n## Reports\n"))
	two, three := *one, *one
	two.begin(uow.ID{Directive: "D-2", K: 1}, doc.Directives[1])
	three.begin(uow.ID{Directive: "D-3", K: 1}, doc.Directives[2])
	names, begun, end := map[string]string{}, make(chan string, 4), make(chan bool)
	one.Verify = func(_ context.Context, claim verifier.Claim) (*verifier.Facts, error) {
		begun <- claim.Commit
		<-end
		return nil, &verifier.Unfit{Why: "enough is seen"}
	}
	claims := func(c *court, name string) {
		t.Helper()
		c.write("answer", name+"\n")
		names[c.claim()] = name
	}
	r := one.newRound()
	var order []string
	look := func() {
		t.Helper()
		before := len(r.running)
		r.look(t.Context())
		for range len(r.running) - before {
			order = append(order, names[<-begun])
		}
	}
	next := func() {
		t.Helper()
		if len(r.running) == 0 {
			t.Fatal("nothing runs after ", order)
		}
		end <- true
		r.took(t.Context(), <-r.ended)
	}
	claims(one, "D-1 first")
	look()
	claims(&three, "D-3 first")
	look()
	claims(&two, "D-2 first")
	next()
	look()
	next()
	claims(one, "D-1 second")
	look()
	next()
	claims(&two, "D-2 second")
	look()
	next()
	claims(one, "D-1 third")
	claims(&three, "D-3 second") // seen together with D-1's, which had a verdict later
	look()
	next()
	look()
	next()
	look()
	next()
	const want = "D-1 first, D-3 first, D-2 first, D-1 second, D-2 second, D-3 second, D-1 third"
	if got := strings.Join(order, ", "); got != want {
		t.Errorf("the verdicts began in the order\n%s, not\n%s", got, want)
	}
}
