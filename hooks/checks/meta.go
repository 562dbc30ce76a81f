package checks

import (
	"git-ward/hooks/walk"
	"git-ward/protocols/knowledge"
)

var metaCheck = Check{
	Name:  "meta",
	Doc:   "knowledge_core/agent_meta.json names the agent and its limitations; orientation fails without it.",
	Rules: []string{"meta/schema"},
	Tip: func(pass *Pass, t *walk.Tip) error {
		d, err := readDocument(pass, t, knowledge.MetaPath, knowledge.MaxMeta)
		if d == nil || err != nil {
			return err
		}
		if d.deleted {
			d.gone("meta/schema")
			return nil
		}
		_, found := knowledge.ParseMeta(d.new)
		d.reportAll(found)
		return nil
	},
}
