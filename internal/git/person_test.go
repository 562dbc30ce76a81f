package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Programs come from the person's own word, in git's order; colours also from the
// repository's.
func TestPerson(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	global := filepath.Join(home, ".gitconfig")
	for _, args := range [][]string{{"init", "--quiet", dir}, {"-C", dir, "config", "core.pager", "evil"}, {"-C", dir, "config", "core.editor", "evil"},
		{"config", "--file", global, "core.pager", "mine"}, {"config", "--file", global, "core.editor", "ed"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	base := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "TERM=xterm", "PAGER=theirs"}
	for _, test := range []struct {
		env           []string
		pager, editor string
	}{
		{nil, "mine", "ed"},
		{[]string{"GIT_PAGER=less -S", "GIT_EDITOR=vi"}, "less -S", "vi"},
		{[]string{"GIT_PAGER=cat"}, "", "ed"},
		{[]string{"HOME=/nonexistent", "EDITOR=nano"}, "theirs", "nano"},
		{[]string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.pager", "GIT_CONFIG_VALUE_0=said"}, "said", "ed"},
		{[]string{"GIT_DIR=" + dir + "/.git"}, "mine", "ed"},
	} {
		p := AsPerson(dir, append(base, test.env...))
		pager, err := p.Pager(t.Context())
		if err != nil || pager != test.pager {
			t.Errorf("%v: pager %q %v, want %q", test.env, pager, err, test.pager)
		}
		if editor, err := p.Editor(t.Context()); err != nil || editor != test.editor {
			t.Errorf("%v: editor %q %v, want %q", test.env, editor, err, test.editor)
		}
	}
	for _, test := range []struct {
		env             []string
		setting         string // of the repository
		terminal, pager bool
		want            bool
	}{
		{nil, "", true, false, true},
		{nil, "", false, false, false},
		{nil, "color.ui=always", false, false, true},
		{nil, "color.ui=never", true, false, false},
		{nil, "ui.color=false", true, false, false},
		{nil, "color.pager=false", true, true, false},
		{nil, "color.pager=false", true, false, true},
		{[]string{"TERM=dumb"}, "", true, false, false},
		{[]string{"NO_COLOR=1"}, "color.ui=always", true, false, false},
		{[]string{"NO_COLOR="}, "", true, true, true},
	} {
		env := append(base, test.env...)
		if test.setting != "" {
			name, value, _ := strings.Cut(test.setting, "=")
			env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0="+name, "GIT_CONFIG_VALUE_0="+value)
		}
		if got, err := AsPerson(dir, env).Coloured(t.Context(), test.terminal, test.pager); got != test.want || err != nil {
			t.Errorf("%+v: %v %v", test, got, err)
		}
	}
}
