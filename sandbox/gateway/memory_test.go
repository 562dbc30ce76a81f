package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// shapes are bodies of a size, or a little less, that cost a reader much for their bytes.
func shapes(size int) map[string]string {
	head := `{"model":"claude-test","max_tokens":5,"messages":`
	fill := func(s string) string { return strings.Repeat(s, (size-len(head)-10)/len(s)) }
	var names strings.Builder
	for i := 0; names.Len() < size-200; i++ {
		fmt.Fprintf(&names, `"%d":0,`, i)
	}
	return map[string]string{
		"one long text":     head + `[],"system":"` + fill("x") + `"}`,
		"escapes":           head + `[],"system":"` + fill(`\u00e9`) + `"}`,
		"empty objects":     head + "[" + fill("{},") + "{}]}",
		"blocks":            head + `[{"role":"user","content":[` + fill(`{"type":"text"},`) + `{"type":"text"}]}]}`,
		"arrays in arrays":  head + fill("[") + "}",
		"objects in each":   head + fill(`{"a":`) + "}",
		"many members":      head + `[],"metadata":{` + names.String() + `"a":0}}`,
		"long names":        head + `[],"metadata":{"` + fill("x") + `":0}}`,
		"numbers":           head + "[],\"stop_sequences\":[" + fill("1,") + "1]}",
		"spaces":            head + "[]" + fill(" ") + "}",
		"nothing but depth": fill("["),
	}
}

// TestMemoryOfBodies: whatever eight clients send at once, of every shape, the gateway's
// memory and time stay below a number. With the bounds away the same bodies take more.
func TestMemoryOfBodies(t *testing.T) {
	slow(t)
	up := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(50 * time.Millisecond) // so that the bodies of others come meanwhile
		okAnswer(w, r)
	})
	bodies := shapes(30 << 20)
	bound, took := attackMemory(t, up.URL, "", bodies)
	worst := map[string]string{"one long text": bodies["one long text"], "blocks": shapes(10 << 20)["blocks"]}
	if os.Getenv("WARD_ATTACK") == "all" {
		worst = bodies // a minute
	}
	away, tookAway := attackMemory(t, up.URL, fmt.Sprintf("%d %d %d", int64(1)<<40, 1<<30, 9_000), worst)
	t.Logf("%d bodies of 30 MiB, eight at once: %d MiB and %v of processor; %d with the bounds away: %d MiB and %v",
		8*len(bodies), bound>>20, took, 8*len(worst), away>>20, tookAway)
	if bound > 320<<20 {
		t.Errorf("the gateway took %d MiB", bound>>20)
	}
	if away < bound*5/4 || tookAway/time.Duration(len(worst)) < 2*took/time.Duration(len(bodies)) {
		t.Errorf("the bounds do nothing: %d MiB and %v without them", away>>20, tookAway)
	}
}

// attackMemory is the largest memory and the processor time of a gateway's process that gets
// each body from eight clients at once.
func attackMemory(t *testing.T, upstream, bounds string, bodies map[string]string) (peak int64, cpu time.Duration) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GATEWAY_TEST_SERVE="+filepath.Join(t.TempDir(), "meter.json"), "GATEWAY_TEST_UPSTREAM="+upstream,
		fmt.Sprintf("GATEWAY_TEST_BUDGET=%d %d", int64(Unlimited), int64(Unlimited)), "GATEWAY_TEST_BODIES="+bounds)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	socket := strings.TrimSpace(line)
	defer os.RemoveAll(filepath.Dir(filepath.Dir(socket)))
	for name, body := range bodies {
		var all sync.WaitGroup
		answers := make([]string, 8)
		for i := range answers {
			all.Go(func() { answers[i] = send(socket, body) })
		}
		all.Wait()
		t.Logf("%s: %s, now at most %d MiB", name, answers[0], highWater(cmd.Process.Pid)>>20)
	}
	peak = highWater(cmd.Process.Pid)
	cmd.Process.Kill()
	cmd.Wait()
	return peak, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// send posts a body, and gives the status line's code or what went wrong.
func send(socket, body string) string {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	go fmt.Fprintf(conn, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: g\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	answer, _ := io.ReadAll(io.LimitReader(conn, 1<<20))
	status, _, _ := strings.Cut(string(answer), "\r\n")
	return status
}

// highWater is the most memory that a process has had, in bytes.
func highWater(pid int) (n int64) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	fmt.Sscan(rest, &n)
	return n << 10
}
