package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// lines are command lines of every command of `git ward`, as they are typed in a
// clone; BARE is its remote, NEW a directory that is not there yet. They need not
// succeed: what they read and print on the way counts.
var lines = map[string][]string{
	"clone":      {"BARE NEW"},
	"lint":       {"", "--json", "--as agent", "HEAD~1"},
	"log":        {"", "--json", "--refused", "BARE"},
	"why":        {"COMMS.md:1", "COMMS.md", "HEAD", "--json COMMS.md", "--bare BARE COMMS.md:2", "HOSTILE", "--rev HOSTILE COMMS.md", "HOSTILE:3"},
	"try":        {"--unfenced --script HOSTILE -m WORDS --dir NEW", "--script HOSTILE -m HOSTILE --dir HOSTILE", "--remove --dir HOSTILE", "--model HOSTILE -m WORDS", "HOSTILE"},
	"watch":      {"HOSTILE", "--bare HOSTILE", "--interval 1ns"},
	"transcript": {"D-1", "--iteration 2 D-1.1", "--bare BARE D-1", "HOSTILE", "--bare HOSTILE D-1"},
	"report":     {"--append --status INFO -m words", "--append --status NO", "append --status INFO --directive D-1 -F COMMS.md", "--html NEW", "--html NEW --bare HOSTILE"},
	"serve":      {"--bare HOSTILE", "--listen HOSTILE", "HOSTILE", "--bare BARE --listen 192.0.2.1:1"},
	"uow": {"show", "list --all --json", "show D-1.1", "show --json D-1.1", "clarify D-1.1 -m WORDS", "pause D-1.1", "pause --all",
		"resume D-1.1", "policy-check", "approve D-1.1 --reason APPROVED -m WORDS", "retry D-1.1", "resume --pulse D-1.1", "cancel D-1.1", "no-such"},
	"directive": {"show", "list --json", "show D-1", "show --json D-1", "new -m HOSTILE", "new --json -m WORDS", "edit D-1 -m HOSTILE", "edit -F COMMS.md D-1", "show HOSTILE", "show --bare HOSTILE"},
	"review":    {"D-1", "--json D-1", "D-1.1", "D-9", "HOSTILE", "--bare BARE D-1", "--bare HOSTILE D-1"},
	"include":   {"D-1", "D-1 HOSTILE", "D-1.1 go.mod", "D-9", "HOSTILE", "--bare BARE D-1"},
	"take":      {"D-1", "--json D-1.1", "--squash --unjudged D-1", "D-1 HOSTILE", "D-9"},
	"drop":      {"-m HOSTILE D-1", "--json D-1", "D-9", "HOSTILE"},
	"udc": {"check HOSTILE.udc", "check --json HOSTILE.udc", "fmt good.udc", "fmt --check HOSTILE.udc", "run good.udc", "run --json good.udc",
		"run HOSTILE.udc", "run --trace good.udc", "analyze good.udc", "check --analyze --json HOSTILE.udc"},
	"plan": {"lint", "lint --json", "lint HOSTILE", "show", "show --json", "show HOSTILE", "show --json HOSTILE", "analyze HOSTILE", "lint --analyze --json HOSTILE",
		"register name HOSTILE", "register --remove HOSTILE", "run HOSTILE"},
	"agent":    {"prompt D-1", "prompt --kind program D-1", "prompt --kind HOSTILE D-1", "prompt HOSTILE"},
	"task":     {"start --task-id D-1", "start --task-id D-1 --json", "start --task-id HOSTILE", "close --task-id D-1"},
	"research": {"plan --slug s TOPIC", "plan words", "run HOSTILE", "no-such"},
	"fsm":      {"", "HOSTILE.json", "--json HOSTILE.json", "--dot HOSTILE.json", "show uow", "dot uow"},
	"protocol": {"compile --lint", "lint --json", "compile", "add-tool HOSTILE HOSTILE", "update-rule HOSTILE HOSTILE HOSTILE"},
	"lesson": {"extract HOSTILE.md", "extract --json HOSTILE.md", "extract --dry-run postmortems/HOSTILE.md", "list", "list --json", "list --all",
		"apply", "apply --json", "merge HOSTILE HOSTILE HOSTILE"},
	"mcp":       {"", "--dir HOSTILE"},
	"orient":    {"", "--json", "--unknown HOSTILE", "--research HOSTILE"},
	"knowledge": {"build --check", "build"},
	"init":      {"", "--bare NEW", "--bare .", "--bare BARE", "--forge HOSTILE", "--forge http://127.0.0.1:1/o/HOSTILE --bare NEW"},
	"launch": {"--stop --bare BARE", "--logs --bare BARE", "--bare HOSTILE", "--bare BARE --model HOSTILE", "HOSTILE", "--gate HOSTILE --key NEW --known-hosts NEW", "--gate ssh://HOST --bare BARE",
		"--bare BARE --unfenced --once --model script --state STATE", "--profile NEW --bare HOSTILE"},
	"near":     {"--ready --dir NEW", "--gate HOSTILE --key NEW --known-hosts NEW --dir NEW", "HOSTILE"},
	"door":     {"--stdio --bare BARE --pm pat", "--stdio --bare HOSTILE --agent robo", "--stdio --bare BARE --member HOSTILE", "HOSTILE"},
	"forge":    {"--once --bare BARE", "--once --dry-run --bare HOSTILE", "--dry-run", "--check --bare BARE", "--check --json --bare HOSTILE", "HOSTILE"},
	"verify":   {"--bare BARE --unfenced HEAD D-1", "--bare BARE --unfenced --json WORKTIP --run HOSTILE", "--bare BARE HOSTILE HOSTILE"},
	"image":    {"HOSTILE", "build --from HOSTILE"},
	"probe":    {"--bare HOSTILE", "HOSTILE", "--rules --bare BARE", "--rules --bare HOSTILE"},
	"status":   {"--bare BARE", "--bare BARE --json", "--bare HOSTILE"},
	"doctor":   {"--bare HOSTILE", "--bare BARE", "--bare BARE --json"},
	"fsck":     {"", "BARE", "--json BARE", "HOSTILE"},
	"maintain": {"", "BARE", "HOSTILE"},
	"lease":    {"", "list", "--json BARE", "HOSTILE", "--revoke --bare BARE D-1", "--revoke --json --bare BARE HOSTILE", "revoke D-1"},
	"fence":    {"", "--policy HOSTILE --note NEW", "HOSTILE"}, // one that is right would fence the machine
	"redact":   {"", "--bare BARE -m why HEAD:COMMS.md", "--bare HOSTILE -m why HEAD:a"},
	"config":   {"", "HOSTILE"},
	"version":  {"", "HOSTILE"},
}

