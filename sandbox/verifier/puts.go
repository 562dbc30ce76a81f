package verifier

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"git-ward/internal/git"
	"git-ward/internal/sources"
	"git-ward/sandbox/verifier/broken"
)

// put is a name that a test uses and the work's text replaces. ifRan: the name was another's only if the
// test ran without the work, because the base did not have the work's text.
type put struct {
	label string
	ifRan bool
}

// puts finds, once, the names that the work's text replaces for others, each with the test files that
// use it. The work may change what the base's version of the work's files already replaces. A name that
// a file outside the work replaces, too, such as a harness's function, is another's.
func (c *controlling) puts(ctx context.Context) (found map[put][]string, err error) {
	if c.putting != nil {
		return c.putting, nil
	}
	p := &placing{controlling: c, batch: c.repo.Batch(ctx), texts: map[string]broken.Text{}, by: map[string][]broken.Put{},
		harness: map[string]bool{}, lacks: map[string]map[string]bool{}}
	defer p.batch.Close()
	if err := p.readWork(); err != nil {
		return nil, err
	}
	found = map[put][]string{}
	if len(p.by)+len(p.lacks) > 0 {
		tree, err := c.list(ctx, c.work.tree)
		packages := func() error { return p.readPackages(tree) }
		tests := func() error { return p.readTests(tree, found) }
		for _, step := range []func() error{p.readModules, p.readHarness, packages, tests} {
			if err == nil {
				err = step()
			}
		}
		if err != nil {
			return nil, err
		}
	}
	c.putting = found
	return found, nil
}

// placing finds them: it reads the work's sources, then the sources beside them, then the tests.
type placing struct {
	*controlling
	batch *git.Batch
	texts map[string]broken.Text // by blob and name: one source may be in several trees

	by      map[string][]broken.Put    // by language, what the work replaces
	lacks   map[string]map[string]bool // by directory, what no source of the package declares
	modules []string                   // the project's
	harness map[string]bool            // what a file outside the work replaces, too
	later   bool                       // a function reads a script, and nobody knows whether a test's own functions stand before it
}

// each reads some files of a tree, in order. It skips those that are too large for a person to have
// written.
func (p *placing) each(files sources.Tree, which func(name string) bool, text func(name, id string, text []byte)) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, id, ok := strings.Cut(files[name], " ")
		if !ok || !plain(files[name]) || !which(name) {
			continue
		}
		_, data, err := p.batch.Read(id, maxText)
		if _, large := errors.AsType[*git.TooLarge](err); large {
			continue
		}
		if err != nil {
			return err
		}
		text(name, id, data)
	}
	return nil
}

// sources reads some sources of a tree. It parses each name and blob once.
func (p *placing) sources(files sources.Tree, which func(name string) bool, says func(name string, says broken.Text)) error {
	return p.each(files, which, func(name, id string, text []byte) {
		key := id + " " + name
		read, ok := p.texts[key]
		if !ok {
			read = broken.Read(name, string(text))
			p.texts[key] = read
		}
		says(name, read)
	})
}

func (p *placing) isWork(name string) bool {
	_, is := p.work.do[name]
	return is && broken.Putting(name) != "" && !sources.IsTest(name)
}

// isOwn reports whether a name belongs to a package of the project.
func (p *placing) isOwn(label string) bool {
	return slices.ContainsFunc(p.modules, func(m string) bool { return strings.HasPrefix(label, m+".") || strings.HasPrefix(label, m+"/") })
}

// readWork reads what the work replaces, and what its sources lack.
func (p *placing) readWork() error {
	var had []broken.Put
	err := p.sources(p.work.main, p.isWork, func(_ string, says broken.Text) { had = append(had, says.Puts...) })
	if err != nil {
		return err
	}
	return p.sources(p.work.do, p.isWork, func(name string, says broken.Text) {
		p.later = p.later || says.ReadsLater
		for _, one := range says.Puts {
			if of := broken.Putting(name); !slices.Contains(had, one) {
				p.by[of] = append(p.by[of], one)
			}
		}
		for _, one := range says.Lacks {
			if p.lacks[path.Dir(name)] == nil {
				p.lacks[path.Dir(name)] = map[string]bool{}
			}
			p.lacks[path.Dir(name)][one] = true
		}
	})
}

func (p *placing) readModules() error {
	isModule := func(name string) bool { return path.Base(name) == "go.mod" }
	return p.each(p.work.main, isModule, func(_, _ string, text []byte) {
		if module := modfile.ModulePath(text); module != "" {
			p.modules = append(p.modules, module)
		}
	})
}

// readHarness reads what the base's other files replace, in the work's languages whose names do not say
// whose they are.
func (p *placing) readHarness() error {
	mayShare := func(name string) bool {
		of := broken.Putting(name)
		return len(p.by[of]) > 0 && !broken.OfAnother(of) && !p.isWork(name)
	}
	return p.sources(p.work.main, mayShare, func(_ string, says broken.Text) {
		p.later = p.later || says.ReadsLater
		for _, one := range says.Puts {
			p.harness[one.Name] = true
		}
	})
}

// readPackages leaves in lacks what no source of the same package declares.
func (p *placing) readPackages(tree sources.Tree) error {
	shares := func(name string) bool { return p.lacks[path.Dir(name)] != nil && !sources.IsTest(name) }
	return p.sources(tree, shares, func(name string, says broken.Text) {
		for _, one := range says.Declares {
			delete(p.lacks[path.Dir(name)], one)
		}
	})
}

// readTests adds to found what the tests use and the work replaces, and what the work's sources lack and
// a test of their package declares.
func (p *placing) readTests(tree sources.Tree, found map[put][]string) error {
	mayTest := func(name string) bool {
		return (len(p.by[broken.Putting(name)]) > 0 || p.lacks[path.Dir(name)] != nil) && (broken.MayTest(name) || p.checks[name])
	}
	return p.sources(tree, mayTest, func(name string, says broken.Text) {
		of := broken.Putting(name)
		if !broken.Compiles(of) && (p.later || says.ReadsLater) {
			says.Settles = nil
		}
		for _, one := range says.Declares {
			if p.lacks[path.Dir(name)][one] {
				_, label, _ := strings.Cut(one, ".")
				found[put{label: label}] = append(found[put{label: label}], name)
			}
		}
		for _, had := range p.by[of] {
			sure := broken.OfAnother(of) || p.harness[had.Name]
			one := put{had.Name, !sure}
			if !had.Always && slices.Contains(says.Settles, had.Name) {
				continue
			}
			if (sure || broken.Compiles(of)) && !p.isOwn(had.Name) && slices.Contains(says.Has, had.Name) && !slices.Contains(found[one], name) {
				found[one] = append(found[one], name)
			}
		}
	})
}
