package view

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/pattern"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// TranscriptRef is a transcript on the record.
type TranscriptRef struct {
	Unit      string `json:"unit"`
	Iteration int    `json:"iteration"` // as the journal counts, from 1
	Part      int    `json:"part"`      // of an iteration that was left, from 1; 0 for its last
	Bytes     int64  `json:"bytes"`

	blob string
}

// ErrNoTranscript is for an iteration, or a unit, that has none on the record.
var ErrNoTranscript = errors.New("no transcript on the record")

// transcriptName is that of an iteration's transcript, or of a part of it.
var transcriptName = pattern.New(`^transcript(?:-([1-9][0-9]{0,8}))?\.txt$`)

// Transcripts lists the transcripts on a unit's record in their order: of an iteration
// that was left and gone on with, the parts and then its end.
func (s *Source) Transcripts(ctx context.Context, unit uow.ID) (list []TranscriptRef, err error) {
	err = s.read(ctx, func(r *git.Reader) error {
		list, err = s.transcripts(ctx, r, unit)
		return err
	})
	return list, err
}

func (s *Source) transcripts(ctx context.Context, r *git.Reader, unit uow.ID) (list []TranscriptRef, err error) {
	tip, err := r.Tip(record.Ref(unit))
	if err != nil || tip == "" {
		return nil, err
	}
	first := -1 // the directory of the unit's first iteration: those of one text are counted on
	for line, err := range s.repo.Records(ctx, "ls-tree", "-r", "-l", "-z", tip, "--", loop.Dir(unit.Directive)+"/") {
		if err != nil {
			return nil, err
		}
		entry, file, _ := strings.Cut(line, "\t")
		at, ok := loop.ParseEvidencePath(file)
		if !ok || at.Iteration < 0 {
			continue
		}
		if first < 0 || at.Iteration < first {
			first = at.Iteration
		}
		fields := strings.Fields(entry) // mode, kind, object id, size (git-ls-tree(1))
		m := transcriptName.FindStringSubmatch(path.Base(file))
		if m == nil || len(fields) != 4 || path.Dir(file) != loop.IterationDir(unit.Directive, at.Iteration) {
			continue
		}
		part, _ := strconv.Atoi(m[1])
		size, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil {
			continue // of no file
		}
		list = append(list, TranscriptRef{unit.String(), at.Iteration, part, size, fields[2]})
	}
	for i := range list {
		list[i].Iteration += 1 - first
	}
	slices.SortFunc(list, func(a, b TranscriptRef) int {
		if a.Iteration != b.Iteration {
			return a.Iteration - b.Iteration
		}
		last := func(t TranscriptRef) int { // the end comes behind all parts
			if t.Part == 0 {
				return 1 << 30
			}
			return t.Part
		}
		return last(a) - last(b)
	})
	return list, nil
}

// Recorded are the units of a directive that have a record here, the newest first.
func (s *Source) Recorded(ctx context.Context, directive string) (list []uow.ID, err error) {
	tips, err := s.repo.Refs(ctx, record.Prefix)
	for _, tip := range tips {
		if id, odd := record.ParseRef(tip.Name); odd == nil && id.Directive == directive {
			list = append(list, id)
		}
	}
	slices.SortFunc(list, func(a, b uow.ID) int { return b.K - a.K })
	return list, err
}

// Transcript is what was said and done in an iteration of a unit (from 1), as its record
// has it: the agent's word. ErrNoTranscript where there is none.
func (s *Source) Transcript(ctx context.Context, unit uow.ID, iteration int) (text string, err error) {
	err = s.read(ctx, func(r *git.Reader) error {
		list, err := s.transcripts(ctx, r, unit)
		if err != nil {
			return err
		}
		var parts []string
		for _, t := range list {
			if t.Iteration != iteration {
				continue
			}
			data, err := s.transcript(ctx, t)
			if err != nil {
				return err
			}
			parts = append(parts, data)
		}
		if len(parts) == 0 {
			return fmt.Errorf("iteration %d of %s: %w", iteration, unit, ErrNoTranscript)
		}
		text = strings.Join(parts, "\n[the iteration was left here, and gone on with]\n\n")
		return nil
	})
	return text, err
}

// transcript is one of them, cut where somebody made it longer than Ward does.
func (s *Source) transcript(ctx context.Context, t TranscriptRef) (string, error) {
	const most = 4 * loop.MaxTranscript
	if t.Bytes > most {
		return fmt.Sprintf("[%d bytes are more than a transcript has: git cat-file blob %s]\n", t.Bytes, t.blob), nil
	}
	data, err := s.repo.Output(ctx, "cat-file", "blob", t.blob)
	return diag.CleanLines(strings.ToValidUTF8(string(data), "\uFFFD")), err
}
