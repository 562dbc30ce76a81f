package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"git-ward/internal/await"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// settle lets the agent run until nothing moves any more.
func (s *scene) settle() error {
	for range 12 {
		before := s.refs()
		if _, err := s.run(atPush{}); err != nil {
			return err
		}
		due, err := s.due()
		if err != nil || due.IsZero() && before == s.refs() {
			return err
		}
		await.True(s.T, "the time at which a unit is tried again", func() bool { return !time.Now().Before(due) })
	}
	return fmt.Errorf("the agent still moves refs after 12 runs")
}

// due is when all units are tried again that wait for time only, which their retries count;
// zero where there is none.
func (s *scene) due() (due time.Time, err error) {
	const poll = time.Second // as newHost sets it
	units, err := s.units()
	for _, r := range units {
		if r.State == uow.ZombiedSoft && r.ReasonCode.Passes() && r.Retries < r.Policy.MaxRetries {
			at, err := time.Parse(time.RFC3339, r.Time)
			if err != nil {
				return due, err
			}
			if at = at.Add(poll); at.After(due) {
				due = at
			}
		}
	}
	return due, err
}

func (s *scene) refs() string {
	out, _ := s.Try(s.Bare, nil, "", "git", "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/ward/uow", "refs/ward/record")
	return out
}

// units are the last records of each directive's newest unit.
func (s *scene) units() (map[string]*uow.Record, error) {
	out, err := s.Try(s.Bare, nil, "", "git-ward", "uow", "show", "--all", "--json")
	if err != nil {
		return nil, fmt.Errorf("git ward uow show: %w\n%s", err, out)
	}
	units := map[string]*uow.Record{}
	for line := range strings.Lines(out) {
		r := new(uow.Record)
		if err := json.Unmarshal([]byte(line), r); err != nil {
			return nil, err
		}
		id, err := uow.ParseID(r.ID)
		if err != nil {
			return nil, err
		}
		if old := units[id.Directive]; old == nil || mustID(old.ID).K < id.K {
			units[id.Directive] = r
		}
	}
	return units, nil
}

func mustID(name string) uow.ID { id, _ := uow.ParseID(name); return id }

var wardCommand = regexp.MustCompile(`git ward ([a-z]+( [a-z]+)?( --?[a-z]+| TEXT)* D-[0-9.]+)`)

// waitsFor is the command that `git ward uow show` names for what a unit waits for.
func waitsFor(s *scene, r *uow.Record) string {
	out, _ := s.Try(s.Bare, nil, "", "git-ward", "uow", "show", "--all")
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == r.ID {
			if m := wardCommand.FindStringSubmatch(line); m != nil {
				return m[1]
			}
		}
	}
	return ""
}

