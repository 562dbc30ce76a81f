package forge_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
	"git-ward/sandbox/forge/client/giteatest"
)

// crowd does at random what people, the agent and the host do.
type crowd struct {
	*scene
	*rand.Rand
	ann      giteatest.User // who may nothing
	issues   []int64
	approved map[int64]bool   // by lead
	units    map[string]*unit // that claimed, by directive
	proved   map[string]bool  // commits with a verdict EXACT
	kills    int
}

// event is one of them, and then a look, which is killed more often than not.
func (c *crowd) event() {
	switch c.IntN(9) {
	case 0:
		if len(c.issues) < 5 {
			c.issues = append(c.issues, c.forge.issue(fmt.Sprintf("greet %d", len(c.issues)), body))
		}
	case 1:
		if n := c.issue(); n > 0 {
			c.forge.call("PATCH", fmt.Sprintf("/issues/%d", n), map[string]any{"body": fmt.Sprintf("%d\n\n%s", c.IntN(3), body)}, nil)
		}
	case 2, 3:
		c.approve()
	case 4:
		for i := range 5 {
			if name := fmt.Sprintf("D-%d", i+1); c.units[name] == nil && strings.Contains(c.Run(c.Bare, "git", "show", "ward:COMMS.md"), "\n### "+name+": ") {
				u := c.begin(name)
				u.claims(fmt.Sprintf("greet%d.sh", i), "echo hello\n")
				c.units[name] = u
				break
			}
		}
	case 5:
		for _, name := range slices.Sorted(maps.Keys(c.units)) {
			if u := c.units[name]; c.IntN(2) == 0 {
				word := []string{loop.Exact, loop.None}[c.IntN(2)]
				if word == loop.Exact {
					c.proved[u.last.Claim.Commit] = true
				}
				u.verdict(word)
				break
			}
		}
	case 6, 7:
		on := c.issue()
		if pulls := c.forge.pulls(); len(pulls) > 0 && c.IntN(2) == 0 {
			on = pulls[c.IntN(len(pulls))].Number
		}
		if on > 0 {
			who := []giteatest.User{c.forge.lead, c.ann}[c.IntN(2)]
			c.forge.comment(who, on, []string{"/ward pause", "/ward resume", "/ward clarify more", "words\n/ward drop", "/ward cancel now"}[c.IntN(5)])
		}
	case 8:
		if pulls := c.forge.pulls(); len(pulls) > 0 {
			c.forge.call("PATCH", fmt.Sprintf("/pulls/%d", pulls[c.IntN(len(pulls))].Number), map[string]any{"state": []string{"open", "closed"}[c.IntN(2)]}, nil)
		}
	}
	env := []string{fmt.Sprintf("WARD_FAILPOINT=%s#%d=kill", points[c.IntN(len(points))], 1+c.IntN(2))}
	if out, err := c.Try(c.Bare, env, "", "git-ward", "forge", "--once", "--bare", c.Bare); err != nil {
		if err.Error() != "signal: killed" {
			c.T.Fatalf("%v: %s", err, out)
		}
		c.kills++
	}
}

func (c *crowd) issue() int64 {
	if len(c.issues) == 0 {
		return 0
	}
	return c.issues[c.IntN(len(c.issues))]
}

// approve has lead, or somebody who may not, approve any proposal.
func (c *crowd) approve() {
	n := c.issue()
	if n == 0 {
		return
	}
	var lines []string
	for _, said := range c.forge.comments(n) {
		if line := approveLine.FindString(said.Body); line != "" && said.User.Login == c.forge.bot.Login {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return
	}
	who := c.ann
	if c.IntN(3) > 0 {
		who = c.forge.lead
		c.approved[n] = true
	}
	c.forge.comment(who, n, lines[c.IntN(len(lines))])
}

// TestRandom: whatever people, the agent and the host do, and wherever the process is killed,
// each approved issue is one directive, each claim one request, no comment is said twice, and
// no commit has a success that has no proof (FORGE-5).
func TestRandom(t *testing.T) {
	tier.Full(t, "a real Gitea, and random events with kills")
	events := 60
	if text := os.Getenv("WARD_FORGE_EVENTS"); text != "" {
		var err error
		if events, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	s := newScene(t)
	c := &crowd{scene: s, Rand: rand.New(rand.NewPCG(tier.Seed(t), 31)), ann: s.forge.lab.User("ann"), approved: map[int64]bool{}, units: map[string]*unit{}, proved: map[string]bool{}}
	for range events {
		c.event()
	}
	c.once(0)
	c.once(0)
	text := c.Run(c.Bare, "git", "show", "ward:COMMS.md")
	if got := strings.Count(text, "\n### D-"); got != len(c.approved) {
		t.Errorf("%d directives of %d approved issues:\n%s", got, len(c.approved), text)
	}
	heads := map[string]int{}
	for _, pull := range c.forge.pulls() {
		heads[pull.Head.Sha]++
	}
	for name, u := range c.units {
		commit := u.last.Claim.Commit
		if heads[commit] != 1 {
			t.Errorf("%s has %d requests", name, heads[commit])
		}
		for _, status := range c.forge.statuses(commit) {
			if status.Status == "success" && !c.proved[commit] {
				t.Errorf("%s is green, and nobody proved it", name)
			}
		}
	}
	on := slices.Clone(c.issues)
	for _, pull := range c.forge.pulls() {
		on = append(on, pull.Number)
	}
	for _, n := range on {
		said := map[string]bool{}
		for _, line := range c.forge.comments(n) {
			if line.User.Login == c.forge.bot.Login && said[line.Body] {
				t.Errorf("said twice on %d: %s", n, line.Body)
			}
			said[line.Body] = true
		}
	}
	if refs := c.Run(c.Bare, "git", "for-each-ref", "refs/ward/forge/intent"); refs != "" {
		t.Error(refs)
	}
	t.Logf("%d events, %d kills, %d directives, %d requests", events, c.kills, len(c.approved), len(heads))
	c.Fsck()
}
