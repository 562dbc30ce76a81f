package site

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/scratch"
)

// manifest is the file by which a directory is known as a report's: it lists the others, as
// sha256sum does, after a line that sha256sum leaves out. stamps is one of the others: what
// the pages were made of.
const (
	manifest     = "ward-report.txt"
	manifestHead = "# git ward report replaces this directory as long as its files are these\n"
	stamps       = "ward-facts.txt"
)

// A directory is a report being written, next to the one that it replaces.
type directory struct {
	path   string // that it becomes
	under  *scratch.Dir
	temp   string // in it
	mode   os.FileMode
	sums   map[string]string
	before before            // what is there
	kept   map[string]bool   // files of it that stay as they are
	stamps map[string]origin // of the pages here
}

// before is a report that is there already.
type before struct {
	sums   map[string]string // of its files that are there
	stamps map[string]origin
}

// An origin says what some pages were made of.
type origin struct {
	facts string
	now   time.Time // at which they were looked at; zero where that is the same at any time
	files []string
}

// newDirectory makes the directory beside path, or says why path cannot be replaced.
func newDirectory(path string) (*directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	sums, err := replaceable(path)
	if err != nil {
		return nil, err
	}
	under, err := scratch.Make(filepath.Dir(path), "report-")
	if err != nil {
		return nil, diag.Hint(err, "name a directory in one that you may write to")
	}
	d := &directory{path: path, under: under, mode: 0o755, temp: filepath.Join(under.Path, "report"), sums: map[string]string{},
		before: before{sums: sums}, kept: map[string]bool{}, stamps: map[string]origin{}}
	if info, err := os.Stat(path); err == nil { // who may look in is its owner's to say
		d.mode = info.Mode().Perm()
	}
	if sums[stamps] != "" {
		if data, err := readFile(filepath.Join(path, stamps), maxManifest); err == nil && sumOf(data) == sums[stamps] {
			d.before.stamps = readStamps(string(data))
		}
	}
	if err := os.Mkdir(d.temp, 0o700); err != nil {
		return nil, errors.Join(err, under.Remove())
	}
	return d, nil
}

// put writes a file; one that is there as it is stays.
func (d *directory) put(name string, data []byte) error {
	d.sums[name] = sumOf(data)
	if d.kept[name] = d.before.sums[name] == d.sums[name]; d.kept[name] {
		return nil
	}
	return os.WriteFile(filepath.Join(d.temp, name), data, 0o644)
}

// stamped reports whether the pages of a name are there and of these facts.
func (d *directory) stamped(name, facts string, now time.Time) bool {
	s, ok := d.before.stamps[name]
	if !ok || s.facts != facts || !s.now.IsZero() && !s.now.Equal(now) {
		return false
	}
	return !slices.ContainsFunc(s.files, func(file string) bool { return d.before.sums[file] == "" })
}

// keep keeps an earlier report's pages of a name.
func (d *directory) keep(name string) (files []string) {
	s := d.before.stamps[name]
	d.stamps[name] = s
	for _, file := range s.files {
		d.sums[file], d.kept[file] = d.before.sums[file], true
	}
	return s.files
}

// stamp records the facts of newly written pages; now is zero if they do not change by
// themselves.
func (d *directory) stamp(name, facts string, now time.Time, files ...string) {
	d.stamps[name] = origin{facts, now, files}
}

// listStamps is the text of stamps; fields have no blanks, but for the last of a line.
func listStamps(all map[string]origin) string {
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		now := "-"
		if !s.now.IsZero() {
			now = s.now.UTC().Format(time.RFC3339Nano)
		}
		fmt.Fprintf(&list, "%s %s %s: %s\n", name, now, strings.Join(s.files, " "), s.facts)
	}
	return list.String()
}

// readStamps reads what listStamps wrote; a line that it did not write stamps nothing.
func readStamps(text string) map[string]origin {
	all := map[string]origin{}
	for line := range strings.Lines(text) {
		head, facts, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		words := strings.Fields(head)
		if !ok || len(words) < 3 {
			continue
		}
		s := origin{facts: facts, files: words[2:]}
		if words[1] != "-" {
			var err error
			if s.now, err = time.Parse(time.RFC3339Nano, words[1]); err != nil {
				continue
			}
		}
		all[words[0]] = s
	}
	return all
}

// unchanged reports whether all is there as it would be.
func (d *directory) unchanged() bool { return maps.Equal(d.sums, d.before.sums) }

// bring adds the earlier report's unchanged files: by hard link, or by copy if the file system
// has none.
func (d *directory) bring() error {
	for name := range d.kept {
		from, to := filepath.Join(d.path, name), filepath.Join(d.temp, name)
		if !d.kept[name] || os.Link(from, to) == nil {
			continue
		}
		data, err := readFile(from, maxPage)
		if err == nil && sumOf(data) != d.sums[name] {
			err = fmt.Errorf("%s was changed while the report was written", from)
		}
		if err == nil {
			err = os.WriteFile(to, data, 0o644)
		}
		if err != nil {
			return diag.Hint(err, "write the report again")
		}
	}
	return nil
}
