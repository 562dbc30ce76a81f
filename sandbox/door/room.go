package door

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/growth"
	"git-ward/internal/process"
	"git-ward/internal/token"
	"git-ward/protocols/lease"
)

// room refuses a push while quarantines of receive-packs that a limit killed, and of running
// ones, take too much disk. No hook saw those, so no ledger counts them; one that is idle for
// half an hour is removed (GATE-6). Each worker has its share, and a worker that fills it is
// refused alone (MANY-1).
func (s *service) room(key []byte) error {
	if s.meter == nil { // a person's
		return nil
	}
	left, err := growth.Quarantines(s.bare, func() map[string]string { return quarantined(process.All(), key) })
	if err != nil {
		return err
	}
	limit, own := s.settings.Limits.AgentObjects, pusher(s.name)
	delete(left, "pm") // people's have no such bound
	if left[""] > limit {
		return fmt.Errorf("pushes that were ended left %d bytes in objects/tmp_objdir-incoming-*, more than [limits] agent_objects (%d): they are removed half an hour after the last write", left[""], limit)
	}
	workers := int64(len(left))
	if _, there := left[own]; !there {
		workers++
	}
	if part := limit / workers; own != "" && left[own] > part {
		return diag.Hint(fmt.Errorf("pushes of %s that were ended left %d bytes in objects/tmp_objdir-incoming-*, more than %d: its part of [limits] agent_objects (%d) among %d", own, left[own], part, limit, workers),
			"they are removed half an hour after the last write; the host admin sets [limits] agent_objects in config.toml")
	}
	return nil
}

// pusher is whose share a push counts for: a lease's directive, whose next lease has the same
// share.
func pusher(name string) string {
	if directive, _, ok := lease.ParseName(name); ok {
		return directive
	}
	return name
}

// left records, after a push was ended, whose quarantine it left.
func (s *service) left(p *push) {
	for name, who := range p.quarantines {
		if err := growth.Left(s.bare, name, who); err != nil {
			s.log.Warn().Err(err).Str("push", p.id).Msg("what an ended push left counts for all workers")
		}
	}
}

// quarantineVar is where receive-pack tells what it starts where a push's objects are.
const quarantineVar = "GIT_QUARANTINE_PATH"

// quarantined are the quarantines of running pushes by directory name, with who pushes, as git
// and the door put them in those processes' environment. An agent's own processes may be
// visible here, too, and claim anything, so only the door's token is believed.
func quarantined(all []process.Info, key []byte) map[string]string {
	found := map[string]string{}
	for _, p := range all {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if err != nil || !bytes.Contains(data, []byte(quarantineVar+"=")) {
			continue // it has ended, is another user's, or is no push's, as most are
		}
		env := map[string]string{}
		for v := range bytes.SplitSeq(data, []byte{0}) {
			name, value, _ := strings.Cut(string(v), "=")
			env[name] = value
		}
		if name, ok := token.Proved(key, env); ok && env[quarantineVar] != "" {
			found[filepath.Base(env[quarantineVar])] = pusher(name)
		}
	}
	return found
}
