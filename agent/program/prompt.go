package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/protocols/comms"
)

// Prompt is what a command is told: all of it each time, because a command that is
// run again is a new one.
type Prompt struct {
	System    string // SYSTEM.md and COMMS.md
	Directive comms.Directive
	Guidance  string // of an adopted project's own documents, Markdown; "" for none
	Lessons   string // of earlier directives, likewise
	Branch    string // that is checked out, such as "agent/D-1"
}

// write puts the prompt into a file that the command may read, outside of the
// working tree, and returns its path.
func (p *Prompt) write(state, refusal string) (string, error) {
	dir := filepath.Join(state, "prompt")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, p.Directive.Name()+".md")
	return path, atomicfile.Write(path, []byte(p.text(refusal)), 0o600)
}

// text is the system prompt, the directive, what is known, why the push of the
// work was refused ("" where it was not), and how to end.
func (p *Prompt) text(refusal string) string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(p.System, "\n"))
	fmt.Fprintf(&b, "\n\n# Your directive: %s\n\n%s\n", p.Directive.Name(), strings.TrimRight(p.Directive.Raw, "\n"))
	for _, known := range []string{p.Guidance, p.Lessons} {
		if known != "" {
			b.WriteString("\n" + known)
		}
	}
	if refusal != "" {
		fmt.Fprintf(&b, refused, p.Branch, refusal)
	}
	fmt.Fprintf(&b, howToEnd, p.Branch)
	return b.String()
}

const refused = `
# Your work was refused

The push of %s was refused:

%s
What the server does not have is in the working tree, uncommitted. Mend it there and end: it is then committed and pushed again.
`

const howToEnd = `
# How to end

You are in a git working tree, on the branch %s. Work there. Commit, or leave
changes in the working tree: both are pushed when you end, and what you leave
running is ended. Nobody answers questions. Exit 0 when the work is done, and
with another code when it cannot be done. The last lines you print become the
report.
`
