package verifier

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestOrder: a claim and its facts are the same on the other side, what a verdict leaves out
// of them too, and an answer is taken of nobody but who has the order.
func TestOrder(t *testing.T) {
	claim := Claim{Commit: "c", Main: "m", Base: "b", Commands: []Command{{Name: "criterion 1", Line: "true", Own: true}}, Frozen: []string{"f"}, Controls: []string{Broken}, Breaks: "x", Held: []File{{"h", true, []byte("held")}},
		Pinned: []string{"p"}, Work: []string{"a"}, Included: []Entry{{"p", "100644", "1"}}, Replays: 2, Bounds: Bounds{1, 2, 3}, Against: &Against{Time: time.Minute}}
	text, err := json.Marshal(NewOrder(&claim, Limits{time.Second, 7}, "image", "word"))
	if err != nil {
		t.Fatal(err)
	}
	var order Order
	if err := json.Unmarshal(text, &order); err != nil {
		t.Fatal(err)
	}
	if got := order.Claim(); !reflect.DeepEqual(got, claim) || order.Limits != (Limits{time.Second, 7}) {
		t.Errorf("%+v", got)
	}
	run := func(line string) []Run {
		return []Run{{Command{Line: line}, Outcome{End: Exited, Time: time.Second, LastLine: line}}}
	}
	facts := &Facts{Commit: "c", Replays: [][]Run{run("1"), run("2")}, With: run("3"), Against: []AgainstRun{{Cold, run("4")}}}
	answer := func(a Answer) *bytes.Buffer {
		var b bytes.Buffer
		if err := a.Write(&b); err != nil {
			t.Fatal(err)
		}
		return &b
	}
	if got, err := ReadAnswer(answer(NewAnswer("word", facts, nil)), "word"); err != nil || !reflect.DeepEqual(got, facts) {
		t.Errorf("%+v %v", got, err)
	}
	var unfit *Unfit
	if _, err := ReadAnswer(answer(NewAnswer("word", nil, &Unfit{"too deep"})), "word"); !errors.As(err, &unfit) || unfit.Why != "too deep" {
		t.Error(err)
	}
	half := NewAnswer("word", facts, nil)
	half.Ends = half.Ends[:1]
	for name, b := range map[string]*bytes.Buffer{"another word": answer(NewAnswer("guess", facts, nil)), "nothing": {}, "no JSON": bytes.NewBufferString("x"),
		"empty": bytes.NewBufferString(`{"word":"word"}`), "half": answer(half), "trouble": answer(NewAnswer("word", nil, errors.New("no disk")))} {
		if got, err := ReadAnswer(b, "word"); err == nil || got != nil {
			t.Errorf("%s: %+v", name, got)
		} else if errors.Is(err, ErrWord) != strings.Contains("another word nothing no JSON", name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
