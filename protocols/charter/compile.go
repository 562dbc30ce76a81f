package charter

import (
	"bytes"
	"errors"
	"fmt"
)

// header is how every AGENTS.md begins.
const header = "<!-- Compiled from protocols/ by `git ward protocol compile`. Do not edit it\n" +
	"     here: change the sources and compile again. The hooks compare the two. -->\n\n" +
	"# AGENTS\n\n" +
	"The protocols of this repository's agent: what they are about, then their rules as\n" +
	"JSON. SYSTEM.md, COMMS.md and spec/ bind the agent as well.\n"

// ErrTooLarge means that a tree has more protocols than Ward compiles.
var ErrTooLarge = errors.New("the protocols are too many or too large")

// Compile makes AGENTS.md (PROT-2). It copies its sources and does not judge
// them; Check does. The order of files does not matter.
func Compile(files []File) ([]byte, error) {
	files = sources(files)
	total := 0
	for _, f := range files {
		total += len(f.Data)
	}
	if len(files) > MaxFiles || total > MaxTotal {
		return nil, fmt.Errorf("%w: %d files with %d bytes, the limits are %d and %d", ErrTooLarge, len(files), total, MaxFiles, MaxTotal)
	}
	var b bytes.Buffer
	b.Grow(total + 1024)
	b.WriteString(header)
	for _, f := range files {
		if IsProse(f.Path) {
			section(&b, "", f.Data, "")
		}
	}
	for _, f := range files {
		if IsProtocol(f.Path) {
			section(&b, "```json\n", f.Data, "```\n")
		}
	}
	return b.Bytes(), nil
}

// section writes a source after a line that divides it from what stands above.
func section(b *bytes.Buffer, open string, data []byte, end string) {
	b.WriteString("\n---\n\n" + open)
	b.Write(bytes.Trim(data, "\n"))
	b.WriteString("\n" + end)
}
