package inside

import (
	"context"
	"encoding/json"

	"git-ward/sandbox/probe"

	"golang.org/x/sys/unix"
)

// prove tries the fence around this process, reports the result to the launcher, and waits for
// its permission. Without it nothing starts: a dissatisfied launcher closes the connection.
func (l *life) prove(s *probe.Surroundings) (broken, err error) {
	report := probe.Before(context.Background(), s)
	line, err := json.Marshal(report)
	if err != nil {
		return nil, err
	}
	for line = append(line, '\n'); len(line) > 0; {
		n, err := unix.Write(l.fd, line)
		if err != nil && err != unix.EINTR {
			return nil, err
		}
		line = line[max(n, 0):]
	}
	if broken := report.Err(); broken != nil {
		return broken, nil
	}
	<-l.leave
	return nil, nil
}
