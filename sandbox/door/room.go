package door

import (
	"fmt"

	"git-ward/internal/growth"
)

// room reports why no push may begin: receive-packs that a limit killed have left as much
// in their quarantines as the agent's pushes may take of the disk together. No hook saw
// it, so no ledger has it; what is silent for half an hour goes (GATE-6).
func (s *service) room() error {
	if s.meter == nil { // a person's
		return nil
	}
	left, err := growth.Quarantines(s.bare)
	if err != nil {
		return err
	}
	if limit := s.settings.Limits.AgentObjects; left > limit {
		return fmt.Errorf("pushes that were ended left %d bytes in objects/tmp_objdir-incoming-*, more than [limits] agent_objects (%d): they go half an hour after the last byte", left, limit)
	}
	return nil
}
