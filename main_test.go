package main

import (
	"testing"

	"git-ward/protocols/plan"
)

// TestTemplatePlan: the registered deep-research plan is the one that `git ward
// research plan` would write, on the topic of whoever calls it.
func TestTemplatePlan(t *testing.T) {
	data, err := files.ReadFile("hooks/template/plans/deep-research.txt")
	if err != nil {
		t.Fatal(err)
	}
	if want := plan.Research(plan.FieldTopic, plan.FieldSlug, false).String(); string(data) != want {
		t.Errorf("it should be\n%s", want)
	}
}
