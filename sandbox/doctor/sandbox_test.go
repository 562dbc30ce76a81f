package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/internal/gittest"
)

// What the settings name is looked for, not what they would have named: an image that is
// not there and programs that are gone are missing, each by its setting.
func TestSandboxLooksForWhatIsNamed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	script := "#!/bin/sh\ncase $* in *there) exit 0 ;; esac\nexit 1\n" // podman image exists NAME
	gittest.Program(t, filepath.Join(dir, "podman"), script)
	for _, c := range []struct {
		image, second, programs string
		want                    string
	}{
		{"", "", "", ""},
		{"localhost/there", "", dir, "[sandbox] image fine, [sandbox] programs fine"},
		{"localhost/gone", "", "", "[sandbox] image missing"},
		{"", "localhost/gone", dir + "/gone", "[verify] second_image missing, [sandbox] programs missing"},
	} {
		settings := config.Default()
		settings.Sandbox.Image, settings.Verify.SecondImage, settings.Sandbox.Programs = c.image, c.second, c.programs
		var got []string
		for _, f := range Sandbox(t.Context(), settings) {
			got = append(got, f.Thing+" "+string(f.State))
			if f.State == Missing && f.Mend == "" {
				t.Errorf("%s has no remedy", f.Thing)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A finding is one line, whatever an error of several has.
func TestHostWorkIsOneLine(t *testing.T) {
	e := &examiner{ctx: t.Context()}
	e.hostWork()
	if len(e.found) != 1 || strings.Contains(e.found[0].Detail, "\n") {
		t.Errorf("%+v", e.found)
	}
}
