package cli

import (
	"fmt"
	"slices"
	"strings"
)

// moved are words that a command had once, and what is typed now. They go when nobody
// types them any more.
var moved = map[string]string{
	"directive list":       "directive show",
	"firewall show":        "probe --rules",
	"fsm dot":              "fsm --dot",
	"fsm list":             "fsm",
	"fsm show":             "fsm",
	"launch logs":          "launch --logs",
	"launch stop":          "launch --stop",
	"lease list":           "lease",
	"lease revoke":         "lease --revoke",
	"plan analyze":         "plan lint --analyze",
	"plan deregister":      "plan register --remove",
	"plan grammar":         "plan lint --grammar",
	"plan list":            "plan show",
	"protocol lint":        "protocol compile --lint",
	"protocol remove-tool": "protocol add-tool --remove",
	"report append":        "report --append",
	"udc analyze":          "udc check --analyze",
	"udc trace":            "udc run --trace",
	"uow list":             "uow show",
	"uow confirm":          "uow cancel --failed",
	"uow reject":           "uow approve --reject",
	"uow waive":            "uow retry --waive",
}

// Now is a command line as it is typed now. Where its words are older, what they are now is
// said on standard error.
func (e *Env) Now(args []string) []string {
	if len(args) < 2 || slices.Contains(args[2:], askVerb) {
		return args
	}
	was := args[0] + " " + args[1]
	now, ok := moved[was]
	if !ok {
		return args
	}
	fmt.Fprintf(e.Stderr, "git-ward: note: git ward %s is now git ward %s\n", was, now)
	return append(strings.Fields(now), args[2:]...)
}

// Way is another thing that a command does, and the switch that asks for it. Without a
// switch it is what the command does when it has no arguments.
type Way struct {
	Switch, Doc string
	Run         Func
}
