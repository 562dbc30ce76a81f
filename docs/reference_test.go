package docs_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

var (
	link = regexp.MustCompile(`\]\(([^)#]+)`)
	verb = regexp.MustCompile("`git ward ([a-z]+)")
)

// TestLinksLead: each link of a document that is not of the web leads to a file.
func TestLinksLead(t *testing.T) {
	found := 0
	for _, name := range documents(t) {
		for _, m := range mentions(t, name, link) {
			if strings.Contains(m, "://") {
				continue
			}
			found++
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m)); err != nil {
				t.Errorf("%s: a link that leads nowhere: %v", name, err)
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d links were found", found)
	}
}

// TestVerbsExist: each verb that a document names in its text is one of git ward's.
func TestVerbsExist(t *testing.T) {
	tier.First(t, "it builds git-ward")
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	help, err := exec.Command(filepath.Join(bin, "git-ward"), "-h").Output()
	if err != nil {
		t.Fatal(errors.Join(err, errors.New(string(help))))
	}
	var verbs []string
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(string(help), -1) {
		verbs = append(verbs, m[1])
	}
	for _, name := range documents(t) {
		for _, m := range mentions(t, name, verb) {
			// Those that only pods and other machines type are in no list.
			if !slices.Contains(verbs, m) && exec.Command(filepath.Join(bin, "git-ward"), m, "-h").Run() != nil {
				t.Errorf("%s: git ward has no verb %q", name, m)
			}
		}
	}
}

// mentions are the first groups of an expression in a document.
func mentions(t *testing.T, name string, re *regexp.Regexp) (all []string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range re.FindAllStringSubmatch(string(data), -1) {
		all = append(all, m[1])
	}
	return all
}

// TestSentencesNameVerbs: each command that the table of what waits names is one that git ward
// takes, with its options.
func TestSentencesNameVerbs(t *testing.T) {
	tier.First(t, "it builds git-ward")
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	list := mentions(t, "../protocols/uow/testdata/sentences.txt", regexp.MustCompile(`(?m): git ward (.*)$`))
	if len(list) < 15 {
		t.Errorf("only %d commands were found", len(list))
	}
	for _, command := range list {
		args := slices.DeleteFunc(strings.Fields(command), func(word string) bool { return strings.HasPrefix(word, "D-1") })
		if out, err := exec.Command(filepath.Join(bin, "git-ward"), append(args, "-h")...).CombinedOutput(); err != nil {
			t.Errorf("git ward %s: %v: %s", command, err, out)
		}
	}
}
