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
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// past gives the branch, the record, the journal and the verdicts what n iterations
// leave there, in form and order as the loop does, without running them.
func (b *loopBench) past(main string, n int) {
	claims := b.pastWork(main, n)
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
		s.add(b.unit.journal.ID.Ref(), "", "", uow.Subject(r), map[string][]byte{uow.File: data})
		last = r
	}
	step(uow.Input{Event: uow.Open, Reason: "DIRECTIVE_OPEN"})
	step(uow.Input{Event: uow.Activate, Reason: "WORK_STARTED"})
	fmt.Fprintf(notes, "commit %s\ncommitter Ward <ward@localhost> 1795251600 +0000\ndata 0\n", loop.VerdictsRef)
	for _, c := range claims {
		step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED", Interactions: 1})
		step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Interactions: 1, Commit: c.commit, Record: c.record})
		line, err := b.judged(c.commit, c.record, last.Hash).Line()
		check(b.t, err)
		fmt.Fprintf(notes, "N inline %s\ndata %d\n%s\n\n", c.commit, len(line)+1, line)
	}
	s.stream.Write(notes.Bytes())
	s.load()
}

// claimed is the commits of the work and of the record that a claim names.
type claimed struct{ commit, record string }

// pastWork makes branch and record: one commit of the work and three of the record an
// iteration.
func (b *loopBench) pastWork(main string, n int) (claims []claimed) {
	const branch, ref = "refs/heads/agent/D-1", record.Prefix + "D-1.1"
	d, top := b.unit.declaration, loop.Dir("D-1")+"/"
	encode := func(v any) []byte {
		data, err := loop.Encode(v)
		check(b.t, err)
		return data
	}
	c := &commits{b: b}
	sources := loop.Sources{Declaration: d, Limits: b.unit.limits, Learnings: loop.StartLoop("", d, "2026-11-21")}
	budget := loop.BudgetLog{SchemaVersion: loop.LinearVersion, LoopID: d.LoopID, Limits: b.unit.limits, Iterations: []loop.Usage{}}
	c.add(ref, "", "", "loop: declares", map[string][]byte{top + loop.PlanFile: encode(d), loop.LearningsPath: []byte(sources.Learnings)})
	type marks struct{ work, record int }
	var made []marks
	for i := range n {
		at := func(file string) string { return loop.IterationDir("D-1", i) + "/" + file }
		files := map[string][]byte{} // of the iteration
		put := func(name string, data []byte) loop.Link {
			files[at(name)] = data
			return loop.Link{Path: at(name), SHA256: loop.Digest(data), Role: "log"}
		}
		commit := func(subject, second string, names ...string) {
			part := map[string][]byte{}
			for _, name := range names {
				part[at(name)] = files[at(name)]
			}
			if subject == "loop: ends" {
				part[loop.LearningsPath], part[top+loop.ManifestFile], part[top+loop.BudgetFile] = []byte(sources.Learnings), files[at(loop.ManifestFile)], files[at(loop.BudgetFile)]
			}
			c.add(ref, "", second, subject, part)
		}
		sources.Iteration, sources.Spent, sources.Used = i, i, budget.Used()
		capsule, _, found := loop.Build(sources)
		if len(found) > 0 {
			b.t.Fatal(found)
		}
		put(loop.CapsuleFile, append(capsule, '\n'))
		commit("loop: begins", "", loop.CapsuleFile)

		hello := fmt.Appendf(nil, "hello %d\n", i)
		from := ""
		if i == 0 {
			from = main
		}
		c.add(branch, from, "", "a change", map[string][]byte{"hello": hello})
		work := c.mark
		changes := put("changes.txt", []byte("M\thello\n"))
		put("words.txt", []byte("a change\n"))
		put(loop.ArtifactsFile, encode(loop.Artifacts{SchemaVersion: loop.SchemaVersion, LoopID: d.LoopID, Artifacts: []loop.Artifact{
			{Iteration: i, Path: "hello", SHA256: loop.Digest(hello), Role: "artifact"}, {Iteration: i, Path: changes.Path, SHA256: changes.SHA256, Role: "log"}}}))
		commit("loop: artifacts", fmt.Sprintf(":%d", work), "changes.txt", "words.txt", loop.ArtifactsFile)
		made = append(made, marks{work, c.mark})

		v := b.judged(strings.Repeat("0", 40), strings.Repeat("0", 40), loop.Digest(nil)) // of the claim that its commit is part of
		line, err := v.Line()
		check(b.t, err)
		link := put("verdict.json", append(line, '\n'))
		budget = budget.Next(loop.Usage{Iteration: i, ToolCalls: 2})
		findings := loop.Findings{Declaration: d, Limits: b.unit.limits, Iteration: i, Spent: i + 1, Used: budget.Used(), Verdict: &v}
		if sources.Last != nil {
			findings.History, findings.Earlier = sources.Last.History, sources.Last.Earlier
		}
		cert := loop.Certify(findings)
		sources.Last = &cert
		entry := loop.Entry{Loop: d.LoopID, Iteration: i, Tried: []string{"a change"}, Metric: d.ResidualMetric, Residual: cert.Residual,
			Direction: cert.Direction, Certificate: cert.Type, Failed: []loop.Learning{{Lane: loop.LaneA, Text: "not met: it greets", Link: &link}}}
		sources.Learnings, _ = loop.Compact(loop.AppendEntry(sources.Learnings, entry))
		put(loop.CertificateFile, encode(cert))
		put(loop.EntryFile, []byte(entry.Text()))
		put(loop.BudgetFile, encode(budget))
		sources.Manifest = loop.Artifacts{SchemaVersion: loop.LinearVersion, LoopID: d.LoopID, Previous: sources.Newest, Artifacts: []loop.Artifact{}}
		for _, path := range slices.Sorted(maps.Keys(files)) {
			sources.Manifest.Artifacts = append(sources.Manifest.Artifacts, loop.Artifact{Iteration: i, Path: path, SHA256: loop.Digest(files[path]), Role: "log"})
		}
		newest := put(loop.ManifestFile, encode(sources.Manifest))
		newest.Role = "snapshot"
		sources.Newest = &newest
		commit("loop: ends", "", "verdict.json", loop.CertificateFile, loop.EntryFile, loop.BudgetFile, loop.ManifestFile)
	}
	ids := c.load()
	for _, m := range made {
		claims = append(claims, claimed{ids[m.work], ids[m.record]})
	}
	return claims
}

// commits is a stream of them for git-fast-import(1), which is quick and asks no
// hook.
type commits struct {
	b      *loopBench
	stream bytes.Buffer
	mark   int // of the newest
}

// add puts a commit on a ref, or on another commit, with a second parent or none.
func (c *commits) add(ref, from, second, subject string, files map[string][]byte) {
	c.mark++
	fmt.Fprintf(&c.stream, "commit %s\nmark :%d\ncommitter Ward Agent <agent@ward> 1795251600 +0000\ndata %d\n%s\n", ref, c.mark, len(subject), subject)
	if from != "" {
		fmt.Fprintf(&c.stream, "from %s\n", from)
	}
	if second != "" {
		fmt.Fprintf(&c.stream, "merge %s\n", second)
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
