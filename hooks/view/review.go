package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/review"
)

// The bounds of a review's child: its JSON, and the time that it may take.
const (
	maxReview     = 64 << 20
	reviewTimeout = 2 * time.Minute
	maxReviews    = 8 // that are kept
)

// reviews keeps the last reviews of one version of the refs.
type reviews struct {
	mu      sync.Mutex // one is made at a time
	version string
	made    map[string]*review.Review
}

// Review is the review of one of the directives of Overview, as `git ward review` makes it
// of the repository as it was fetched; one without work is ErrUnknown. Its caller does not
// change it.
func (s *Source) Review(ctx context.Context, name string) (*review.Review, error) {
	o, err := s.Overview(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(o.Directives, func(l Line) bool { return l.Directive == name })
	if at < 0 || o.Directives[at].Commit == "" && o.Directives[at].State != review.Dropped {
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

// review runs the one reading that there is.
func (s *Source) review(ctx context.Context, name string) (*review.Review, error) {
	if s.Program == "" {
		return nil, errors.New("a review needs the program git-ward")
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Program, "review", "--json", "--fetched", "--bare", s.dir, name)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.dir, git.Elsewhere(os.Environ()), time.Second
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	data, readErr := io.ReadAll(io.LimitReader(out, maxReview+1))
	if len(data) > maxReview {
		cancel()
		readErr = fmt.Errorf("it has more than %d bytes", maxReview)
	}
	if err := errors.Join(cmd.Wait(), readErr); err != nil {
		said := strings.TrimPrefix(strings.SplitN(strings.TrimSpace(words.String()), "\n", 2)[0], "git-ward: error: ")
		return nil, fmt.Errorf("the review of %s: %s (%w)", name, diag.Clean(diag.Cut(said, 300)), err)
	}
	made := new(review.Review)
	if err := json.Unmarshal(data, made); err != nil {
		return nil, fmt.Errorf("the review of %s: %w", name, err)
	}
	return made, nil
}
