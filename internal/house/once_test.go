package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	gotypes "go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shipped calls look with each file of what Ward's programs are linked of, but for those of
// the package at except. What only tests link is so left out.
func shipped(t *testing.T, except string, look func(place string, set *token.FileSet, file *ast.File)) {
	t.Helper()
	var programs []string
	for _, p := range packages(t) {
		if p.Name == "main" && wires(p.ImportPath) {
			programs = append(programs, p.ImportPath)
		}
	}
	all, err := goList(append([]string{"-deps"}, programs...)...)
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, p := range all {
		path, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if !ours && p.ImportPath != module || path == except {
			continue
		}
		for _, name := range p.GoFiles {
			set := token.NewFileSet()
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(set, filepath.Join(path, name), text, 0)
			if err != nil {
				t.Fatal(err)
			}
			looked++
			look(path, set, file)
		}
	}
	if looked < 100 {
		t.Errorf("only %d files were looked at", looked)
	}
}

// TestGitStartsInOnePlace: no package but internal/git makes a command line of git's
// (ONE-4). Scripts for a shell are none; protocols/ and vm/ start nothing
// (TestProtocolsAndVMArePure), so that what they read and write there are words.
func TestGitStartsInOnePlace(t *testing.T) {
	shipped(t, "internal/git", func(path string, set *token.FileSet, file *ast.File) {
		if in := room(module + "/" + path); (in == "protocols" || in == "vm") && !verbs(path) {
			return
		}
		for _, at := range gitLines(file) {
			t.Errorf("%s: git is started here: let internal/git make the child", set.Position(at))
		}
	})
	starts := 0
	goFiles(t, func(path string, text []byte) {
		if filepath.Dir(path) == "internal/git" && !strings.HasSuffix(path, "_test.go") {
			starts += strings.Count(string(text), "exec.Command") + strings.Count(string(text), "os.StartProcess")
		}
	})
	if starts != 1 {
		t.Errorf("internal/git makes processes in %d places, not in one", starts)
	}
}

// gitLines are the places of a file where a command line of git's is made: "git" as what
// more words follow, or under a name. A loop over words, a comparison, and the last word of
// a call are none.
func gitLines(file *ast.File) (found []token.Pos) {
	isGit := func(e ast.Expr) bool { text, ok := literal(e); return ok && text == "git" }
	words := map[ast.Node]bool{} // lists that are only looped over or compared
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			words[n.X] = true
		case *ast.CallExpr:
			fun, _ := n.Fun.(*ast.SelectorExpr)
			if fun != nil && (fun.Sel.Name == "Contains" || fun.Sel.Name == "Equal") {
				for _, arg := range n.Args {
					words[arg] = true
				}
				return true
			}
			starts := fun != nil && strings.HasPrefix(fun.Sel.Name, "Command")
			for i, arg := range n.Args {
				if !isGit(arg) {
					continue
				}
				more := i+1 < len(n.Args)
				if more && !n.Ellipsis.IsValid() {
					_, more = literal(n.Args[i+1])
				}
				if starts || more {
					found = append(found, arg.Pos())
				}
			}
		case *ast.CompositeLit:
			if len(n.Elts) > 0 && isGit(n.Elts[0]) && !words[n] {
				found = append(found, n.Pos())
			}
		case *ast.AssignStmt:
			for _, value := range n.Rhs {
				if isGit(value) {
					found = append(found, value.Pos())
				}
			}
		case *ast.ValueSpec:
			for _, value := range n.Values {
				if isGit(value) {
					found = append(found, value.Pos())
				}
			}
		case *ast.KeyValueExpr:
			if isGit(n.Value) {
				found = append(found, n.Value.Pos())
			}
		}
		return true
	})
	return found
}

