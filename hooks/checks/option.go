package checks

import (
	"fmt"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/protocols/gate"
)

// OptionAllow is the push option, besides gate.Option, that Ward reads: RULE:PATH. Only the PM
// may use it, also several times.
const OptionAllow = "ward.allow"

var optionCheck = Check{
	Name: "option",
	Doc: "Refuses push options that Ward does not know and, from the agent, ward.allow: only the PM may pass a " +
		"false positive, and the audit keeps it.",
	Rules: []string{"option/ward"},
	Ref: func(pass *Pass, u push.Update) {
		if u != pass.Push.Updates[0] {
			return // options belong to the push, not to each ref
		}
		for _, option := range pass.Push.Options {
			if message, hint := badOption(pass.Push.Principal, option); message != "" {
				pass.Report(diag.Diagnostic{Rule: "option/ward", Message: message, Hint: hint})
			}
		}
	},
}

func badOption(who push.Principal, option string) (message, hint string) {
	key, value, _ := strings.Cut(option, "=")
	if !strings.HasPrefix(key, "ward.") {
		return "", "" // somebody else's
	}
	switch key {
	case gate.Option:
		if value != "text" && value != "json" {
			return fmt.Sprintf("the push option %s is text or json, not %q", key, value), "git push -o " + gate.AsJSON
		}
	case OptionAllow:
		if who != push.PM {
			return "only the PM may let a finding pass", "mend what the finding names, or ask the PM in COMMS.md, Questions"
		}
		if rule, path, ok := strings.Cut(value, ":"); !ok || rule == "" || path == "" {
			return fmt.Sprintf("the push option %s=%q is not RULE:PATH", key, value), "copy both from the finding: git push -o ward.allow=secret/private-key:docs/example.md"
		}
	default:
		return fmt.Sprintf("unknown push option %q", key), "did you mean " + diag.Nearest(key, []string{gate.Option, OptionAllow}) + "?"
	}
	return "", ""
}

// allow moves findings that the PM passed by option to Allowed. Only findings about a path can
// be passed, never about a ref, a limit, or a unit of work, because a broken journal stays
// broken.
func allow(p *Push, result *Result) {
	if p.Principal != push.PM {
		return
	}
	passes := map[string]bool{}
	for _, option := range p.Options {
		if value, ok := strings.CutPrefix(option, OptionAllow+"="); ok {
			passes[value] = true
		}
	}
	if len(passes) == 0 {
		return
	}
	kept := result.Findings[:0]
	for _, d := range result.Findings {
		if d.Path != "" && !strings.HasPrefix(d.Rule, "limit/shape") && !strings.HasPrefix(d.Rule, "uow/") && passes[d.Rule+":"+d.Path] {
			result.Allowed = append(result.Allowed, d)
		} else {
			kept = append(kept, d)
		}
	}
	result.Findings = kept
}
