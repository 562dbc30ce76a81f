package hooks_test

import (
	"fmt"
	"strings"
	"testing"

	"git-ward/hooks/view"
	"git-ward/internal/git"
	"git-ward/internal/tier"
	"git-ward/protocols/uow"
)

// waiting is the one thing that waits in the clone, as it was fetched.
func (b *unitBench) waiting() view.Waiting {
	b.T.Helper()
	b.Git("fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*", "refs/ward/*:refs/ward/*", "+refs/notes/*:refs/notes/*")
	repo, err := git.Named(b.T.Context(), b.Work)
	if err != nil {
		b.T.Fatal(err)
	}
	s, err := view.Open(b.T.Context(), repo)
	if err != nil {
		b.T.Fatal(err)
	}
	o, err := s.Overview(b.T.Context())
	if err != nil {
		b.T.Fatal(err)
	}
	if len(o.Waiting) == 0 {
		return view.Waiting{}
	}
	return o.Waiting[0]
}

// paste types a command as it is shown, in the clone, with an editor that writes a line
// where it is given none, and one more below a directive's heading.
func (b *unitBench) paste(command string) {
	b.T.Helper()
	if out, err := b.Try(b.Work, []string{"GIT_EDITOR=sed -i -e '1s/^$/It is the second one./' -e '1s/^###.*/&\\nSay it twice./'"}, "", "sh", "-c", command); err != nil {
		b.T.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// TestCommandsThatWait brings a unit into each state that waits for a PM, and types what
// its list names, as it is: the thing waits no more, and the answer is on the journal.
func TestCommandsThatWait(t *testing.T) {
	tier.Full(t, "a unit is brought to each of fifteen states")
	t.Parallel()
	b := newUnits(t)
	b.Commit(uow.PolicyPath, "pilot_pulse = 4\n")
	if out, err := b.Push("main"); err != nil {
		t.Fatal(out)
	}
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	block := func(reason uow.Reason) uow.Input {
		return uow.Input{Event: uow.Block, Actor: uow.Agent, Reason: reason}
	}
	ask := func(reason uow.Reason) uow.Input {
		return uow.Input{Event: uow.RequestApproval, Actor: uow.Agent, Reason: reason, Note: "which\nparser?"}
	}
	for _, test := range []struct {
		in      uow.Input
		command string
		words   bool // the editor asks for them
	}{
		{ask(uow.Question), "git ward uow approve D-1.1", true},
		{ask("LOW_CONFIDENCE"), "git ward uow approve D-1.1", false},
		{ask("POLICY_BRANCH"), "git ward uow approve D-1.1", false},
		{ask(uow.PulseIsDue), "git ward uow resume --pulse D-1.1", false},
		{uow.Input{Event: uow.Pause, Actor: uow.PM, Reason: "COST_REVIEW"}, "git ward uow resume D-1.1", false},
		{block("AMBIGUITY_LOCK"), "git ward uow clarify D-1.1", true},
		{block("LOOP_BLOCKED"), "git ward uow clarify D-1.1", true},
		{block("POLICY_BRANCH"), "git ward uow clarify D-1.1", true},
		{block(uow.NoTool), "git ward uow retry D-1.1", false},
		{block(uow.ModelDenied), "git ward uow retry D-1.1", false},
		{block(uow.Backpressure), "git ward uow retry D-1.1", false},
		{block(uow.TransientFailure), "git ward uow retry D-1.1", false},
		{block(uow.VerdictTimeout), "git ward uow retry D-1.1", false},
		{ask(uow.NeedInfo), "git ward directive edit D-1", false},
	} {
		if test.in.Reason == uow.TransientFailure { // with its retries spent the agent gives it up by itself, unless somebody is faster
			b.step("D-1.1", block(uow.Trouble))
			if w := b.waiting(); w.Unit != "" {
				t.Errorf("%s: %+v", uow.Trouble, w)
			}
			b.paste("git ward uow retry --waive D-1.1")
			b.catchUp("D-1.1")
		}
		b.step("D-1.1", test.in)
		w := b.waiting()
		if w.Command != test.command || w.What == "" || w.Unit != "D-1.1" {
			t.Fatalf("%s %s: %+v", test.in.Event, test.in.Reason, w)
		}
		b.paste(w.Command)
		if now := b.waiting(); now.Key == w.Key {
			t.Fatalf("%s: it waits as before: %+v", w.Command, now)
		}
		b.catchUp("D-1.1")
		if note := b.last[uow.RefPrefix+"D-1.1"].Note; test.words != (note == "It is the second one.") {
			t.Errorf("%s: the note is %q", w.Command, note)
		}
	}
	b.Fsck()
}

// An editor that leaves nothing changes nothing, and where there is none it is said how
// the words are given else.
func TestAnswerWithoutWords(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.step("D-1.1", uow.Input{Event: uow.RequestApproval, Actor: uow.Agent, Reason: uow.Question, Note: "which?\n# ---"})
	for editor, want := range map[string]string{
		"true":  "the text is empty, so nothing was changed",
		"false": "nothing was changed",
		"cat":   "#     which",
	} {
		out, err := b.Try(b.Work, []string{"GIT_EDITOR=" + editor}, "", "git-ward", "uow", "approve", "D-1.1")
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", editor, err, out)
		}
	}
	if out, err := b.Try(b.Work, []string{"TERM=dumb"}, "", "git-ward", "uow", "clarify", "D-1.1"); err == nil || !strings.Contains(out, "give the text by -m") {
		t.Errorf("%v\n%s", err, out)
	}
	b.uow("asks for your word", "list")
	b.Fsck()
}

// An answer is offered to each other unit that asks the same in other spelling, and to none
// that asks something else.
func TestSameQuestion(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	texts := []string{directiveText}
	for n, question := range []string{"Which parser?", "which  parser", "Which port?"} {
		if n > 0 {
			texts = append([]string{strings.Replace(directiveText, "D-1", fmt.Sprintf("D-%d", n+1), 1)}, texts...)
			b.direct(strings.Join(texts, "\n")) // the first directive is the one at hand
		}
		id := fmt.Sprintf("D-%d.1", n+1)
		b.step(id, byAgent(uow.Open))
		b.step(id, byAgent(uow.Activate))
		b.step(id, uow.Input{Event: uow.RequestApproval, Actor: uow.Agent, Reason: uow.Question, Note: question})
	}
	out := b.Run(b.Work, "git-ward", "uow", "approve", "-m", "it's the second", "D-1.1")
	if want := "D-2.1 asks the same: git ward uow approve D-2.1 -m 'it'\\''s the second'\n"; !strings.Contains(out, want) || strings.Contains(out, "D-3.1") {
		t.Errorf("no %q in\n%s", want, out)
	}
	if out := b.Run(b.Work, "git-ward", "uow", "approve", "-m", "80", "D-3.1"); strings.Contains(out, "asks the same") {
		t.Error(out)
	}
}

// A dead letter wants a last word, by the command that is named for it.
func TestCommandForADeadLetter(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.step("D-1.1", uow.Input{Event: uow.Condemn, Actor: uow.Agent, Reason: "POLICY_BRANCH"})
	w := b.waiting()
	if w.Kind != view.Blocked || w.Command != "git ward uow cancel --failed D-1.1" {
		t.Fatalf("%+v", w)
	}
	b.paste(w.Command)
	if now := b.waiting(); now.Key == w.Key {
		t.Fatalf("it waits as before: %+v", now)
	}
	b.Fsck()
}

// An edit is an answer: the lines of a unit that asked, and those of its directive, leave it
// to the agent, wherever they are read.
func TestEditedWhileItAsks(t *testing.T) {
	tier.First(t, "the built programs, real hooks and pushes")
	t.Parallel()
	b := newUnits(t)
	b.step("D-1.1", byAgent(uow.Open))
	b.step("D-1.1", byAgent(uow.Activate))
	b.step("D-1.1", uow.Input{Event: uow.RequestApproval, Actor: uow.Agent, Reason: uow.NeedInfo, Note: "when is it done?"})
	lines := map[string][]string{"the directive": {"directive", "show", "D-1"},
		"status": {"status"}, "the units": {"uow", "show"}, "the unit": {"uow", "show", "D-1.1"}}
	says := func(want, never string) {
		t.Helper()
		for name, args := range lines {
			if out := b.Run(b.Work, "git-ward", args...); !strings.Contains(out, want) || strings.Contains(out, never) {
				t.Errorf("%s: it has no %q, or %q:\n%s", name, want, never, out)
			}
		}
	}
	says("git ward directive edit D-1", "the agent, ")
	b.direct(directiveText + "\nSay it in English.\n")
	says("the agent, which takes up the directive as it was edited", "git ward directive edit D-1")
}
