package hooks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/tier"
	proof "git-ward/internal/token"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// told is a report as it goes on a record.
func told(t *testing.T, directive string, status comms.Status, text, hash string) string {
	t.Helper()
	m, err := comms.NewReport{Time: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), Directive: directive, Status: status, Text: text, DirectiveHash: hash}.Message()
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.Format()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestMessagesOnARecord: what a worker leaves for COMMS.md on its record is judged as what it
// would push there: its own directive, well formed, proved where it says so, numbered without
// a hole, and never changed (MANY-2).
func TestMessagesOnARecord(t *testing.T) {
	tier.Full(t, "a long story of answers and reports beside a record")
	t.Parallel()
	b := newUnits(t)
	p := b.Pair
	ref := record.Prefix + "D-1.1"
	root := lone(p, files{"LEARNINGS.md": "# Learnings\n"})
	b.step("D-1.1", uow.Input{Event: uow.Open, Actor: uow.Agent, Reason: "DIRECTIVE_OPEN"}, root+":"+ref, "--atomic")
	doc, _ := comms.Parse([]byte(p.Git("show", "origin/main:COMMS.md")))
	hash := doc.Directive("D-1").Hash()
	fine := told(t, "D-1", comms.Info, "here I am", "")
	for name, c := range map[string]struct {
		files files
		want  string
	}{
		"another directive": {files{"comms/0001.json": told(t, "D-2", comms.Done, "", "")}, "the message is for D-2, and the record is of D-1"},
		"no JSON":           {files{"comms/0001.json": "hello\n"}, "record/comms"},
		"another member":    {files{"comms/0001.json": strings.Replace(fine, `"text"`, `"id":7,"text"`, 1)}, "record/comms"},
		"a bad status":      {files{"comms/0001.json": strings.Replace(fine, "INFO", "FINE", 1)}, "is not a status of a report"},
		"a heading":         {files{"comms/0001.json": strings.Replace(fine, "here", "## Directives", 1)}, "the text is not allowed in COMMS.md"},
		"an escape":         {files{"comms/0001.json": strings.Replace(fine, "here", `\u001b[2J`, 1)}, "the text is not allowed in COMMS.md"},
		"too large":         {files{"comms/0001.json": fine + strings.Repeat(" ", comms.MaxMessageBytes)}, "record/comms: the message has "},
		"not proved":        {files{"comms/0001.json": told(t, "D-1", comms.ExitConverged, "", hash)}, "comms/agent-verdict: the message says EXIT_CONVERGED"},
		"proved in words":   {files{"comms/0001.json": told(t, "D-1", comms.ExitConverged, "Directive: "+hash, "")}, "comms/agent-verdict"},
		"a hole":            {files{"comms/0001.json": fine, "comms/0003.json": fine}, "the next message is comms/0002.json, and this is number 3"},
		"not from 1":        {files{"comms/0002.json": fine}, "the next message is comms/0001.json"},
		"another name":      {files{"comms/1.json": fine}, "record/path"},
		"a directory":       {files{"comms/0001.json/x": fine}, "record/path"},
		"a link":            {files{"comms/0001.json": link("../LEARNINGS.md")}, "record/mode"},
		"a secret":          {files{"comms/0001.json": told(t, "D-1", comms.Info, strings.ReplaceAll(strings.TrimSpace(aToken), `"`, ""), "")}, "secret/github-pat"},
	} {
		if out, err := p.AgentPush(on(p, c.files, root) + ":" + ref); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: want %q: %v\n%s", name, c.want, err, out)
		}
	}
	first := on(p, files{"comms/0001.json": fine, "comms/0002.json": told(t, "D-1", comms.Done, "done", hash)}, root)
	if out, err := p.AgentPush(first + ":" + ref); err != nil {
		t.Fatal(out)
	}
	for name, c := range map[string]string{
		"changed":         on(p, files{"comms/0001.json": told(t, "D-1", comms.Info, "I was never here", "")}, first),
		"taken away":      rawCommit(p, files{"comms/0002.json": ""}, "record", first),
		"the same number": on(p, files{"comms/0002.json": fine}, first),
	} {
		if name == "taken away" {
			c = on(p, nil, lone(p, files{"comms/0001.json": fine}))
		}
		if out, err := p.AgentPush(c + ":" + ref); err == nil || !strings.Contains(out, "record/") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if out, err := p.AgentPush(on(p, files{"comms/0003.json": fine}, first) + ":" + ref); err != nil {
		t.Fatal(out)
	}
	for _, ref := range []string{"refs/ward/folded/D-1.1", "refs/ward/folded/x/y", "refs/ward/folded"} {
		if out, err := p.AgentPush(first + ":" + ref); err == nil {
			t.Errorf("the agent moves %s\n%s", ref, out)
		}
		if out, err := p.Push(first + ":" + ref); err == nil {
			t.Errorf("the PM moves %s\n%s", ref, out)
		}
	}
	p.Fsck()
}

// TestOnlyTheHostFolds: the name under which the host folds is nobody else's.
func TestOnlyTheHostFolds(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	p := b.Pair
	amended, err := comms.Amend([]byte(p.Git("show", "origin/main:COMMS.md")), comms.NewReport{Time: time.Now(), Directive: "D-1", Status: comms.Info, Text: "hello"}, comms.Whole)
	if err != nil {
		t.Fatal(err)
	}
	commit := rawCommit(p, files{"COMMS.md": string(amended.Data)}, "a report", strings.TrimSpace(p.Git("rev-parse", "origin/main")))
	key, err := os.ReadFile(filepath.Join(p.Bare, proof.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	as := func(principal, name string) (string, error) {
		return p.Try(p.Work, proof.Environ(key, proof.NewID(time.Now()), principal, name), "", "git", "push", "origin", commit+":main")
	}
	setIdentity(p, "from = \"WARD_USER\"\nagents = [\""+record.FoldName+"\"]")
	for name, push := range map[string]func() (string, error){
		"a name of the server's": func() (string, error) {
			return p.Try(p.Work, []string{"WARD_USER=" + record.FoldName}, "", "git", "push", "origin", commit+":main")
		},
		"another principal": func() (string, error) { return as("watcher", record.FoldName) },
	} {
		if out, err := push(); err == nil || !strings.Contains(out, record.FoldName+" may not push") && !strings.Contains(out, "[identity] says") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if out, err := as("agent", record.FoldName); err != nil {
		t.Error(out)
	}
	p.Fsck()
}
