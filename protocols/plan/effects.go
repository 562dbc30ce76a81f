package plan

import (
	"fmt"
	"path"
	"strings"

	"git-ward/internal/diag"
)

// effects are what the steps of a plan need of files and do to them.
type effects struct {
	needs  []need
	needed map[string]bool
	known  map[string]fact // after the steps
	opaque bool            // a command ran, so the files are unknown
}

// need is that a file is there, or is not, before the plan begins.
type need struct {
	path  string
	there bool
	by    string // "plan:line: tool"
	step  *Step  // that has it
}

// fact is what is known of a file.
type fact struct {
	there bool
	by    string // what made it so
}

// tracker follows files along the steps of a plan.
type tracker struct {
	linter *Linter
	node   *node
	effects
	inTree  bool            // needs are compared with the tree, and reported
	out     *findings       // nil: for a caller, who has his own
	folders map[string]bool // that are there, as far as it was looked
	changed *Step           // the first that changes a file of the tree
	of      string          // that file
}

// files reports reads before a create, creates over a file, and uses of what is
// gone, in the plan and through its calls.
func (l *Linter) files(n *node, out *findings) error {
	t := &tracker{linter: l, node: n, out: out, inTree: true, folders: map[string]bool{}}
	t.known, t.needed = map[string]fact{}, map[string]bool{}
	if err := t.steps(n.plan.Steps, 0); err != nil {
		return err
	}
	if len(out.list) == 0 { // what a plan rests on is asked of one that could run
		t.evidence()
	}
	return nil
}

// effectsOf is the same for a callee, without findings and only once.
func (l *Linter) effectsOf(n *node) (*effects, error) {
	if n.effects != nil {
		return n.effects, nil
	}
	t := &tracker{linter: l, node: n}
	t.known, t.needed = map[string]fact{}, map[string]bool{}
	if err := t.steps(n.plan.Steps, 0); err != nil {
		return nil, err
	}
	n.effects = &t.effects
	return n.effects, nil
}

func (t *tracker) steps(steps []Step, loops int) error {
	for i := range steps {
		if err := t.step(&steps[i], loops); err != nil {
			return err
		}
	}
	return nil
}

func (t *tracker) step(s *Step, loops int) error {
	if err := t.citations(s); err != nil {
		return err
	}
	switch s.Tool {
	case ForEachFile:
		return t.loop(s, loops)
	case CallPlan:
		return t.call(s, loops)
	case Bash:
		if s.Closes() != "" {
			return nil
		}
		err := t.sourceTool(s)
		t.unknown()
		return err
	case RenameFile:
		old, name := s.RenameArgs()
		if BadPath(old) != "" || BadPath(name) != "" {
			return nil
		}
		if err := t.use(s, old, loops, true); err != nil {
			return err
		}
		t.set(old, false, s, "renamed")
		return t.create(s, name, loops, "renamed to")
	}
	if BadPath(s.Args) != "" {
		return nil
	}
	switch s.Tool {
	case ListFiles:
		return t.list(s)
	case ReadFile, ReplaceDiff:
		return t.use(s, s.Args, loops, false)
	case DeleteFile:
		if err := t.use(s, s.Args, loops, true); err != nil {
			return err
		}
		t.set(s.Args, false, s, "deleted")
	case CreateFile:
		return t.create(s, s.Args, loops, "created")
	case OverwriteFile:
		return t.overwrite(s)
	}
	return nil
}

// overwrite is a step that writes a file whether or not it exists.
func (t *tracker) overwrite(s *Step) error {
	if strings.Contains(s.Args, "{file") {
		return nil
	}
	if _, known := t.known[s.Args]; t.inTree && !known && !t.opaque {
		kind, err := t.linter.tree.Kind(s.Args)
		if err != nil {
			return err
		}
		if kind == Folder || kind == Other {
			t.report(s, RuleExists, s.Args+" is not a file", "write to another path")
		}
		t.changes(s, s.Args, kind)
	}
	err := t.under(s, s.Args)
	t.set(s.Args, true, s, "written")
	return err
}

// maxName is how long a path is that the directories of are looked at; git takes none
// that is longer (GIT-6).
const maxName = 1024

// under reports a path below something that is a file.
func (t *tracker) under(s *Step, name string) error {
	if !t.inTree || len(name) > maxName {
		return nil
	}
	for dir := path.Dir(name); dir != "." && !t.folders[dir]; dir = path.Dir(dir) {
		f, known := t.known[dir]
		if !known && !t.opaque {
			kind, err := t.linter.tree.Kind(dir)
			if err != nil {
				return err
			}
			f = fact{kind == File, "it is in the tree"}
		}
		if f.there {
			t.report(s, RuleExists, fmt.Sprintf("%s is a file, and no folder: %s", dir, f.by), "write to another path")
			return nil
		}
	}
	t.within(name)
	return nil
}

// within records that the directories of a path exist.
func (t *tracker) within(name string) {
	if !t.inTree || len(name) > maxName {
		return
	}
	for dir := path.Dir(name); dir != "." && !t.folders[dir]; dir = path.Dir(dir) {
		t.folders[dir] = true
	}
}

// list is a step that needs a directory.
func (t *tracker) list(s *Step) error {
	if !t.inTree || t.opaque || s.Args == "" || t.folders[s.Args] || strings.Contains(s.Args, "{file") {
		return nil
	}
	kind, err := t.linter.tree.Kind(s.Args)
	switch {
	case err != nil:
		return err
	case kind == Folder:
		t.folders[s.Args] = true
	case kind == Missing && t.linter.hadDirectory(s.Args):
	case kind == Missing:
		t.report(s, RuleMissing, s.Args+" does not exist", "create a file in it in an earlier step, or mend the path")
	default:
		t.report(s, RuleMissing, s.Args+" is not a folder", "name a folder; read_file reads a file")
	}
	return nil
}

