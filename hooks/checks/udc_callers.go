package checks

import (
	"errors"
	"strings"

	"git-ward/internal/git"
	"git-ward/protocols/plan"
	"git-ward/vm/asm"
)

// maxCallerTrees bounds the trees that are read in search of callers, in bytes.
const maxCallerTrees = 256 << 20

// callers judges the plans that call, by whatever way, what the registry names
// otherwise now than before: a plan that ended may not end with another callee. To
// find them the whole tree is read, which only such a push has to wait for; in a
// tree that is too large to read, the callers that are registered themselves.
func (j *udcJudge) callers() error {
	changed := map[string]bool{} // UDC plans, by path
	for _, c := range j.tip.Changes {
		if strings.HasSuffix(c.Path, ".udc") {
			changed[c.Path] = true
		}
	}
	moved, err := j.moved(changed)
	if err != nil || len(moved) == 0 {
		return err
	}
	paths, err := j.udcFiles()
	if err != nil {
		return err
	}
	for _, path := range paths {
		if changed[path] {
			continue // judged already
		}
		data := j.read(path, asm.MaxBytes)
		if p, _ := asm.Parse(path, data); p != nil && j.reaches(p, moved, map[string]bool{}) {
			if err := j.analyze(p); err != nil {
				return err
			}
		}
	}
	return j.trouble
}

// moved are the names of the tip's registry whose UDC plan is another now.
func (j *udcJudge) moved(changed map[string]bool) (map[string]bool, error) {
	registryChange, registered := j.tip.change(plan.RegistryPath)
	if !registered && len(changed) == 0 {
		return nil, nil
	}
	before := &plan.Registry{}
	if registered && registryChange.Old.ID != "" {
		data, err := j.regular(registryChange.Old, plan.MaxRegistryBytes)
		var large *git.TooLarge
		if err != nil && !errors.As(err, &large) {
			return nil, err
		}
		before, _ = plan.ParseRegistry(data)
	}
	moved := map[string]bool{}
	for _, e := range j.names().Entries {
		if !strings.HasSuffix(e.Path, ".udc") {
			continue
		}
		if was, _ := before.Lookup(e.Name); changed[e.Path] || registered && was != e.Path {
			moved[e.Name] = true
		}
	}
	return moved, j.trouble
}

// udcFiles are the regular .udc files of the tip.
func (j *udcJudge) udcFiles() (paths []string, err error) {
	read := int64(0)
	walk := comparison{
		trees: &trees{ctx: j.ctx, batch: j.batch, config: j.Config, spend: func(n int64) error {
			if read += n; read > maxCallerTrees {
				return errLimit
			}
			return nil
		}},
		visit: func(c Change) error {
			if strings.HasSuffix(c.Path, ".udc") && (c.New.Mode == git.ModeFile || c.New.Mode == git.ModeExec) {
				paths = append(paths, c.Path)
			}
			return nil
		},
	}
	err = walk.compare(nil, j.tip.Commit.Tree)
	if !errors.Is(err, errLimit) {
		return paths, err
	}
	paths = nil
	for _, e := range j.names().Entries {
		if strings.HasSuffix(e.Path, ".udc") {
			paths = append(paths, e.Path)
		}
	}
	return paths, nil
}

// reaches reports whether a plan calls one of the names, itself or by others.
func (j *udcJudge) reaches(p *asm.Program, names, seen map[string]bool) bool {
	for _, in := range p.Instructions {
		if in.Call == nil {
			continue
		}
		name, ok := in.Call.Plan()
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		if names[name] {
			return true
		}
		if callee, ok := j.called(name); ok && j.reaches(callee, names, seen) {
			return true
		}
	}
	return false
}
