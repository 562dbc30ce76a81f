package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// manuals is a repository with what `git ward manual` writes.
func manuals(t *testing.T) (p *gittest.Pair, dir string) {
	t.Helper()
	p, dir = gittest.New(t), t.TempDir()
	if out, err := p.Try(p.Work, nil, "", "git-ward", "manual", dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return p, dir
}

// TestManPages: each command has one, which man and mandoc read without a word (GET-1).
func TestManPages(t *testing.T) {
	tier.First(t, "some forty man pages through man and mandoc")
	p, dir := manuals(t)
	pages, err := filepath.Glob(filepath.Join(dir, "man/man1/*.1"))
	if names := table(t, p); err != nil || len(pages) != len(names)-len(hidden)+1 {
		t.Errorf("%d pages of %d commands and one of all, %v", len(pages), len(names), err)
	}
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Log("SKIPPED: mandoc is not here, whose lint is the stricter one")
	} else if out, _ := exec.Command("mandoc", append([]string{"-T", "lint", "-W", "warning"}, pages...)...).CombinedOutput(); len(out) > 0 {
		t.Errorf("mandoc says:\n%s", out)
	}
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("SKIPPED: man is not here")
	}
	for _, page := range pages {
		cmd := exec.Command("man", "--warnings", "-E", "UTF-8", "-l", page)
		cmd.Env = append(os.Environ(), "MANROFFSEQ=", "MANPAGER=cat", "PAGER=cat")
		var errs strings.Builder
		cmd.Stderr = &errs
		if out, err := cmd.Output(); err != nil || errs.Len() > 0 || !strings.Contains(string(out), "SYNOPSIS") {
			t.Errorf("man %s: %v\n%s", page, err, &errs)
		}
	}
	cmd := p.Command(p.Work, []string{"MANPATH=" + filepath.Join(dir, "man"), "MANPAGER=cat"}, "git", "help", "ward")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "git-ward-take(1)") {
		t.Errorf("git help ward: %v\n%s", err, out)
	}
}

// completions are command lines, and words that a shell must offer.
var completions = map[string]string{
	"git ward tak":                       "take",
	"git ward uow appro":                 "approve",
	"git-ward uow cancel --reason SUPER": "SUPERSEDED",
	"git ward fsm --js":                  "--json",
	"git-ward fsm --dot orches":          "orchestrator",
	"git ward launch --lo":               "--logs",
	"git-ward directive show D":          "D-1",
	"git ward review D":                  "D-1",
	"git-ward lint --config COMM":        "COMMS.md",
	"git ward directive show --ba":       "--bare",
	"git-ward help dire":                 "directive",
	"git-ward plan show deep":            "deep-research",
}

// TestCompletion: what a person's shell offers (GET-1). Of bash the functions are called as
// readline calls them, zsh is driven through a terminal, fish answers itself.
func TestCompletion(t *testing.T) {
	tier.First(t, "real shells with the built programs")
	p, dir := manuals(t)
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: say it\n\nSay it.\n\n## Reports\n")
	p.Git("add", "COMMS.md")
	p.Git("commit", "--quiet", "-m", "a directive")
	if out, err := p.Push("HEAD:main"); err != nil {
		t.Fatal(out)
	}
	p.Git("fetch", "--quiet")
	for shell, ask := range map[string]func(t *testing.T, p *gittest.Pair, dir, line string) string{"bash": askBash, "zsh": askZsh, "fish": askFish} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("SKIPPED: %s is not here", shell)
			}
			for line, want := range completions {
				if got := ask(t, p, dir, line); !strings.Contains(got, want) {
					t.Errorf("%q: %q is not offered in %q", line, want, got)
				}
			}
		})
	}
}

const gitsOwn = "/usr/share/bash-completion/completions/git"

func askBash(t *testing.T, p *gittest.Pair, dir, line string) string {
	t.Helper()
	if _, err := os.Stat(gitsOwn); err != nil {
		t.Skip("SKIPPED: git's completion for bash is not here")
	}
	out, err := p.Try(p.Work, nil, "", "bash", append([]string{"--norc", "-c", `source "$1"; source "$2"; shift 2
		COMP_LINE="$*" COMP_WORDS=("$@") COMP_CWORD=$(($#-1)) COMP_POINT=${#COMP_LINE}
		if [ "$1" = git ]; then __git_wrap__git_main; else _git_ward_alone; fi
		printf '%s\n' "${COMPREPLY[@]}"`, "bash", gitsOwn, filepath.Join(dir, "bash/git-ward")}, strings.Split(line, " ")...)...)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return out
}

func askFish(t *testing.T, p *gittest.Pair, dir, line string) string {
	t.Helper()
	home := t.TempDir()
	conf := filepath.Join(home, "fish/conf.d")
	if err := os.MkdirAll(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "fish/git-ward.fish"), filepath.Join(conf, "git-ward.fish")); err != nil {
		t.Fatal(err)
	}
	out, err := p.Try(p.Work, []string{"XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home, "XDG_CACHE_HOME=" + home, "HOME=" + home}, "", "fish", "-c", `complete -C "`+line+`"`)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return out
}

func askZsh(t *testing.T, p *gittest.Pair, dir, line string) string {
	t.Helper()
	// ^G, pressed after TAB, prints the line as zsh has completed it.
	out, err := p.Try(p.Work, nil, "", "zsh", "-f", "-c", `zmodload zsh/zpty
		zpty z zsh -f -i
		zpty -w z "PS1=; TERM=dumb; fpath=($1/zsh \$fpath); autoload -U compinit; compinit -u -D; show() { print -r -- EN''D: \$BUFFER; BUFFER= }; zle -N show; bindkey ^G show; print REA''DY"
		zpty -r -m z out '*READY*'
		zpty -n -w z "$2"$'\t\a'
		zpty -r -m z out '*END:*'$'\n'
		print -r -- "$out"`, "zsh", dir, line)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return out
}
