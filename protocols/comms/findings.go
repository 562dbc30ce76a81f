package comms

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"git-ward/internal/diag"
)

// The rules that findings name. Errors refuse a push, the two at the end warn.
const (
	ruleSize             = "comms/size"
	ruleUTF8             = "comms/utf8"
	ruleCRLF             = "comms/crlf"
	ruleControl          = "comms/control"
	ruleConflict         = "comms/conflict"
	ruleStructure        = "comms/structure"
	ruleDirectiveHeading = "comms/directive-heading"
	ruleDuplicateID      = "comms/duplicate-id"
	ruleCriterion        = "comms/criterion"
	ruleKey              = "comms/key"
	ruleValue            = "comms/value"
	ruleReportHeading    = "comms/report-heading"
	ruleReportOrder      = "comms/report-order"
	ruleReportSize       = "comms/report-size"
	ruleStatus           = "comms/status"
	ruleQuestionHeading  = "comms/question-heading"
	ruleQuestionOrder    = "comms/question-order"
	ruleQuestionSize     = "comms/question-size"
	ruleReusedID         = "comms/reused-id"

	ruleAgentDirectives = "comms/agent-directives"
	ruleAgentReport     = "comms/agent-report-edited"
	ruleAgentQuestion   = "comms/agent-question-edited"
	ruleAgentAppend     = "comms/agent-append"
	ruleAgentPrune      = "comms/agent-prune"

	ruleNoCriterion = "comms/no-criterion"
	ruleNoResidual  = "comms/no-residual"
)

// indentHint is the hint for a line that only looks like grammar.
const indentHint = "to keep it as text, indent the line by four spaces"

// findings collects at most MaxFindings findings.
type findings []diag.Diagnostic

// add records an error at line:col; col 0 means the whole line, line 0 the file.
func (f *findings) add(line, col int, rule, hint, format string, args ...any) {
	f.append(diag.Error, line, col, rule, hint, format, args)
}

// warn records a warning. Parse warns last, so that warnings cannot crowd out errors.
func (f *findings) warn(line int, rule, hint, format string, args ...any) {
	f.append(diag.Warning, line, 0, rule, hint, format, args)
}

// full reports whether further findings would be dropped.
func (f *findings) full() bool { return len(*f) >= MaxFindings }

func (f *findings) append(s diag.Severity, line, col int, rule, hint, format string, args []any) {
	if f.full() {
		return
	}
	*f = append(*f, diag.Diagnostic{
		Pos:      diag.Pos{Path: Path, Line: line, Col: col},
		Rule:     rule,
		Severity: s,
		Message:  fmt.Sprintf(format, args...),
		Hint:     hint,
	})
}

// quote quotes text of the document in a message. It cuts long text, so that 1,000 findings do not hold
// 1,000 copies of a long line.
func quote(s string) string {
	const limit = 60
	if len(s) <= limit {
		return strconv.Quote(s)
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut] + "...")
}

// nearestHint suggests the most similar candidate, or lists all.
func nearestHint(word string, candidates []string) string {
	if near := diag.Nearest(word, candidates); near != "" {
		return `did you mean "` + near + `"?`
	}
	return "write one of " + strings.Join(candidates, ", ")
}

func names[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}
