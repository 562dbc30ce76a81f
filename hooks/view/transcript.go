package view

import (
	"context"
	"errors"
	"fmt"
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

// TranscriptRef is a transcript on a unit's record.
type TranscriptRef struct {
	Unit      string `json:"unit"`
	Iteration int    `json:"iteration"` // from 1, as the journal counts
	Part      int    `json:"part"`      // part of an interrupted iteration, from 1; 0 for the last part
	Bytes     int64  `json:"bytes"`

	blob string
}

// maxIterationTree bounds the trees that are prefetched, in bytes.
const maxIterationTree = 1 << 20

// ErrNoTranscript means that the record has no transcript of an iteration or unit.
var ErrNoTranscript = errors.New("no transcript on the record")

// transcriptName matches the file name of an iteration's transcript, or of a part of it.
var transcriptName = pattern.New(`^transcript(?:-([1-9][0-9]{0,8}))?\.txt$`)

// Transcripts lists the transcripts on a unit's record in order. The parts of an interrupted iteration
// come before its end.
func (s *Source) Transcripts(ctx context.Context, unit uow.ID) (list []TranscriptRef, err error) {
	err = s.read(ctx, func(r *git.Reader) error {
		list, err = s.transcriptsNow(r, unit)
		return err
	})
	return list, err
}

func (s *Source) transcriptsNow(r *git.Reader, unit uow.ID) ([]TranscriptRef, error) {
	tip, err := r.Tip(record.Ref(unit))
	if err != nil {
		return nil, err
	}
	return s.transcripts(r, tip, unit)
}

// transcripts lists the transcripts on a unit's record; tip is the record's, "" for none.
func (s *Source) transcripts(r *git.Reader, tip string, unit uow.ID) (list []TranscriptRef, err error) {
	if tip == "" {
		return nil, nil
	}
	iterations, trees, err := iterationsOf(r, tip, unit.Directive)
	if err != nil || len(iterations) == 0 {
		return nil, err
	}
	first := slices.Min(iterations) // units of the same text continue the count
	var blobs []string
	for i, tree := range trees {
		entries, err := r.Tree(tree)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			m := transcriptName.FindStringSubmatch(e.Name)
			if m == nil || e.IsDir() || e.Mode == git.ModeGitlink {
				continue
			}
			part, _ := strconv.Atoi(m[1])
			list = append(list, TranscriptRef{Unit: unit.String(), Iteration: iterations[i], Part: part, blob: e.ID})
			blobs = append(blobs, e.ID)
		}
	}
	sizes := map[string]int64{}
	if err := r.Sizes(blobs, func(o git.Object) { sizes[o.ID] = o.Size }); err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Bytes = sizes[list[i].blob]
	}
	list = slices.DeleteFunc(list, func(t TranscriptRef) bool { _, there := sizes[t.blob]; return !there })
	for i := range list {
		list[i].Iteration += 1 - first
	}
	slices.SortFunc(list, func(a, b TranscriptRef) int {
		if a.Iteration != b.Iteration {
			return a.Iteration - b.Iteration
		}
		last := func(t TranscriptRef) int { // Part 0, the end, comes after all other parts
			if t.Part == 0 {
				return 1 << 30
			}
			return t.Part
		}
		return last(a) - last(b)
	})
	return list, nil
}

// Recorded lists the units of a directive that have a record in this repository, newest first.
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

// Transcript returns the agent's transcript of a unit's iteration, from 1. The error is
// ErrNoTranscript if there is none.
func (s *Source) Transcript(ctx context.Context, unit uow.ID, iteration int) (text string, err error) {
	err = s.read(ctx, func(r *git.Reader) error {
		list, err := s.transcriptsNow(r, unit)
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

// transcript reads one transcript. It does not read one that is longer than Ward would write it.
func (s *Source) transcript(ctx context.Context, t TranscriptRef) (string, error) {
	const most = 4 * loop.MaxTranscript
	if t.Bytes > most {
		return fmt.Sprintf("[%d bytes are more than a transcript has: git cat-file blob %s]\n", t.Bytes, t.blob), nil
	}
	data, err := s.repo.Output(ctx, "cat-file", "blob", t.blob)
	return diag.CleanLines(strings.ToValidUTF8(string(data), "\uFFFD")), err
}

// iterationsOf returns the iterations with evidence on a record, and the tree of each, which it
// prefetches.
func iterationsOf(r *git.Reader, tip, directive string) (iterations []int, trees []string, err error) {
	entries, err := r.Entries(tip, loop.Dir(directive))
	for _, e := range entries {
		if n, ok := loop.ParseIteration(e.Name); ok && e.IsDir() {
			iterations, trees = append(iterations, n), append(trees, e.ID)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return iterations, trees, r.Prefetch(trees, maxIterationTree)
}
