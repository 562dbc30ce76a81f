package command

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"git-ward/internal/object"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// journal is a unit's, in a repository in memory.
type journal struct {
	*object.Store
	t    *testing.T
	id   uow.ID
	last *uow.Record
}

// commit puts a commit of one file on top of a ref.
func (j *journal) commit(ref, name, content string) {
	j.t.Helper()
	c := object.Commit{Who: object.Signature("T", "t@example.org", time.Unix(1, 0)), Message: "test\n"}
	base := ""
	tip, err := j.Tip(ref)
	if err == nil && tip != "" {
		c.Parents = []string{tip}
		base, _, err = j.Tree(tip)
	}
	if err != nil {
		j.t.Fatal(err)
	}
	id, err := j.WriteCommit(base, map[string][]byte{name: []byte(content)}, c)
	if err == nil {
		err = j.SetRef(ref, id)
	}
	if err != nil {
		j.t.Fatal(err)
	}
}

// step appends the record of an event.
func (j *journal) step(in uow.Input) {
	j.t.Helper()
	in.Actor, in.Time, in.Interactions = uow.Agent, time.Unix(1, 0), 1
	main := &uow.Main{DirectiveHash: strings.Repeat("d", 64), Total: uow.Totals(5), Policy: uow.DefaultPolicy()}
	next, found := uow.Advance(j.id, j.last, in, uow.World{Main: main})
	if len(found) > 0 {
		j.t.Fatal(in.Event, found)
	}
	data, err := next.Marshal()
	if err != nil {
		j.t.Fatal(err)
	}
	j.last = next
	j.commit(j.id.Ref(), uow.File, string(data))
}

// TestUnits: status shows the last record of a unit and the verdicts on its claims,
// in their order.
func TestUnits(t *testing.T) {
	j := &journal{Store: object.Memory(), t: t, id: uow.ID{Directive: "D-1", K: 1}}
	if list, err := units(j); err != nil || len(list) > 0 || list == nil {
		t.Fatalf("an empty repository: %v, %v", list, err)
	}
	j.step(uow.Input{Event: uow.Open, Reason: "DIRECTIVE_OPEN"})
	j.step(uow.Input{Event: uow.Activate, Reason: "WORK_STARTED"})
	for i := range 3 {
		commit := strings.Repeat(fmt.Sprint(i+1), 40)
		j.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
		j.step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit, Record: strings.Repeat("e", 40)})
		v := loop.Judge(loop.Declaration{}, nil)
		v.Unit, v.Commit, v.Claim, v.Iteration = j.id.String(), commit, j.last.Hash, i+1
		line, err := v.Line()
		if err != nil {
			t.Fatal(err)
		}
		j.commit(loop.VerdictsRef, commit[:2]+"/"+commit[2:], string(line)+"\n")
	}
	list, err := units(j)
	if err != nil || len(list) != 1 || list[0].Hash != j.last.Hash || len(list[0].Verdicts) != 3 || list[0].Verdicts[2].Iteration != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	if text := statusText(list); !strings.Contains(text, "D-1.1") || strings.ContainsRune(text, '\x1b') {
		t.Errorf("%q", text)
	}
}
