package command

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/sources"
	"git-ward/protocols/comms"
	"git-ward/sandbox/doctor/finding"
)

// packagesFile says which image the try has chosen, in its first line, and then its packages, one
// a line. While the setting is written, the first line has the image before it, too.
const packagesFile = "packages.txt"

// programs are the Debian packages of programs that criteria often run. The table only saves
// typing, as guess does: --with names others, and a program that is in no package of the image
// ends the try before an agent works.
var programs = map[string]string{
	"node": "nodejs", "npm": "nodejs npm", "npx": "nodejs npm", "python3": "python3", "pytest": "python3 python3-pytest", "make": "make gcc libc6-dev",
	"cmake": "cmake make gcc libc6-dev", "gcc": "gcc libc6-dev", "cc": "gcc libc6-dev", "cargo": "cargo", "ruby": "ruby",
}

// need finds the packages that the image is to have: those of the image that the try has, what
// the person names, and what the criteria of a new directive run.
func (t *trial) need() error {
	had, err := os.ReadFile(filepath.Join(t.dir, packagesFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	chosen, packages, _ := strings.Cut(string(had), "\n")
	t.chosen = strings.Fields(chosen)
	t.packages = append(strings.Fields(packages), strings.FieldsFunc(t.with, func(r rune) bool { return r == ',' || r == ' ' })...)
	if t.text != "" {
		t.packages = append(t.packages, packagesOf(t.wanted())...)
	}
	slices.Sort(t.packages)
	t.packages = slices.Compact(t.packages)
	return nil
}

// packagesOf are the packages of the programs that the commands of a directive's criteria name:
// none where the text breaks the grammar, or comes after another directive.
func packagesOf(text string) (list []string) {
	draft, err := comms.ParseDraft(text)
	if err != nil {
		return nil // the push of it says so
	}
	alone, err := comms.Amend([]byte(comms.Empty), comms.Addition{Draft: draft}, comms.Whole)
	if err != nil {
		return nil
	}
	doc, _ := comms.Parse(alone.Data)
	for _, d := range doc.Directives {
		for _, c := range d.Criteria {
			for _, word := range sources.Words(c.Command) {
				list = append(list, strings.Fields(programs[word])...)
			}
		}
	}
	return list
}

// fence checks that there is a fence, and builds the image once.
func (t *trial) fence() error {
	if t.unfenced {
		return nil
	}
	lacking, err := t.missing()
	if err != nil {
		return err
	}
	if len(lacking) > 0 {
		finding.Write(t.env.Stderr, lacking)
		return diag.Hint(errors.New("something is missing here: the lines above say what, and how to get it"),
			"then git ward try again; --unfenced --script FILE shows the way without a fence")
	}
	settings, err := config.Load(t.bare())
	if err != nil {
		return err
	}
	chosen := settings.Sandbox.Image
	if chosen != "" && !slices.Contains(t.chosen, chosen) && t.with == "" { // the person's own
		return nil
	}
	if len(t.packages) == 0 {
		return t.ward(t.dir, "image", "build")
	}
	image := new(strings.Builder)
	if err := t.typed(t.dir, io.MultiWriter(cli.Raw(t.env.Stdout), image), cli.Raw(t.env.Stderr), "image", "build", "--with", strings.Join(t.packages, ",")); err != nil {
		return err
	}
	name := strings.TrimSpace(image.String())
	if name != chosen {
		// First, so that after a kill the next try knows either image as a try's choice.
		if err := t.record(name, chosen); err != nil {
			return err
		}
		if err := t.ward(t.dir, "config", "--bare", t.bare(), "sandbox.image="+name); err != nil {
			return err
		}
	}
	return t.record(name)
}

// record writes down the image that the try has chosen, and its packages.
func (t *trial) record(images ...string) error {
	lines := append([]string{strings.Join(images, " ")}, t.packages...)
	return atomicfile.Write(filepath.Join(t.dir, packagesFile), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}
