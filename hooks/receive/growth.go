package receive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/git"
	"git-ward/internal/growth"
)

// room adds a push's disk usage to the agent's ledger before any ref moves, and refuses it if
// there is no space (GATE-6). A push without objects passes, because deleting frees space. A
// PM's push only meets git's own errors.
func (s *session) room(ctx context.Context, who pusher, result *checks.Result) (*checks.Result, error) {
	dir := s.repo.QuarantineDir()
	if who.principal != push.Agent || result.Refused() || dir == "" {
		return result, nil
	}
	bytes, err := growth.Size(dir)
	if err != nil || bytes == 0 {
		return result, err
	}
	limits := s.settings.Limits
	free, err := growth.Free(s.repo.Dir)
	if err != nil {
		return nil, err
	}
	if free < limits.DiskFree {
		return refusal("limit/disk-free", fmt.Sprintf("the host's disk has %d bytes left, less than %d", free, limits.DiskFree),
			"delete branches that nobody needs, and push again when the host admin has made room ([limits] disk_free)"), nil
	}
	if greedy, err := s.share(ctx, who, bytes); greedy != nil || err != nil {
		return greedy, err
	}
	err = growth.Add(ctx, s.repo.Dir, who.lease.Directive, bytes, limits.AgentObjects)
	if full, ok := errors.AsType[*growth.Full](err); ok {
		return refusal("limit/agent-objects", full.Error()+" ([limits] agent_objects)",
			"delete branches that are done with: git push origin --delete agent/NAME; the host's maintenance (git ward maintain) frees them, and a PM drops records of old units: git ward uow archive --expire UNIT"), nil
	}
	return result, err
}

// enter waits for maintenance that removes objects, and keeps it out while the push is judged.
// If objects that git found before are gone, the push must be sent again.
func (s *session) enter(ctx context.Context) (*checks.Result, error) {
	before := time.Now()
	gate, err := growth.Enter(ctx, s.repo.Dir)
	if err != nil {
		return nil, err
	}
	s.gate, s.waited = gate, time.Since(before)
	if !growth.Marked(s.repo.Dir) {
		return nil, nil
	}
	var tips strings.Builder
	for _, u := range s.updates {
		if u.New != git.Zero {
			tips.WriteString(u.New + "\n")
		}
	}
	if tips.Len() == 0 {
		return nil, nil
	}
	// The same check as receive-pack's own (connected.c), which ran earlier.
	_, err = s.repo.OutputFrom(ctx, []byte(tips.String()), "rev-list", "--objects", "--quiet", "--stdin", "--not", "--all")
	if err != nil && ctx.Err() == nil {
		return refusal("push/freed", "the host's maintenance freed objects that the push relies on while it came in", "push again"), nil
	}
	return nil, err
}
