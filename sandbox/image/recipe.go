// Package image makes the image that Ward's containers run: a small Debian with
// git, from the machine's own Debian mirrors without any registry of images, or
// on top of a base image from one. Ward's programs are bound in at launch, not
// baked. An image is named by what it is made of, so it is made once.
package image

import (
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

//go:embed customize.sh
var customize string

// Recipe describes what an image is made of.
type Recipe struct {
	Suite    string   // Debian's, as "bookworm"; empty: this machine's
	Packages []string // beside Base
	From     string   // a base image from a registry in place of Debian packages
}

// Base is what every image has: git for the work, ctags for the index of symbols,
// certificates for whoever
// speaks TLS, a shell for the agent.
var Base = []string{"bash", "ca-certificates", "git", "universal-ctags"}

// repository is the name of all images; the recipe's hash is the tag.
const repository = "localhost/git-ward"

// changes are the settings of the image, as lines of a Containerfile.
var changes = []string{
	"ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"ENV HOME=/bot",
	"ENV LANG=C.UTF-8",
	"USER 1000:1000",
	"WORKDIR /bot",
	`CMD ["/bin/bash"]`,
}

// Users inside, by id: who works, and who watches over it.
const (
	AgentID   = 1000
	WatcherID = 1001
)

// Name is the image's, from the content of the recipe. It says nothing of the
// packages' versions: an image is renewed by Build with force.
func (r *Recipe) Name() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q %q", r.Suite, r.packages(), r.From, runtime.GOARCH, customize, changes)
	return fmt.Sprintf("%s:%x", repository, h.Sum(nil)[:8])
}

func (r *Recipe) packages() []string {
	all := slices.Concat(Base, r.Packages)
	slices.Sort(all)
	return slices.Compact(all)
}

// The labels by which an image says what it is made of.
const (
	packagesLabel = "ward.packages"
	fromLabel     = "ward.from"
)

// Lines are the settings and labels of the image, as lines of a Containerfile.
func (r *Recipe) Lines() []string {
	lines := append(slices.Clone(changes), "LABEL "+packagesLabel+"="+strings.Join(r.packages(), ","))
	if r.From != "" {
		lines = append(lines, "LABEL "+fromLabel+"="+r.From)
	}
	return lines
}

// Of is what an image with these labels is made of; not ok, the image does not say it.
func Of(labels map[string]string) (r Recipe, ok bool) {
	packages, ok := labels[packagesLabel]
	return Recipe{Packages: List(packages), From: labels[fromLabel]}, ok
}

// List is a list of packages with commas between them.
func List(packages string) []string {
	return strings.FieldsFunc(packages, func(c rune) bool { return c == ',' })
}

// Has is what the image has, for people.
func (r *Recipe) Has() string {
	has := strings.Join(r.packages(), ", ")
	if r.From != "" {
		has += ", beside what " + r.From + " has"
	}
	return has
}

// These words become arguments of programs and lines of a Containerfile.
var (
	packageName = pattern.New(`^[a-z0-9][a-z0-9+.-]+$`)
	suiteName   = pattern.New(`^[a-z][a-z0-9-]*$`)
	imageName   = pattern.New(`^[a-zA-Z0-9][a-zA-Z0-9./_:@-]*$`)
)

// Complete fills empty fields from the machine and refuses an invalid recipe.
func (r *Recipe) Complete() error {
	for _, p := range r.Packages {
		if !packageName.MatchString(p) {
			return fmt.Errorf("%q is not the name of a Debian package", p)
		}
	}
	if r.From != "" {
		if !imageName.MatchString(r.From) {
			return fmt.Errorf("%q is not the name of an image", r.From)
		}
		return nil
	}
	if r.Suite == "" {
		r.Suite = hostSuite()
	}
	if !suiteName.MatchString(r.Suite) {
		return errors.New("this machine is not a Debian whose suite is known: name one, or a base image")
	}
	return nil
}

// hostSuite is the machine's own, if it is a Debian.
func hostSuite() string {
	data, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return ""
	}
	id, suite := "", ""
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch value = strings.Trim(value, `"`); key {
		case "ID":
			id = value
		case "VERSION_CODENAME":
			suite = value
		}
	}
	if id != "debian" {
		return ""
	}
	return suite
}
