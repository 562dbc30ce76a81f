package judge

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"git-ward/internal/benchtest"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/sandbox/verifier"
)

// The ways in which a case ends.
const (
	endExact  = "EXACT"
	endAsked  = "EXACT by a word" // the verdict asks the PM for one, and is EXACT with it
	endNamed  = "named"           // EXACT, and the verdict names what speaks against it
	endNone   = "not proved"
	endSilent = "EXACT in silence"
)

// states are what a project is before the work.
var states = []struct {
	name string
	of   func(tongue) string
}{
	{"wrong", wrong}, {"missing", func(t tongue) string { return t.missing }}, {"held", good},
}

// trialCase is one claim.
type trialCase struct {
	*testing.T
	tongue
	kind
	bare string
	env  []string // of git; nil for the test's own
}

// commits makes a commit of a tree, on top of a parent if there is one.
func (c *trialCase) commit(files tree, parent string) string {
	c.Helper()
	var in strings.Builder
	fmt.Fprintf(&in, "commit refs/heads/x\ncommitter a <a@example.org> 1 +0000\ndata 1\nx\n")
	if parent != "" {
		fmt.Fprintf(&in, "from %s\n", parent)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, mode := files[name], "100644"
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			text, mode = to, "120000"
		} else if strings.HasPrefix(text, "#!") {
			mode = "100755"
		}
		if text == "" {
			fmt.Fprintf(&in, "D %s\n", name)
		} else {
			fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", mode, name, len(text), text)
		}
	}
	c.git(in.String(), "fast-import", "--quiet", "--force")
	return strings.TrimSpace(c.git("", "rev-parse", "refs/heads/x"))
}

func (c *trialCase) git(stdin string, args ...string) string {
	c.Helper()
	cmd := exec.Command("git", append([]string{"-C", c.bare}, args...)...)
	cmd.Stdin, cmd.Env = strings.NewReader(stdin), c.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// create makes the repository of the project.
func (c *trialCase) create() {
	c.Helper()
	c.bare = filepath.Join(c.TempDir(), "x.git")
	if out, err := exec.Command("git", "init", "--quiet", "--bare", c.bare).CombinedOutput(); err != nil {
		c.Fatalf("%v: %s", err, out)
	}
}

// extra is what the project has for this kind alone.
func (c *trialCase) extra() tree {
	if c.kind.beside {
		return c.tongue.beside
	}
	return nil
}

// ends judges the claim on a project in a state, and says how it ended.
func (c *trialCase) ends(state string) (string, loop.Verdict) {
	c.Helper()
	c.create()
	line := c.tongue.line
	if c.kind.line != nil {
		line = c.kind.line(c.tongue)
	}
	project := c.project.with(c.extra(), tree{c.source: state, wrapper: "set -e\n" + c.tongue.line + "\n", golden: "4\n"})
	main := c.commit(project, "")
	change := c.change(c.tongue)
	if c.honest && state == change[c.source] {
		change = change.with(tree{c.source: state + "\n"})
	}
	commit := c.commit(change, main)
	lines := []string{line}
	v := c.judge(main, commit, lines, func(*comms.Directive) {})
	if !v.WantsWord() {
		return c.end(v), v
	}
	again := c.judge(main, commit, lines, func(d *comms.Directive) {
		for _, l := range v.Left {
			if in, err := l.Include(); err == nil && v.NotIncluded {
				d.Options.Included = append(d.Options.Included, in)
			}
		}
		d.Options.Guards = "enough"
	})
	if again.Verdict == loop.Exact {
		return endAsked, v
	}
	return endNone, again
}

// end is a verdict's, which asks for no word.
func (c *trialCase) end(v loop.Verdict) string {
	switch {
	case v.Verdict != loop.Exact:
		return endNone
	case c.honest:
		return endExact
	case len(v.Left)+len(v.Deviations)+len(v.Against()) > 0:
		return endNamed
	}
	return endSilent
}

// environment is what stands before each line of a language: Go builds in the machine's caches.
func (c *trialCase) environment() string {
	c.Helper()
	if c.tool != "go" {
		return ""
	}
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		c.Fatal(err)
	}
	build, modules, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
	return "export GOTOOLCHAIN=local GOFLAGS= GOPROXY=off GOCACHE=" + build + " GOMODCACHE=" + modules + "; "
}

// judge is the verdict on a claim of a directive's whose criteria are lines.
func (c *trialCase) judge(main, commit string, lines []string, word func(*comms.Directive)) loop.Verdict {
	c.Helper()
	text := "# COMMS\n\n## Directives\n\n### D-1: double\n\n" + strings.Repeat("- [ ] it doubles (`true`)\n", len(lines))
	if c.work != "" {
		text += "- work: " + c.work + "\n"
	}
	doc, _ := comms.Parse([]byte(text + "\n## Reports\n"))
	d := doc.Directives[0]
	env := c.environment()
	for i, line := range lines {
		d.Criteria[i].Command = env + line
	}
	word(&d)
	settings := config.Default()
	claim := ClaimOf(&d, settings, commit, main)
	if c.kind.held {
		d.Options.Held.Count = 1
		claim.Commands = append(claim.Commands, verifier.Command{Name: heldOut(&d, 0).Text, Line: env + c.tongue.held, Held: true})
	}
	places, err := verifier.NewPlaces()
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { places.Close() })
	runner := &verifier.Processes{Limits: verifier.Limits{Time: 10 * time.Minute, Output: 1 << 20}, Places: places}
	facts, err := verifier.Verify(c.Context(), git.Open(c.bare), runner, claim)
	if err != nil {
		c.Fatal(err)
	}
	declaration, _, missing := loop.Declare("D-1.1", d, loop.Base(settings.Loop))
	if len(missing) > 0 {
		c.Fatal(missing)
	}
	return verdictOf(declaration, &d, facts, strings.Clone)
}

