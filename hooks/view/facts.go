package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"git-ward/internal/config"
	"git-ward/internal/held"
	"git-ward/protocols/record"
	"git-ward/protocols/review"
)

// Facts are hashes of everything that a directive's pages are made from. If a hash is unchanged, so are
// its pages. They depend on contents, not on modification times.
type Facts struct {
	Directive string // of the result of Directive, and of the program
	Review    string // of the result of Review
}

// Facts returns the facts of a directive of Overview; the source must be held (Hold). It reads nothing
// that Overview has not read: a unit's journal tip, record tip and notes determine everything else.
func (s *Source) Facts(ctx context.Context, name string) (f Facts, err error) {
	o, err := s.Overview(ctx)
	if err != nil {
		return f, err
	}
	if s.made == nil {
		if s.made, err = s.maker(); err != nil {
			return f, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d, p, err := s.begin(o, name)
	if err != nil {
		return f, err
	}
	sum := sha256.New()
	sum.Write(s.made)
	if err := json.NewEncoder(sum).Encode(d); err != nil {
		return f, err
	}
	fmt.Fprintf(sum, "%q %q %q %v\n", o.Repository, d.Title.Raw(), d.Text.Raw(), s.refs.broken[name])
	for _, w := range d.Waiting { // JSON would replace different invalid bytes by the same character
		fmt.Fprintf(sum, "%v %q\n", w.For, w.Words.Raw())
	}
	for _, r := range slices.Concat(d.Reports, d.Questions) {
		fmt.Fprintf(sum, "%q\n", r.Text.Raw())
	}
	s.sumUnits(sum, name)
	f.Directive = hex.EncodeToString(sum.Sum(nil))
	fmt.Fprintf(sum, "%s %+v\n", s.refs.project, s.names)
	s.sumHeld(sum, p)
	f.Review = hex.EncodeToString(sum.Sum(nil))
	return f, nil
}

// sumUnits adds a directive's units to the hash.
func (s *Source) sumUnits(sum hash.Hash, name string) {
	for _, unit := range s.refs.desk.UnitsOf(name) {
		fmt.Fprintln(sum, unit.ID, unit.Tip, s.refs.records[record.Ref(unit.ID)])
		var on []string
		for _, v := range s.notes.byUnit[unit.ID.String()] {
			on = append(on, v.note)
		}
		slices.Sort(on)
		fmt.Fprintln(sum, on)
	}
}

// sumHeld adds the host's word about held-out criteria, because reviews on the host show it.
func (s *Source) sumHeld(sum hash.Hash, p review.Position) {
	if s.bare && p.Directive != nil && p.Directive.Options.Held.Count > 0 {
		word, err := held.ReadWord(s.dir, p.Name, p.Directive.Options.Held.SHA256)
		fmt.Fprintf(sum, "%q %v\n", word, err)
	}
}

// maker returns the hash of what else determines the pages: this program, the one for reviews, and
// the host's settings.
func (s *Source) maker() ([]byte, error) {
	files := []string{"/proc/self/exe", s.Program}
	if s.bare {
		files = append(files, filepath.Join(s.dir, config.Path))
	}
	sum := sha256.New()
	for _, name := range files {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) { // without git-ward there are no reviews
			continue
		}
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(sum, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		fmt.Fprintln(sum, name == s.Program)
	}
	return sum.Sum(nil), nil
}
