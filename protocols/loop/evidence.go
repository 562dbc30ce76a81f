package loop

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/protocols/jsondoc"
)

// MaxEvidence bounds one evidence file, in bytes.
const MaxEvidence = 8 << 20

// The files of 003, section 10.1, below Dir or an iteration's directory.
const (
	PlanFile       = "plan.json"
	LearningsFinal = "agents_md_final.md"
	ManifestFile   = "manifest.json"
	ReportFile     = "halting_report.json"
	BudgetFile     = "budget_log.json"
	ReductionFile  = "budget_reduction.log"
	CompactionFile = "compaction.log"

	CapsuleFile     = "cnf_capsule.json"
	ArtifactsFile   = "artifacts.json"
	EntryFile       = "agents_md_entry.md"
	CertificateFile = "certificate.json"
	WordsFile       = "words.txt" // the worker's last message; not a file of 003
)

// MaxWords bounds WordsFile, in bytes.
const MaxWords = 8 << 10

// Dir returns the directory of a loop's evidence (LOOP-7): evidence/D-1/loop.
func Dir(directive string) string { return "evidence/" + directive + "/loop" }

// IterationDir returns the directory of iteration n's evidence; n counts from 0.
func IterationDir(directive string, n int) string {
	return Dir(directive) + "/iter_" + strconv.Itoa(n)
}

// ParseIteration returns n for a name iter_n, the last element of IterationDir; ok is false for
// any other name.
func ParseIteration(name string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "iter_"))
	return n, err == nil && n >= 0 && name == "iter_"+strconv.Itoa(n)
}

// EvidencePath is a parsed path below evidence/D-n/loop/.
type EvidencePath struct {
	Directive string
	Iteration int // -1 for files of the whole loop
	File      string
}

// ParseEvidencePath parses a path below evidence/D-n/loop/; ok is false for any other. File is ""
// for a path that 003 does not define: an artifact of the loop, at any depth of an iteration's
// directory.
func ParseEvidencePath(p string) (at EvidencePath, ok bool) {
	rest, isEvidence := strings.CutPrefix(p, "evidence/")
	directive, rest, hasRest := strings.Cut(rest, "/")
	inside, isLoop := strings.CutPrefix(rest, "loop/")
	if !isEvidence || !hasRest || !isLoop || !strings.HasPrefix(directive, "D-") {
		return EvidencePath{}, false
	}
	at = EvidencePath{Directive: directive, Iteration: -1}
	top, below, hasBelow := strings.Cut(inside, "/")
	file := top
	if hasBelow {
		i, ok := ParseIteration(top)
		if !ok {
			return at, true
		}
		at.Iteration, file = i, below
	}
	switch file {
	case ManifestFile, BudgetFile: // the loop's directory has a copy of the newest iteration's
		at.File = file
	case PlanFile, LearningsFinal, ReportFile, ReductionFile, CompactionFile:
		if at.Iteration < 0 {
			at.File = file
		}
	case CapsuleFile, ArtifactsFile, EntryFile, CertificateFile:
		if at.Iteration >= 0 {
			at.File = file
		}
	}
	return at, true
}

// Frozen reports whether the file must not change once it is pushed. That holds for all files
// of an iteration.
func (p EvidencePath) Frozen() bool { return p.Iteration >= 0 }

// Success is the verdict, EXACT or CONVERGED, that a certificate or halting report says the host gave.
type Success struct {
	Unit     string
	Commit   string // "" in a report of an earlier version
	Verdict  string // "" in a report without a certificate
	Residual Residual
	Rung     int // 0 in a certificate, which names none
}

// Words describes the claimed success in a finding.
func (s Success) Words() string {
	words := cmp.Or(s.Verdict, "success")
	if s.Rung != 0 {
		words += fmt.Sprintf(" on rung %d", s.Rung)
	}
	return words
}