// absent reports whether a language has no such work, or no such project.
func (k kind) absent(l tongue) bool {
	return k.change(l)[l.source] == "" && !k.honest || k.beside && l.beside == nil
}

// doubted reports whether a verdict names more against its word than that all held before.
func doubted(v loop.Verdict) bool {
	return slices.ContainsFunc(v.Against(), func(d loop.Doubt) bool { return len(d.Of) > 0 })
}

// trust checks that a case ended as its class may.
func (c *trialCase) trust(state, end string, v loop.Verdict) {
	c.Helper()
	switch {
	case c.honest && (end != endExact && end != endAsked || doubted(v)):
		c.Errorf("%s, %s (%s): an honest claim is %s: %s %+v", c.class, c.tool, state, end, v.Reason, v.Criteria)
	case !c.honest && end == endNamed && (c.class == replacesCompare || c.class == seesControls || c.class == seesThemBeside):
	case !c.honest && (end == endSilent || end == endNamed) && c.class != seesCriteria:
		c.Errorf("%s, %s (%s): %s: %+v", c.class, c.tool, state, end, v.Criteria)
	}
}

// TestKindsOfClaims: one language, each class, on a project that is wrong.
func TestKindsOfClaims(t *testing.T) {
	tier.First(t, "it judges a claim of each class")
	for _, k := range kinds {
		t.Run(k.class, func(t *testing.T) {
			t.Parallel()
			c := &trialCase{T: t, tongue: tongues["shell"], kind: k}
			if k.absent(c.tongue) {
				c.tongue = tongues["python"]
			}
			end, v := c.ends(c.wrong)
			c.trust("wrong", end, v)
		})
	}
}

// everyClaim is what WARD_BENCH says for all claims, and those on libraries, which a registry has.
const everyClaim = "all"

// benchCases are the claims that the benchmark judges: of each class in each language one, each on a
// project in the next state, so that each class and each language meets every state; or all three.
func benchCases(every bool, skipped func(language, tool string)) (all []func(t *testing.T) (class, language, state, end string)) {
	for j, language := range slices.Sorted(maps.Keys(tongues)) {
		l := tongues[language]
		if _, err := exec.LookPath(l.tool); err != nil {
			skipped(language, l.tool)
			continue
		}
		for i, k := range kinds {
			if k.absent(l) {
				continue
			}
			for n, s := range states {
				if every || n == (i+j)%len(states) {
					all = append(all, func(t *testing.T) (string, string, string, string) {
						c := &trialCase{T: t, tongue: l, kind: k}
						end, v := c.ends(s.of(l))
						c.trust(s.name, end, v)
						return k.class, language, s.name, end
					})
				}
			}
		}
	}
	return all
}

// TestBenchCases: the benchmark's claims are a third of all, and each class is among them in each
// language that has it.
func TestBenchCases(t *testing.T) {
	none := func(string, string) {}
	some, every := len(benchCases(false, none)), len(benchCases(true, none))
	if some == 0 || 3*some != every {
		t.Error(some, every)
	}
}

// TestBenchVerdict prints how claims of each class end, in each language, on a project where
// the criterion does not hold, or cannot, or holds before the work (PROOF-9). As each ends, it says
// so, and how many there are.
func TestBenchVerdict(t *testing.T) {
	benchtest.Only(t)
	var mu sync.Mutex
	table := map[string]map[string]map[string]int{} // by class, language, end
	count := func(class, language, end string) {
		mu.Lock()
		defer mu.Unlock()
		if table[class] == nil {
			table[class] = map[string]map[string]int{}
		}
		if table[class][language] == nil {
			table[class][language] = map[string]int{}
		}
		table[class][language][end]++
	}
	every := os.Getenv("WARD_BENCH") == everyClaim
	cases := benchCases(every, func(language, tool string) { t.Logf("SKIPPED: %s: there is no %s", language, tool) })
	classes := []string{"honest: libraries"}
	var done atomic.Int32
	t.Run("cases", func(t *testing.T) {
		if every {
			eachHonest(t, func(l *library, end string) { count(classes[0], l.language(), end) })
		}
		for _, judge := range cases {
			t.Run("claim", func(t *testing.T) {
				t.Parallel()
				start := time.Now()
				class, language, state, end := judge(t)
				count(class, language, end)
				fmt.Printf("claim %d of %d, in %.1f s: %s, in %s, %s: %s\n", done.Add(1), len(cases), time.Since(start).Seconds(), class, language, state, end)
			})
		}
	})
	for _, k := range kinds {
		classes = append(classes, k.class)
	}
	for _, class := range classes {
		var cells []string
		sum := map[string]int{}
		for _, language := range slices.Sorted(maps.Keys(table[class])) {
			ends := table[class][language]
			all := 0
			for end, n := range ends {
				sum[end] += n
				all += n
			}
			cells = append(cells, fmt.Sprintf("%s %d/%d", language, ends[endExact]+ends[endAsked]+ends[endNamed]+ends[endSilent], all))
		}
		benchtest.Row("verdict: "+class, fmt.Sprintf("EXACT %d, by a word %d, named %d, silent %d", sum[endExact], sum[endAsked], sum[endNamed], sum[endSilent]), strings.Join(cells, ", "), fmt.Sprintf("not proved %d", sum[endNone]))
	}
}
