package forge_test

import (
	"net/http"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// killedAt is a look that is killed there.
func (s *scene) killedAt(point string) {
	s.T.Helper()
	if out, err := s.Try(s.Bare, []string{"WARD_FAILPOINT=" + point + "=kill"}, "", "git-ward", "forge", "--once", "--bare", s.Bare); err == nil {
		s.T.Fatalf("nothing came to %s: %s", point, out)
	}
}

// TestHalfApproved: an approval that was begun is ended by what is on the host, whatever became of
// the comment or its author since: no text becomes a second directive (FORGE-5).
func TestHalfApproved(t *testing.T) {
	tier.Full(t, "GitHub's description, and git's own server")
	h := newHub(t)
	h.s.User("bob", "User")
	approved := func(meanwhile func(n, comment int64)) (n int64) {
		t.Helper()
		h.p.Give("bob", "write")
		n = h.labelled("greet the user")
		line := approveLine.FindString(h.said(n))
		comment := h.p.Say(n, "bob", line)
		h.killedAt("forge/made")
		meanwhile(n, comment)
		h.once(0)
		h.p.Say(n, "ann", line)
		h.once(0)
		return n
	}
	for i, meanwhile := range []func(n, comment int64){
		h.p.Unsay,
		func(n, comment int64) { h.p.Edit(n, comment, "never mind") },
		func(n, comment int64) { h.p.Edit(n, comment, "/ward drop") },
		func(int64, int64) { h.p.Give("bob", "") },
		func(n, _ int64) { h.p.Label(n, "ann", "ward", false); h.p.Give("bob", "") },
	} {
		n := approved(meanwhile)
		if text := h.Run(h.Bare, "git", "show", "ward:COMMS.md"); strings.Count(text, "\n### D-") != i+1 {
			t.Errorf("%d: %s", i, text)
		}
		gittest.InOrder(t, h.said(n), "is this text, by the word of `bob`", "This issue is D-")
	}
	n := h.p.Issue("eve", "greet in Welsh", body)
	h.p.Label(n, "ann", "ward", true)
	h.p.Give("bob", "write")
	h.once(0)
	line := approveLine.FindString(h.said(n))
	h.p.Say(n, "bob", line)
	h.killedAt("forge/intended")
	h.p.Give("bob", "")
	h.p.Say(n, "ann", line)
	h.killedAt("forge/made") // what ann did is hers, though bob began it
	h.once(0)
	gittest.InOrder(t, h.said(n), "is this text, by the word of `ann`")
	gittest.InOrder(t, h.Run(h.Bare, "git", "log", "-1", "--format=%an", "ward"), "ann")
	if refs := h.Run(h.Bare, "git", "for-each-ref", "refs/ward/forge/intent"); refs != "" {
		t.Error(refs)
	}
}

// TestHalfApprovedOther: who approves another text of an issue whose approval was begun, and is on the
// host, makes no second directive of it (FORGE-5).
func TestHalfApprovedOther(t *testing.T) {
	tier.Full(t, "GitHub's description, and git's own server")
	h := newHub(t)
	h.s.User("bob", "User")
	h.p.Give("bob", "write")
	n := h.labelled("greet the user")
	h.p.Rewrite(n, "In Welsh, too.\n\n"+body)
	h.once(0)
	lines := approveLine.FindAllString(h.said(n), -1)
	comment := h.p.Say(n, "bob", lines[0])
	h.killedAt("forge/made")
	h.p.Unsay(n, comment)
	h.p.Say(n, "ann", lines[1])
	h.once(0)
	if text := h.Run(h.Bare, "git", "show", "ward:COMMS.md"); len(lines) != 2 || strings.Count(text, "\n### D-") != 1 {
		t.Errorf("%q: %s", lines, text)
	}
	gittest.InOrder(t, h.said(n), "D-1 is this text, by the word of `bob`: "+strings.Fields(lines[0])[2])
	if refs := h.Run(h.Bare, "git", "for-each-ref", "refs/ward/forge/intent"); refs != "" {
		t.Error(refs)
	}
}

// TestOutOfSight: what the token may no longer see in the middle of a look is no answer to who may
// write: the verb is acted on when the right is back (FORGE-2, FORGE-5).
func TestOutOfSight(t *testing.T) {
	tier.Full(t, "GitHub's description, and git's own server")
	h := newHub(t)
	n := h.labelled("greet the user")
	h.p.Say(n, "ann", approveLine.FindString(h.said(n)))
	asked := 0 // first of who gave the label, then of who comments
	asks := func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/collaborators/ann/permission") {
			if asked++; asked == 2 {
				h.p.Give("ward", "")
			}
		}
		return false
	}
	h.mu.Lock()
	h.p.Private, h.next = true, asks
	h.mu.Unlock()
	gittest.InOrder(t, h.once(1), "the token may not see it")
	h.mu.Lock()
	h.next = nil
	h.mu.Unlock()
	h.p.Give("ward", "write")
	h.once(0)
	gittest.InOrder(t, h.said(n), "D-1 is this text, by the word of `ann`")
}

// TestAnotherInSight: nor is it what a project says of the person that has the name since the look
// began (FORGE-2, FORGE-5).
func TestAnotherInSight(t *testing.T) {
	tier.Full(t, "GitHub's description, and git's own server")
	h := newHub(t)
	n := h.labelled("greet the user")
	h.p.Say(n, "ann", approveLine.FindString(h.said(n)))
	before := h.at("refs/ward/forge/issue/1")
	asked := 0
	h.mu.Lock()
	h.next = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/collaborators/ann/permission") {
			return false
		}
		if asked++; asked == 2 {
			h.p.Delete()
			h.s.Project("ann", "box").Give("ward", "write")
			http.NotFound(w, r) // as GitLab says of who is no member
			return true
		}
		return false
	}
	h.mu.Unlock()
	gittest.InOrder(t, h.once(1), "is another project than the one that is known here")
	if after := h.at("refs/ward/forge/issue/1"); after != before {
		t.Error(h.Run(h.Bare, "git", "show", after))
	}
}

// TestHalfApprovedOwing: the end of an approval that was begun takes no answer away that is owed to
// another comment.
func TestHalfApprovedOwing(t *testing.T) {
	tier.Full(t, "GitHub's description, and git's own server")
	h := newHub(t)
	n := h.labelled("greet the user")
	comment := h.p.Say(n, "ann", approveLine.FindString(h.said(n)))
	h.killedAt("forge/made")
	h.p.Unsay(n, comment)
	h.p.Say(n, "ann", "/ward retry")
	posts := 0
	h.mu.Lock()
	h.next = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/comments") {
			return false
		}
		if posts++; posts == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return posts == 1
	}
	h.mu.Unlock()
	h.once(1)
	h.once(0)
	gittest.InOrder(t, h.said(n), "There is no directive here yet", "D-1 is this text")
}
