package cli

import (
	"fmt"
	"slices"
	"strings"
)

// moved are former words of commands, with their replacements. They are removed when nobody
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

// Now translates an earlier command line into today's, and prints the new words to standard
// error. A command line of today is returned as it is.
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

// Way is one more thing that a command can do, and the switch that selects it. A Way without a
// switch runs when there are no arguments.
type Way struct {
	Switch, Doc string
	Run         Func
}