// unknown follows a command, which may have made or removed anything. Files that plans
// themselves made are still taken to exist.
func (t *tracker) unknown() {
	t.opaque = true
	for path, f := range t.known {
		if !f.there {
			delete(t.known, path)
		}
	}
}

// loop follows the body once. What it does to files that only the run knows makes
// the rest unknown.
func (t *tracker) loop(s *Step, loops int) error {
	if err := t.steps(s.Body, loops+1); err != nil {
		return err
	}
	changes := false
	eachStep(s.Body, func(b *Step) {
		switch b.Tool {
		case CreateFile, OverwriteFile, DeleteFile, RenameFile:
			changes = changes || strings.Contains(b.Args, "{file")
		}
	})
	if changes {
		t.unknown()
	}
	return nil
}

// nameOf names a step for findings about others.
func (t *tracker) nameOf(s *Step) string {
	if t.inTree {
		return fmt.Sprintf("on line %d", s.Line)
	}
	return fmt.Sprintf("at %s:%d", t.node.path, s.Line)
}

func (t *tracker) set(path string, there bool, s *Step, how string) {
	if !strings.Contains(path, "{file") {
		t.known[path] = fact{there, how + " " + t.nameOf(s)}
	}
}

func (t *tracker) report(s *Step, rule, message, hint string) {
	if t.out != nil {
		t.out.add(s.Line, max(s.argsAt, s.Col), rule, message, hint)
	}
}

// use is a step that needs a file; ends says that it is gone after it.
func (t *tracker) use(s *Step, path string, loops int, ends bool) error {
	if strings.Contains(path, "{file") {
		return nil
	}
	if ends && loops > 0 {
		t.again(s, path)
	}
	return t.require(s, need{path, true, "", s}, "")
}

func (t *tracker) create(s *Step, path string, loops int, how string) error {
	if strings.Contains(path, "{file") {
		return nil
	}
	if loops > 0 {
		t.again(s, path)
	}
	err := t.require(s, need{path, false, "", s}, "")
	if err == nil {
		err = t.under(s, path)
	}
	t.set(path, true, s, how)
	return err
}

// again reports a step in a loop that can succeed only once.
func (t *tracker) again(s *Step, path string) {
	t.report(s, RuleLoop, fmt.Sprintf("the loop does this once for each file, always to %s", path), "name the file by {file1}, or move the step out of the loop")
}

// require checks a need against what is known, then against the tree. Via names
// the place in a callee that needs it.
func (t *tracker) require(s *Step, n need, via string) error {
	f, known := t.known[n.path]
	switch {
	case known && n.there && !f.there:
		t.report(s, RuleGone, fmt.Sprintf("%s%s is gone: %s", via, n.path, f.by), "use it before that step, or make it again")
		return nil
	case known && !n.there && f.there:
		t.report(s, RuleExists, fmt.Sprintf("%s%s is there already: %s", via, n.path, f.by), "use overwrite_file_with_block, or another path")
		return nil
	case known || t.opaque || t.needed[n.path]:
		return nil
	}
	t.needed[n.path] = true
	if !t.inTree {
		n.by = fmt.Sprintf("%s:%d: ", t.node.path, s.Line)
		if via != "" {
			n.by = via
		}
		t.needs = append(t.needs, n)
		return nil
	}
	kind, err := t.linter.tree.Kind(n.path)
	if err == nil && n.there != (kind == File) && (n.there || kind != Missing) {
		var met bool
		if met, err = t.linter.met(n); met {
			return nil
		}
	}
	switch {
	case err != nil:
		return err
	case n.there && kind == File:
		t.changes(s, n.path, kind)
	case n.there && kind == Missing:
		t.report(s, RuleMissing, fmt.Sprintf("%s%s does not exist", via, n.path), "create it in an earlier step, or mend the path")
	case n.there:
		t.report(s, RuleMissing, fmt.Sprintf("%s%s is not a file", via, n.path), "name a file; list_files lists a folder")
	case !n.there && kind != Missing:
		t.report(s, RuleExists, fmt.Sprintf("%s%s exists", via, n.path), "use overwrite_file_with_block, or another path")
	}
	return nil
}

// call applies what a callee needs and does.
func (t *tracker) call(s *Step, loops int) error {
	c := t.node.of[s]
	if c == nil || c.callee == nil || c.callee.plan == nil || c.callee.circles || diag.HasErrors(c.callee.found) {
		return nil
	}
	e, err := t.linter.effectsOf(c.callee)
	if err != nil {
		return err
	}
	if t.linter.work += len(e.needs) + len(e.known); t.linter.work > maxWork {
		t.report(s, RuleSize, "the plans that are called do more to files than can be followed", "divide the plan")
		return nil
	}
	for _, n := range e.needs {
		if err := t.require(s, n, n.by); err != nil {
			return err
		}
		if loops > 0 {
			if f, ok := e.known[n.path]; ok && f.there != n.there {
				t.again(s, n.path)
			}
		}
	}
	if e.opaque {
		t.unknown()
	}
	for path, f := range e.known {
		t.known[path] = f
		if f.there {
			t.within(path)
		}
	}
	return nil
}
