package probe

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// endSize bounds the bytes read of a message.
const endSize = 16

// TellEnd tells the launcher the exit code of a container's command. Podman reports it only after
// it has removed everything of the container, a tenth of a second later.
func TellEnd(w io.Writer, code int) error {
	_, err := fmt.Fprintf(w, "end %d\n", code)
	return err
}

// HearEnd reads the connection until it ends, or an end was said. An error is that none was.
func HearEnd(r io.Reader) (code int, err error) {
	line, err := bufio.NewReader(io.LimitReader(r, endSize)).ReadString('\n')
	if err != nil {
		return 0, err
	}
	text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "end ")
	if code, err = strconv.Atoi(text); !ok || err != nil || code < 0 || code > 255 {
		return 0, fmt.Errorf("%q is no end", line)
	}
	return code, nil
}
