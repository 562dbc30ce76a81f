package checks

import (
	"git-ward/internal/diag"
	"git-ward/protocols/jsondoc"
)

// decode reads a document strictly (jsondoc.Decode).
func decode(data []byte, v any, rule string, firstLine int) (diag.Diagnostic, bool) {
	return jsondoc.Decode(data, v, rule, firstLine)
}
