package verifier

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"git-ward/sandbox/verifier/broken"
)

// maxBroken bounds the files of the PM's line: how many it may change to be tried file by file, and how
// many of them are tried.
const (
	maxBroken     = 200
	maxBrokenEach = 8
)

// fileByFile checks failures that the PM's break line causes (PROOF-3). If the line breaks several
// files, the work may end the process of one, while another causes the failure. The host's kernel reports
// which files the line writes to. The command has to fail if one of them that it opens is broken alone.
func (c *controlling) fileByFile(ctx context.Context, attempts []*tried) error {
	if c.claim.Breaks == "" {
		return nil
	}
	var files []string
	for _, a := range attempts {
		if a.passes || a.silenced || a.unsure || a.Residual || a.Held {
			continue
		}
		if files == nil {
			how := Job{Line: "(\n" + c.claim.Breaks + "\n) >/dev/null 2>&1\n", Guard: append(slices.Clone(c.work.others), c.work.present()...)}
			runs, err := c.each(ctx, c.runner, c.work.tree, []Command{{Name: a.Name, Line: "exit 0"}}, Step{Note: Broken}, how)
			if err != nil {
				return err
			}
			files, _ = runs[0].rewritten()
			files = slices.DeleteFunc(slices.Clone(files), func(name string) bool { return strings.Contains(name, "'") })
			rand.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		}
		if len(files) < 2 || len(files) > maxBroken {
			return nil
		}
		runs, err := c.each(ctx, c.runner, c.work.tree, []Command{a.Command}, Step{Note: Broken}, Job{Watch: files})
		if err != nil {
			return err
		}
		o, asked := runs[0].Opened, 0
		for i, name := range files {
			if a.unsure || asked == maxBrokenEach || o == nil || o.Not == "" && !slices.Contains(o.Files, name) {
				continue // no test of it runs
			}
			runs, err := c.each(ctx, c.runner, c.work.tree, []Command{a.Command}, Step{Note: Broken}, Job{Line: c.breaksOnly(files, i), Keep: true})
			if err != nil {
				return err
			}
			asked, a.unsure = asked+1, c.holds(runs[0])
		}
	}
	return nil
}

// breaksOnly makes a line that runs the PM's line, restores all files but one, and fails if that one is
// unchanged: sed rewrites files even where it changes nothing. The copies stay in the run's own /tmp.
func (c *controlling) breaksOnly(files []string, only int) string {
	var keep, back strings.Builder
	at := `"${TMPDIR:-/tmp}/` + broken.File(c.word) + `.was"`
	for i, name := range files {
		fmt.Fprintf(&keep, "cp -p -- './%s' %s/%d || exit 1\n", name, at, i)
		if i == only {
			fmt.Fprintf(&back, "cmp -s -- %s/%d './%s' && exit 1\n", at, i, name)
		} else {
			fmt.Fprintf(&back, "cp -p -- %s/%d './%s' || exit 1\n", at, i, name)
		}
	}
	return "mkdir " + at + " || exit 1\n" + keep.String() + "(\n" + c.claim.Breaks + "\n) >/dev/null 2>&1 || exit 1\n" + back.String()
}
