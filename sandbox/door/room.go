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

// room reports why no push may begin: receive-packs that a limit killed have left too much
// in their quarantines, beside what runs. No hook saw it, so no ledger has it; what is silent
// for half an hour goes (GATE-6). Each worker has a share, and one that fills its own is
// refused alone (MANY-1).
func (s *service) room(key []byte) error {
	if s.meter == nil { // a person's
		return nil
	}
	left, err := growth.Quarantines(s.bare, quarantined(process.All(), key))
	if err != nil {
		return err
	}
	limit, own := s.settings.Limits.AgentObjects, pusher(s.name)
	delete(left, "pm") // people's have no such bound
	if left[""] > limit {
		return fmt.Errorf("pushes that were ended left %d bytes in objects/tmp_objdir-incoming-*, more than [limits] agent_objects (%d): they go half an hour after the last byte", left[""], limit)
	}
	workers := int64(len(left))
	if _, there := left[own]; !there {
		workers++
	}
	if part := limit / workers; own != "" && left[own] > part {
		return diag.Hint(fmt.Errorf("pushes of %s that were ended left %d bytes in objects/tmp_objdir-incoming-*, more than %d: its part of [limits] agent_objects (%d) among %d", own, left[own], part, limit, workers),
			"they go half an hour after the last byte; the host admin sets [limits] agent_objects in config.toml")
	}
	return nil
}

// pusher is who has a share, of the name of a push: a lease's directive, which the next
// lease of it has, too.
func pusher(name string) string {
	if directive, _, ok := lease.ParseName(name); ok {
		return directive
	}
	return name
}

// left writes down, after a push was ended, that it is who left what it did.
func (s *service) left(p *push) {
	for name, who := range p.quarantines {
		if err := growth.Left(s.bare, name, who); err != nil {
			s.log.Warn().Err(err).Str("push", p.id).Msg("what an ended push left counts for all workers")
		}
	}
}

// quarantined are the quarantines of pushes whose processes run, by their directories' names,
// and who pushes, as git and the door told those processes. What an agent starts can be seen here,
// too, and says what it likes: only the door's token is believed.
func quarantined(all []process.Info, key []byte) map[string]string {
	found := map[string]string{}
	for _, p := range all {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if err != nil {
			continue // it is gone, or somebody's
		}
		env := map[string]string{}
		for v := range bytes.SplitSeq(data, []byte{0}) {
			name, value, _ := strings.Cut(string(v), "=")
			env[name] = value
		}
		if name, ok := token.Proved(key, env); ok && env["GIT_QUARANTINE_PATH"] != "" {
			found[filepath.Base(env["GIT_QUARANTINE_PATH"])] = pusher(name)
		}
	}
	return found
}
