package loop

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// coverage is seed 003, section by section: what carries it and what proves it.
// Names are of this package, or of uow. and checks. (../uow, ../../hooks/checks);
// proofs also of ../../hooks. The agent's and the verifier's halves of a section
// stand in their own rooms.
var coverage = []struct{ section, code, tests string }{
	{"A portability: learnings before the budget check, capsule rebuilt, no host paths", "Violations Build hostPath LearningsPath StopPath Dir", "TestForbiddenStates TestCapsule TestLearnings"},
	{"2.1 states", "Machine State State.Exit", "TestNoCertificateWithoutVerdict"},
	{"2.2 inputs", "Declare Findings Signal Verdict Limits", "TestMissing"},
	{"2.3 outputs", "Capsule Entry Artifacts Report", "TestCapsule TestLearnings TestNoCertificateWithoutVerdict"},
	{"2.4 transitions, order of exits", "Machine Next Decide", "TestOrderOfExits TestNoCertificateWithoutVerdict TestNext"},
	{"2.5 forbidden states", "ForbiddenStates Violations Facts", "TestForbiddenStates"},
	{"3.1 certificates", "Judge Certify Certificate.Problems", "TestJudge TestReplayedVerdict TestDivergence"},
	{"3.2 declaration", "Declaration Declare Declaration.Missing", "TestMissing"},
	{"4.1 capsule fields and what is forbidden in it", "Capsule Capsule.Check Link", "TestCapsule"},
	{"4.2 capsule build", "Build normalize Artifacts.Links", "TestCapsule"},
	{"5.1 learnings file", "Entry.Text StartLoop AppendEntry", "TestLearnings"},
	{"5.2 lanes", "Lane Entry.Check laneOf", "TestLearnings TestJudge"},
	{"5.3 compaction", "Compact MaxLearnings", "TestCompaction"},
	{"6.1 budget parameters", "Base Limits", "TestProfiles"},
	{"6.1 hard: iterations and claims in the journal", "uow.Totals uow.Spent uow.Advance checks.unitCheck", "TestLives TestUnitOfWork"},
	{"6.1 backpressure signals", "Signal SignalKind DiskOver90", "TestDisk TestOrderOfExits"},
	{"6.2 profiles and clamps", "LimitsOf scales", "TestProfiles"},
	{"6.3 exhaustion", "Limits.Exhausted Report.exceeded", "TestOrderOfExits TestNoCertificateWithoutVerdict"},
	{"7 Scout, Solver, Skeptic", "Role SkillPack CycleRole", "TestCapsule"},
	{"10.1 files", "ParseEvidencePath EvidencePath.Check checks.newEvidenceCheck", "TestEvidencePaths TestVersions TestNobodyCertifiesHimself FuzzEvidence"},
	{"10.2 halting report", "Report NewReport", "TestNoCertificateWithoutVerdict TestExits"},
	{"10.3 manifest", "Artifacts Artifacts.CheckManifest CheckChain", "TestEveryFileFits TestChain"},
	{"11 rungs", "Rung RungEvidence SelfTest", "TestJudge TestForbiddenStates"},
	{"12 null and zero", "Residual Declaration.judge Diverges", "TestJudge TestDivergence TestTraps"},
	{"13 exact arithmetic", "Residual ParseResidual", "TestNoFloats TestTraps TestCompare TestEveryFileFits"},
	{"14 predicates", "Declaration.Missing Artifacts.Empty Diverges Limits.Exhausted Decide", "TestMissing TestDivergence TestOrderOfExits"},
	{"15 review: declared type, replays, links, budgets", "Certify Rung Entry.Check Violations", "TestReplayedVerdict TestJudge TestLearnings"},
	{"16 output contracts", "Report.Check NewReport Report.Outcome", "TestNoCertificateWithoutVerdict TestExits"},
	{"17 never worse", "ForbiddenStates", "TestForbiddenStates"},
	{"18 new rules bring a detector and a recovery", "Forbidden", "TestForbiddenStates"},
}

// declaredNames are the top-level names of a directory's files, methods as Type.Method.
func declaredNames(t *testing.T, dir, prefix string, tests bool, into map[string]bool) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatal(dir, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") != tests {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					kind := d.Recv.List[0].Type
					if star, ok := kind.(*ast.StarExpr); ok {
						kind = star.X
					}
					name = kind.(*ast.Ident).Name + "." + name
				}
				into[prefix+name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						into[prefix+s.Name.Name] = true
					case *ast.ValueSpec:
						for _, n := range s.Names {
							into[prefix+n.Name] = true
						}
					}
				}
			}
		}
	}
}

// TestCoverage prints the table (go test -v -run Coverage) and fails where a name
// in it is gone.
func TestCoverage(t *testing.T) {
	code, tests := map[string]bool{}, map[string]bool{}
	declaredNames(t, ".", "", false, code)
	declaredNames(t, "../uow", "uow.", false, code)
	declaredNames(t, "../../hooks/checks", "checks.", false, code)
	for _, dir := range []string{".", "../uow", "../decimal", "../../hooks"} {
		declaredNames(t, dir, "", true, tests)
	}
	var table strings.Builder
	table.WriteString("| 003 | code | test |\n| --- | --- | --- |\n")
	for _, c := range coverage {
		for name := range strings.FieldsSeq(c.code) {
			if !code[name] {
				t.Errorf("%s: there is no %s", c.section, name)
			}
		}
		for name := range strings.FieldsSeq(c.tests) {
			if !tests[name] {
				t.Errorf("%s: there is no test %s", c.section, name)
			}
		}
		table.WriteString("| " + c.section + " | " + strings.ReplaceAll(c.code, " ", ", ") + " | " + strings.ReplaceAll(c.tests, " ", ", ") + " |\n")
	}
	t.Log("\n" + table.String())
}
