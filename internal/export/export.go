// Package export writes what Ward found in the forms that other programs read: SARIF 2.1.0
// for findings in places, JUnit's XML for what passed and what did not (SEE-3). It decides
// nothing and reads nothing; what others wrote comes out cleaned, as on a terminal.
package export

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/diag"
)

// Format is how a verb prints.
type Format string

// The formats.
const (
	Text  Format = "text"
	JSON  Format = "json" // Ward's own, on one line
	SARIF Format = "sarif"
	JUnit Format = "junit"
)

// Flag defines --format for a verb, which has --json already where it has that form.
func (f *Format) Flag(fs *flag.FlagSet) {
	*f = Text
	fs.Func("format", "the `FORMAT`: text, json, sarif (2.1.0) or junit", func(value string) error {
		if all := []Format{Text, JSON, SARIF, JUnit}; !slices.Contains(all, Format(value)) {
			return fmt.Errorf("it is one of text, json, sarif, junit")
		}
		*f = Format(value)
		return nil
	})
}

// Flags is Flag for a verb without --json of its own: that is short for --format json.
func (f *Format) Flags(fs *flag.FlagSet) {
	f.Flag(fs)
	fs.BoolFunc("json", "JSON on one line: --format json", func(value string) error {
		asked, err := strconv.ParseBool(value)
		if *f = Text; asked {
			*f = JSON
		}
		return err
	})
}

// Foreign reports whether a format is another program's: a Report writes it.
func (f Format) Foreign() bool { return f == SARIF || f == JUnit }

// Report is what a verb found, in every form that Write has.
type Report struct {
	Name     string            // of what looked: "git ward lint"
	Version  string            // Ward's
	Findings []diag.Diagnostic // SARIF's results
	Docs     func(rule string) string
	Cases    []Case // JUnit's, in order
}

// Case is one thing that was looked at.
type Case struct {
	Group  string // "comms", "criteria"
	Name   string
	Result Result
	Why    string // one line; what failed or was not run
	Detail string // lines: findings, the end of an output
}

// Result is how a case ended.
type Result string

// The results. Broken is for what did not come to an end of its own: neither met nor unmet.
const (
	Passed Result = "passed"
	Failed Result = "failed"
	Broken Result = "broken"
	NotRun Result = "not run"
)

// Grouped are the cases of findings: one of each name that was looked at, and of each that
// key says of a finding besides. A case fails by its errors; its warnings stand in Detail.
func Grouped(group string, names []string, found []diag.Diagnostic, key func(diag.Diagnostic) string) []Case {
	var cases []Case
	at := map[string]int{}
	add := func(name string) int {
		i, ok := at[name]
		if !ok {
			i = len(cases)
			at[name], cases = i, append(cases, Case{Group: group, Name: name, Result: Passed})
		}
		return i
	}
	for _, name := range names {
		add(name)
	}
	of := map[int][]diag.Diagnostic{}
	for _, d := range found {
		i := add(key(d))
		of[i] = append(of[i], d)
		if d.IsError() && cases[i].Result == Passed {
			cases[i].Result, cases[i].Why = Failed, d.Message
		}
	}
	for i, list := range of {
		var b strings.Builder
		diag.WriteText(&b, list)
		cases[i].Detail = b.String()
	}
	return cases
}

// About is the first part of a finding's rule, which says what it is about: "comms".
func About(d diag.Diagnostic) string {
	about, _, _ := strings.Cut(d.Rule, "/")
	return about
}

// Write writes the report in a format that is Foreign.
func (r *Report) Write(w io.Writer, f Format) error {
	if f == JUnit {
		return r.writeJUnit(w)
	}
	return diag.WriteJSON(w, r.sarif())
}
