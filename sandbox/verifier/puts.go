package verifier

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

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
	var had, modules []string
	by, harness := map[string][]string{}, map[string]bool{} // by language, what the work puts somewhere
	read := func(files sources.Tree, which func(name string) bool, text func(name, text string)) {
		if err != nil {
			return
		}
		files = maps.Clone(files)
		maps.DeleteFunc(files, func(name, _ string) bool { return !which(name) })
		_, err = c.rewrite(ctx, c.work.tree, files, func(name, is string) (string, bool) {
			text(name, is)
			return "", false
		})
	}
	isWork := func(name string) bool {
		_, is := c.work.do[name]
		return is && broken.Putting(name) != "" && !sources.IsTest(name)
	}
	read(c.work.main, isWork, func(name, text string) { had = append(had, broken.Puts(name, text)...) })
	read(c.work.do, isWork, func(name, text string) {
		for _, label := range broken.Puts(name, text) {
			if of := broken.Putting(name); !slices.Contains(had, label) {
				by[of] = append(by[of], label)
			}
		}
	})
	found = map[put][]string{}
	if err != nil || len(by) == 0 {
		c.putting = found
		return found, err
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
		for _, label := range broken.Puts(name, text) {
			harness[label] = true
		}
	})
	own := func(label string) bool { // a package of the project's
		return slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(label, m+".") || strings.HasPrefix(label, m+"/") })
	}
	if err == nil {
		_, err = c.tests(ctx, c.work.tree, func(name, text string) (string, bool) {
			of := broken.Putting(name)
			if len(by[of]) == 0 {
				return "", false
			}
			names := broken.Mentions(name, text)
			for _, label := range by[of] {
				sure := broken.OfAnother(of) || harness[label]
				one := put{label, !sure}
				if (sure || broken.Compiles(of)) && !own(label) && slices.Contains(names, label) && !slices.Contains(found[one], name) {
					found[one] = append(found[one], name)
				}
			}
			return "", false
		}, c.work.tree)
	}
	c.putting = found
	return found, err
}
