package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"git-ward/protocols/comms"
)

// scene is what a sequence of verbs is played in. A verb that the present state does
// not admit is refused, and that is no fault; what the state is in the end is judged.
type scene struct {
	*host
	revisions int    // of directives' texts, counted over all
	notes     int    // of the PM's in the project
	project   branch // what the work is for
	control   branch // where COMMS.md is
}

// branch is one of the two, and where the PM has it checked out.
type branch struct{ name, dir string }

// unitVerbs are the PM's verbs on a directive's newest unit.
var unitVerbs = map[string][]string{
	"approve": {"approve"}, "reject": {"approve", "--reject"}, "clarify": {"clarify", "-m", "it is the second one"}, "retry": {"retry"}, "waive": {"retry", "--waive"},
	"deny": {"retry", "--waive", "--deny"}, "heartbeat": {"resume", "--pulse"}, "pause": {"pause"}, "resume": {"resume"}, "cancel": {"cancel"},
	"fork": {"fork"}, "fresh": {"fork", "--fresh"}, "archive": {"archive"},
}

// play plays one line of a sequence:
//
//	edit D-1 good            the directive's text becomes this, or it is made
//	remove D-1               the PM takes it out of COMMS.md
//	VERB D-1                 a verb of git ward uow on its newest unit
//	take D-1, drop D-1       what they are to git ward
//	merge D-1                by git alone
//	unbranch D-1             the PM deletes its branch
//	reset D-1                the PM forces its branch back to the project
//	main                     the PM commits something to the project
//	stop, go                 ... scratch/STOP to the control branch, and it away
//	squash D-1               git ward take --squash, judged or not
//	expire D-1               git ward uow archive --expire
//	half D-1                 the PM merges what the branch had one commit ago
//	rename D-1               ... renames the file that it works on
//	rewrite                  ... forces another history of the project
//	break, mend              ... breaks the grammar of COMMS.md, past the gate, and mends it
//	lose                     the agent's directory is gone
//	run                      the agent runs until nothing is open
//	run kill 3               ... and is killed as its third push begins
//	run late 3               ... as its third push ends, before it has the answer
//	run at 3: VERB ...       ... and the PM does this while its third push waits
//	run in step: VERB ...    ... and the PM does this in the middle of a plan: as its step
//	                         begins (begin), when the work is made (step), or when all
//	                         steps are done and the model has its last words (words)
//	run kill in step: VERB   ... and is killed there, when the PM has done that
func (s *scene) play(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	name, kind, _ := strings.Cut(rest, " ")
	switch verb {
	case "run":
		return s.runLine(rest)
	case "edit":
		return s.edit(name, kind)
	case "remove":
		return s.comms(func(doc string) string { return section(name).ReplaceAllString(doc, "$1") })
	case "take", "drop":
		s.ward(verb, name)
	case "squash":
		s.ward("take", "--squash", "--unjudged", name)
	case "expire":
		s.ward("uow", "archive", "--expire", s.newest(name))
	case "merge":
		s.merge("origin/agent/" + name)
	case "half":
		s.merge("origin/agent/" + name + "~1")
	case "rename":
		return s.commit(s.project, "rename", func(dir string) error {
			if err := os.Rename(filepath.Join(dir, "work", name), filepath.Join(dir, "work", name+".old")); !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		})
	case "rewrite":
		return s.rewrite()
	case "break":
		return s.inDoc("## Directives\n", "## Directive\n")
	case "mend":
		return s.inDoc("## Directive\n", "## Directives\n")
	case "unbranch":
		s.Push(":refs/heads/agent/" + name)
	case "reset":
		s.pull(s.project)
		s.Push("+HEAD:refs/heads/agent/" + name)
	case "main":
		s.notes++
		return s.commit(s.project, "main moves", func(dir string) error {
			return appendLine(filepath.Join(dir, "notes.txt"), fmt.Sprint("note ", s.notes))
		})
	case "stop":
		return s.commit(s.control, "stop", func(dir string) error { return appendLine(filepath.Join(dir, "scratch/STOP"), "wait") })
	case "go":
		return s.commit(s.control, "go", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "scratch/STOP")) })
	case "lose":
		return os.RemoveAll(s.state)
	default:
		args, ok := unitVerbs[verb]
		if !ok {
			return fmt.Errorf("no verb %q", verb)
		}
		s.ward(append([]string{"uow"}, append(slices.Clone(args), s.newest(name))...)...)
	}
	return nil
}

var atLine = regexp.MustCompile(`^(kill|late|at) ([0-9]+)(?:: (.*))?$`)

var inLine = regexp.MustCompile(`^(kill )?in (begin|step|words)(?:: (.*))?$`)

func (s *scene) runLine(how string) error {
	at := atPush{}
	var failed error
	if m := inLine.FindStringSubmatch(how); m != nil {
		at.kill, at.in = m[1] != "", m[2]
		at.do = func() {
			if m[3] != "" {
				failed = s.play(m[3])
			}
		}
	}
	if m := atLine.FindStringSubmatch(how); m != nil {
		at.number, _ = strconv.Atoi(m[2])
		at.kill, at.late = m[1] != "at", m[1] == "late"
		at.do = func() { failed = s.play(m[3]) }
	}
	_, err := s.run(at)
	if err == errKilled {
		err = nil
	}
	if err == nil {
		err = failed
	}
	return err
}

// ward runs git ward in the PM's clone, and logs what it says.
func (s *scene) ward(args ...string) (string, error) {
	out, err := s.Try(s.Work, nil, "", "git-ward", args...)
	fmt.Fprintf(&s.log, "$ git ward %s\n%s", strings.Join(args, " "), out)
	return out, err
}

