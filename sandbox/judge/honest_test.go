package judge

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
)

// A library is a real one, as its registry has it. A file of package txtar says which, and what
// is wanted of it. A line that begins with # is a comment. The other lines before the first file are
//
//	needs PROGRAM         what its commands run
//	from KIND NAME        where it is published (testdata/honest/fetch.sh)
//	with MODULE ...       what else is fetched, for its work
//	has PATH ...          what of it is the project, as git's pathspecs
//	directive NAME: TEXT  what the PM asks for; the lines below are its own
//	criterion COMMAND
//	left PATH (KIND)      what the verdict leaves out until the PM's word
//	names DOUBT           a kind of doubt that the verdict names all the same
//
// and files are project/PATH, which the project has instead, and NAME.patch, what the agent did.
type library struct {
	name, needs     string
	from, with, has []string
	project         tree
	directives      []wish
	dir             string // where it lies
	missing         error  // why it could not be fetched
}

// language is what the table of a bench calls what a library is written in.
func (l *library) language() string {
	for name, t := range tongues {
		if t.tool == l.needs {
			return name
		}
	}
	return l.needs
}

// wish is a directive of a library's, and the work on it.
type wish struct {
	name, patch           string
	criteria, left, names []string
}

// libraries reads all libraries.
func libraries(t *testing.T) (all []*library) {
	t.Helper()
	files, err := filepath.Glob("testdata/honest/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		l := &library{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), project: tree{}}
		for line := range strings.Lines(string(a.Comment)) {
			if err := l.read(strings.TrimSpace(line)); err != nil {
				t.Fatal(file, err)
			}
		}
		for _, f := range a.Files {
			if path, ok := strings.CutPrefix(f.Name, "project/"); ok {
				l.project[path] = string(f.Data)
			} else if n := slices.IndexFunc(l.directives, func(r wish) bool { return r.name+".patch" == f.Name }); n >= 0 {
				l.directives[n].patch = string(f.Data)
			} else {
				t.Fatalf("%s: %s is of no directive", file, f.Name)
			}
		}
		all = append(all, l)
	}
	return all
}

// read takes in a line of a library's.
func (l *library) read(line string) error {
	key, rest, _ := strings.Cut(line, " ")
	if key == "directive" {
		name, _, _ := strings.Cut(rest, ": ")
		l.directives = append(l.directives, wish{name: name})
	}
	switch n := len(l.directives) - 1; {
	case key == "#" || key == "directive":
	case key == "needs":
		l.needs = rest
	case key == "from":
		l.from = strings.Fields(rest)
	case key == "with":
		l.with = strings.Fields(rest)
	case key == "has":
		l.has = strings.Fields(rest)
	case n < 0:
		return fmt.Errorf("%q is of no directive", line)
	case key == "criterion":
		l.directives[n].criteria = append(l.directives[n].criteria, rest)
	case key == "left":
		l.directives[n].left = append(l.directives[n].left, rest)
	case key == "names":
		l.directives[n].names = append(l.directives[n].names, rest)
	default:
		return fmt.Errorf("nothing is called %q", key)
	}
	return nil
}

// fetch has the library below a directory, or says why not.
func (l *library) fetch(t *testing.T, dir string) {
	for _, program := range []string{l.needs, "timeout"} {
		if _, l.missing = exec.LookPath(program); l.missing != nil {
			return
		}
	}
	script, err := filepath.Abs("testdata/honest/fetch.sh")
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, l.name), 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	// A registry that does not answer counts as none. Nothing else would end the wait.
	line := append(append([]string{"--kill-after=10", "120", "sh", script}, l.from...), l.with...)
	cmd := exec.CommandContext(t.Context(), "timeout", line...)
	cmd.Dir = filepath.Join(dir, l.name)
	if out, err := cmd.CombinedOutput(); err != nil {
		l.missing = fmt.Errorf("%q: %w: %s", l.from, err, out)
		return
	}
	l.dir = filepath.Join(cmd.Dir, "library")
	for name, text := range l.project {
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// commits are the project as it was, and the work on top of it.
func (r *wish) commits(c *trialCase, l *library) (main, work string) {
	c.env = append(os.Environ(), "GIT_INDEX_FILE="+filepath.Join(c.bare, "index.of-the-work"), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	defer func() { c.env = nil }()
	commit := func(parents ...string) string {
		made := strings.TrimSpace(c.git("", "write-tree"))
		return strings.TrimSpace(c.git("x\n", append([]string{"commit-tree", made}, parents...)...))
	}
	c.git("", append([]string{"--work-tree=" + l.dir, "add", "--force", "--"}, l.has...)...)
	main = commit()
	c.git(r.patch, "apply", "--cached", "-p0", "--whitespace=nowarn", "--ignore-whitespace", "-")
	return main, commit("-p", main)
}

// ends judges the work on a directive, gives at most the one word that `git ward include D-1`
// is, and says how it ended.
func (r *wish) ends(t *testing.T, l *library) string {
	t.Helper()
	c := &trialCase{T: t, tongue: tongue{tool: l.needs}, kind: kind{honest: true}}
	c.create()
	main, commit := r.commits(c, l)
	v := c.judge(main, commit, r.criteria, func(*comms.Directive) {})
	var left []string
	for _, l := range v.Left {
		left = append(left, l.Words())
	}
	if !slices.Equal(left, r.left) {
		t.Errorf("left out %q, want %q", left, r.left)
	}
	end := endExact
	if d, wants := v.Lacks(); wants && d.Reason == loop.NotIncluded {
		end = endAsked
		v = c.judge(main, commit, r.criteria, func(d *comms.Directive) {
			for _, l := range v.Left {
				in, err := l.Include()
				if err != nil {
					t.Fatal(err)
				}
				d.Options.Included = append(d.Options.Included, in)
			}
			if len(v.Left) == 0 {
				d.Options.Guards = "enough"
			}
		})
	}
	if v.Verdict != loop.Exact {
		t.Errorf("%s: %s %+v", v.Verdict, v.Reason, v.Criteria)
		return endNone
	}
	var names []string
	for _, d := range v.Against() {
		names = append(names, d.Words())
	}
	if !slices.Equal(names, r.names) {
		t.Errorf("it names %q, want %q", names, r.names)
	}
	return end
}

// eachHonest judges the work on each directive of each library, and says how it ended.
func eachHonest(t *testing.T, ended func(l *library, end string)) {
	dir := t.TempDir()
	for _, l := range libraries(t) {
		l.fetch(t, dir)
		for _, r := range l.directives {
			t.Run(l.name+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				if l.missing != nil {
					t.Skipf("SKIPPED: %v", l.missing)
				}
				end := r.ends(t, l)
				t.Log(end)
				ended(l, end)
			})
		}
	}
}

// TestHonest: directives of usual kinds on real libraries end EXACT with at most one word of the
// PM's, which review offers, and no verdict names a doubt that is not in the fixture (PROOF-1).
func TestHonest(t *testing.T) {
	tier.Full(t, "it fetches libraries, and tests them broken and whole")
	eachHonest(t, func(*library, string) {})
}
