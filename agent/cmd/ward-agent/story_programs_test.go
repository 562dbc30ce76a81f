package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
)

// theirs is a project as people have them, before Ward comes.
var theirs = map[string]string{
	"package.json":       `{"name": "greet", "scripts": {"test": "node test/greet.test.js"}}` + "\n",
	"src/greet.js":       "exports.greet = (name) => {\n  return 'Hi';\n};\n",
	"test/greet.test.js": "require('assert').strictEqual(require('../src/greet').greet('Ada'), 'Hello, Ada.');\nconsole.log('greets by name');\n",
	"CLAUDE.md":          "Indent by two spaces.\n",
	"AGENTS.md":          "CommonJS, no packages.\n",
}

const greetDirective = `
### D-1: greet by name

The function greet of src/greet.js greets by name, such as Ada.

- [ ] its test passes (` + "`node test/greet.test.js`" + `)
`

// newAdopted is a host whose repository was theirs before (CTRL-1).
func newAdopted(t testing.TB, play func(*modeltest.Request) modeltest.Turn, settings map[string]string) *host {
	t.Helper()
	dir := t.TempDir()
	env, err := gittest.Environ(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &gittest.Pair{T: t, Bare: filepath.Join(dir, "remote.git"), Work: filepath.Join(dir, "work"), Env: env}
	p.Run(dir, "git", "init", "--quiet", "--bare", "--initial-branch=main", p.Bare)
	p.Run(dir, "git", "clone", "--quiet", p.Bare, p.Work)
	for name, text := range theirs {
		p.Write(name, text)
	}
	p.Git("add", "--all")
	p.Git("commit", "--quiet", "--message", "the project as it was")
	p.Git("push", "--quiet", "origin", "HEAD:main")
	p.Run(dir, "rm", "-r", p.Work)
	p.Run(dir, "git-ward", "init", "--bare", p.Bare)
	p.Run(dir, "git-ward", "clone", p.Bare, p.Work)
	h := serve(t, p, play, settings)
	h.control = "ward"
	papers := &gittest.Pair{T: t, Bare: p.Bare, Work: p.Work + ".ward", Env: env}
	document, err := os.ReadFile(filepath.Join(papers.Work, comms.Path))
	if err != nil {
		t.Fatal(err)
	}
	papers.Write(comms.Path, strings.Replace(string(document), "## Directives\n", "## Directives\n"+greetDirective, 1))
	papers.Git("commit", "--quiet", "--all", "--message", "D-1")
	papers.Git("push", "--quiet", "origin", "HEAD:ward")
	return h
}

// decides is a command that decides, as a prompt has it.
var decides = regexp.MustCompile("- `(node [^`]+)`")

// shell is a call of the program's own tool for commands.
func shell(r *modeltest.Request, line string) modeltest.Call {
	switch {
	case r.Has("exec_command"):
		return call("exec_command", map[string]string{"cmd": line})
	case r.Has("bash"):
		return call("bash", map[string]string{"command": line, "description": "work"})
	}
	return call("Bash", map[string]string{"command": line, "description": "work"})
}

// greets plays a model that does what its prompt says, and knows nothing else: it runs
// the command that decides, mends what that complains of, and runs it again.
func greets(r *modeltest.Request) modeltest.Turn {
	criterion := decides.FindStringSubmatch(string(r.Body))
	heard := ""
	for _, result := range r.Results {
		heard += result.Text
	}
	write := func(text string) modeltest.Turn {
		line := fmt.Sprintf("printf 'exports.greet = (name) => {\\n  return %s;\\n};\\n' >src/greet.js; %s", text, criterion[1])
		return modeltest.Turn{Text: "I mend it.", Calls: []modeltest.Call{shell(r, line)}}
	}
	switch {
	case len(r.Tools) == 0:
		return modeltest.Turn{Text: "a title"} // a side job
	case criterion == nil || r.Turns > 5:
		return modeltest.Turn{Text: "I cannot."}
	case r.Turns == 0:
		calls := []modeltest.Call{shell(r, "cat src/greet.js; "+criterion[1])}
		if comms := r.Find("comms_read"); comms != "" {
			calls = append(calls, call(comms, map[string]string{"directive": "D-1"}))
		}
		return modeltest.Turn{Text: "I look.", Calls: calls}
	case strings.Contains(heard, "return 'Hi'"):
		return write("`Hello, ${name}`")
	case strings.Contains(heard, "AssertionError"):
		return write("`Hello, ${name}.`")
	}
	return modeltest.Turn{Text: "greet greets by name, and its test passes."}
}

// believes plays one that does half of it in the first iteration, and says all.
func believes(r *modeltest.Request) modeltest.Turn {
	t := greets(r)
	if r.Turns > 1 && strings.Contains(string(r.Body), `\"iteration_number\":0`) {
		return modeltest.Turn{Text: "Done: it greets by name."}
	}
	return t
}

// TestStory20Programs: each released program takes a directive of an adopted project to
// EXACT, told all that a worker has to know, with a record of what it said and did.
func TestStory20Programs(t *testing.T) {
	tier.Full(t, "real command-line agents")
	for _, p := range programs() {
		t.Run(p.Name, func(t *testing.T) {
			bin := filepath.Join(modeltest.Install(t, p.Package), "node_modules", ".bin")
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			play, iterations := greets, 1
			if p.Name == "claude-code" { // which starts in the least time
				play, iterations = believes, 2
			}
			h := newAdopted(t, play, map[string]string{"model.name": `"` + p.Name + `"`, "model.id": ids[p.Name]})
			log := h.launch()
			h.worked(log, iterations)
			if strings.Count(log, "INF call ") < 3 {
				t.Errorf("no calls in the log:\n%s", log)
			}
			heard := ""
			for _, r := range h.Requests() {
				if r.Model != "claude-test" && r.Model != "gpt-test" {
					t.Errorf("a model was asked that nobody chose: %s", r.Model)
				}
				for _, result := range r.Results {
					heard += result.Text
				}
			}
			if !strings.Contains(heard, `"state":"open"`) {
				t.Error("Ward's MCP server did not say what D-1 is")
			}
			h.Run(h.Work, "git", "ward", "take", "D-1")
			h.Fsck()
			h.noKey(log)
		})
	}
}

// worked holds a host to a directive that was worked on to its end, in so many
// iterations, and to what the record has of it.
func (h *host) worked(log string, iterations int) {
	t := h.test
	t.Helper()
	status, text := h.report()
	if status != "EXIT_CONVERGED" {
		t.Fatalf("%s\n%s\n%s", status, text, log)
	}
	if !strings.Contains(text, "greet greets by name, and its test passes.") || !strings.Contains(text, "calls of tools") {
		t.Errorf("the report:\n%s", text)
	}
	first, last := h.prompts()
	for _, want := range []string{
		"Your directive: D-1", "node test/greet.test.js", // what is to be done, and what decides
		"L1 self-awareness", "L2 repository", "L3 environment", "src/greet.js", // orientation
		"Indent by two spaces.", "CommonJS, no packages.", // the project's own guidance
		"cnf_capsule.json", "goal_statement", "/ask/D-1.md",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("the first prompt lacks %q", want)
		}
	}
	if iterations > 1 && !strings.Contains(last, "[A] not met: its test passes") {
		t.Errorf("the last prompt knows nothing of the iteration before")
	}
	files := h.Run(h.Bare, "git", "ls-tree", "-r", "--name-only", "refs/ward/record/D-1.1")
	for _, want := range []string{"postmortems/", "iter_0/transcript.txt", "iter_0/words.txt"} {
		if !strings.Contains(files, want) {
			t.Errorf("the record lacks %s:\n%s", want, files)
		}
	}
	post := h.postMortem()
	for _, want := range []string{fmt.Sprintf("Iteration %d: ", iterations-1), " worked for ", "M src/greet.js", "> greet greets by name, and its test passes.",
		fmt.Sprintf("## 5. What the host found\n\n- D-1.1, iteration 0: %s", map[bool]string{true: "EXACT, ", false: "NONE, not met: its test passes"}[iterations == 1]), ": EXACT, "} {
		if !strings.Contains(post, want) {
			t.Errorf("the post-mortem lacks %q:\n%s", want, post)
		}
	}
	activity, err := os.ReadFile(filepath.Join(h.dir, "state", "logs", "activity.log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"TASK_START"`, `"POST_MORTEM"`, `"TASK_END"`} {
		if !strings.Contains(string(activity), want) {
			t.Errorf("the activity log lacks %s", want)
		}
	}
	h.Fsck()
}

// prompts are the first and the last prompt of the worker that was sent, unescaped.
func (h *host) prompts() (first, last string) {
	for _, r := range h.Requests() {
		if len(r.Tools) == 0 || r.Turns > 0 {
			continue
		}
		last = strings.NewReplacer(`\n`, "\n", `\"`, `"`).Replace(string(r.Body))
		if first == "" {
			first = last
		}
	}
	return first, last
}

// TestStory20Ralph: a shell that starts a program again and again until it is done is a
// worker as well. Nobody but the gateway knows what it uses.
func TestStory20Ralph(t *testing.T) {
	tier.Full(t, "an agent that runs for many seconds")
	bin := filepath.Join(modeltest.Install(t, "@anthropic-ai/claude-code"), "node_modules", ".bin")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	const ralph = `for i in 1 2 3 4; do IS_SANDBOX=1 claude --print --dangerously-skip-permissions --model claude-test <"$1" && npm test && exit 0; done; exit 1`
	h := newAdopted(t, greets, map[string]string{"model.name": `"exec"`, "model.command": `["sh", "-c", '` + ralph + `', "ralph", "{prompt}"]`, "model.prompt": `"file"`, "model.also": `["claude-test"]`})
	h.worked(h.launch(), 1)
}

// TestStory13Question: a worker that cannot know asks, its unit waits, and the PM's answer
// is in its next prompt.
func TestStory13Question(t *testing.T) {
	tier.Full(t, "an agent that runs for many seconds")
	const worker = `
cat >../prompt
if grep -q "What the PM says" ../prompt; then
	sed -i "s/return .*/return 'Hello, ' + name + '.';/" src/greet.js
	echo greet greets by name, and its test passes.
else
	echo "// begun" >>src/greet.js
	echo "Does the greeting end in a full stop?" >$WARD_ASK
fi`
	h := newAdopted(t, greets, map[string]string{"model.name": `"exec"`, "model.command": `["sh", "-c", '''` + worker + `''']`, "model.prompt": `"stdin"`})
	log := h.launch()
	document := h.Git("show", "origin/ward:"+comms.Path)
	if !strings.Contains(document, "### Q-1 ") || !strings.Contains(document, "Does the greeting end in a full stop?") || strings.Contains(document, "EXIT_") {
		t.Fatalf("%s\n%s", document, log)
	}
	if kept := h.Git("show", "origin/agent/D-1:src/greet.js"); !strings.Contains(kept, "// begun") {
		t.Errorf("what it had is not kept:\n%s", kept)
	}
	h.Git("fetch", "--quiet", "origin", "+refs/ward/uow/*:refs/ward/uow/*")
	if list := h.Run(h.Work, "git", "ward", "uow", "show"); !strings.Contains(list, "asks for your word") || !strings.Contains(list, "git ward uow approve D-1.1") {
		t.Errorf("%s", list)
	}
	h.Run(h.Work, "git", "ward", "uow", "approve", "D-1.1", "-m", "Yes, a full stop.")
	log = h.launch()
	if status, text := h.report(); status != "EXIT_CONVERGED" {
		t.Fatalf("%s\n%s\n%s", status, text, log)
	}
	prompt, err := os.ReadFile(filepath.Join(h.dir, "state", "agent", "D-1", "prompt"))
	if err != nil || !strings.Contains(string(prompt), "Yes, a full stop.") {
		t.Errorf("%v\n%s", err, prompt)
	}
	h.Fsck()
}
