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

// put is what the work's text puts in the place of what a test has by a name: it, and whether it is
// another's only if the test ran without the work, which did not have it.
type put struct {
	label string
	ifRan bool
}

// puts are what the work puts in another's place, by its text, each with the files of tests that have it
// by its name; they are found once. What the base's own text of those files puts there is the work's to
// change. What a file that is not work puts there, too, as a harness its functions, is another's.
func (c *controlling) puts(ctx context.Context) (found map[put][]string, err error) {
	if c.putting != nil {
		return c.putting, nil
	}
	var had []broken.Put
	var modules []string
	later := false // a function reads a script, and nobody knows whether a test's own functions stand before it

	by, harness := map[string][]broken.Put{}, map[string]bool{} // by language, what the work puts somewhere
	lacks := map[string]map[string]bool{}                       // by directory, what no source of the package has
	batch := c.repo.Batch(ctx)
	defer batch.Close()
	read := func(files sources.Tree, which func(name string) bool, text func(name, text string)) {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			_, id, ok := strings.Cut(files[name], " ")
			if err != nil || !ok || !plain(files[name]) || !which(name) {
				continue
			}
			_, data, failed := batch.Read(id, maxText)
			if large := new(git.TooLarge); errors.As(failed, &large) {
				continue // nobody wrote that
			}
			if err = failed; err == nil {
				text(name, string(data))
			}
		}
	}
	isWork := func(name string) bool {
		_, is := c.work.do[name]
		return is && broken.Putting(name) != "" && !sources.IsTest(name)
	}
	read(c.work.main, isWork, func(name, text string) { had = append(had, broken.Read(name, text).Puts...) })
	read(c.work.do, isWork, func(name, text string) {
		says := broken.Read(name, text)
		later = later || says.ReadsLater
		for _, one := range says.Puts {
			if of := broken.Putting(name); !slices.Contains(had, one) {
				by[of] = append(by[of], one)
			}
		}
		for _, one := range says.Lacks {
			if lacks[path.Dir(name)] == nil {
				lacks[path.Dir(name)] = map[string]bool{}
			}
			lacks[path.Dir(name)][one] = true
		}
	})
	found = map[put][]string{}
	if err != nil {
		return nil, err
	}
	if len(by)+len(lacks) == 0 {
		c.putting = found
		return found, nil
	}
	isModule := func(name string) bool { return path.Base(name) == "go.mod" }
	read(c.work.main, isModule, func(_, text string) {
		if module := modfile.ModulePath([]byte(text)); module != "" {
			modules = append(modules, module)
		}
	})
	mayShare := func(name string) bool {
		of := broken.Putting(name)
		return len(by[of]) > 0 && !broken.OfAnother(of) && !isWork(name)
	}
	read(c.work.main, mayShare, func(name, text string) {
		says := broken.Read(name, text)
		later = later || says.ReadsLater
		for _, one := range says.Puts {
			harness[one.Name] = true
		}
	})
	own := func(label string) bool { // a package of the project's
		return slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(label, m+".") || strings.HasPrefix(label, m+"/") })
	}
	tree, listErr := c.list(ctx, c.work.tree)
	shares := func(name string) bool { return lacks[path.Dir(name)] != nil && !sources.IsTest(name) }
	read(tree, shares, func(name, text string) {
		for _, one := range broken.Read(name, text).Declares {
			delete(lacks[path.Dir(name)], one)
		}
	})
	mayTest := func(name string) bool {
		return (len(by[broken.Putting(name)]) > 0 || lacks[path.Dir(name)] != nil) && (broken.MayTest(name) || c.checks[name])
	}
	read(tree, mayTest, func(name, text string) {
		of, says := broken.Putting(name), broken.Read(name, text)
		if !broken.Compiles(of) && (later || says.ReadsLater) {
			says.Settles = nil
		}
		for _, one := range says.Declares {
			if lacks[path.Dir(name)][one] {
				_, label, _ := strings.Cut(one, ".")
				found[put{label: label}] = append(found[put{label: label}], name)
			}
		}
		for _, p := range by[of] {
			sure := broken.OfAnother(of) || harness[p.Name]
			one := put{p.Name, !sure}
			if !p.Always && slices.Contains(says.Settles, p.Name) {
				continue
			}
			if (sure || broken.Compiles(of)) && !own(p.Name) && slices.Contains(says.Has, p.Name) && !slices.Contains(found[one], name) {
				found[one] = append(found[one], name)
			}
		}
	})
	if err = errors.Join(listErr, err); err == nil {
		c.putting = found
	}
	return found, err
}
