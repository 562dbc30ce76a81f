package checks

import (
	"errors"
	"fmt"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

var recordCheck = Check{
	Name: "record",
	Doc: "What a unit leaves beside its work is on a record of its own (REC-2, REC-4): commits on top of one another, listed paths " +
		"as regular files, within [limits] record_size, while its journal is there and not ARCHIVED. It is never moved back, nor deleted but by " +
		"an expiry that the journal tells of, once COMMS.md has all that it says. The agent's work branch holds none of it (REC-1). What it says for COMMS.md, comms/<NNNN>.json, is " +
		"of its own directive, numbered without a hole, and never changes (MANY-2); a unit says no more than [limits] unit_messages and unit_words, and asks one question at a time (COMMS-5).",
	Rules: []string{"record/name", "record/rewrite", "record/unit", "record/path", "record/mode", "record/size", "record/work", "record/comms", "record/said"},
	Ref: func(pass *Pass, u push.Update) {
		if !push.IsRecord(u.Ref) {
			return
		}
		if _, err := record.ParseRef(u.Ref); err != nil {
			pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: "record/name", Message: err.Error(), Hint: "records are refs/ward/record/D-<n>.<k>"})
		}
	},
	Path:   judgeRecordPath,
	Names:  noEmptyDirectories,
	Tip:    papersOnBranch,
	Record: judgeRecord,
}

// judgeRecordPath restricts a record's commit to the listed paths.
func judgeRecordPath(pass *Pass, c *walk.Commit, change walk.Change) {
	if c.History != push.Records {
		return
	}
	id, err := record.ParseRef(c.Ref)
	if err != nil {
		return // Ref has said so
	}
	if !record.Listed(id.Directive, change.Path) {
		pass.Report(diag.Diagnostic{Pos: at(c, change.Path), Ref: c.Ref, Rule: "record/path",
			Message: "a record of " + id.Directive + " holds evidence of its own loop, plans, post-mortems, research, transcripts, messages, LEARNINGS.md and lessons only",
			Hint:    "work goes to agent/" + id.Directive + "; take it out of this commit"})
	}
	if change.New.Mode != git.ModeFile {
		pass.Report(diag.Diagnostic{Pos: at(c, change.Path), Ref: c.Ref, Rule: "record/mode",
			Message: fmt.Sprintf("a record holds regular files of mode 100644, not %06o", change.New.Mode), Hint: "commit the file itself: git update-index --chmod=-x for an executable"})
	}
}

// noEmptyDirectories refuses what git itself never writes and no list of paths sees:
// LEARNINGS.md as a directory without files.
func noEmptyDirectories(pass *Pass, c *walk.Commit, dir string, entries []git.Entry, in []uint16) {
	if c.History != push.Records {
		return
	}
	for i, e := range entries {
		if in[i] == 0 && e.ID == git.EmptyTree {
			pass.Report(diag.Diagnostic{Pos: at(c, dir+e.Name), Ref: c.Ref, Rule: "record/path",
				Message: "a record holds no empty directories", Hint: "commit files: git makes no such directory by itself"})
		}
	}
}

// recordSteps puts a record's new commits, oldest first, into t.Steps. If the first does not
// follow the ref's old value, it reports a finding.
func recordSteps(pass *Pass, t *walk.Tip) (err error) {
	report := func(commit, hint, format string, args ...any) {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: commit}, Ref: t.Ref, Rule: "record/rewrite", Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	if !pass.Push.brings(t.New) {
		report(t.New, "point the ref at the commit", "a record holds commits, not tags")
		return nil
	}
	const parents = 2 // the commit before, and the work
	t.Steps, err = pass.Repo.Chain(t, pass.Push.Config.Limits.Commits, parents)
	var broken *walk.ChainError
	if !errors.As(err, &broken) {
		return err
	}
	if broken.Long {
		report(broken.Commit, "fetch the record, and commit on top of it", "more than %d new commits, or none whose first parents lead to %s", pass.Push.Config.Limits.Commits, diag.Short(t.Old))
	} else {
		report(broken.Commit, "fetch the record, and commit on top of it: the commit before is the first parent, the work's the second", "this commit does not follow the record's tip, %s", diag.Short(t.Old))
	}
	return nil
}

// expired refuses the deletion of a record without the step in its journal, and of one with
// messages that the host has not folded: nothing else has them.
func expired(pass *Pass, u push.Update) error {
	id, err := record.ParseRef(u.Ref)
	if err != nil {
		return nil // what has such a name may go
	}
	last, err := recordAfter(pass, id)
	if err != nil {
		return err
	}
	if pass.Push.Principal == push.PM && last != nil && last.Expired != nil && last.Expired.Record == u.Old {
		return allFolded(pass, u, id)
	}
	pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: "record/rewrite", Message: "a record is deleted by the PM only, with the step of its journal that says so",
		Hint: "git ward uow archive --expire " + id.String()})
	return nil
}

// allFolded refuses the deletion of a record with messages that are not in COMMS.md. Since its unit
// is archived, none is added.
func allFolded(pass *Pass, u push.Update, id uow.ID) error {
	have, err := messagesAt(pass, u.Old)
	if err != nil || have == 0 {
		return err
	}
	folded, err := foldedOf(pass, id)
	if err == nil && folded < have {
		pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: "record/comms",
			Message: fmt.Sprintf("%s left %s that COMMS.md does not have yet, and the record alone has", id, diag.Count(have-folded, "message")),
			Hint:    "git ward launch puts them there; git ward status says why one waits"})
	}
	return err
}

