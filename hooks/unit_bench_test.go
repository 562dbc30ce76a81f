package hooks_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/benchtest"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// TestBenchUnitStep measures what the hooks take for one iteration's record, with
// 10, 100 and 1,000 iterations of history, against the same push without hooks.
func TestBenchUnitStep(t *testing.T) {
	benchtest.Only(t)
	for _, n := range []int{10, 100, 1000} {
		b := newUnits(t)
		b.direct(strings.Replace(directiveText, "max_iterations: 2", fmt.Sprintf("max_iterations: %d", n+50), 1))
		b.step("D-1.1", byAgent(uow.Open))
		b.step("D-1.1", byAgent(uow.Activate))
		ref := uow.RefPrefix + "D-1.1"
		bare, tip := git.Open(b.Bare), b.tips[ref]
		for i := range n {
			if i%100 == 99 { // a pulse is due every 600 interactions
				b.last[ref].Pulse = 0
			}
			r := b.advance("D-1.1", byAgent(uow.Iterate))
			data, err := r.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if tip, err = bare.CommitFile(tip, uow.File, data, time.Now(), "history"); err != nil {
				t.Fatal(err)
			}
			b.last[ref] = r
		}
		b.Run(b.Bare, "git", "update-ref", ref, tip)
		b.tips[ref] = tip
		b.Git("fetch", "-q", "origin", "refs/ward/*:refs/ward/*")
		plain := filepath.Join(filepath.Dir(b.Bare), "plain.git")
		b.Run(b.Work, "cp", "-a", b.Bare, plain)
		b.Run(plain, "git", "config", "core.hooksPath", "/nonexistent")
		var with, without []time.Duration
		for range 15 {
			data, err := b.advance("D-1.1", byAgent(uow.Iterate)).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			old := b.tips[ref]
			start := time.Now()
			if out, err := b.push("D-1.1", data, true); err != nil {
				t.Fatal(out)
			}
			with = append(with, time.Since(start))
			start = time.Now()
			if out, err := b.Try(b.Work, nil, "", "git", "push", "-q", "--force", plain, b.tips[ref]+":"+ref); err != nil {
				t.Fatal(out, old)
			}
			without = append(without, time.Since(start))
		}
		benchtest.Against(fmt.Sprintf("push of an iteration's record, %d before it", n), benchtest.Median(with), "no hooks", benchtest.Median(without))
	}
}

// TestBenchCapsule measures the pure part of an iteration: capsule, learnings,
// certificate, decision, with 10, 100 and 1,000 iterations of history.
func TestBenchCapsule(t *testing.T) {
	benchtest.Only(t)
	var base time.Duration
	for _, n := range []int{10, 100, 1000} {
		p := loop.Declaration{SchemaVersion: loop.SchemaVersion, LoopID: "D-1.1", Goal: "g", Criteria: []string{"c"}, Commands: []loop.Criterion{{Text: "c", Command: "true"}}, Certificates: []string{loop.Exact}}
		s := loop.Sources{Declaration: p, Limits: loop.Limits{MaxIterations: n + 1, MaxTotalSeconds: 1 << 30, MaxTotalToolCalls: 1 << 30}, Iteration: n, Spent: n}
		hash := strings.Repeat("a", 64)
		for i := range n {
			s.Learnings = loop.AppendEntry(s.Learnings, loop.Entry{Loop: "D-1.1", Iteration: i, Tried: []string{"a change"}, Metric: loop.CriteriaOpen, Direction: loop.Stable, Certificate: loop.None})
			s.Learnings, _ = loop.Compact(s.Learnings)
			for k := range 4 {
				s.Manifest.Artifacts = append(s.Manifest.Artifacts, loop.Artifact{Iteration: i, Path: fmt.Sprintf("evidence/D-1/loop/iter_%d/%d.txt", i, k), SHA256: hash, Role: "log"})
			}
		}
		var took []time.Duration
		for range 15 {
			start := time.Now()
			if _, _, found := loop.Build(s); len(found) > 0 {
				t.Fatal(found)
			}
			loop.AppendEntry(s.Learnings, loop.Entry{Loop: "D-1.1", Iteration: n, Metric: loop.CriteriaOpen})
			c := loop.Certify(loop.Findings{Declaration: p, Limits: s.Limits, Iteration: n, Spent: n})
			loop.Decide(loop.Findings{Declaration: p, Limits: s.Limits, Spent: n}, c)
			took = append(took, time.Since(start))
		}
		m := benchtest.Median(took)
		if base == 0 {
			base = m
		}
		benchtest.Against(fmt.Sprintf("capsule, learnings and decision, %d iterations before", n), m, "10 before", base)
	}
}
