package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/review"
)

// The limits of the child process that makes reviews: the size of its JSON, in bytes, and its time.
const (
	maxReview     = 64 << 20
	reviewTimeout = 2 * time.Minute
	maxReviews    = 8 // reviews in the cache
)

// reviews caches the last reviews of one version of the refs.
type reviews struct {
	mu      sync.Mutex // held while a review is made
	version string
	made    map[string]*review.Review
}

// Review returns the review of one of Overview's directives, as `git ward review` makes it without
// fetching. The error is ErrUnknown if the directive has no work. Callers must not modify the review.
func (s *Source) Review(ctx context.Context, name string) (*review.Review, error) {
	o, err := s.Overview(ctx)
	if err != nil {
		return nil, err
	}
	if at, ok := o.at[name]; !ok || !o.Directives[at].Reviewable() {
		return nil, fmt.Errorf("a review of %.40q: %w", name, ErrUnknown)
	}
	version, _, err := s.version(ctx)
	if err != nil {
		return nil, err
	}
	s.reviews.mu.Lock()
	defer s.reviews.mu.Unlock()
	if s.reviews.version != version || len(s.reviews.made) >= maxReviews {
		s.reviews.version, s.reviews.made = version, map[string]*review.Review{}
	}
	if have := s.reviews.made[name]; have != nil {
		return have, nil
	}
	made, err := s.review(ctx, name)
	if err == nil {
		s.reviews.made[name] = made
	}
	return made, err
}

// review makes the review of one directive.
func (s *Source) review(ctx context.Context, name string) (made *review.Review, err error) {
	for made, err = range s.Reviews(ctx, []string{name}) {
	}
	return made, err
}

// Reviews yields the reviews of directives with work, in the order of names. One child process of
// git-ward makes them; after a review that fails, a new child makes the rest.
func (s *Source) Reviews(ctx context.Context, names []string) iter.Seq2[*review.Review, error] {
	return func(yield func(*review.Review, error) bool) {
		for len(names) > 0 {
			n, err := s.some(ctx, names, func(r *review.Review) bool { return yield(r, nil) })
			if errors.Is(err, errEnough) {
				return
			}
			if names = names[n:]; err == nil && len(names) > 0 {
				err = errors.New("it ended before it said so")
			}
			if err == nil {
				return
			}
			if len(names) == 0 { // the error is not that of a single review
				return
			}
			if !yield(nil, fmt.Errorf("the review of %s: %w", names[0], err)) {
				return
			}
			names = names[1:]
		}
	}
}

// errEnough means that the caller stopped the iteration.
var errEnough = errors.New("enough")

// some passes the reviews of one child process to give and returns their number.
func (s *Source) some(ctx context.Context, names []string, give func(*review.Review) bool) (n int, err error) {
	if s.Program == "" {
		return 0, errors.New("a review needs the program git-ward")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Program, append([]string{"review", "--json", "--fetched", "--bare", s.dir}, names...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.dir, git.Elsewhere(os.Environ()), time.Second
	var words bytes.Buffer
	cmd.Stderr = &words
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	timer := time.AfterFunc(reviewTimeout, cancel)
	defer timer.Stop()
	out := &io.LimitedReader{R: pipe}
	for in := json.NewDecoder(out); ; n++ {
		out.N = maxReview
		made := new(review.Review)
		if err = in.Decode(made); err != nil {
			break
		}
		timer.Stop() // give may take longer; the timeout is for the child
		if !give(made) {
			err = errEnough
			break
		}
		timer.Reset(reviewTimeout)
	}
	switch {
	case errors.Is(err, io.EOF):
		err = nil
	case out.N == 0:
		err = fmt.Errorf("it has more than %d bytes", maxReview)
	}
	if err != nil {
		cancel()
	}
	if ended := cmd.Wait(); err == nil && ended != nil {
		said := strings.TrimPrefix(strings.SplitN(strings.TrimSpace(words.String()), "\n", 2)[0], "git-ward: error: ")
		err = fmt.Errorf("%s (%w)", diag.Clean(diag.Cut(said, 300)), ended)
	}
	return n, err
}