// hidden are commands of pods, of other machines and of the agent alone, in no list.
var hidden = []string{"door", "near", "fence", "version", "orient"}

// table is the names of the commands, as `git ward help` has them, and of the hidden ones.
func table(t *testing.T, p *gittest.Pair) (names []string) {
	t.Helper()
	help := p.Run(p.Work, "git-ward", "help")
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) +\S`).FindAllStringSubmatch(help, -1) {
		names = append(names, m[1])
	}
	if len(names) < 20 {
		t.Fatalf("the table has %d commands only:\n%s", len(names), help)
	}
	return append(names, hidden...)
}

// verbsOf are all commands and verbs, as the manual heads them; a command with verbs is none.
func verbsOf(t *testing.T, p *gittest.Pair) (verbs []string) {
	t.Helper()
	for line := range strings.Lines(p.Run(p.Work, "git-ward", "manual", "--markdown")) {
		if name, ok := strings.CutPrefix(line, "### "); ok {
			verbs = append(verbs, strings.TrimSpace(name))
		} else if name, ok := strings.CutPrefix(line, "#### "); ok {
			if parent, _, _ := strings.Cut(strings.TrimPrefix(name, "git ward "), " "); verbs[len(verbs)-1] == "git ward "+parent {
				verbs = verbs[:len(verbs)-1]
			}
			verbs = append(verbs, strings.TrimSpace(name))
		}
	}
	return verbs
}

// TestHelpFits: no line of a help is wider than a terminal's 80 columns.
func TestHelpFits(t *testing.T) {
	tier.First(t, "it runs each command")
	p := gittest.New(t)
	asked := [][]string{{"help"}}
	for _, name := range append(table(t, p), verbsOf(t, p)...) {
		words := strings.Fields(strings.TrimPrefix(name, "git ward "))
		asked = append(asked, append(words, "--help"), append(slices.Clone(words), "-h"))
	}
	for _, args := range asked {
		for line := range strings.Lines(p.Run(p.Work, "git-ward", args...)) {
			if width := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > 80 {
				t.Errorf("git ward %s: %d columns: %s", strings.Join(args, " "), width, line)
			}
		}
	}
}

// TestSixtyVerbs: there are no more than a person can look through. A command with
// verbs is none itself.
func TestSixtyVerbs(t *testing.T) {
	tier.First(t, "it builds Ward's programs")
	p := gittest.New(t)
	verbs := verbsOf(t, p)
	if len(verbs) < 40 || len(verbs) > 60 {
		t.Errorf("there are %d verbs: %s", len(verbs), strings.Join(verbs, ", "))
	}
	for _, name := range hidden {
		if slices.Contains(verbs, "git ward "+name) {
			t.Errorf("%s is in the manual", name)
		}
	}
}

// every runs every command of the table, with every line, in dir, and gives what each
// printed to see.
func every(t *testing.T, p *gittest.Pair, dir string, env []string, words map[string]string, see func(line, output string)) {
	t.Helper()
	names := table(t, p)
	// It ends the directive, and with it the unit that other commands' lines are about.
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case a == "drop" && b != "drop":
			return 1
		case b == "drop" && a != "drop":
			return -1
		}
		return 0
	})
	for _, name := range names {
		if len(lines[name]) == 0 {
			t.Errorf("git ward %s is not tried: add its lines to this test", name)
		}
		for _, line := range lines[name] {
			args := []string{name}
			for _, word := range strings.Fields(line) {
				for from, to := range words {
					word = strings.ReplaceAll(word, from, to)
				}
				args = append(args, strings.ReplaceAll(word, "NEW", filepath.Join(t.TempDir(), "new")))
			}
			cmd := p.Command(dir, env, "git-ward", args...)
			done := make(chan []byte, 1)
			go func() {
				out, _ := cmd.CombinedOutput() // any exit will do
				done <- out
			}()
			out := await.Value(t, "the end of git ward "+name+" "+line, done)
			if len(out) == 0 && name != "mcp" && name != "research" && name != "launch" {
				t.Logf("git ward %s %s said nothing", name, line)
			}
			see(strings.TrimSpace(name+" "+line), string(out))
		}
	}
}
