package loop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"git-ward/internal/config"
	"git-ward/protocols/comms"
)

func residual(t interface{ Fatal(...any) }, s string) Residual {
	if s == "null" {
		return Residual{}
	}
	r, err := ParseResidual(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func history(t interface{ Fatal(...any) }, text string) (list []Residual) {
	for s := range strings.FieldsSeq(text) {
		list = append(list, residual(t, s))
	}
	return list
}

const hash = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

var commit = strings.Repeat("c", 40)

func declared(t interface{ Fatal(...any) }, certificates ...string) Declaration {
	p := Declaration{SchemaVersion: SchemaVersion, LoopID: "D-1.1", DirectiveHash: hash, Goal: "g", Criteria: []string{"tests pass"},
		Commands: []Criterion{{"tests pass", "go test ./..."}}, Certificates: certificates, MaxIterations: 3, ResidualMetric: CriteriaOpen,
		RungTarget: Rung274177, Profile: Strict}
	if slices.Contains(certificates, Converged) {
		p.Residual, p.Rp = "scripts/gap", residual(t, "1e-3")
	}
	return p
}

func trial(met bool, value Residual) Trial {
	o := Outcome{Criterion: "tests pass", Command: "go test ./...", Met: met}
	if !met {
		o.ExitCode = 1
	}
	return Trial{Criteria: []Outcome{o}, Residual: &Outcome{Command: "scripts/gap", Met: true}, Value: value}
}

func judged(p Declaration, trials ...Trial) *Verdict {
	v := Judge(p, trials)
	v.Commit = commit
	return &v
}

func TestJudge(t *testing.T) {
	exact, both := declared(t, Exact), declared(t, Exact, Converged)
	zero, small, null := residual(t, "0"), residual(t, "0.0009"), Residual{}
	suite := trial(true, zero)
	suite.Suite = &Outcome{ExitCode: 1}
	invalid := trial(true, zero)
	invalid.Suite, invalid.Validate = &Outcome{Met: true}, &Outcome{Trouble: "it did not end"}
	open := exact
	open.Commands = append(slices.Clone(open.Commands), Criterion{"the README is clear", ""})
	for name, c := range map[string]struct {
		p      Declaration
		trials []Trial
		want   string
		rung   int
	}{
		"all met":                      {exact, []Trial{trial(true, null)}, Exact, Rung641},
		"all met, twice":               {exact, []Trial{trial(true, null), trial(true, null)}, Exact, Rung274177},
		"not met":                      {exact, []Trial{trial(false, null)}, None, 0},
		"the runs differ":              {exact, []Trial{trial(false, null), trial(true, null)}, None, 0},
		"nothing ran":                  {exact, nil, None, 0},
		"a criterion without command":  {open, []Trial{trial(true, null)}, None, 0},
		"the suite fails":              {exact, []Trial{suite}, None, 0},
		"the validation fails":         {exact, []Trial{invalid}, None, 0},
		"residual zero":                {both, []Trial{trial(true, zero)}, Exact, Rung641},
		"residual below R_p":           {both, []Trial{trial(true, small)}, Converged, Rung641},
		"below R_p, criterion open":    {both, []Trial{trial(false, small)}, Converged, Rung641},
		"residual null is not zero":    {both, []Trial{trial(true, null)}, None, 0},
		"residual equals R_p":          {both, []Trial{trial(true, residual(t, "0.001"))}, None, 0},
		"CONVERGED is not declared":    {func() Declaration { p := both; p.Certificates = []string{Exact}; return p }(), []Trial{trial(true, small)}, None, 0},
		"no criteria are not all met":  {Declaration{Certificates: []string{Exact}}, []Trial{{}}, None, 0},
		"residuals of two runs differ": {both, []Trial{trial(true, zero), trial(true, small)}, None, 0},
	} {
		v := Judge(c.p, c.trials)
		if v.Verdict != c.want || v.Rung != c.rung || v.Reason == "" || v.Lane != laneOf(c.want) {
			t.Errorf("%s: %s, rung %d, lane %s (%s)", name, v.Verdict, v.Rung, v.Lane, v.Reason)
		}
	}
}

// A verdict of another commit, another loop or another text proves nothing.
func TestReplayedVerdict(t *testing.T) {
	p := declared(t, Exact)
	v := judged(p, trial(true, Residual{}))
	if !v.Proves(commit, "D-1.1", hash) || v.Proves(strings.Repeat("d", 40), "D-1.1", hash) || v.Proves(commit, "D-1.2", hash) ||
		v.Proves(commit, "D-1.1", strings.Repeat("b", 64)) {
		t.Error("a replayed verdict proves something")
	}
	other := p
	other.LoopID = "D-1.2"
	c := Certify(Findings{Declaration: other, Limits: Limits{MaxIterations: 9, MaxTotalSeconds: 9, MaxTotalToolCalls: 9}, Verdict: v})
	if c.Type != None || !c.Residual.IsNull() {
		t.Errorf("another loop's verdict certifies: %+v", c)
	}
	line, err := v.Line()
	if err != nil || strings.ContainsRune(string(line), '\n') {
		t.Fatal(err, string(line))
	}
	list, err := ParseVerdicts([]byte(string(line) + "\n\nnot json\n" + strings.Replace(string(line), `"residual":"0"`, `"residual":0`, 1) + "\n"))
	if len(list) != 1 || err == nil || !strings.Contains(err.Error(), "line 3") || !strings.Contains(err.Error(), "line 4") {
		t.Error(list, err)
	}
}

func TestDivergence(t *testing.T) {
	for text, want := range map[string]bool{
		"1 2 3": true, "1 2": false, "3 2 1": false, "1 2 2": false, "5 1 2 3": true, "1 2 3 3": false,
		"0.1 0.2 0.30000000000000004": true, "1 null 3": false, "null null null": false, "0 0 0": false, "1e399 1e400 1e401": true, "": false,
	} {
		if got := Diverges(history(t, text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// The order of exits is that of 003, section 2.4.
func TestOrderOfExits(t *testing.T) {
	limits := LimitsOf(comms.Options{}, Base(config.Default().Loop))
	all := Findings{Declaration: declared(t, Exact, Converged), Limits: limits, Spent: limits.MaxIterations, History: history(t, "0 0.0000001"),
		Verdict: judged(declared(t, Exact, Converged), trial(true, residual(t, "0.0005"))), Signals: []Signal{{StopFile, "main"}}}
	decide := func(f Findings) (Decision, Status) {
		d := Decide(f, Certify(f))
		to, err := Next(BudgetCheck, d.Event)
		if err != nil {
			t.Fatal(err)
		}
		status, _ := to.Exit()
		return d, status
	}
	if d, status := decide(all); status != ExitDiverged {
		t.Errorf("%+v", d)
	}
	all.History = nil
	if d, status := decide(all); status != ExitConverged || d.Reason != ConvergedCertificate {
		t.Errorf("%+v", d)
	}
	all.Verdict = nil
	if d, status := decide(all); status != ExitBudgetExceeded || d.Reason != MaxIters {
		t.Errorf("%+v", d)
	}
	all.Spent = 1
	if d, status := decide(all); status != ExitBlocked || d.Reason != BackpressureSignal {
		t.Errorf("%+v", d)
	}
	all.Signals = nil
	if d, _ := decide(all); d.Event != ContinueLoop {
		t.Errorf("%+v", d)
	}
	all.Signals, all.Over = []Signal{{StopFile, "main"}}, "the tokens are spent"
	if d, status := decide(all); status != ExitBudgetExceeded || d.Reason != MaxToolCalls || d.Words != all.Over {
		t.Errorf("%+v", d)
	}
	if c := Certify(all); c.Type != Timeout || c.Reason != all.Over {
		t.Errorf("%+v", c)
	}
	all.Signals, all.Over = nil, ""
	all.Used.Seconds = limits.MaxTotalSeconds
	if d, _ := decide(all); d.Reason != MaxToolCalls {
		t.Errorf("%+v", d)
	}
}

// TestNoCertificateWithoutVerdict: whatever is drawn, success needs a verdict of
// success, a decision has one event of the machine, and every exit's report
// keeps its output contract.
func TestNoCertificateWithoutVerdict(t *testing.T) {
	numbers := []string{"null", "0", "0.0005", "0.001", "0.5", "1", "1e400"}
	rapid.Check(t, func(t *rapid.T) {
		p := declared(t, rapid.SampledFrom([][]string{{Exact}, {Converged}, {Exact, Converged}, {Exact, Diverged}}).Draw(t, "certificates")...)
		limits := LimitsOf(comms.Options{MaxIterations: rapid.IntRange(1, 6).Draw(t, "max")}, Base(config.Default().Loop))
		state := Init
		do := func(events ...Event) {
			for _, e := range events {
				var err error
				if state, err = Next(state, e); err != nil {
					t.Fatal(err)
				}
			}
		}
		do(GoalRequest, IntakeDone, InputsDefined, PlanWritten)
		var hist []Residual
		manifest := Artifacts{SchemaVersion: LinearVersion}
		for i := 0; ; i++ {
			if i > limits.MaxIterations {
				t.Fatal("the loop runs beyond its budget")
			}
			manifest.Artifacts = []Artifact{{i, fmt.Sprintf("evidence/D-1/loop/iter_%d/out.txt", i), hash, "artifact"}}
			var v *Verdict
			if rapid.IntRange(0, 3).Draw(t, "verdict") > 0 {
				var trials []Trial
				for range rapid.IntRange(0, 2).Draw(t, "trials") {
					trials = append(trials, trial(rapid.Bool().Draw(t, "met"), residual(t, rapid.SampledFrom(numbers).Draw(t, "residual"))))
				}
				v = judged(p, trials...)
			}
			f := Findings{Declaration: p, Limits: limits, Iteration: i, Spent: i + 1, History: hist, Verdict: v, Used: Usage{Seconds: i * rapid.IntRange(0, 4000).Draw(t, "seconds")}}
			if rapid.IntRange(0, 9).Draw(t, "signal") == 0 {
				f.Signals = []Signal{{RateLimit, ""}}
			}
			c := Certify(f)
			hist = c.History
			if problems := c.Problems(); len(problems) > 0 {
				t.Fatalf("%+v: %v", c, problems)
			}
			if (c.Type == Exact || c.Type == Converged) && (v == nil || v.Verdict != c.Type) {
				t.Fatalf("%s without a verdict", c.Type)
			}
			do(SubagentOutput, ArtifactsPresent, Certified, LearningsWritten)
			left := state
			d := Decide(f, c)
			do(d.Event)
			status, ended := state.Exit()
			if !ended {
				continue
			}
			rung, _ := Rung(RungEvidence{Certificate: c, Verdict: v, History: hist, Complete: true})
			r := NewReport(Outcomes{Declaration: p, Limits: limits, Status: status, Decision: d, State: left, Last: &c, History: hist, Best: &c, Used: f.Used, Manifest: manifest, Rung: rung, Signals: f.Signals})
			if problems := r.Check(); len(problems) > 0 {
				t.Fatalf("%s: %v", status, problems)
			}
			if r.Outcome() == "" || status != ExitConverged && rung != 0 {
				t.Fatalf("%s with rung %d", status, rung)
			}
			data, err := Encode(r)
			if err != nil {
				t.Fatal(err)
			}
			place, _ := ParseEvidencePath("evidence/D-1/loop/halting_report.json")
			if found := place.Check("x", data); len(found) > 0 {
				t.Fatalf("%s\n%v", data, found)
			}
			return
		}
	})
}

func TestMissing(t *testing.T) {
	base := Base(config.Default().Loop)
	for text, want := range map[string]string{
		"### D-1: t\n- [ ] a (`true`)\n":    "",
		"### D-1: t\n":                      "acceptance_criteria halting_certificates_applicable",
		"### D-1: t\n- [ ] it reads well\n": "halting_certificates_applicable",
		"### D-1: t\n- [ ] it reads well\n- certificates: CONVERGED\n- residual: `r`\n":       "",
		"### D-1: t\n- [ ] it reads well\n- certificates: CONVERGED, DIVERGED\n- R_p: 1e-3\n": "residual",
	} {
		doc, _ := comms.Parse([]byte("# COMMS\n## Directives\n" + text + "## Reports\n"))
		p, limits, missing := Declare("D-1.1", doc.Directives[0], base)
		if got := strings.Join(missing, " "); got != want {
			t.Errorf("%q: missing %q, want %q", text, got, want)
		}
		if limits.MaxIterations != 10 || p.MaxIterations != 10 || p.Rp.IsNull() {
			t.Errorf("%q: %+v", text, limits)
		}
		if want == "" {
			continue
		}
		r := NewReport(Outcomes{Declaration: p, Status: ExitNeedInfo, Decision: Decision{NullDetected, NeedReason(missing), ""}, Missing: missing})
		if problems := r.Check(); len(problems) > 0 {
			t.Error(problems)
		}
	}
}

func TestProfiles(t *testing.T) {
	for name, c := range map[string]struct {
		o    comms.Options
		base func(*Base)
		want Limits
	}{
		"strict":           {comms.Options{}, nil, Limits{Strict, 10, 80, 1800, 14400, 500, nil}},
		"fast":             {comms.Options{Profile: "fast"}, nil, Limits{Fast, 5, 40, 900, 7200, 250, nil}},
		"benchmark_adapt":  {comms.Options{Profile: "benchmark_adapt"}, nil, Limits{BenchmarkAdapt, 7, 64, 1260, 10080, 400, nil}},
		"the PM's own":     {comms.Options{Profile: "fast", MaxIterations: 1, MaxTotalSeconds: 5}, nil, Limits{Fast, 1, 40, 900, 5, 250, nil}},
		"clamped":          {comms.Options{Profile: "fast"}, func(b *Base) { b.MaxIterations, b.MaxToolCallsPerIteration = 4, 50 }, Limits{Fast, 3, 40, 900, 7200, 250, nil}},
		"never above base": {comms.Options{Profile: "fast"}, func(b *Base) { b.MaxIterations, b.MaxSecondsPerIteration = 2, 100 }, Limits{Fast, 2, 40, 100, 7200, 250, nil}},
	} {
		base := Base(config.Default().Loop)
		if c.base != nil {
			c.base(&base)
		}
		got := LimitsOf(c.o, base)
		if name == "fast" && len(got.Reductions) != 5 {
			t.Errorf("the reductions are not said: %v", got.Reductions)
		}
		got.Reductions = nil
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestDisk(t *testing.T) {
	for _, c := range []struct {
		used, total uint64
		want        bool
	}{{90, 100, false}, {100, 100, true}, {0, 0, false}, {950, 1000, true}, {1 << 62, 1<<62 + 1<<50, true}} {
		if DiskOver90(c.used, c.total) != c.want {
			t.Error(c)
		}
	}
}

func TestPlot(t *testing.T) {
	want := "   3 | *\n     | .\n     | . *\n   0 |     * ?\n     +-------- iterations 0..3\n"
	got := Plot(history(t, "3 1 0 null"), 20, 3)
	if trimLines(got) != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	if Plot(nil, 10, 3) != "" || !strings.Contains(Plot(history(t, "null"), 5, 2), "?") {
		t.Error("edges")
	}
}

func trimLines(s string) string {
	var lines []string
	for l := range strings.SplitSeq(s, "\n") {
		lines = append(lines, strings.TrimRight(l, " "))
	}
	return strings.Join(lines, "\n")
}

// Both JSON packages write a residual alike, null included, and read it back.
func TestResidualInJSON(t *testing.T) {
	for s, want := range map[string]string{"null": "null", "0": `"0"`, "1e-3": `"1e-3"`} {
		v := judged(declared(t, Exact, Converged), trial(true, residual(t, s)))
		if s != "null" && v.Residual.IsNull() {
			t.Fatal(s)
		}
		line, err := v.Line()
		old, err2 := json.Marshal(v)
		if err != nil || err2 != nil || !strings.Contains(string(line), `"residual":`+want) || !strings.Contains(string(old), `"residual":`+want) {
			t.Errorf("%s: %v %v\n%s\n%s", s, err, err2, line, old)
		}
		back, err := ParseVerdicts(line)
		if err != nil || back[0].Residual.Words() != v.Residual.Words() {
			t.Error(err, back)
		}
	}
}

// TestParseIteration: a directory is an iteration's by the one name that IterationDir gives it.
func TestParseIteration(t *testing.T) {
	for name, want := range map[string]int{"iter_0": 0, "iter_12": 12, "iter_01": -1, "iter_": -1, "iter_-1": -1, "12": -1, "iter_x": -1, "iter_+1": -1, "": -1, "iter_99999999999999999999": -1} {
		n, ok := ParseIteration(name)
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d, %v", name, n, ok)
		}
	}
}
