// Package looptest has verdicts for the tests of what reads them.
package looptest

import "git-ward/protocols/loop"

// Doubtful are ways to make a verdict that holds name something against its own word, by what
// each of its readers has to say then. The verdict needs a criterion.
var Doubtful = map[string]func(*loop.Verdict){
	"lost test":                            func(v *loop.Verdict) { v.Lost = []string{"calc.TestTwo"} },
	"that the work replaced":               func(v *loop.Verdict) { v.Replaced = []string{"test_calc.py: time.monotonic"} },
	"that holds with any value":            func(v *loop.Verdict) { v.Whatever = []string{"calc_test.go:7: 2"} },
	"by which a command checks":            func(v *loop.Verdict) { v.Checkers = []loop.Left{{Path: "near.py", Kind: "changed"}} },
	"the commands rewrote":                 func(v *loop.Verdict) { v.Rewritten = []string{"calc_test.go"} },
	"rewrote is not known":                 func(v *loop.Verdict) { v.RewrittenNot = "too much at once" },
	"opened without the work":              func(v *loop.Verdict) { v.NotOpened = []string{"check.sh"} },
	"no longer open is not known":          func(v *loop.Verdict) { v.NotOpenedWhy = "too much at once" },
	"every criterion held before the work": func(v *loop.Verdict) { v.Criteria = outcomes(v, loop.Outcome{Before: true}) },
	"holds with other values in its tests": func(v *loop.Verdict) { v.Criteria = outcomes(v, loop.Outcome{Control: loop.ControlAnyValue}) },
	"whose tests were not seen to end":     func(v *loop.Verdict) { v.Criteria = outcomes(v, loop.Outcome{Control: loop.ControlNotSeen}) },
	"not shown to be able to fail":         func(v *loop.Verdict) { v.Criteria = outcomes(v, loop.Outcome{Control: loop.ControlNotTried}) },
}

// outcomes are a verdict's, each with a control's word.
func outcomes(v *loop.Verdict, word loop.Outcome) (list []loop.Outcome) {
	for _, o := range v.Criteria {
		o.Control, o.Before = word.Control, word.Before
		list = append(list, o)
	}
	return list
}