// TestGitLines: each way round the rule is seen.
func TestGitLines(t *testing.T) {
	for body, want := range map[string]bool{
		`exec.Command("git", "log")`:                              true,
		`exec.CommandContext(ctx, "git", args...)`:                true,
		`exec.Command("git")`:                                     true,
		`run(ctx, out, "git", "log")`:                             true,
		`run(ctx, "git", args...)`:                                true,
		`start(Command{Args: append([]string{"git"}, args...)})`:  true,
		`start(Command{Args: []string{"git", "log"}})`:            true,
		`start(Command{Name: "git", Args: args})`:                 true,
		`name := "git"; exec.Command(name)`:                       true,
		`const name = "git"; exec.Command(name)`:                  true,
		`exec.LookPath("git")`:                                    false,
		`for _, n := range []string{"git", "sh"} { look(n) }`:     false,
		`if slices.Equal(words[:2], []string{"git", "ward"}) { }`: false,
		`if words[0] == "git" { }`:                                false,
		`switch name { case "git": }`:                             false,
		`program("git", Missing, "apt-get install git")`:          false,
		`verify("-n", "git")`:                                     false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() { "+body+" }\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if found := gitLines(file); (len(found) > 0) != want {
			t.Errorf("%s: %v", body, found)
		}
	}
}

// loopsLeft are loops that move refs, or wait for one, by hand still. A number here may only
// fall. The one that waits asks a remote on another machine, by a fetch: git-ward take, for the
// verdict on a merge.
var loopsLeft = map[string]int{"moves": 0, "waits": 1}

// TestRefsMoveInOneLoop: a loop that makes a swap of refs anew, or waits until one moves, is
// git.Update or git.Watch's (ONE-4). One that ranges over a list does something for each.
func TestRefsMoveInOneLoop(t *testing.T) {
	found := map[string][]string{}
	shipped(t, "internal/git", func(path string, set *token.FileSet, file *ast.File) {
		for kind, places := range refLoops(file) {
			for _, at := range places {
				found[kind] = append(found[kind], set.Position(at).String())
			}
		}
	})
	for kind, left := range loopsLeft {
		if n := len(found[kind]); n > left {
			t.Errorf("%d loops of their own that are %s, not %d: let git.Update or git.Watch be the loop: %q", n, kind, left, found[kind])
		}
	}
}

// refLoops are the loops of a file that move refs by compare-and-swap, "moves", or look at
// them until they move, "waits".
func refLoops(file *ast.File) map[string][]token.Pos {
	found := map[string][]token.Pos{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
		case *ast.RangeStmt:
			if n.Value != nil {
				return true
			}
		default:
			return true
		}
		moves, looks, sleeps := false, false, false
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit: // a swap of git.Update's, or another goroutine
				return false
			case *ast.CallExpr:
				fun, ok := n.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				switch from, _ := fun.X.(*ast.Ident); fun.Sel.Name {
				case "UpdateRefs", "BeginUpdate", "Backoff", "PushAs":
					moves = true
				case "Mark":
					looks = looks || len(n.Args) == 1
				case "After", "NewTimer", "NewTicker", "Sleep", "Tick":
					sleeps = sleeps || from != nil && from.Name == "time"
				default:
					looks = looks || isRepository(fun.X)
				}
				for _, arg := range n.Args {
					if text, ok := literal(arg); ok && (text == "push" || text == "update-ref") {
						moves = true
					}
				}
			}
			return true
		})
		if moves {
			found["moves"] = append(found["moves"], n.Pos())
		}
		if looks && sleeps {
			found["waits"] = append(found["waits"], n.Pos())
		}
		return true
	})
	return found
}

// isRepository reports whether a call is of a repository's own, by what it is called.
func isRepository(of ast.Expr) bool {
	name := ""
	switch of := of.(type) {
	case *ast.Ident:
		name = of.Name
	case *ast.SelectorExpr:
		name = of.Sel.Name
	}
	return slices.Contains([]string{"repo", "remote", "Repo"}, name)
}

