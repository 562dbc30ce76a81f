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

	"git-ward/internal/await"
	"git-ward/internal/tier"
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
	tier.Full(t, "sends some gigabytes")
	up := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(50 * time.Millisecond) // so that the bodies of others come meanwhile, as many as get in
		okAnswer(w, r)
	})
	bodies := shapes(30 << 20)
	atOnce := 4
	if os.Getenv("WARD_ATTACK") == "all" {
		atOnce = 8
	}
	bound, took := attackMemory(t, up.URL, "", bodies, atOnce)
	worst := map[string]string{"one long text": bodies["one long text"], "blocks": shapes(10 << 20)["blocks"]}
	if os.Getenv("WARD_ATTACK") == "all" {
		worst = bodies // a minute
	}
	away, tookAway := attackMemory(t, up.URL, fmt.Sprintf("%d %d %d", int64(1)<<40, 1<<30, 9_000), worst, 8)
	t.Logf("%d bodies of 30 MiB, %d at once: %d MiB and %v of processor; %d with the bounds away: %d MiB and %v",
		atOnce*len(bodies), atOnce, bound>>20, took, 8*len(worst), away>>20, tookAway)
	if bound > 256<<20 {
		t.Errorf("the gateway took %d MiB", bound>>20)
	}
	if away < bound*5/4 || tookAway/time.Duration(8*len(worst)) < 2*took/time.Duration(atOnce*len(bodies)) {
		t.Errorf("the bounds do nothing: %d MiB and %v without them", away>>20, tookAway)
	}
}

// attackMemory is the largest memory and the processor time of a gateway's process that gets
// each body from so many clients at once.
func attackMemory(t *testing.T, upstream, bounds string, bodies map[string]string, atOnce int) (peak int64, cpu time.Duration) {
	g := startForTest(t, upstream, bounds)
	for name, body := range bodies {
		var all sync.WaitGroup
		answers := make([]string, atOnce)
		for i := range answers {
			all.Go(func() { answers[i] = sendTo(t, g.socket, "/anthropic/v1/messages", body) })
		}
		all.Wait()
		t.Logf("%s: %s, now at most %d MiB", name, answers[0], highWater(g.Process.Pid)>>20)
	}
	peak = highWater(g.Process.Pid)
	g.stop()
	return peak, g.ProcessState.UserTime() + g.ProcessState.SystemTime()
}

// process is a gateway in a process of its own.
type process struct {
	*exec.Cmd
	socket string
	stop   func()
}

// startForTest starts one; bounds are Bodies, Values and Depth, "" for the defaults.
func startForTest(t *testing.T, upstream, bounds string) *process {
	t.Helper()
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
	p := &process{Cmd: cmd, socket: strings.TrimSpace(line)}
	p.stop = sync.OnceFunc(func() {
		cmd.Process.Kill()
		cmd.Wait()
		os.RemoveAll(filepath.Dir(filepath.Dir(p.socket)))
	})
	t.Cleanup(p.stop)
	return p
}

// sendTo posts a body, and gives the status line or what went wrong.
func sendTo(t *testing.T, socket, path, body string) string {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	conn.SetDeadline(await.Deadline(t))
	go func() {
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: g\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", path, len(body))
		io.WriteString(conn, body)
	}()
	answer := bufio.NewReader(conn)
	status, _ := answer.ReadString('\n')
	io.Copy(io.Discard, answer)
	return strings.TrimSpace(status)
}

// highWater is the most memory that a process has had, in bytes.
func highWater(pid int) (n int64) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	fmt.Sscan(rest, &n)
	return n << 10
}
