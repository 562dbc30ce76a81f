// Package export writes Ward's findings in the formats of other programs: SARIF 2.1.0 for
// findings with places, JUnit XML for passes and failures (SEE-3). Untrusted text comes out
// cleaned, as on a terminal.
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

// Format is an output format of a verb.
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

// Foreign reports whether a format is another program's, which Report.Write produces.
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

// The results. Broken is a case that could not be decided.
const (
	Passed Result = "passed"
	Failed Result = "failed"
	Broken Result = "broken"
	NotRun Result = "not run"
)

// Grouped turns findings into cases, one for each checked name and one for each further name
// that key returns. An error fails its case; warnings stand in Detail.
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
