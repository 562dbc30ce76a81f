package plan

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// names that a shell would take apart, if it read them.
var awkward = []string{"plain.md", "a b", " lead", "it's", `say "hi"`, "$HOME", "`id`", "$(id)", `back\slash`, "new\nline", "*", "-n", "{file2}", "~", "a;b&c|d", "\xff\xfe", "検索", "!x"}

// TestFillCommand runs each command in bash with each name: what it prints is the name, once
// and whole, wherever in quotes or without it stood.
func TestFillCommand(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED: no bash")
	}
	for _, c := range []struct{ command, prints string }{
		{`printf '%s|' {file1}`, "NAME|"},
		{`printf '%s|' "{file1}"`, "NAME|"},
		{`printf '%s|' "<{file1}>"`, "<NAME>|"},
		{`printf '%s|' '{file1}' '<{file1}>'`, "NAME|<NAME>|"},
		{`printf '%s|' $'\t{file1}'`, "\tNAME|"},
		{`printf '%s|' a/{file1}.bak {file1}`, "a/NAME.bak|NAME|"},
		{`x={file1}; printf '%s|' "$x"`, "NAME|"},
		{`printf '%s|' "$(printf '%s.' {file1})"`, "NAME.|"},
		{"printf '%s|' `printf %s. x\"{file1}\" | wc -l | tr -d ' 0-9'`z", "z|"},
		{`printf '%s|' "${none:-{file1\}}"`, "{file1}|"}, // not a placeholder
		{`printf '%s|' "${none:-<{file1}>}"`, "<NAME>|"},
		{`printf '%s|' ${none:-{file1}}`, "NAME|"},
		{`true $(( ${#file1} + 1 )) && printf '%s|' {file1}{file1}`, "NAMENAME|"},
		{`y=pre{file1}; printf '%s|' "${y#pre}"`, "NAME|"},
		{`y=x{file1}; printf '%s|' "${y%{file1}}"`, "x|"},
		{"cat <<END\n<{file1}>\nEND\n", "<NAME>\n"},
		{"cat <<'END'\n<{file1}>\nEND\n", "<NAME>\n"},
		{`for f in {file1}; do printf '%s|' "$f"; done # of {file1}`, "NAME|"},
		{`case {file1} in {file1}) printf '%s|' same;; esac`, "same|"},
		{`[[ {file1} == {file1} ]] && printf '%s|' same`, "same|"},
		{`printf '%s|' {file1}>&1`, "NAME|"},
		{`printf '%s|' \{file1} "\{file1}" {file9}`, `{file1}|\{file1}|{file9}|`},
		{`printf '%s|' "${file1}" $'' # the variable itself`, "NAME||"},
	} {
		for _, name := range awkward {
			filled, err := FillCommand(c.command, []string{name})
			if err != nil {
				if strings.Contains(c.command, "<<'END'") && (strings.Contains(name, "\n") || name == "\xff\xfe") {
					continue // no such name can stand there, and that is said
				}
				t.Errorf("%s: %q: %v", c.command, name, err)
				continue
			}
			cmd := exec.Command(bash, "-c", filled)
			cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere"}, CommandFiles([]string{name})...)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			if want := strings.ReplaceAll(c.prints, "NAME", name); err != nil || string(out) != want {
				t.Errorf("%s with %q: %s prints %q, want %q (%v)", c.command, name, filled, out, want, err)
			}
			if left, _ := filepath.Glob(filepath.Join(cmd.Dir, "*")); len(left) > 0 {
				t.Errorf("%s with %q leaves %q", c.command, name, left)
			}
		}
	}
	if _, err := FillCommand(`cat "{file1}`, []string{"a"}); err == nil {
		t.Error("an open quote is filled in")
	}
	if same, err := FillCommand(`echo "open`, nil); err != nil || same != `echo "open` {
		t.Errorf("%s, %v: a command without a placeholder is a shell's to read", same, err)
	}
}
