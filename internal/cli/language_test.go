package cli_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// listed is a command or a verb as the manual has it.
type listed struct {
	words, usage string
	flags        map[string]string // its value word by a flag, "" of a switch
	texts        map[string]string
	examples     []string
}

// folded is where a line of a help goes on in the next.
var folded = regexp.MustCompile(`\n {11,}`)

// manualOf reads `git ward manual --markdown`: of every command, the programs of their own too.
func manualOf(p *gittest.Pair) (all []listed) {
	p.T.Helper()
	text := p.Run(p.Work, "git-ward", "manual", "--markdown")
	for _, part := range regexp.MustCompile(`(?m)^#{3,4} `).Split(text, -1)[1:] {
		c := listed{flags: map[string]string{}, texts: map[string]string{}}
		c.words, part, _ = strings.Cut(part, "\n")
		part = folded.ReplaceAllString(part, " ") // lines go on below themselves
		for line := range strings.Lines(part) {
			switch line = strings.TrimRight(line, "\n"); {
			case strings.HasPrefix(line, "usage:"), strings.HasPrefix(line, "   or:"):
				c.usage += line[len("usage:"):] + "\n"
			case strings.HasPrefix(line, "  -"):
				typed, text, _ := strings.Cut(strings.TrimSpace(line), "  ")
				name, value, _ := strings.Cut(typed, " ")
				c.flags[name], c.texts[name] = value, strings.TrimSpace(text)
			case strings.HasPrefix(line, "- `git ward "):
				c.examples = append(c.examples, strings.Split(line, "`")[1])
			}
		}
		all = append(all, c)
	}
	if len(all) < 60 {
		p.T.Fatalf("the manual has %d commands only", len(all))
	}
	return all
}

// meanings are the flags that mean two things, each with the value word of its own.
var meanings = map[string]string{
	"--bare":    "git ward init",        // --bare DIR as `git init --bare DIR` has it, where DIR is an argument
	"--from":    "git ward image build", // IMAGE; udc trace counts from N
	"--model":   "git ward plan lint",   // a MODEL of a plan's, A or B
	"--verdict": "git ward door",        // the SOCKET of one verification; near only serves one
}

// TestOneLanguage: a flag has the same value word everywhere, stands in a usage line of its
// command with it, and what names a place of the world has one text (GET-1).
func TestOneLanguage(t *testing.T) {
	tier.First(t, "all programs tell their flags")
	values, texts := map[string]string{}, map[string]string{}
	flagWord := regexp.MustCompile(`(?:^|[ \[(|])(-{1,2}[a-z][a-z-]*)`)
	for _, c := range manualOf(gittest.New(t)) {
		for name, value := range c.flags {
			if value != strings.ToUpper(value) && value != "D-n" {
				t.Errorf("%s %s: the value %s is not in capitals", c.words, name, value)
			}
			if then, known := values[name]; known && then != value && meanings[name] != c.words {
				t.Errorf("%s %s takes %q, which is %q elsewhere", c.words, name, value, then)
			} else if meanings[name] != c.words {
				values[name] = value
			}
			if then := texts[name]; name == "--config" && then != "" && then != c.texts[name] {
				t.Errorf("%s %s: %q is %q elsewhere", c.words, name, c.texts[name], then)
			}
			texts[name] = c.texts[name]
			given := regexp.MustCompile(regexp.QuoteMeta(name+" ") + `(\S*)`).FindStringSubmatch(c.usage)
			switch choice := ""; {
			case value != "" && given != nil:
				if choice = strings.TrimRight(given[1], ")]."); choice != value && !strings.Contains(choice, "|") {
					t.Errorf("%s %s %s is %s in its usage lines\n%s", c.words, name, value, choice, c.usage)
				}
			case !strings.Contains(c.usage, name):
				t.Errorf("%s %s is in none of its usage lines\n%s", c.words, name, c.usage)
			}
		}
		for _, m := range flagWord.FindAllStringSubmatch(c.usage, -1) {
			if _, known := c.flags[m[1]]; !known && m[1] != "--" {
				t.Errorf("%s has no flag %s, which its usage lines have", c.words, m[1])
			}
		}
	}
}

