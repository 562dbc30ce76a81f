package loop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// chained are the files of a loop of n iterations, as the loop leaves them.
func chained(t *testing.T, n int) map[string][]byte {
	files := map[string][]byte{}
	put := func(path string, v any) Link {
		data, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = data
		return Link{path, Digest(data), "snapshot"}
	}
	var newest *Link
	for i := range n {
		made := put(IterationDir("D-1", i)+"/"+ArtifactsFile, i)
		link := put(IterationDir("D-1", i)+"/"+ManifestFile, Artifacts{SchemaVersion: LinearVersion, LoopID: "D-1.1", Previous: newest,
			Artifacts: []Artifact{{i, made.Path, made.SHA256, "log"}}})
		newest = &link
	}
	files["evidence/D-1/loop/manifest.json"] = files[newest.Path]
	return files
}

// TestChain: the newest manifest proves every file of every iteration, and a change, a
// loss or another order of any of them is found.
func TestChain(t *testing.T) {
	const head = "evidence/D-1/loop/manifest.json"
	check := func(files map[string][]byte) (seen []int, err error) {
		err = CheckChain(head, func(path string) ([]byte, error) { return files[path], nil }, func(_ string, a Artifacts) { seen = append(seen, a.Artifacts[0].Iteration) })
		return seen, err
	}
	whole := chained(t, 5)
	if seen, err := check(whole); err != nil || !slices.Equal(seen, []int{4, 3, 2, 1, 0}) {
		t.Fatal(seen, err)
	}
	for path := range whole {
		for what, damage := range map[string]func(map[string][]byte){
			"lost":    func(f map[string][]byte) { delete(f, path) },
			"changed": func(f map[string][]byte) { f[path] = append(slices.Clone(f[path]), ' ') },
		} {
			files := chained(t, 5)
			damage(files)
			_, err := check(files)
			newest := path == head || path == IterationDir("D-1", 4)+"/"+ManifestFile // nothing names these two but each other
			if (err == nil) != newest {
				t.Errorf("%s is %s: %v", path, what, err)
			}
		}
	}
	files := chained(t, 5)
	files[head] = fmt.Appendf(nil, `{"schema_version":"2.0","loop_id":"D-1.1","artifacts":[{"iteration":0,"file_path":"x","sha256":"","role":"log"}],"previous":{"path":%q,"sha256":%q,"role":"snapshot"}}`, head, hash)
	if seen, err := check(files); err == nil || len(seen) != 1 {
		t.Error("a circle:", seen, err)
	}
}

// TestVersions: files that go on from one another have a version of their own.
func TestVersions(t *testing.T) {
	for path, form := range map[string]string{
		"manifest.json":           `{"schema_version":"%s","loop_id":"D-1.1","artifacts":[]}`,
		"iter_3/manifest.json":    `{"schema_version":"%s","loop_id":"D-1.1","artifacts":[]}`,
		"budget_log.json":         `{"schema_version":"%s","loop_id":"D-1.1","limits":{"profile":"strict","max_iterations":1,"max_tool_calls_per_iteration":1,"max_seconds_per_iteration":1,"max_total_seconds":1,"max_total_tool_calls":1,"reductions":[]},"iterations":[]}`,
		"iter_3/certificate.json": `{"schema_version":"%s","loop_id":"D-1.1","iteration":3,"type":"NONE","lane":"C","residual_decimal_string":null,"R_p_decimal_string":null,"residual_history_decimal_strings":[],"acceptance_criteria_checklist":[],"direction":"UNKNOWN","commit":"","reason":""}`,
	} {
		for version, good := range map[string]bool{"1.0": false, "2.0": true, "3.0": false} {
			at, _ := ParseEvidencePath("evidence/D-1/loop/" + path)
			if found := at.Check(path, fmt.Appendf(nil, form, version)); (len(found) == 0) != good {
				t.Errorf("%s %s: %v", path, version, found)
			}
		}
	}
	at, _ := ParseEvidencePath("evidence/D-1/loop/manifest.json")
	if found := at.Check("x", []byte(`{"schema_version":"2.0","loop_id":"D-1.1","artifacts":[],"previous":{"path":"../x","sha256":"","role":"snapshot"}}`)); len(found) == 0 {
		t.Error("a link out of the repository passes")
	}
}

// TestBudgetGoesOn: each log has its iteration, and what all took.
func TestBudgetGoesOn(t *testing.T) {
	budget := BudgetLog{SchemaVersion: LinearVersion, Iterations: []Usage{}}
	if u := budget.Used(); u != (Usage{}) {
		t.Errorf("%+v", u)
	}
	budget = budget.Next(Usage{Iteration: 0, ToolCalls: 7, Seconds: 30})
	second := budget.Next(Usage{Iteration: 1, ToolCalls: 5, Seconds: 30})
	if u := second.Used(); u != (Usage{Iteration: 2, ToolCalls: 12, Seconds: 60}) || len(second.Iterations) != 1 || budget.Used().Iteration != 1 {
		t.Errorf("%+v", second)
	}
}

// TestFullHistory: certificates of constant size have all residuals between them.
func TestFullHistory(t *testing.T) {
	p := declared(t, Exact)
	const offset = 7 // of a unit that goes on with another's numbers
	certs := map[int]*Certificate{}
	f := Findings{Declaration: p, Limits: Limits{MaxIterations: 1 << 20, MaxTotalSeconds: 1, MaxTotalToolCalls: 1}}
	for i := range 150 {
		f.Iteration = offset + i
		v := judged(p, trial(i%2 == 0, Residual{}))
		v.Record = commit
		f.Verdict = v
		c := Certify(f)
		f.History, f.Earlier = c.History, c.Earlier
		certs[f.Iteration] = &c
		if len(c.History) > HistoryWindow || c.Ended() != i+1 || c.Record != commit || c.SchemaVersion != LinearVersion {
			t.Fatalf("%+v", c)
		}
		reads := 0
		all, err := FullHistory(c, func(n int) (*Certificate, error) { reads++; return certs[n], nil })
		if err != nil || len(all) != i+1 || reads > i/HistoryWindow {
			t.Fatalf("%d residuals with %d reads: %v", len(all), reads, err)
		}
		for k, r := range all {
			if r.Zero() != (k%2 == 0) {
				t.Fatalf("residual %d of %d is %s", k, i, r.Words())
			}
		}
	}
	delete(certs, offset+150-1-HistoryWindow)
	_, err := FullHistory(*certs[offset+149], func(n int) (*Certificate, error) { return certs[n], nil })
	if err == nil || !strings.Contains(err.Error(), "iteration 124") {
		t.Error(err)
	}
}
