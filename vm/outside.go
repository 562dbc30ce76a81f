package vm

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ward/vm/asm"
)

// Outside runs a tool from outside the machine: a command line that the host's admin
// allows (UDC-3). The plan adds args, none of which begins with `-`. The run ends within
// most, with at most output bytes.
type Outside func(args []string, most time.Duration, output int64) Answer

// Answer is what came of it.
type Answer struct {
	Exit   int64  // exit code
	Output []byte // stdout
	Late   bool   // it was ended for its time
	Large  bool   // it was ended for its output
	Denied string // why it was not run, "" where it was
}

// Admit makes CALL reach a tool that is none of the machine's own. One of the machine's
// own names stays the machine's.
func (m *Machine) Admit(name string, call Outside) {
	if m.outside == nil {
		m.outside = map[string]Outside{}
	}
	m.outside[name] = call
}

// callOutside executes the CALL of such a tool: R0 is its exit code, R1 the integer that
// its output begins with, 0 where there is none, and what it printed is one more entry
// of the output.
func (m *Machine) callOutside(c *asm.Call) Code {
	call := m.outside[c.Tool]
	if call == nil {
		return CallDenied
	}
	args, ok := m.texts(c.Args)
	if !ok {
		return CallArguments
	}
	room := m.limits.Output - m.outputSize
	switch a := call(args, m.left(), room); {
	case a.Denied != "":
		m.reason = c.Tool + ": " + a.Denied
		return CallDenied
	case a.Late:
		m.reason = c.Tool + " took too long"
		return WallClock
	case a.Large || int64(len(a.Output)) > room:
		m.reason = c.Tool + " printed too much"
		return OutputLimit
	default:
		text := strings.ToValidUTF8(strings.TrimRight(string(a.Output), "\n"), "?")
		m.outputSize += max(int64(len(a.Output)), 1)
		m.output = append(m.output, text)
		m.regs[0], m.regs[1] = a.Exit, leading(text)
	}
	return ""
}

// texts are a command line's arguments. A bare word is not accepted, and an argument that
// begins with `-` would be an option of the tool's, which is the admin's choice.
func (m *Machine) texts(args []asm.Operand) ([]string, bool) {
	list := make([]string, 0, len(args))
	for _, a := range args {
		switch a.Kind {
		case asm.Text:
			list = append(list, a.Text)
		case asm.Word:
			return nil, false
		default:
			list = append(list, strconv.FormatInt(m.value(a), 10))
		}
	}
	bad := slices.IndexFunc(list, func(s string) bool { return strings.HasPrefix(s, "-") || strings.ContainsRune(s, 0) })
	if bad >= 0 {
		m.reason = "argument " + strconv.Itoa(bad+1) + " begins with - or holds NUL: options are the admin's to choose"
	}
	return list, bad < 0
}

// leading is the integer that a text begins with, 0 where there is none that fits.
func leading(text string) int64 {
	words := strings.Fields(text)
	if len(words) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
