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

// crowd does at random what people, the agent, the host and the network do.
type crowd struct {
	*scene
	*rand.Rand
	faults    *faults
	ann, mate giteatest.User // who may nothing; who may write now and then
	mayWrite  bool           // mate
	issues    []int64
	approved  map[int64]bool   // by lead, who may always
	perhaps   map[int64]bool   // by mate, who may have lost the right before anybody looked
	units     map[string]*unit // that claimed, by directive
	proved    map[string]bool  // commits with a verdict EXACT
	gone      map[int64]bool   // requests whose branch was deleted
	rewritten string           // where the project's branch was before, "" where it is there
	kills     int
	did       map[string]int
}

// events are what may happen, by name; the number is how often beside the others.
var events = []struct {
	name  string
	often int
	do    func(*crowd)
}{
	{"an issue", 2, (*crowd).opens}, {"its text is edited", 1, (*crowd).edits}, {"approved", 4, (*crowd).approve},
	{"labelled by another", 1, (*crowd).relabel}, {"a claim", 2, (*crowd).claim}, {"a verdict", 2, (*crowd).judge},
	{"a comment", 4, (*crowd).speak}, {"closed or opened", 2, (*crowd).closes}, {"rights lost or given", 2, (*crowd).rights},
	{"history rewritten or put back", 1, (*crowd).rewrite}, {"a branch deleted", 1, (*crowd).unbranch}, {"nothing", 1, func(*crowd) {}},
}

// event is one of them, and then a look: it is killed more often than not, meets a fault of the
// forge's now and then, or another beside it.
func (c *crowd) event() {
	n := 0
	for _, e := range events {
		n += e.often
	}
	at := c.IntN(n)
	for _, e := range events {
		if at -= e.often; at < 0 {
			c.did[e.name]++
			e.do(c)
			break
		}
	}
	if c.IntN(3) == 0 {
		c.faults.next([]string{isAway, isLate, isHalf, isTwice, isPage}[c.IntN(5)], c.IntN(12))
	}
	point := func() []string {
		return []string{fmt.Sprintf("WARD_FAILPOINT=%s#%d=kill", points[c.IntN(len(points))], 1+c.IntN(2))}
	}
	if c.IntN(6) == 0 {
		c.did["two at once"]++
		other, ended := point(), make(chan func(), 1)
		go func() {
			out, err := c.Try(c.Bare, other, "", "git-ward", "forge", "--once", "--bare", c.Bare)
			ended <- func() { c.ended(out, err) }
		}()
		c.ended(c.Try(c.Bare, point(), "", "git-ward", "forge", "--once", "--bare", c.Bare))
		(<-ended)()
	} else {
		c.ended(c.Try(c.Bare, point(), "", "git-ward", "forge", "--once", "--bare", c.Bare))
	}
	c.faults.next("", 0)
}

// ended is how a look may end: well, killed, with something that waits, or because another is at
// work.
func (c *crowd) ended(out string, err error) {
	switch {
	case err == nil:
	case err.Error() == "signal: killed":
		c.kills++
	case err.Error() == "exit status 1" || strings.Contains(out, "another git ward forge is at work"):
	default:
		c.T.Fatalf("%v: %s", err, out)
	}
}

func (c *crowd) opens() {
	if len(c.issues) < 5 {
		c.issues = append(c.issues, c.forge.issue(fmt.Sprintf("greet %d", len(c.issues)), body))
	}
}

func (c *crowd) edits() {
	if n := c.issue(); n > 0 {
		c.forge.call("PATCH", fmt.Sprintf("/issues/%d", n), map[string]any{"body": fmt.Sprintf("%d\n\n%s", c.IntN(3), body)}, nil)
	}
}

// relabel takes the label off and gives it again, each by lead or by mate.
func (c *crowd) relabel() {
	n := c.issue()
	if n == 0 {
		return
	}
	var labels []label
	c.forge.call("GET", "/labels", nil, &labels)
	for _, method := range []string{"DELETE", "POST"} {
		who := c.forge.lead
		if c.mayWrite && c.IntN(2) == 0 {
			who = c.mate
		}
		at := fmt.Sprintf("/repos/%s/issues/%d/labels", c.forge.name, n)
		if method == "DELETE" {
			at += fmt.Sprintf("/%d", labels[0].ID)
		}
		who.Do(method, at, map[string]any{"labels": []int64{labels[0].ID}}, nil)
	}
}

func (c *crowd) claim() {
	for i := range 5 {
		if name := fmt.Sprintf("D-%d", i+1); c.units[name] == nil && strings.Contains(c.Run(c.Bare, "git", "show", "ward:COMMS.md"), "\n### "+name+": ") {
			u := c.begin(name)
			u.claims(fmt.Sprintf("greet%d.sh", i), "echo hello\n")
			c.units[name] = u
			return
		}
	}
}

func (c *crowd) judge() {
	for _, name := range slices.Sorted(maps.Keys(c.units)) {
		if u := c.units[name]; c.IntN(2) == 0 {
			word := []string{loop.Exact, loop.None}[c.IntN(2)]
			if word == loop.Exact {
				c.proved[u.last.Claim.Commit] = true
			}
			u.verdict(word)
			return
		}
	}
}

