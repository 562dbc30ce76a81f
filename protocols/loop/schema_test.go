package loop_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"git-ward/internal/config"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
)

const (
	hash   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commit = "cccccccccccccccccccccccccccccccccccccccc"
)

// schemas are the forms of the loop's files as JSON Schema, for other tools: the
// directory schema, by evidence file or "verdict".
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	paths, err := filepath.Glob("schema/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	all := map[string]*jsonschema.Schema{}
	for _, path := range paths {
		all[strings.TrimSuffix(filepath.Base(path), ".json")] = jsonschema.NewCompiler().MustCompile(path)
	}
	return all
}

// validate holds a document to a schema.
func validate(s *jsonschema.Schema, data []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

// documents makes one of each evidence file, as the loop does.
func documents(t *testing.T) map[string]any {
	t.Helper()
	doc, _ := comms.Parse([]byte("# COMMS\n## Directives\n### D-1: t\n- [ ] tests pass (`true`)\n- residual: `gap`\n- R_p: 1e-3\n- certificates: EXACT, CONVERGED\n- profile: fast\n## Reports\n"))
	p, limits, missing := loop.Declare("D-1.1", doc.Directives[0], loop.Base(config.Default().Loop))
	if len(missing) > 0 {
		t.Fatal(missing)
	}
	half, err := loop.ParseResidual("0.0005")
	if err != nil {
		t.Fatal(err)
	}
	run := loop.Trial{Criteria: []loop.Outcome{{Criterion: p.Commands[0].Text, Command: "true", Met: true}}, Residual: &loop.Outcome{Command: "gap", Met: true}, Value: half}
	v := loop.Judge(p, []loop.Trial{run, run})
	v.Commit, v.Takes = commit, commit
	v.Left, v.LeftMore, v.NotIncluded, v.OnlyGuards, v.Process = []loop.Left{{"zz_test.go", "added", "100644", commit}}, 1, true, true, loop.SameProcess
	v.Control, v.Record = commit, commit
	v.Opened, v.NeverOpened, v.NotObserved = []string{"a.go"}, []string{"README.md"}, "git's objects were read"
	v.Lost = []string{"calc.TestTwo"}
	v.Checkers, v.CheckersMore = []loop.Left{{"near.py", "changed", "100644", commit}}, 1
	v.Replaced = []string{"test_calc.py: time.monotonic"}
	v.Whatever, v.Asked, v.Comparisons = []string{"calc_test.go:7: 2"}, 16, 40
	v.Main, v.Base, v.Included = commit, commit, []string{"Makefile"}
	f := loop.Findings{Declaration: p, Limits: limits, Spent: 1, Verdict: &v}
	c := loop.Certify(f)
	made := loop.Artifacts{SchemaVersion: loop.SchemaVersion, LoopID: "D-1.1", Artifacts: []loop.Artifact{{Iteration: 0, Path: "a.txt", SHA256: hash, Role: "log"}}}
	manifest := made
	manifest.SchemaVersion, manifest.Previous = loop.LinearVersion, &loop.Link{Path: "evidence/D-1/loop/iter_0/manifest.json", SHA256: hash, Role: "snapshot"}
	budget := loop.BudgetLog{SchemaVersion: loop.LinearVersion, LoopID: "D-1.1", Limits: limits, Iterations: []loop.Usage{}}
	o := loop.Outcomes{Declaration: p, Limits: limits, Status: loop.ExitConverged, Decision: loop.Decide(f, c), State: loop.BudgetCheck,
		Last: &c, History: c.History, Manifest: manifest, Rung: loop.Rung274177}
	return map[string]any{"plan": p, "certificate": c, "manifest": manifest, "artifacts": made, "halting_report": loop.NewReport(o), "verdict": v,
		"budget_log": budget.Next(loop.Usage{Iteration: 0, ToolCalls: 3, Seconds: 9})}
}

func TestEveryFileFits(t *testing.T) {
	docs, forms := documents(t), schemas(t)
	for name, v := range docs {
		data, err := loop.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(forms[name], data); err != nil {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
		if strings.Contains(string(data), `"0.0005"`) { // a residual as a JSON number is refused
			number := strings.Replace(string(data), `"0.0005"`, `0.0005`, 1)
			if err := validate(forms[name], []byte(number)); err == nil {
				t.Errorf("%s takes a number for a residual", name)
			}
			dir := loop.IterationDir("D-1", 0)
			if name == "halting_report" || name == "plan" {
				dir = loop.Dir("D-1")
			}
			path := dir + "/" + name + ".json"
			if place, ok := loop.ParseEvidencePath(path); ok && place.File != "" && len(place.Check(path, []byte(number))) == 0 {
				t.Errorf("loop takes a number for a residual in %s", name)
			}
		}
		if err := validate(forms[name], []byte(strings.Replace(string(data), "{", `{"extra":1,`, 1))); err == nil {
			t.Errorf("%s takes an unknown member", name)
		}
	}
}

// Every exit's report fits its contract, and not another's.
func TestExits(t *testing.T) {
	forms := schemas(t)
	p := documents(t)["plan"].(loop.Declaration)
	var history []loop.Residual
	var last loop.Certificate
	for _, s := range []string{"1", "2", "3"} {
		r, _ := loop.ParseResidual(s)
		history = append(history, r)
		last = loop.Certificate{Type: loop.Diverged, Lane: loop.LaneA, Residual: r, History: history, Checklist: []loop.Met{}}
	}
	for status, d := range map[loop.Status]loop.Decision{
		loop.ExitDiverged:       {Event: loop.Diverged3, Reason: loop.SilentDivergence},
		loop.ExitCancelled:      {Event: loop.InvariantBroken, Reason: loop.InvariantViolation, Words: "the PM ended it"},
		loop.ExitBudgetExceeded: {Event: loop.BudgetExhausted, Reason: loop.MaxIters},
		loop.ExitBlocked:        {Event: loop.Backpressure, Reason: loop.BackpressureSignal, Words: "STOP"},
		loop.ExitNeedInfo:       {Event: loop.NullDetected, Reason: loop.NullInput},
	} {
		o := loop.Outcomes{Declaration: p, Status: status, Decision: d, Last: &last, History: history, State: loop.BudgetCheck, Missing: []string{"goal"}}
		if status == loop.ExitNeedInfo {
			o.Last, o.History = nil, nil
		}
		data, err := loop.Encode(loop.NewReport(o))
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(forms["halting_report"], data); err != nil {
			t.Errorf("%s: %v\n%s", status, err, data)
		}
		other := strings.Replace(string(data), string(status), string(loop.ExitConverged), 1)
		if err := validate(forms["halting_report"], []byte(other)); err == nil {
			t.Errorf("%s passes as %s", status, loop.ExitConverged)
		}
	}
	if forms["cnf_capsule"] == nil {
		t.Error("the capsule has no schema")
	}
}