// document is COMMS.md as the bare repository has it.
func (s *scene) document() (*comms.Document, error) {
	out, err := s.Try(s.Bare, nil, "", "git", "show", s.control.name+":"+comms.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	doc, _ := comms.Parse([]byte(out))
	return doc, nil
}

// check wants each directive to be done, or its unit to wait for somebody, with the
// command that moves it, and the repository to be whole (WORK-2). It returns those
// commands by directive.
func (s *scene) check() (waiting map[string]string, err error) {
	if out, err := s.Try(s.Bare, nil, "", "git", "fsck", "--strict", "--no-dangling"); err != nil {
		return nil, fmt.Errorf("git fsck: %w\n%s", err, out)
	}
	if out, err := s.Try(s.Bare, nil, "", "git-ward", "fsck"); err != nil || !strings.Contains(out, " 0 findings") {
		return nil, fmt.Errorf("git ward fsck: %v\n%s", err, out)
	}
	if err := s.checkWork(); err != nil {
		return nil, err
	}
	units, err := s.units()
	if err != nil {
		return nil, err
	}
	doc, err := s.document()
	if err != nil {
		return nil, err
	}
	waiting = map[string]string{}
	for _, d := range doc.Directives {
		r := units[d.Name()]
		if r == nil && doc.State(d) == comms.Closed { // dropped before anybody began it
			continue
		}
		if r == nil {
			return nil, fmt.Errorf("%s was never taken up, though no run is under way", d.Name())
		}
		if err := s.checkPapers(d, r); err != nil {
			return nil, err
		}
		wait := waitsFor(s, r)
		switch {
		case doc.State(d) == comms.Closed && r.State.Ended() && r.State != uow.ZombiedDead:
		case r.State == uow.Archived && r.DirectiveHash == d.Hash(): // the PM has confirmed its end
		case wait != "":
			waiting[d.Name()] = wait
		default:
			return nil, fmt.Errorf("%s is neither done nor waiting for anybody: its unit %s is %s (%s)", d.Name(), r.ID, r.State, r.ReasonCode)
		}
	}
	return waiting, nil
}

// checkPapers wants what a worker wrote beside its work, after the last step of its plan,
// to be on the record that the claim names (REC-2).
func (s *scene) checkPapers(d comms.Directive, r *uow.Record) error {
	if !strings.HasPrefix(d.Title.String(), "papers ") || r.DirectiveHash != d.Hash() || r.Claim == nil {
		return nil
	}
	revision := strings.TrimPrefix(d.Title.String(), "papers ")
	out, err := s.Try(s.Bare, nil, "", "git", "show", r.Claim.Record+":research/"+d.Name()+".md")
	if err != nil || strings.TrimSpace(out) != "found "+revision {
		return fmt.Errorf("the record of %s lacks its paper of revision %s: %v %s", r.ID, revision, err, out)
	}
	return nil
}

// checkWork wants branches of the agent to hold the work and nothing else (REC-1).
func (s *scene) checkWork() error {
	out, err := s.Try(s.Bare, nil, "", "git", "for-each-ref", "--format=%(refname)", "refs/heads/agent")
	if err != nil {
		return err
	}
	for _, ref := range strings.Fields(out) {
		if strings.HasSuffix(ref, "-lessons") { // it begins at the control branch, and is for it (HOOK-4)
			continue
		}
		out, err := s.Try(s.Bare, nil, "", "git", "log", "--format=", "--name-only", "--no-merges", s.project.name+".."+ref)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		for _, path := range strings.Fields(out) {
			if !strings.HasPrefix(path, "work/") && path != "shared.txt" && path != "notes.txt" {
				return fmt.Errorf("%s changes %s, which is no work", ref, path)
			}
		}
		if err := s.checkNotes(ref); err != nil {
			return err
		}
	}
	return nil
}

// checkNotes wants a branch to have each line of the PM's notes that the project had where
// the two met last: no work takes back what came to main meanwhile.
func (s *scene) checkNotes(ref string) error {
	const script = `base=$(git merge-base "$0" "$1") || exit 0
git show "$base:notes.txt" 2>/dev/null | while read -r line; do git show "$1:notes.txt" | grep -qxF "$line" || echo "$line"; done`
	out, err := s.Try(s.Bare, nil, "", "sh", "-c", script, s.project.name, ref)
	if err != nil || out != "" {
		return fmt.Errorf("%s takes back what the project has in notes.txt: %v\n%s", ref, err, out)
	}
	return nil
}

// answer does what the units wait for, as `git ward uow show` says it.
func (s *scene) answer(waiting map[string]string) error {
	for name, wait := range waiting {
		if strings.HasPrefix(wait, "directive edit ") { // which a person does in an editor
			if err := s.edit(name, "good"); err != nil {
				return err
			}
			continue
		}
		args := strings.Fields(wait)
		if strings.HasPrefix(wait, "uow clarify ") || strings.HasPrefix(wait, "uow approve ") { // for whose words an editor opens, too
			args = append(args, "-m", "as you think best")
		}
		if out, err := s.ward(args...); err != nil {
			return fmt.Errorf("%s waits for git ward %s, which fails: %w\n%s", name, wait, err, out)
		}
	}
	return nil
}

// finish is what every scene must come to: each directive that the PM answers and
// edits to something that can be done is done, and so is one that is new.
func (s *scene) finish() error {
	if err := s.play("go"); err != nil {
		return err
	}
	var waiting map[string]string
	for range 3 {
		if err := s.settle(); err != nil {
			return err
		}
		var err error
		if waiting, err = s.check(); err != nil {
			return err
		}
		if len(waiting) == 0 {
			break
		}
		if err := s.answer(waiting); err != nil {
			return err
		}
	}
	doc, err := s.document()
	if err != nil {
		return err
	}
	names := []string{"D-9"}
	for _, d := range doc.Directives {
		names = append(names, d.Name())
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := s.edit(name, "good"); err != nil {
			return err
		}
	}
	for range 3 {
		if err := s.settle(); err != nil {
			return err
		}
		if waiting, err = s.check(); err != nil {
			return err
		}
		if len(waiting) == 0 {
			return s.allConverged()
		}
		if err := s.answer(waiting); err != nil {
			return err
		}
	}
	return fmt.Errorf("still waiting after three answers, and with a text that can be done: %v", waiting)
}

// allConverged wants the newest report of each directive's text to be EXIT_CONVERGED.
func (s *scene) allConverged() error {
	doc, err := s.document()
	if err != nil {
		return err
	}
	for _, d := range doc.Directives {
		done := slices.ContainsFunc(doc.Reports, func(r comms.Report) bool {
			return r.Directive == d.Name() && r.DirectiveHash() == d.Hash() && r.Status == comms.ExitConverged
		})
		if !done {
			var b bytes.Buffer
			for _, r := range doc.Reports {
				if r.Directive == d.Name() {
					fmt.Fprintf(&b, "%s %s: %.300s\n", r.Status, r.DirectiveHash()[:min(8, len(r.DirectiveHash()))], r.Text)
				}
			}
			return fmt.Errorf("%s (%s) did not converge: %s", d.Name(), d.Title, tail(b.String(), 12))
		}
	}
	return nil
}
