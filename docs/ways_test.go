package docs_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

var (
	wayHead = pattern.New(`^([a-z]+): ([0-9]+ stays?), ([0-9]+ returns?)$`)
	wayStay = pattern.New(`^ *([0-9]+) (-|call|git|ref|start|by [a-z/]+) +([a-z/]+) +\S`)
)

// importsOf are the packages of the module that a package's files import, but for tests.
func importsOf(t *testing.T, dir string) (all []string) {
	t.Helper()
	files, err := filepath.Glob("../" + dir + "/*.go")
	if err != nil || len(files) == 0 {
		t.Errorf("there is no package %s: %v", dir, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			all = append(all, strings.TrimPrefix(path, "git-ward/"))
		}
	}
	return all
}

// TestWays: the five ways are the code's: who calls imports whom it calls, and stays and returns
// are as many as the page says.
func TestWays(t *testing.T) {
	data, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	_, section, _ := strings.Cut(string(data), "\n## The five ways\n")
	_, text, _ := strings.Cut(section, "```text\n")
	text, _, _ = strings.Cut(text, "\n```\n")
	for way := range strings.SplitSeq(text, "\n\n") {
		names = append(names, checkWay(t, strings.Split(way, "\n")))
	}
	if want := []string{"push", "directive", "claim", "lease", "report"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// checkWay checks one, and returns its name.
func checkWay(t *testing.T, lines []string) string {
	t.Helper()
	head := wayHead.Regexp().FindStringSubmatch(lines[0])
	if head == nil {
		t.Fatalf("%q begins no way", lines[0])
	}
	var been []string
	returns := 0
	// called reports whether one where the way was imports a package.
	called := func(to string) bool {
		return slices.ContainsFunc(been, func(from string) bool { return slices.Contains(importsOf(t, from), to) })
	}
	for n, line := range lines[1:] {
		stay := wayStay.Regexp().FindStringSubmatch(line)
		if stay == nil || stay[1] != fmt.Sprint(n+1) || (stay[2] == "-") && n > 0 {
			t.Fatalf("%s: %q is not stay %d", head[1], line, n+1)
		}
		how, at := stay[2], stay[3]
		by, handed := strings.CutPrefix(how, "by ")
		switch {
		case how == "call" && !called(at):
			t.Errorf("%s: nobody before %q imports it", head[1], line)
		case handed:
			knows := append(importsOf(t, by), by)
			if !slices.Contains(knows, at) || !slices.Contains(knows, been[n-1]) && !slices.Contains(been, by) {
				t.Errorf("%s: %s does not hand %s to %s", head[1], by, been[n-1], at)
			}
		case how != "call" && n > 0 && slices.Contains(importsOf(t, been[n-1]), at):
			t.Errorf("%s: %q is a call", head[1], line)
		}
		if slices.Contains(been, at) {
			returns++
		}
		been = append(been, at)
	}
	if stays, back := diag.Count(len(been), "stay"), diag.Count(returns, "return"); head[2] != stays || head[3] != back {
		t.Errorf("%s has %s, %s: the page says %s, %s", head[1], stays, back, head[2], head[3])
	}
	return head[1]
}
