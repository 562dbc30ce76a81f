package worker

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// past gives the branch, the journal and the verdicts what n iterations leave there,
// in form and order as the loop does, without running them.
func (b *loopBench) past(main string, n int) {
	claimed := b.pastWork(main, n)
	world, err := b.unit.world(b.t.Context())
	check(b.t, err)
	s, notes := &commits{b: b}, &bytes.Buffer{}
	var last *uow.Record
	step := func(in uow.Input) {
		in.Actor, in.Time = uow.Agent, time.Now()
		r, found := uow.Advance(b.unit.journal.ID, last, in, world)
		if len(found) > 0 {
			b.t.Fatal(found)
		}
		data, err := r.Marshal()
		check(b.t, err)
		s.add(b.unit.journal.ID.Ref(), "", uow.Subject(r), map[string][]byte{uow.File: data})
		last = r
	}
	step(uow.Input{Event: uow.Open, Reason: "DIRECTIVE_OPEN"})
	step(uow.Input{Event: uow.Activate, Reason: "WORK_STARTED"})
	fmt.Fprintf(notes, "commit %s\ncommitter Ward <ward@localhost> 1795251600 +0000\ndata 0\n", loop.VerdictsRef)
	for _, commit := range claimed {
		step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED", Interactions: 1})
		step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Interactions: 1, Commit: commit})
		line, err := b.judged(commit, last.Hash).Line()
		check(b.t, err)
		fmt.Fprintf(notes, "N inline %s\ndata %d\n%s\n\n", commit, len(line)+1, line)
	}
	s.stream.Write(notes.Bytes())
	s.load()
}

// pastWork makes the branch: four commits an iteration. It returns the claimed ones.
func (b *loopBench) pastWork(main string, n int) (claimed []string) {
	const branch = "refs/heads/agent/D-1"
	d, top := b.unit.declaration, loop.Dir("D-1")+"/"
	encode := func(v any) []byte {
		data, err := loop.Encode(v)
		check(b.t, err)
		return data
	}
	list := func(more ...loop.Artifact) loop.Artifacts {
		return loop.Artifacts{SchemaVersion: loop.SchemaVersion, LoopID: d.LoopID, Artifacts: append([]loop.Artifact{}, more...)}
	}
	c := &commits{b: b}
	sources := loop.Sources{Declaration: d, Limits: b.unit.limits, Learnings: loop.StartLoop("", d, "2026-11-21"), Manifest: list()}
	budget := loop.BudgetLog{SchemaVersion: loop.SchemaVersion, LoopID: d.LoopID, Limits: b.unit.limits, Iterations: []loop.Usage{}}
	c.add(branch, main, "loop: declares", map[string][]byte{top + loop.PlanFile: encode(d), loop.LearningsPath: []byte(sources.Learnings)})
	var residuals []loop.Residual
	var marks []int
	for i := range n {
		at := func(file string) string { return loop.IterationDir("D-1", i) + "/" + file }
		sources.Iteration, sources.Spent, sources.Used = i, i, budget.Used()
		capsule, _, found := loop.Build(sources)
		if len(found) > 0 {
			b.t.Fatal(found)
		}
		c.add(branch, "", "loop: begins", map[string][]byte{at(loop.CapsuleFile): append(capsule, '\n')})

		hello, changes := fmt.Appendf(nil, "hello %d\n", i), []byte("M\thello\n")
		c.add(branch, "", "agent: works", map[string][]byte{"hello": hello})
		made := []loop.Artifact{{Iteration: i, Path: "hello", SHA256: loop.Digest(hello), Role: "artifact"},
			{Iteration: i, Path: at("changes.txt"), SHA256: loop.Digest(changes), Role: "log"}}
		c.add(branch, "", "loop: artifacts", map[string][]byte{at("changes.txt"): changes, at(loop.ArtifactsFile): encode(list(made...))})
		marks = append(marks, c.mark)

		v := b.judged(strings.Repeat("0", 40), loop.Digest(nil)) // of the claim that its commit is part of
		line, err := v.Line()
		check(b.t, err)
		witness := append(line, '\n')
		link := loop.Link{Path: at("verdict.json"), SHA256: loop.Digest(witness), Role: "proof"}
		sources.Manifest = sources.Manifest.Extend(append(made, loop.Artifact{Iteration: i, Path: link.Path, SHA256: link.SHA256, Role: link.Role}))
		budget.Iterations = append(budget.Iterations, loop.Usage{Iteration: i, ToolCalls: 2})
		cert := loop.Certify(loop.Findings{Declaration: d, Limits: b.unit.limits, Iteration: i, Spent: i + 1, Used: budget.Used(), Verdict: &v, History: residuals})
		residuals, sources.Last = append(residuals, cert.Residual), &cert
		entry := loop.Entry{Loop: d.LoopID, Iteration: i, Tried: []string{"a change"}, Metric: d.ResidualMetric, Residual: cert.Residual,
			Direction: cert.Direction, Certificate: cert.Type, Failed: []loop.Learning{{Lane: loop.LaneA, Text: "not met: it greets", Link: &link}}}
		sources.Learnings, _ = loop.Compact(loop.AppendEntry(sources.Learnings, entry))
		c.add(branch, "", "loop: ends", map[string][]byte{at("verdict.json"): witness, at(loop.EntryFile): []byte(entry.Text()), at(loop.CertificateFile): encode(cert),
			loop.LearningsPath: []byte(sources.Learnings), top + loop.ManifestFile: encode(sources.Manifest), top + loop.BudgetFile: encode(budget)})
	}
	ids := c.load()
	for _, mark := range marks {
		claimed = append(claimed, ids[mark])
	}
	return claimed
}

// commits is a stream of them for git-fast-import(1), which is quick and asks no
// hook.
type commits struct {
	b      *loopBench
	stream bytes.Buffer
	mark   int // of the newest
}

// add puts a commit on a ref, or on another commit.
func (c *commits) add(ref, from, subject string, files map[string][]byte) {
	c.mark++
	fmt.Fprintf(&c.stream, "commit %s\nmark :%d\ncommitter Ward Agent <agent@ward> 1795251600 +0000\ndata %d\n%s\n", ref, c.mark, len(subject), subject)
	if from != "" {
		fmt.Fprintf(&c.stream, "from %s\n", from)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&c.stream, "M 100644 inline %s\ndata %d\n%s\n", path, len(files[path]), files[path])
	}
}

// load makes the commits and says their ids by their marks.
func (c *commits) load() map[int]string {
	t, marks := c.b.t, filepath.Join(c.b.t.TempDir(), "marks")
	c.stream.WriteString("done\n")
	cmd := exec.Command("git", "fast-import", "--quiet", "--done", "--export-marks="+marks)
	cmd.Dir, cmd.Stdin = c.b.bare, &c.stream
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(marks)
	check(t, err)
	ids := map[int]string{}
	for line := range strings.Lines(string(data)) {
		var mark int
		var id string
		if _, err := fmt.Sscanf(line, ":%d %s", &mark, &id); err != nil {
			t.Fatal(err)
		}
		ids[mark] = id
	}
	return ids
}