// Success returns the success that an evidence file claims. ok is false if the file claims none, or
// cannot be parsed; Check refuses such a file.
func (p EvidencePath) Success(data []byte) (s Success, ok bool) {
	switch p.File {
	case CertificateFile:
		var c Certificate
		if json.Unmarshal(data, &c) != nil {
			return s, false
		}
		return Success{Unit: c.LoopID, Commit: c.Commit, Verdict: c.Type, Residual: c.Residual}, c.Type == Exact || c.Type == Converged
	case ReportFile:
		var r Report
		if json.Unmarshal(data, &r) != nil {
			return s, false
		}
		s = Success{Unit: r.LoopID, Commit: r.Commit, Rung: r.RungAchieved}
		if c := r.Certificate; c != nil {
			s.Verdict, s.Residual = c.Type, c.Final
		}
		return s, r.Status == ExitConverged
	}
	return s, false
}

// Grants reports whether v is the verdict that s claims.
func (v Verdict) Grants(s Success) bool {
	return v.Proves(cmp.Or(s.Commit, v.Commit), s.Unit, v.DirectiveHash) && v.Verdict == s.Verdict &&
		v.Residual.Equal(s.Residual.Decimal) && Reaches(v.Rung, s.Rung)
}

// ruleEvidence is the rule of all findings about the format of evidence files.
const ruleEvidence = "evidence/schema"

// Check parses the evidence file at filePath strictly and returns findings. It repeats the JSON
// Schemas of the directory schema in code: hooks link no schema library, because that would cost
// them milliseconds at every start.
func (p EvidencePath) Check(filePath string, data []byte) []diag.Diagnostic {
	bad := func(format string, args ...any) []diag.Diagnostic {
		return []diag.Diagnostic{{Pos: diag.Pos{Path: filePath, Line: 1, Col: 1}, Rule: ruleEvidence, Severity: diag.Error,
			Message: fmt.Sprintf(format, args...), Hint: "the loop writes this file; do not edit it"}}
	}
	if len(data) > MaxEvidence {
		return bad("the file has %d bytes, more than %d", len(data), MaxEvidence)
	}
	var problems func() []string
	var into any
	switch p.File {
	case PlanFile:
		v := new(Declaration)
		into, problems = v, func() []string { return v.problems() }
	case ManifestFile:
		v := new(Artifacts)
		into, problems = v, func() []string { return append(version(v.SchemaVersion, LinearVersion), v.problems()...) }
	case ArtifactsFile:
		v := new(Artifacts)
		into, problems = v, func() []string { return append(version(v.SchemaVersion, SchemaVersion), v.problems()...) }
	case ReportFile:
		v := new(Report)
		into, problems = v, func() []string { return v.Check() }
	case BudgetFile:
		v := new(BudgetLog)
		into, problems = v, func() []string { return version(v.SchemaVersion, LinearVersion) }
	case CapsuleFile:
		v := new(Capsule)
		into, problems = v, func() []string { return v.Check() }
	case CertificateFile:
		v := new(Certificate)
		into, problems = v, func() []string { return append(version(v.SchemaVersion, LinearVersion), v.Problems()...) }
	default:
		return nil
	}
	if d, ok := jsondoc.Decode(data, into, ruleEvidence, 1); !ok {
		d.Path, d.Severity = filePath, diag.Error
		return []diag.Diagnostic{d}
	}
	var found []diag.Diagnostic
	for _, text := range problems() {
		found = append(found, bad("%s", text)...)
	}
	return found
}

// problems lists what a declaration lacks before a loop may begin.
func (p *Declaration) problems() []string {
	list := version(p.SchemaVersion, SchemaVersion)
	for _, m := range p.Missing() {
		list = append(list, "it does not say "+m)
	}
	return list
}

// version returns a problem if a file's schema version is not the one wanted.
func version(v, want string) []string {
	if v != want {
		return []string{fmt.Sprintf("schema_version is %.20q, not %s", v, want)}
	}
	return nil
}

// Encode returns an evidence file's content: canonical JSON and a newline.
func Encode(v any) ([]byte, error) {
	data, err := canonical(v)
	return append(data, '\n'), err
}
