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

// Facts are sums of all that pages of a directive are made of: where one is as it was, so is
// the page. They are of contents, and of no file's time.
type Facts struct {
	Directive string // what Directive says, and by which program
	Review    string // what Review says
}

// Facts are those of a directive of Overview, of a source that is held. Nothing is read for
// them that the look has not read: a unit is its journal's tip, its record's, and the notes on
// it, of which all else follows.
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
	for _, w := range d.Waiting { // JSON has one sign for all bytes that are no text
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

// sumUnits adds what the units of a directive say.
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

// sumHeld adds what only the host knows about held out criteria, which its reviews show.
func (s *Source) sumHeld(sum hash.Hash, p review.Position) {
	if s.bare && p.Directive != nil && p.Directive.Options.Held.Count > 0 {
		word, err := held.ReadWord(s.dir, p.Name, p.Directive.Options.Held.SHA256)
		fmt.Fprintf(sum, "%q %v\n", word, err)
	}
}

// maker is a checksum of what makes the pages: this program, the one for reviews, and the
// host's settings.
func (s *Source) maker() ([]byte, error) {
	files := []string{"/proc/self/exe", s.Program}
	if s.bare {
		files = append(files, filepath.Join(s.dir, config.Path))
	}
	sum := sha256.New()
	for _, name := range files {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) { // it makes no review then
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
