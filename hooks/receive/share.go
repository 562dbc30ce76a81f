package receive

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"git-ward/hooks/checks"
	"git-ward/hooks/leases"
	"git-ward/internal/growth"
)

// share protects the others' space from one directive's worker (MANY-1): once half of it is
// used, a worker over its share may add nothing. A single worker has all of it.
func (s *session) share(ctx context.Context, who pusher, bytes int64) (*checks.Result, error) {
	directive, limit := who.lease.Directive, s.settings.Limits.AgentObjects
	if directive == "" {
		return nil, nil
	}
	ledger, err := growth.Read(s.repo.Dir)
	if err != nil || ledger.Bytes+bytes <= limit/2 {
		return nil, err
	}
	workers, err := s.workers(ctx)
	if err != nil || workers < 2 {
		return nil, err
	}
	part := limit / int64(workers+1)
	own, err := s.ownBytes(ctx, directive)
	if err != nil {
		return nil, err
	}
	own = max(own, ledger.By[directive]) // what it brought and let go of lies there until maintenance frees it
	if own+bytes <= part {
		return nil, nil
	}
	const mib = 1 << 20
	return refusal("limit/agent-objects", fmt.Sprintf("half of the space for all agents is used, and the work of %s would take %.1f MiB, more than %.1f: its part among %d workers ([limits] agent_objects)",
		directive, float64(own+bytes)/mib, float64(part)/mib, workers),
		"delete branches of "+directive+" that are done with: git push origin --delete agent/"+directive+"-NAME; the host's maintenance (git ward maintain) frees them, and a PM drops records of old units: git ward uow archive --expire UNIT"), nil
}

// workers counts the live leases.
func (s *session) workers(ctx context.Context) (live int, err error) {
	all, err := leases.List(ctx, s.repo, s.batch, time.Now())
	for _, e := range all {
		if e.Lost(e.Lease.ID) == "" {
			live++
		}
	}
	return live, err
}

// ownBytes is what only the refs of a directive lead to, in bytes of the disk.
func (s *session) ownBytes(ctx context.Context, directive string) (int64, error) {
	out, err := s.repo.Output(ctx, "rev-list", "--objects", "--disk-usage", "--glob="+glob("refs/heads/agent/"+directive), "--glob=refs/heads/agent/"+directive+"-*", "--glob=refs/heads/rescue/"+directive+"-*",
		"--glob=refs/ward/record/"+directive+".*", "--glob=refs/ward/uow/"+directive+".*", "--not", "--glob="+glob(s.settings.Control.Ref()), "--glob="+glob(s.settings.Control.ProjectRef()))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
}

// glob is a pattern for one ref, which need not exist: without a bracket git would take it for
// a directory.
func glob(ref string) string {
	last := len(ref) - 1
	return ref[:last] + "[" + ref[last:] + "]"
}
