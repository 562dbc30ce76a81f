package sandbox

import (
	"strings"
	"testing"
)

// onMain is a clone whose next commit is on main's tip, without one of its own.
const onMain = "set -e; cd $(mktemp -d); git clone -q file:///mnt/remote w; cd w; "

// reported appends a report to COMMS.md, as the agent does it.
const reported = onMain + "git-ward report --append --status INFO -m 'half way' >/dev/null; git commit -qam 'comms: report'; "

// file is a clone with one more file, or a link, committed.
func file(how string) string { return onMain + how + "; git add -f .; git commit -qm work; " }

// agentsRights are HOOK-4's, each by `git push` from inside without any setting
// of the user's: words that the answer must hold, and whether it is granted.
var agentsRights = []hole{
	{
		what:   "a clone by a URL has no file of the remote's, which maintenance may be packing",
		script: onMain + "test -z \"$(find .git/objects -path '*/objects/??/*')\"; ls .git/objects/pack",
		want:   []string{".pack"},
		fine:   true,
	},
	{what: "a branch of its own", script: clone + "git push origin HEAD:agent/one", want: []string{"refs/heads/agent/one created"}, fine: true},
	{
		what:   "more on it",
		script: clone + "git fetch -q origin agent/one; git reset -q --hard FETCH_HEAD; echo more >> file; git commit -qam more; git push origin HEAD:agent/one",
		want:   []string{"refs/heads/agent/one"},
		fine:   true,
	},
	{what: "its history rewritten", script: clone + "git push --force origin HEAD:agent/one", want: []string{"forced update"}, fine: true},
	{what: "a rescue branch", script: clone + "git push origin HEAD:rescue/one", want: []string{"refs/heads/rescue/one created"}, fine: true},
	{what: "its own branch deleted", script: onMain + "git push origin --delete rescue/one", want: []string{"refs/heads/rescue/one deleted"}, fine: true},
	{what: "a proposal below spec/", script: file("echo x > spec/SPEC_new.md") + "git push origin HEAD:agent/spec", want: []string{"created"}, fine: true},
	{what: "a report on main", script: reported + "git push origin HEAD:main", want: []string{"refs/heads/main"}, fine: true},
	{what: "more branches than it may have", script: clone + "for i in 1 2 3 4 5 6; do git push -q origin HEAD:agent/many-$i; done", want: []string{"rights/branches"}},
	{what: "another branch", script: clone + "git push origin HEAD:refs/heads/feature", want: []string{"rights/ref"}},
	{what: "a branch named agent", script: clone + "git push origin HEAD:refs/heads/agent", want: []string{"refs/heads/agent"}},
	{what: "a tag", script: clone + "git push origin HEAD:refs/tags/v1", want: []string{"rights/ref"}},
	{what: "a tag called origin/main", script: clone + "git push origin HEAD:refs/tags/origin/main", want: []string{"rights/ref"}},
	{what: "code on main", script: clone + "git push origin HEAD:main", want: []string{"file: rights/main"}},
	{what: "code on main, beside a report", script: reported + "echo x > code; git add .; git commit -q --amend -m both; git push origin HEAD:main", want: []string{"code: rights/main"}},
	{
		what:   "code on main, in the PM's name",
		script: file("echo x > code; export GIT_AUTHOR_NAME=Pat GIT_AUTHOR_EMAIL=pat@example.org GIT_COMMITTER_NAME=Pat GIT_COMMITTER_EMAIL=pat@example.org") + "git push origin HEAD:main",
		want:   []string{"code: rights/main"},
	},
	{what: "spec/ on main", script: file("echo x > spec/SPEC_new.md") + "git push origin HEAD:main", want: []string{"spec/SPEC_new.md: rights/"}},
	{what: "main rewritten", script: reported + "git reset -q --soft HEAD~1; git commit -q --amend -m rewritten; git push --force origin HEAD:main", want: []string{"rights/"}},
	{what: "main deleted", script: onMain + "git push origin :main", want: []string{"main"}},
	{what: "a directive edited, on main", script: onMain + editDirective + "git push origin HEAD:main", want: []string{"comms/agent-directives"}},
	{what: "a directive edited, on a branch", script: onMain + editDirective + "git push origin HEAD:agent/directive", want: []string{"comms/agent-directives"}},
	{what: "a report edited", script: onMain + "sed -i s/half/whole/ COMMS.md; git commit -qam edit; git push origin HEAD:main", want: []string{"comms/agent-"}},
	{what: "a report pruned without its trailer", script: onMain + "sed -i '/^### R-1/,$d' COMMS.md; git commit -qam prune; git push origin HEAD:main", want: []string{"comms/agent-prune"}},
	{what: "COMMS.md deleted", script: onMain + "git rm -q COMMS.md; git commit -qm gone; git push origin HEAD:main", want: []string{"COMMS.md"}},
	{what: "COMMS.md beside comms.md", script: file("cp COMMS.md comms.md") + "git push origin HEAD:agent/case", want: []string{"path/case"}},
	{what: ".ci/ on a branch", script: file("mkdir .ci; echo x > .ci/run") + "git push origin HEAD:agent/ci", want: []string{".ci/run: rights/protected"}},
	{what: ".gitattributes on a branch", script: file("echo '* filter=x' > .gitattributes") + "git push origin HEAD:agent/attributes", want: []string{".gitattributes: rights/protected"}},
	{what: "a history from nowhere", script: onMain + "git checkout -q --orphan lone; git commit -qm lone; git push origin HEAD:agent/lone", want: []string{"rights/merge-base"}},
	{what: "a link out of the tree", script: file("ln -s /etc/passwd out") + "git push origin HEAD:agent/link", want: []string{"link/target"}},
	{what: "AGENTS.md as a link", script: file("ln -sf COMMS.md AGENTS.md") + "git push origin HEAD:agent/link", want: []string{"AGENTS.md: mode/document"}},
	{what: "a submodule", script: onMain + "git update-index --add --cacheinfo 160000,0123456789012345678901234567890123456789,sub; git commit -qm sub; git push origin HEAD:agent/sub", want: []string{"mode/submodule"}},
	{
		what:   "a secret, added and removed in one push",
		script: file("printf 'ghp_%s' $(head -c 400 /dev/urandom | tr -dc A-Za-z0-9 | head -c 36) > key") + "git rm -q key; git commit -qm gone; git push origin HEAD:agent/secret",
		want:   []string{"secret/"},
	},
	{what: "a finding let pass", script: file("mkdir .ci; echo x > .ci/run") + "git push -o ward.allow=rights/protected:.ci/run origin HEAD:agent/ci", want: []string{"only the PM"}},
	{what: "refs/ward/audit", script: clone + "git push --force origin HEAD:refs/ward/audit", want: []string{"refs/ward/audit"}},
	{what: "refs/ward/last-good", script: clone + "git push --force origin HEAD:refs/ward/last-good", want: []string{"ref/host-only"}},
	{what: "another ref below refs/ward/", script: clone + "git push origin HEAD:refs/ward/mine", want: []string{"ref/ward"}},
	{what: "refs/notes/audit", script: clone + "git push --force origin HEAD:refs/notes/audit", want: []string{"refs/notes/audit"}},
	{what: "refs/notes/lessons", script: clone + "git push --force origin HEAD:refs/notes/lessons", want: []string{"ref/host-only"}},
	{what: "refs/notes/certificates", script: clone + "git push --force origin HEAD:refs/notes/certificates", want: []string{"ref/host-only"}},
	{what: "other notes", script: clone + "git push origin HEAD:refs/notes/commits", want: []string{"rights/ref"}},
	{what: "refs/replace/", script: clone + "git push origin HEAD:refs/replace/$(git rev-parse HEAD)", want: []string{"ref/replace"}},
	{what: "one bad ref among good ones", script: clone + "git push origin HEAD:agent/good HEAD:refs/tags/bad", want: []string{"rights/ref"}},
}

// editDirective edits the words of the PM.
const editDirective = "sed -i 's/^## Directives/&\\n\\n### D-9: mine\\n\\nGoal.\\n\\n- [ ] done/' COMMS.md; git commit -qam mine; "

// testRights tries HOOK-4 through the door. Whatever is refused leaves no ref.
func testRights(t *testing.T, m *machine) {
	m.set("agent_branches = 5")
	defer m.set("agent_branches = 200")
	p := m.probe(t)
	for _, h := range agentsRights {
		h.try(t, p)
	}
	if err := p.End(); err != nil {
		t.Error(err)
	}
	for ref := range strings.FieldsSeq(m.Run(m.Bare, "git", "for-each-ref", "--format=%(refname)")) {
		switch {
		case ref == "refs/heads/main", ref == "refs/ward/audit", ref == "refs/notes/audit":
		case ref == "refs/heads/agent/one", ref == "refs/heads/agent/spec", strings.HasPrefix(ref, "refs/heads/agent/many-"):
		default:
			t.Errorf("%s was made", ref)
		}
	}
}
