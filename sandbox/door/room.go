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

// room refuses a push while the quarantines of killed and running receive-packs use too much disk. No hook
// has seen these, so no ledger counts them; one that is idle for half an hour is removed (GATE-6). Each
// worker has a share, and a worker that fills its own does not affect others (MANY-1).
func (s *service) room(key []byte) error {
	if s.meter == nil { // a person's
		return nil
	}
	left, err := growth.Quarantines(s.bare, func() map[string]string { return quarantined(process.All(), key) })
	if err != nil {
		return err
	}
	limit, own := s.settings.Limits.AgentObjects, pusher(s.name)
	delete(left, "pm") // people have no such limit
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

// pusher returns the name of the share that a push counts for: of a lease its directive, so that the
// directive's next lease has the same share.
func pusher(name string) string {
	if directive, _, ok := lease.ParseName(name); ok {
		return directive
	}
	return name
}

// left records the quarantine that an ended push left behind, and its pusher.
func (s *service) left(p *push) {
	for name, who := range p.quarantines {
		if err := growth.Left(s.bare, name, who); err != nil {
			s.log.Warn().Err(err).Str("push", p.id).Msg("what an ended push left counts for all workers")
		}
	}
}

// quarantineVar is the variable by which receive-pack tells its children where a push's objects are.
const quarantineVar = "GIT_QUARANTINE_PATH"

// quarantined are the quarantines of running pushes by directory name, with who pushes, as git
// and the door put them in those processes' environment. An agent's own processes may be
// visible here, too, and claim anything, so only the door's token is believed.
func quarantined(all []process.Info, key []byte) map[string]string {
	found := map[string]string{}
	for _, p := range all {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if err != nil || !bytes.Contains(data, []byte(quarantineVar+"=")) {
			continue // the process has ended, belongs to another user, or is not part of a push
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