func (c *crowd) speak() {
	on := c.issue()
	if pulls := c.forge.pulls(); len(pulls) > 0 && c.IntN(2) == 0 {
		on = pulls[c.IntN(len(pulls))].Number
	}
	if on > 0 {
		who := []giteatest.User{c.forge.lead, c.ann, c.mate}[c.IntN(3)]
		c.forge.comment(who, on, []string{"/ward pause", "/ward resume", "/ward clarify more", "words\n/ward drop", "/ward cancel now"}[c.IntN(5)])
	}
}

func (c *crowd) closes() {
	if pulls := c.forge.pulls(); len(pulls) > 0 {
		if p := pulls[c.IntN(len(pulls))]; !c.gone[p.Number] {
			c.forge.call("PATCH", fmt.Sprintf("/pulls/%d", p.Number), map[string]any{"state": []string{"open", "closed"}[c.IntN(2)]}, nil)
		}
	}
}

func (c *crowd) rights() {
	if c.mayWrite = !c.mayWrite; c.mayWrite {
		c.forge.lead.Give("p", c.mate, "write")
	} else {
		c.forge.call("DELETE", "/collaborators/"+c.mate.Login, nil, nil)
	}
}

// rewrite has another history on the project's branch there, or the one before.
func (c *crowd) rewrite() {
	if c.rewritten != "" {
		c.Git("push", "--quiet", "--force", c.forge.clone(), c.rewritten+":main")
		c.rewritten = ""
		return
	}
	c.rewritten = c.at("main")
	c.Git("fetch", "--quiet", "origin")
	c.Git("checkout", "--quiet", "-f", "--orphan", fmt.Sprintf("other%d", c.did["history rewritten or put back"]))
	c.Git("commit", "--quiet", "--allow-empty", "--message", "another history")
	c.Git("push", "--quiet", "--force", c.forge.clone(), "HEAD:main")
}

// unbranch deletes the branch of a request, which Gitea closes for it.
func (c *crowd) unbranch() {
	for _, p := range c.forge.pulls() {
		if name, _, _ := strings.Cut(strings.TrimPrefix(p.Title, "WIP: "), ":"); !c.gone[p.Number] && p.State == "open" && c.IntN(2) == 0 {
			c.forge.bot.Do("DELETE", fmt.Sprintf("/repos/%s/p/branches/agent/%s", c.forge.bot.Login, name), nil, nil)
			c.gone[p.Number] = true
			return
		}
	}
}

func (c *crowd) issue() int64 {
	if len(c.issues) == 0 {
		return 0
	}
	return c.issues[c.IntN(len(c.issues))]
}

// approve has lead, mate, or somebody who may not, approve any proposal.
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
	switch c.IntN(4) {
	case 0, 1:
		who = c.forge.lead
		c.approved[n] = true
	case 2:
		who = c.mate
		c.perhaps[n] = true
	}
	c.forge.comment(who, n, lines[c.IntN(len(lines))])
}

// perScene bounds how much happens to one project: Gitea lists all comments at each look.
const perScene = 200

// TestRandom: whatever people, the agent, the host and the network do, and wherever the process is
// killed, each approved issue is one directive, each claim one request, no comment is said twice,
// and no commit has a success that has no proof (FORGE-5). WARD_FORGE_EVENTS is how many events
// there are: 10,000 take a night.
func TestRandom(t *testing.T) {
	tier.Full(t, "a real Gitea, and random events with kills")
	most := 60
	if text := os.Getenv("WARD_FORGE_EVENTS"); text != "" {
		var err error
		if most, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := tier.Seed(t)
	for round := range (most + perScene - 1) / perScene {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			random(t, min(perScene, most-round*perScene), rand.New(rand.NewPCG(seed, uint64(round))))
		})
	}
}

func random(t *testing.T, most int, r *rand.Rand) {
	s := newScene(t)
	c := &crowd{scene: s, Rand: r, faults: newFaults(t, s.forge.url), ann: s.forge.lab.User("ann"), mate: s.forge.lab.User("mate"),
		approved: map[int64]bool{}, perhaps: map[int64]bool{}, units: map[string]*unit{}, proved: map[string]bool{}, gone: map[int64]bool{}, did: map[string]int{}}
	s.Run(s.Bare, "git-ward", "config", "--bare", s.Bare, "forge.url="+c.faults.URL+"/"+s.forge.name)
	for range most {
		c.event()
	}
	if c.rewritten != "" {
		c.rewrite()
	}
	c.once(0)
	c.once(0)
	text := c.Run(c.Bare, "git", "show", "ward:COMMS.md")
	maps.Copy(c.perhaps, c.approved)
	if got := strings.Count(text, "\n### D-"); got < len(c.approved) || got > len(c.perhaps) {
		t.Errorf("%d directives of %d to %d approved issues:\n%s", got, len(c.approved), len(c.perhaps), text)
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
	t.Logf("%d events, %d kills, %d directives, %d requests; %v; faults %v", most, c.kills, len(c.approved), len(heads), c.did, c.faults.met)
	c.Fsck()
}
