package charter

import (
	"bytes"
	"fmt"

	"git-ward/internal/diag"
)

// maxFindings bounds the findings about one file.
const maxFindings = 1000

// report collects findings about a file.
type report struct {
	file  File
	found []diag.Diagnostic
}

// add records a finding at a byte of the file.
func (r *report) add(offset int, rule, message, hint string) {
	if len(r.found) < maxFindings {
		line, col := position(r.file.Data, offset)
		r.found = append(r.found, diag.Diagnostic{Pos: diag.Pos{Path: r.file.Path, Line: line, Col: col},
			Rule: rule, Severity: diag.Error, Message: message, Hint: hint})
	}
}

// sized refuses a file over the limit.
func (r *report) sized() bool {
	if len(r.file.Data) <= MaxBytes {
		return true
	}
	r.found = append(r.found, diag.Diagnostic{Pos: diag.Pos{Path: r.file.Path}, Rule: "protocol/size", Severity: diag.Error,
		Message: fmt.Sprintf("the file has %d bytes, more than %d", len(r.file.Data), MaxBytes), Hint: "split it"})
	return false
}

// position turns a byte offset into a line and column, both from 1, in bytes.
func position(data []byte, offset int) (line, col int) {
	before := data[:min(offset, len(data))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}
