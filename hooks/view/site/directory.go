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

// manifest marks a directory as a report. It lists the checksums of the other files in the format of
// sha256sum, after a comment line that sha256sum ignores. stamps is one of those files; it records
// which facts the pages were made from.
const (
	manifest     = "ward-report.txt"
	manifestHead = "# git ward report replaces this directory as long as its files are these\n"
	stamps       = "ward-facts.txt"
)

// A directory is a report being written, next to the one that it replaces.
type directory struct {
	path   string // its final path
	under  *scratch.Dir
	temp   string // the directory in under that is written
	mode   os.FileMode
	sums   map[string]string
	before before            // the report at path
	kept   map[string]bool   // files of that report that are reused
	stamps map[string]origin // of the new report's pages
}

// before is an existing report.
type before struct {
	sums   map[string]string // checksums of its files
	stamps map[string]origin
}

// An origin records what some pages were made from.
type origin struct {
	facts string
	now   time.Time // when the facts were read; zero if the pages do not depend on it
	files []string
}

// newDirectory makes a temporary directory next to path. It is an error if path exists and may not be
// replaced.
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
	if info, err := os.Stat(path); err == nil { // keep the permissions that the owner chose
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

// put writes a file, or reuses the existing report's if it has the same content.
func (d *directory) put(name string, data []byte) error {
	d.sums[name] = sumOf(data)
	if d.kept[name] = d.before.sums[name] == d.sums[name]; d.kept[name] {
		return nil
	}
	return os.WriteFile(filepath.Join(d.temp, name), data, 0o644)
}

// stamped reports whether the existing report has the pages of a name, made from these facts.
func (d *directory) stamped(name, facts string, now time.Time) bool {
	s, ok := d.before.stamps[name]
	if !ok || s.facts != facts || !s.now.IsZero() && !s.now.Equal(now) {
		return false
	}
	return !slices.ContainsFunc(s.files, func(file string) bool { return d.before.sums[file] == "" })
}

// keep reuses the existing report's pages of a name, and returns their files.
func (d *directory) keep(name string) (files []string) {
	s := d.before.stamps[name]
	d.stamps[name] = s
	for _, file := range s.files {
		d.sums[file], d.kept[file] = d.before.sums[file], true
	}
	return s.files
}

// stamp records the facts of newly written pages; now is zero if the pages do not depend on the time.
func (d *directory) stamp(name, facts string, now time.Time, files ...string) {
	d.stamps[name] = origin{facts, now, files}
}

// listStamps returns the content of the file stamps. Only the last field of a line may have blanks.
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

// readStamps parses the output of listStamps and ignores malformed lines.
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

// unchanged reports whether the existing report already has exactly these files.
func (d *directory) unchanged() bool { return maps.Equal(d.sums, d.before.sums) }

// bring adds the reused files: by hard link, or by copy if the file system has no hard links.
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
