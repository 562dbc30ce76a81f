package checks

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"git-ward/hooks/walk"
	"git-ward/internal/git"
	"git-ward/protocols/plan"
	"git-ward/vm/asm"
)

// maxCallerTrees bounds the trees that are read in search of callers, in bytes.
const maxCallerTrees = 256 << 20

// callers judges the plans that directly or indirectly call a plan whose registry entry
// changed: with another callee, a plan that ended may no longer end. Finding them requires
// reading the whole tree, for such pushes only; in a tree that is too large, only registered
// callers are found.
func (j *udcTip) callers() error {
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
	reaching := j.reaching(moved)
	for _, path := range paths {
		if changed[path] {
			continue // judged already
		}
		data := j.read(path, asm.MaxBytes)
		if p, _ := asm.Parse(path, data); p != nil && calls(p, reaching) {
			if err := j.analyze(p); err != nil {
				return err
			}
		}
	}
	return j.trouble
}

// moved are the names whose registered UDC plan has changed.
func (j *udcTip) moved(changed map[string]bool) (map[string]bool, error) {
	registryChange, registered := changeOf(j.tip, plan.RegistryPath)
	if !registered && len(changed) == 0 {
		return nil, nil
	}
	before := &plan.Registry{}
	if registered && registryChange.Old.ID != "" {
		data, err := j.pass.Repo.Regular(registryChange.Old, plan.MaxRegistryBytes)
		if _, ok := errors.AsType[*git.TooLarge](err); err != nil && !ok {
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

// udcFiles are the regular .udc files of the tip; in a tree that is too large to read,
// those that are registered.
func (j *udcTip) udcFiles() (paths []string, err error) {
	err = j.pass.Repo.Paths(j.tip.Commit.Tree, maxCallerTrees, func(c walk.Change) error {
		if strings.HasSuffix(c.Path, ".udc") && c.New.IsRegular() {
			paths = append(paths, c.Path)
		}
		return nil
	})
	if _, ok := errors.AsType[*walk.Exceeded](err); !ok {
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

// reaching are the registered names whose plans directly or indirectly call a changed name,
// and the changed names. Each plan is read once.
func (j *udcTip) reaching(moved map[string]bool) map[string]bool {
	callers := map[string][]string{} // of each name
	for _, e := range j.names().Entries {
		if p, ok := j.called(e.Name); ok {
			for _, in := range p.Instructions {
				if in.Call == nil {
					continue
				}
				if name, ok := in.Call.Plan(); ok {
					callers[name] = append(callers[name], e.Name)
				}
			}
		}
	}
	reaching := maps.Clone(moved)
	queue := slices.Collect(maps.Keys(moved))
	for len(queue) > 0 {
		for _, name := range callers[queue[0]] {
			if !reaching[name] {
				reaching[name] = true
				queue = append(queue, name)
			}
		}
		queue = queue[1:]
	}
	return reaching
}

// calls reports whether a plan itself calls one of the names.
func calls(p *asm.Program, names map[string]bool) bool {
	return slices.ContainsFunc(p.Instructions, func(in asm.Instruction) bool {
		if in.Call == nil {
			return false
		}
		name, ok := in.Call.Plan()
		return ok && names[name]
	})
}