// newest is a directive's newest unit, the first that it might have where it has none.
func (s *scene) newest(directive string) string {
	out, _ := s.Try(s.Bare, nil, "", "git", "for-each-ref", "--sort=-version:refname", "--count=1", "--format=%(refname:lstrip=3)", "refs/ward/uow/"+directive+".*")
	if out = strings.TrimSpace(out); out == "" {
		return directive + ".1"
	}
	return out
}

// pull makes the PM's checkout what the repository has.
func (s *scene) pull(b branch) error {
	const script = `git fetch -q --prune && git checkout -q -f "$0" && git reset -q --hard "origin/$0" && git clean -qfd`
	if out, err := s.Try(b.dir, nil, "", "sh", "-c", script, b.name); err != nil {
		return fmt.Errorf("the PM's pull of %s: %w\n%s", b.name, err, out)
	}
	return nil
}

// commit makes a change on a branch, and pushes it.
func (s *scene) commit(b branch, subject string, change func(dir string) error) error {
	if err := s.pull(b); err != nil {
		return err
	}
	if err := change(b.dir); err != nil {
		return err
	}
	const script = `git add -A -f . && { git diff --cached --quiet || git commit -q -m "$1"; } && git push -q origin "$0"`
	if out, err := s.Try(b.dir, nil, "", "sh", "-c", script, b.name, subject); err != nil {
		return fmt.Errorf("the PM's push of %q: %w\n%s", subject, err, out)
	}
	return nil
}

func appendLine(path, line string) error {
	old, _ := os.ReadFile(path)
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(string(old)+line+"\n"), 0o644))
}

// rewrite makes a commit of the project anew that the agent may have built on, and forces
// it.
func (s *scene) rewrite() error {
	if err := s.play("main"); err != nil {
		return err
	}
	const script = `git commit -q --amend --no-edit --date=2001-01-01T00:00:00Z --reset-author && git push -q -f origin "HEAD:$0"`
	if out, err := s.Try(s.project.dir, nil, "", "sh", "-c", script, s.project.name); err != nil {
		return fmt.Errorf("the PM's rewriting: %w\n%s", err, out)
	}
	return nil
}

// inDoc replaces a line of COMMS.md as an admin can who works in the repository itself.
func (s *scene) inDoc(old, new string) error {
	if err := s.pull(s.control); err != nil {
		return err
	}
	path := filepath.Join(s.control.dir, comms.Path)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !strings.Contains("\n"+string(data), "\n"+old) {
		return nil
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, new, 1)), 0o644); err != nil {
		return err
	}
	const script = `git commit -q -m "$1" -a && git push -q -o ward.allow=comms/grammar:COMMS.md origin "$0" || { git reset -q --hard "origin/$0"; exit 1; }`
	out, err := s.Try(s.control.dir, nil, "", "sh", "-c", script, s.control.name, "grammar")
	fmt.Fprintf(&s.log, "%s%v\n", out, err)
	return nil
}

// merge is what a PM does who knows git: a conflict is left alone.
func (s *scene) merge(what string) {
	if s.pull(s.project) != nil {
		return
	}
	const script = `git merge -q --no-edit "$1" && git push -q origin "$0" || { git merge --abort; git reset -q --hard "origin/$0"; exit 1; }`
	if out, err := s.Try(s.project.dir, nil, "", "sh", "-c", script, s.project.name, what); err != nil {
		fmt.Fprintf(&s.log, "merge %s: %s", what, out)
	}
}

// comms changes COMMS.md.
func (s *scene) comms(change func(string) string) error {
	return s.commit(s.control, "directives", func(dir string) error {
		data, err := os.ReadFile(filepath.Join(dir, comms.Path))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, comms.Path), []byte(change(string(data))), 0o644)
	})
}

// section finds a directive's text.
func section(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)### ` + name + `: .*?\n(### |## )`)
}

// edit gives a directive a new text of a kind (testdata/sequences/work.sh), or makes it.
func (s *scene) edit(name, kind string) error {
	s.revisions++
	text := directiveText(name, kind, s.revisions)
	return s.comms(func(doc string) string {
		at := section(name)
		if at.MatchString(doc) {
			return at.ReplaceAllString(doc, strings.ReplaceAll(text, "$", "$$")+"$1")
		}
		return strings.Replace(doc, "## Reports\n", text+"## Reports\n", 1)
	})
}

func directiveText(name, kind string, revision int) string {
	text := fmt.Sprintf("### %s: %s %d\n\nDo it.\n\n", name, kind, revision)
	written := fmt.Sprintf("- [ ] it is written (`grep -qx %d work/%s`)\n", revision, name)
	switch kind {
	case "good", "slow", "own", "linked", "nested", "papers", "large", "tells", "odd", "nogit", "strays", "amends":
		return text + written + "- work: work/" + name + "\n- max_iterations: 3\n\n"
	case "shared":
		return text + fmt.Sprintf("- [ ] it is written (`grep -qx '%s %d' shared.txt`)\n- work: shared.txt\n- max_iterations: 2\n\n", name, revision)
	case "away":
		return text + "- [ ] never (`test -e never`)\n- residual: `cat work/" + name + ".far`\n- work: work/" + name + ".far\n\n"
	case "budget", "refused", "fails":
		return text + "- [ ] never (`test -e never`)\n- max_iterations: 2\n\n"
	case "idle":
		return text + "- [ ] there is work for it (`test -s work.sh`)\n\n"
	}
	return text // asks
}
