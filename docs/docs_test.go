package docs_test

import (
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/plan"
	"git-ward/sandbox/forge/client/giteatest"
	"git-ward/vm/asm"
)

func run(m *testing.M) int {
	defer gittest.Clean()
	return m.Run()
}

// documents are all that is written for people.
func documents(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.md")
	if err != nil || len(names) < 5 {
		t.Fatalf("%v %v", names, err)
	}
	return append(names, "../README.md", "../CONTRIBUTING.md", "../SECURITY.md", "../CHANGELOG.md")
}

// read is a document's blocks; a fault of its form ends the test.
func read(t *testing.T, name string) []block {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all, problems := blocks(string(data))
	for _, p := range problems {
		t.Errorf("%s:%s", name, p)
	}
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// TestTextsAreLinted holds what documents show to be read by Ward to Ward's own
// parsers; needs no binary.
func TestTextsAreLinted(t *testing.T) {
	for _, name := range documents(t) {
		for _, b := range read(t, name) {
			for _, problem := range lint(b) {
				t.Errorf("%s:%d: %s", name, b.line, problem)
			}
		}
	}
}

// lint says what is wrong with a block's text, by its kind.
func lint(b block) (problems []string) {
	bad := func(text string) { problems = append(problems, text) }
	switch b.kind {
	case "plan":
		_, found := plan.Parse([]byte(b.text), "plan")
		for _, d := range found {
			bad(d.String())
		}
	case "udc":
		_, found := asm.Parse("udc", []byte(b.text))
		for _, d := range found {
			bad(d.String())
		}
	case "comms":
		_, found := comms.Parse([]byte(directive("# COMMS\n\n## Directives\n\n## Reports\n", b.text)))
		for _, d := range found {
			bad(d.String())
		}
	case "toml":
		if _, err := config.Parse([]byte(b.text), "config.toml"); err != nil {
			bad(err.Error())
		}
	case "yaml":
		for doc := range strings.SplitSeq(b.text, "\n---\n") {
			if err := yaml.Unmarshal([]byte(doc), new(map[string]any)); err != nil {
				bad(err.Error())
			}
		}
	case "json":
		if !json.Valid([]byte(b.text)) {
			bad("no JSON")
		}
	case "go":
		if _, err := format.Source([]byte(b.text)); err != nil {
			bad(err.Error())
		}
	case "text":
		for line := range strings.Lines(b.text) {
			if strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "git ") || strings.HasPrefix(line, "scripts/") {
				bad("a command in a block that nothing runs: " + strings.TrimSpace(line))
			}
		}
	}
	return problems
}

func TestLintFindsFaults(t *testing.T) {
	for _, b := range []block{
		{kind: "plan", text: "no_such_tool x\n"},
		{kind: "udc", text: "NO_SUCH R0\n"},
		{kind: "comms", text: "### D-1: x\n\n- max_iteration: 3\n"},
		{kind: "toml", text: "[model]\nnmae = \"script\"\n"},
		{kind: "json", text: "{,}\n"},
		{kind: "yaml", text: "a: 1\n---\nb: [\n"},
		{kind: "go", text: "func {\n"},
		{kind: "text", text: "git push\n"},
	} {
		if len(lint(b)) == 0 {
			t.Errorf("nothing is found in %s %q", b.kind, b.text)
		}
	}
}

// newcomers' documents, and those that take a moment, run in the first tier.
var newcomers = []string{"../README.md", "quickstart.md", "udc.md"}

// TestExamplesRun runs what a newcomer reads.
func TestExamplesRun(t *testing.T) {
	tier.Long(t, "directives in the real fence")
	examples(t, newcomers, (*testing.T).Parallel)
}

// TestAllExamplesRun runs every other document.
func TestAllExamplesRun(t *testing.T) {
	tier.Full(t, "minutes, and a fence or a cluster")
	examples(t, slices.DeleteFunc(documents(t), func(name string) bool { return slices.Contains(newcomers, name) }), func(*testing.T) {})
}