// TestConfigIsWhereOneStands: --config FILE is relative to where the command is given, below
// the top of a working tree too.
func TestConfigIsWhereOneStands(t *testing.T) {
	tier.First(t, "some twenty commands of the built programs")
	p := worked(t)
	p.Write("below/here.toml", "[model\n")
	tried := 0
	for _, c := range manualOf(p) {
		if _, has := c.flags["--config"]; !has {
			continue
		}
		args := append(strings.Fields(c.words)[2:], "--config", "here.toml")
		switch usage := c.usage; {
		case strings.HasSuffix(c.words, "udc check"): // only to analyze it reads settings
			args = append(args, "--analyze", "../good.udc")
		case strings.Contains(usage, "D-n"):
			args = append(args, "D-1")
		case strings.Contains(usage, "UNIT"):
			args = append(args, "D-1.1")
		case strings.Contains(usage, "FILE..."), strings.Contains(usage, "] FILE\n"):
			args = append(args, "../good.udc")
		case strings.Contains(usage, "PLAN"):
			args = append(args, "deep-research")
		case strings.HasSuffix(c.words, "directive new"):
			args = append(args, "-m", "words")
		}
		tried++
		out, err := p.Try(filepath.Join(p.Work, "below"), nil, "", "git-ward", args...)
		if err == nil || !strings.Contains(out, "here.toml:") {
			t.Errorf("git ward %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if tried < 20 {
		t.Errorf("only %d commands have --config", tried)
	}
}

// worked is a repository whose directive D-1 waits for an agent, and a plan.
func worked(t *testing.T) *gittest.Pair {
	t.Helper()
	p := gittest.New(t)
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: say it\n\nSay it.\n\n## Reports\n")
	p.Write("good.udc", "HALT\n")
	p.Write("README.md", "# Project\n\nWords.\n")
	p.Git("add", "--all")
	p.Git("commit", "--quiet", "-m", "a directive")
	if out, err := p.Push("HEAD:main"); err != nil {
		t.Fatal(out)
	}
	p.Git("fetch", "--quiet")
	return p
}

// elsewhere are the commands whose examples want more than a repository with a directive: a
// unit, a fence, a network, a terminal. Their flags are looked up, and nothing is run.
var elsewhere = []string{"review", "include", "launch", "forge", "serve", "watch", "verify", "image", "probe", "door", "mcp", "transcript", "take", "uow", "init", "clone", "redact", "lease", "near", "fence", "try"}

// editor is a person who writes a directive, or changes the one that is there.
const editor = `GIT_EDITOR=write() { sed -i "s/^Say it/Say it now/" "$1"; grep -q "^Say it" "$1" || sed -i "1i More." "$1"; }; write`

// TestExamplesOfTheManual: each is a command line that its command takes, and those that need
// no more than a repository do what they say; /srv/git/project.git is one.
func TestExamplesOfTheManual(t *testing.T) {
	tier.First(t, "some forty commands of the built programs")
	p := worked(t)
	seen := map[string]bool{}
	for _, c := range manualOf(p) {
		for _, line := range c.examples {
			args := shellWords(line)[2:]
			seen[args[0]] = true
			for _, arg := range args {
				name, _, _ := strings.Cut(arg, "=")
				if _, known := c.flags[name]; strings.HasPrefix(arg, "-") && !known {
					t.Errorf("%s: %s has no flag %s", line, c.words, arg)
				}
			}
			if !strings.HasPrefix(line+" ", c.words+" ") {
				t.Errorf("%s is an example of %s", line, c.words)
			}
			if slices.Contains(elsewhere, args[0]) {
				continue
			}
			for i := range args {
				if args[i] == "/srv/git/project.git" {
					args[i] = p.Bare
				}
			}
			out, err := p.Try(p.Work, []string{editor}, "", "git-ward", args...)
			if strings.Contains(out, "usage: ") || err != nil && strings.Contains(out, "error: ") {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	}
	for _, name := range table(t, p) { // what people type; the rest are the agent's, and tell of themselves
		if !seen[name] && !slices.Contains(hidden, name) && !slices.Contains([]string{"fsm", "protocol", "lesson", "task", "agent", "orient", "research", "knowledge", "config", "udc", "plan", "mcp"}, name) {
			t.Errorf("git ward %s has no example", name)
		}
	}
}

// shellWords are a command line's, with "double quotes".
func shellWords(line string) (words []string) {
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}

// TestEveryProgramHelps: each of Ward's programs answers -h with its usage and exit 0.
func TestEveryProgramHelps(t *testing.T) {
	tier.First(t, "all built programs")
	p := gittest.New(t)
	for _, name := range []string{"git-ward", "git-ward-launch", "git-ward-forge", "git-ward-mcp", "git-ward-view", "ward-agent", "ward-hook", "ward-inside", "ward-watcher"} {
		for _, flag := range []string{"-h", "--help"} {
			if out, err := p.Try(p.Work, nil, "", name, flag); err != nil || !strings.Contains(out, "usage: ") {
				t.Errorf("%s %s: %v\n%s", name, flag, err, out)
			}
		}
	}
}