// TestRefLoops: each way round the rule is seen.
func TestRefLoops(t *testing.T) {
	for body, want := range map[string]string{
		`for try := range 10 { err = r.UpdateRefs(ctx, "x", u) }`:                                       "moves",
		`for { if swap() { return }; git.Backoff(ctx, 1) }`:                                             "moves",
		`for range 10 { tree.Git(ctx, "push", "origin", x) }`:                                           "moves",
		`for try := 0; ; try++ { c.git(ctx, "update-ref", ref, id, old) }`:                              "moves",
		`for { if repo.Mark(ref) != seen { return }; time.Sleep(look) }`:                                "waits",
		`for repo.Mark(ref) == seen { select { case <-ctx.Done(): case <-time.After(look): } }`:         "waits",
		`for { m := repo.Mark(ref); if m != seen { return }; select { case <-time.After(look): } }`:     "waits",
		`for { if known, _ := w.remote.Passed(ctx, commit); known { return }; time.Sleep(look) }`:       "waits",
		`for _, ref := range refs { r.UpdateRefs(ctx, "x", ref) }`:                                      "",
		`git.Update(ctx, race, func() (bool, error) { return git.Swapped(r.UpdateRefs(ctx, "x", u)) })`: "",
		`for { if _, err := watch.Wait(ctx, look, time.Time{}, nil); err != nil { return } }`:           "",
		`for { select { case <-done: case <-time.After(look): } }`:                                      "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() { "+body+" }\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		found := refLoops(file)
		if len(found[want]) == 0 && want != "" || want == "" && len(found) > 0 {
			t.Errorf("%s: %v", body, found)
		}
	}
}

// commsLine is a line that only the grammar of COMMS.md gives a meaning.
var commsLine = regexp.MustCompile(`(?m)^(### [DRQ]-|## (Directives|Reports|Questions)$)`)

// TestCommsIsAmendedInOnePlace: protocols/comms gives a changed document by Amend alone, and
// nobody else writes a line of one (ONE-4).
func TestCommsIsAmendedInOnePlace(t *testing.T) {
	var amenders []string
	shipped(t, "", func(path string, set *token.FileSet, file *ast.File) {
		if path == "protocols/comms" {
			amenders = append(amenders, documentChangers(file)...)
			return
		}
		for _, at := range commsLines(file) {
			t.Errorf("%s: a line of COMMS.md is written here: let comms.Amend write it", set.Position(at))
		}
	})
	if len(amenders) != 1 || amenders[0] != "Amend" {
		t.Errorf("COMMS.md is changed by %q, not by Amend alone", amenders)
	}
}

// documentChangers are the exported functions of a file that take bytes and give bytes, or
// what holds them.
func documentChangers(file *ast.File) (names []string) {
	has := func(list *ast.FieldList, types ...string) bool {
		return list != nil && slices.ContainsFunc(list.List, func(f *ast.Field) bool { return slices.Contains(types, gotypes.ExprString(f.Type)) })
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.IsExported() && has(f.Type.Params, "[]byte") && has(f.Type.Results, "[]byte", "Amended") {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// commsLines are the texts of a file that begin or hold a line of COMMS.md's.
func commsLines(file *ast.File) (found []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			if text, ok := literal(lit); ok && commsLine.MatchString(text) {
				found = append(found, lit.Pos())
			}
		}
		return true
	})
	return found
}

// TestCommsLines: each way round the rule is seen.
func TestCommsLines(t *testing.T) {
	for text, want := range map[string]bool{
		`package x; func f() { fmt.Fprintf(w, "### D-%d: %s\n", n, title) }`:          true,
		`package x; func f() { data += "\n### R-1 " + now + " - INFO\n" }`:            true,
		`package x; const empty = "# COMMS\n\n## Directives\n\n## Reports\n"`:         true,
		`package x; const words = "the first line is ### D-<n>: <title>"`:             false,
		`package comms; func Prune(data []byte) []byte { return nil }`:                true,
		`package comms; func (r NewReport) Append(data []byte) (o []byte, err error)`: true,
		`package comms; func Other(data []byte) (Amended, error)`:                     true,
		`package comms; func amend(data []byte) []byte`:                               false,
		`package comms; func (m Message) Format() ([]byte, error)`:                    false,
		`package comms; func Check(old, new []byte) []Finding`:                        false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if found := len(documentChangers(file)) + len(commsLines(file)); (found > 0) != want {
			t.Errorf("%s: %d", text, found)
		}
	}
}