// judgeRecord checks a moved record against its unit and its size limit.
func judgeRecord(pass *Pass, t *walk.Tip) error {
	id, err := record.ParseRef(t.Ref)
	if err != nil || len(t.Steps) == 0 {
		return nil // that is said
	}
	last, err := lastRecord(pass, id)
	if err != nil {
		return err
	}
	report := func(rule, hint, format string, args ...any) {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New}, Ref: t.Ref, Rule: rule, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	after, err := recordAfter(pass, id)
	if err != nil {
		return err
	}
	switch {
	case last != nil && last.State == uow.Archived:
		report("record/unit", "what comes now belongs to the directive's next unit", "%s is %s: its record moves no more", id, last.State)
	case after == nil:
		report("record/unit", "push the journal first, or with it: git push --atomic", "there is no unit %s", id)
	}
	most := pass.Push.Config.Limits.RecordSize
	size, err := recordSize(pass, t, most)
	if err != nil {
		return err
	}
	if pass.result.Sizes == nil {
		pass.result.Sizes = map[string]int64{}
	}
	if pass.result.Sizes[t.Ref] = size; size > most {
		report("record/size", "leave large files out, or let the host admin raise [limits] record_size", "the record holds more than %d bytes", most)
	}
	return messages(pass, t, id)
}

// recordAfter is a unit's newest record after the push, nil for none or an unreadable one,
// which the journals' check reports.
func recordAfter(pass *Pass, id uow.ID) (*uow.Record, error) {
	tip, err := pass.after(id.Ref())
	if err != nil || tip == git.Zero {
		return nil, err
	}
	last, err := state.Record(storedUnits{pass.Repo}, tip)
	if _, ok := errors.AsType[*state.BrokenRecord](err); ok {
		return nil, nil
	}
	return last, err
}

// maxBack bounds how far back a record is searched for the work on which a commit builds.
const maxBack = 64

// workOf is the tree of the work that a record's commit describes: its second parent's, or
// that of the newest earlier commit with one; else the branch's or main's.
func workOf(pass *Pass, c *walk.Commit) (tree string, err error) {
	id, err := record.ParseRef(c.Ref)
	if err != nil {
		return "", nil // Ref has said so
	}
	commit := c.Commit
	for range maxBack {
		if work := record.Work(commit.Parents); work != "" {
			return treeOf(pass, work)
		}
		if len(commit.Parents) == 0 {
			break
		}
		if commit, err = pass.Repo.Commit(commit.Parents[0]); err != nil {
			return "", err
		}
	}
	branch := "refs/heads/agent/" + id.Directive
	tip, err := pass.after(branch)
	if err != nil {
		return "", err
	}
	if tip == git.Zero {
		tip = pass.Repo.Main(push.HistoryOf(pass.Push.Config.Control, branch))
	}
	return treeOf(pass, tip)
}

// treeOf is a commit's tree, and for "" the empty tree.
func treeOf(pass *Pass, commit string) (string, error) {
	if commit == "" {
		return "", nil
	}
	c, err := pass.Repo.Commit(commit)
	if err != nil {
		return "", err
	}
	return c.Tree, nil
}

// papers are what a directive's work branch may not contain (REC-1), by name at a tree's root.
var papers = []string{"evidence", "postmortems", record.Learnings}

// papersOnBranch keeps what belongs on a record off a directive's work branch, if the project
// has no such files of its own: it has main's, or those that it had.
func papersOnBranch(pass *Pass, t *walk.Tip) error {
	directive, ok := strings.CutPrefix(t.Ref, "refs/heads/agent/")
	id, err := uow.ParseID(directive + ".1")
	if !ok || err != nil || id.Directive != directive || pass.Push.Principal != push.Agent || t.History != push.Undivided || t.Base == "" {
		return nil
	}
	most := pass.Push.Config.Limits.Commits
	commits, err := since(pass, t, most, pass.Repo.Main(t.History))
	if err != nil {
		return err
	}
	if len(commits) == most { // older commits were not checked
		return &walk.Exceeded{Message: fmt.Sprintf("%s has %d commits or more that are not main's", branchName(t.Ref), most)}
	}
	for _, commit := range commits {
		name, err := ownPapers(pass, t, commit)
		if err != nil || name == "" {
			if err != nil {
				return err
			}
			continue
		}
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: commit, Path: name}, Ref: t.Ref, Rule: "record/work",
			Message: "the work branch holds the work only; this belongs on " + record.Prefix + directive + ".<k>",
			Hint:    "take it out of this commit (git rebase -i): git checkout origin/" + mainOf(pass, t.History) + " -- " + name + ", or git rm -r it"})
		return nil
	}
	return nil
}

// ownPapers is such a name that a commit has neither from a parent nor from main, "" for none.
func ownPapers(pass *Pass, t *walk.Tip, commit string) (string, error) {
	c, err := pass.Repo.Commit(commit)
	if err != nil {
		return "", err
	}
	for _, name := range papers {
		e, ok, err := pass.Repo.Lookup(c.Tree, name)
		if err != nil {
			return "", err
		}
		same := func(tree string) (bool, error) {
			other, there, err := pass.Repo.Lookup(tree, name)
			return there == ok && other.ID == e.ID && other.Mode == e.Mode, err
		}
		known := false
		for _, parent := range c.Parents {
			tree, err := treeOf(pass, parent)
			if err == nil && !known {
				known, err = same(tree)
			}
			if err != nil {
				return "", err
			}
		}
		if !known {
			known, err = likeMain(pass, t.History, commit, same)
		}
		if err != nil || !known {
			return name, err
		}
	}
	return "", nil
}