// examples runs documents. Those that begin as parallel tests share nothing but the source's
// bin/, podman and its images.
func examples(t *testing.T, names []string, begin func(*testing.T)) {
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			begin(t)
			all := read(t, name)
			s := start(t)
			if *update {
				defer func() { rewrite(t, name, all) }() // what ran, if not all did
			}
			for i := range all {
				s.block(t, name, &all[i])
			}
		})
	}
}

// block runs or writes one block.
func (s *session) block(t *testing.T, name string, b *block) {
	t.Helper()
	var all []example
	var err error
	switch b.kind {
	case "console":
		var problem string
		if all, problem = b.console(); problem != "" {
			t.Fatalf("%s:%d: %s", name, b.line, problem)
		}
	case "sh":
		if all, err = statements(*b); err != nil {
			t.Fatalf("%s:%d: %v", name, b.line, err)
		}
	default:
		s.write(t, *b)
		return
	}
	if b.attrs["needs"] == "ci" {
		for _, e := range all { // not run from here, but there
			if info, err := os.Stat(filepath.Join("..", strings.Fields(e.command)[0])); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s:%d: no program: %v", name, e.line, err)
			}
		}
	}
	if why := missing(b.attrs["needs"]); why != "" {
		t.Logf("%s:%d: SKIPPED: %s", name, b.line, why)
		return
	}
	if b.attrs["needs"] == "gitea" && !s.forge {
		s.forge = true
		s.onForge(t)
	}
	if b.attrs["at"] == "clone" {
		s.run(t, `cd "$WARD" && export TMPDIR=`+s.home)
		defer s.run(t, "cd - >/dev/null && export TMPDIR="+os.TempDir())
	}
	for i, e := range all {
		want := 0
		if text := b.attrs["exit"]; text != "" && i == len(all)-1 {
			if want, err = strconv.Atoi(text); err != nil {
				t.Fatal(err)
			}
		}
		got, code := s.run(t, e.command)
		if code != want {
			// What comes after it stands on it, and would only fail, too.
			t.Fatalf("%s:%d: $ %sexits with %d, not %d:\n%s", name, e.line, e.command, code, want, got)
		}
		if e.compare && !matches(e.want, got) {
			if *update {
				b.text = strings.Replace(b.text, e.command+e.want, e.command+general(got), 1)
				continue
			}
			t.Errorf("%s:%d: $ %sprints\n%s", name, e.line, e.command, got)
		}
	}
}

// onForge makes a project on a Gitea, as a reader has one, and gives its administrator to the one
// who makes a user for Ward.
func (s *session) onForge(t *testing.T) {
	t.Helper()
	l := giteatest.New(t)
	lead := l.User("lead")
	lead.Project("project")
	s.run(t, "FORGE="+l.URL+"/"+lead.Login+"/project BOT="+l.Free("ward-bot")+"; (umask 077; echo '"+strings.TrimSpace(l.Netrc())+"' >admin)\n")
}

// missing says why this machine cannot run what a block needs; "" where it can.
func missing(tier string) string {
	switch tier {
	case "ci":
		return "it is what runs this test: CI, or a person"
	case "kube":
		return "a Kubernetes runs it: scripts/test kube, by sandbox/kube/cluster's test of this document"
	case "gitea":
		if os.Getenv(giteatest.Var) == "" {
			return "there is no Gitea here: scripts/setup --forge builds one, which scripts/test full runs"
		}
		return ""
	case "npm":
		if _, err := exec.LookPath("npm"); err != nil {
			return "there is no npm here"
		}
		return ""
	case "fence":
		if os.Getuid() != 0 {
			return "root's images and containers are the machine's, another user's would be below the session's home; sandbox's tests try an ordinary user's fence"
		}
		if _, err := exec.LookPath("podman"); err != nil {
			return fmt.Sprintf("a fence needs podman (scripts/setup --fence): %v", err)
		}
	}
	return ""
}
