package verifier

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"git-ward/internal/sources"
	"git-ward/protocols/loop"
	"git-ward/sandbox/verifier/broken"
)

// comparison is a test's comparison with a value in its text.
type comparison struct {
	broken.Comparison
	file, entry, text string
	id                int // of its test
}

// asking tries comparisons of one command's tests, with a limited number of runs.
type asking struct {
	*controlling
	a    *tried
	left int
}

// oneByOne tries for single comparisons whether another value would have passed (PROOF-3). Changing all
// values at once would not find one result that equals everything, beside others that are right. The
// host draws the comparisons.
func (c *controlling) oneByOne(ctx context.Context, f *Facts, attempts []*tried) error {
	all, err := c.comparisons(ctx)
	if err != nil {
		return err
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	known, asked := map[int]bool{}, map[int]bool{} // by their place in all
	for _, a := range attempts {
		if a.passes || a.any {
			continue
		}
		var mine []int
		for i := range all {
			if a.ended[all[i].id] {
				known[i] = true
				if len(mine) < loop.MaxAsked {
					mine = append(mine, i)
				}
			}
		}
		whatever, err := (&asking{c, a, loop.AskRuns}).ask(ctx, all, mine, asked)
		if err != nil {
			return err
		}
		for _, i := range whatever {
			a.any = true
			if s := fmt.Sprintf("%s:%d: %s", all[i].file, all[i].Line, all[i].Value); !a.Held && !slices.Contains(f.Whatever, s) {
				f.Whatever = append(f.Whatever, s)
			}
		}
	}
	if !slices.ContainsFunc(attempts, func(a *tried) bool { return a.Held }) {
		f.Comparisons, f.Asked = f.Comparisons+len(known), f.Asked+len(asked)
	}
	return nil
}

// comparisons lists those of the work's tree.
func (c *controlling) comparisons(ctx context.Context) (all []comparison, err error) {
	list, err := c.list(ctx, c.work.tree)
	if err != nil {
		return nil, err
	}
	_, err = c.tests(ctx, c.work.tree, func(name, text string) (string, bool) {
		for _, found := range broken.Comparisons(name, text, c.checks[name]) {
			all = append(all, comparison{found, name, list[name], text, c.id(name, found.Test)})
		}
		return "", false
	}, c.work.tree)
	return all, err
}

// ask tries some of the comparisons, one of each test in a tree. Each test reports whether it came to
// its end, and fails there. A comparison whose test came to its end is tried once more, alone.
func (q *asking) ask(ctx context.Context, all []comparison, mine []int, asked map[int]bool) (whatever []int, err error) {
	tree, err := q.tests(ctx, q.work.tree, q.changing(allTests), q.work.tree)
	if err != nil {
		return nil, err
	}
	for len(mine) > 0 {
		var batch, rest []int
		tests := map[int]bool{}
		for _, i := range mine {
			if tests[all[i].id] {
				rest = append(rest, i)
			} else {
				tests[all[i].id], batch = true, append(batch, i)
			}
		}
		mine = rest
		ended, ran, err := q.others(ctx, tree, all, batch)
		if err != nil {
			return nil, err
		}
		if len(ran) == 0 && len(batch) > 1 { // one of them is no text that its language has
			for _, i := range batch {
				e, r, err := q.others(ctx, tree, all, []int{i})
				if err != nil {
					return nil, err
				}
				if id := all[i].id; r[id] {
					ran[id], ended[id] = true, e[id]
				}
			}
		}
		for _, i := range batch {
			if id := all[i].id; ran[id] {
				if !ended[id] {
					asked[i] = true
					continue
				}
				reached, sure, err := q.sure(ctx, tree, &all[i])
				if err != nil {
					return nil, err
				}
				if reached {
					asked[i] = true
				}
				if sure {
					whatever = append(whatever, i)
				}
			}
		}
	}
	return whatever, nil
}

func allTests(int) broken.How { return broken.End }

// others runs the tests with other values in some comparisons.
func (q *asking) others(ctx context.Context, onto string, all []comparison, some []int) (ended, ran map[int]bool, err error) {
	texts, files := map[string]string{}, sources.Tree{}
	for _, i := range some {
		var same []broken.Comparison
		for _, j := range some {
			if all[j].file == all[i].file {
				same = append(same, all[j].Comparison)
			}
		}
		files[all[i].file], texts[all[i].file] = all[i].entry, broken.Others(all[i].text, same...)
	}
	return q.run(ctx, onto, files, texts)
}

// with runs the tests with another text for a comparison's file, and reports whether its test comes to
// its end.
func (q *asking) with(ctx context.Context, onto string, s *comparison, text string) (bool, error) {
	ended, _, err := q.run(ctx, onto, sources.Tree{s.file: s.entry}, map[string]string{s.file: text})
	return ended[s.id], err
}

// run runs the tests of a tree with other texts for some files. When no run is left it returns that no
// test ran, which raises no doubt.
func (q *asking) run(ctx context.Context, onto string, files sources.Tree, texts map[string]string) (ended, ran map[int]bool, err error) {
	if q.left--; q.left < 0 {
		return map[int]bool{}, map[int]bool{}, nil
	}
	atEnd := q.changing(allTests)
	tree, err := q.rewrite(ctx, onto, files, func(name, _ string) (string, bool) {
		if changed, ok := atEnd(name, texts[name]); ok {
			return changed, true
		}
		return texts[name], true
	})
	if err != nil {
		return nil, nil, err
	}
	if q.judged.made[tree] == nil {
		defer func() {
			if q.judged.made[tree] != nil {
				q.judged.drop(tree)
			}
		}()
	}
	return q.came(ctx, tree, q.a)
}

// sure reports whether a comparison holds with any value, although it is reached, and needs its value on a
// tree that the work does not control. It is reached if its test fails where the host makes it come out
// unequal.
func (q *asking) sure(ctx context.Context, tree string, s *comparison) (reached, sure bool, err error) {
	ended, err := q.with(ctx, tree, s, s.Whether(s.text, false))
	if reached = !ended && q.left >= 0; err != nil || !reached {
		return reached, false, err
	}
	for _, text := range []string{s.Whether(s.text, true), broken.Others(s.text, s.Comparison), s.Far(s.text)} {
		if ended, err := q.with(ctx, tree, s, text); err != nil || !ended {
			return true, false, err
		}
	}
	sure, err = q.needed(ctx, tree, s)
	return true, sure, err
}

// needed reports whether a comparison needs its value on a tree that the work does not control.
func (q *asking) needed(ctx context.Context, tree string, s *comparison) (bool, error) {
	base, err := q.tests(ctx, q.base, q.changing(allTests), q.base)
	if err != nil {
		return false, err
	}
	hollow, err := q.hollowed(ctx, func(name, text string) (string, bool) {
		if !broken.CanHollow(name) { // the work is there as it is
			return "", false
		}
		return q.changing(allTests)(name, text)
	})
	if err != nil {
		return false, err
	}
	on := []string{base, hollow, tree}
	if s.Truth() { // what does nothing is true, or never is
		hollow = ""
		if on, err = q.withMains(ctx, base, tree); err != nil {
			return false, err
		}
	}
	if s.Calls() {
		if asks, err := q.asks(ctx, on, s); err != nil || !asks {
			return false, err
		}
	}
	for _, without := range []string{base, hollow} {
		if without == "" {
			continue
		}
		if ended, err := q.with(ctx, without, s, broken.Others(s.text, s.Comparison)); err != nil || ended {
			return false, err
		}
	}
	return q.left >= 0, nil
}

// withMains lists the base, and the work's tree with one source at a time as the project has it: the
// function that compares may be in a source that the work changed.
func (q *asking) withMains(ctx context.Context, base, tree string) ([]string, error) {
	trees := []string{base}
	sources, err := q.changedSources(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if len(trees) > maxCheckers {
			break
		}
		changed, err := writeTree(ctx, q.repo, tree, map[string]string{name: q.work.main[name]})
		if err != nil {
			return nil, err
		}
		trees = append(trees, changed)
	}
	return append(trees, tree), nil
}

// asks reports whether a call that compares holds for its value and for no other, on the first tree on
// which it can be called.
func (q *asking) asks(ctx context.Context, trees []string, s *comparison) (bool, error) {
	same, others := s.Only(s.text)
	for _, tree := range trees {
		if tree == "" {
			continue
		}
		if holds, err := q.with(ctx, tree, s, same); err != nil {
			return false, err
		} else if !holds {
			continue
		}
		for _, other := range others {
			if holds, err := q.with(ctx, tree, s, other); err != nil || holds {
				return false, err
			}
		}
		return true, nil
	}
	return false, nil
}
