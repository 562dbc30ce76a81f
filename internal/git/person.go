package git

import (
	"context"
	"strings"
)

// Person has the git settings of the person at the terminal: from the person's own files, the
// environment and the command line. A repository's settings are left out, so that none of them
// can name a program to run (GATE-7).
type Person struct {
	env []string // no repository is found with it
	dir string   // where the person stands; for what runs nothing
}

// AsPerson makes a Person from the person's environment. It reads no settings yet.
func AsPerson(dir string, base []string) *Person {
	env := append(Elsewhere(base), "GIT_DIR=/nonexistent")
	return &Person{env: Local(env), dir: dir}
}

// Pager is the command line of the person's pager, for a shell: GIT_PAGER, core.pager,
// PAGER, or git's own choice; "" for none.
func (p *Person) Pager(ctx context.Context) (string, error) {
	pager, err := p.ask(ctx, "var", "GIT_PAGER")
	if pager == "cat" {
		pager = ""
	}
	return pager, err
}

// Editor is the command line of the person's editor, for a shell (git-var(1)).
func (p *Person) Editor(ctx context.Context) (string, error) {
	return p.ask(ctx, "var", "GIT_EDITOR")
}

// Coloured reports whether git would use colours: color.ui, TERM and the stream decide, and
// color.pager for a pager. A repository's settings count here.
func (p *Person) Coloured(ctx context.Context, terminal, pager bool) (bool, error) {
	for _, v := range p.env {
		if name, value, _ := strings.Cut(v, "="); name == "NO_COLOR" && value != "" {
			return false, nil
		}
	}
	if pager {
		if no, err := p.here(ctx, "config", "--type=bool", "--default=true", "--get", "color.pager"); err != nil || no == "false" {
			return false, err
		}
	}
	stream := map[bool]string{true: "true", false: "false"}[terminal]
	yes, err := p.here(ctx, "config", "--get-colorbool", "ui.color", stream)
	return yes == "true", err
}

func (p *Person) ask(ctx context.Context, args ...string) (string, error) {
	return p.git(ctx, "/", p.env, args)
}

func (p *Person) here(ctx context.Context, args ...string) (string, error) {
	return p.git(ctx, p.dir, without(p.env, "GIT_DIR"), args)
}

func (p *Person) git(ctx context.Context, dir string, env, args []string) (string, error) {
	out, err := child(ctx, dir, env, args).Output()
	if err != nil {
		return "", childWords(ctx, args[0], err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
