// Package lab gives tests network namespaces, each with an actor that listens, connects, and captures
// packets. No interface leads to the machine's own network, so that a missing rule of the firewall
// shows as a connection, but no packet can leave.
package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Order is a request to an actor. One of its fields is set.
type Order struct {
	Listen []string   // "tcp 0.0.0.0:80", "unix @name"; udp echoes each packet, drip does so for minutes
	Names  *Names     // start a name server
	Asked  bool       // return the number of questions to the name server so far
	Ask    *Questions // send questions to a name server
	Sniff  string     // an interface whose packets to count
	Seen   bool       // return and reset the counts
	Try    []Attempt
	Run    string // a script for bash
	Mirror string // host:port at which to start a web server that answers with the request
	Flood  *Flood
}

// Ran is a script's exit code and its combined output.
type Ran struct {
	Out  string
	Code int
}

// Act executes orders, one line of JSON each, until stdin ends. The answer to Try is a list of
// Outcomes, to Seen a count for each kind of packet, to Flood and Ask a Flooded; most others are
// answered by "done".
func Act(stdin io.Reader, stdout io.Writer) error {
	orders, answers := json.NewDecoder(bufio.NewReader(stdin)), json.NewEncoder(stdout)
	var s sniffer
	var names *Names
	for {
		var o Order
		if err := orders.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var answer any = "done"
		var err error
		switch {
		case o.Listen != nil:
			err = listen(o.Listen)
		case o.Names != nil:
			names = o.Names
			err = names.serve()
		case o.Asked:
			answer = names.total()
		case o.Ask != nil:
			answer, err = o.Ask.run()
		case o.Sniff != "":
			err = s.open(o.Sniff)
		case o.Seen:
			answer = s.take()
		case o.Try != nil:
			answer = tryAll(o.Try)
		case o.Run != "":
			answer = run(o.Run)
		case o.Flood != nil:
			answer = o.Flood.run()
		case o.Mirror != "":
			err = mirror(o.Mirror)
		}
		if err != nil {
			return err
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}

func listen(places []string) error {
	for _, place := range places {
		proto, addr, _ := strings.Cut(place, " ")
		if proto == "udp" || proto == "drip" {
			c, err := net.ListenPacket("udp", addr)
			if err != nil {
				return err
			}
			answers := 1
			if proto == "drip" {
				answers = 20 * 240 // at 20 per second, the time that a script may run
			}
			go echo(c, answers)
			continue
		}
		l, err := net.Listen(proto, addr)
		if err != nil {
			return err
		}
		go func() {
			for {
				if c, err := l.Accept(); err == nil {
					c.Close()
				}
			}
		}()
	}
	return nil
}

// echo answers each packet as many times as answers says.
func echo(c net.PacketConn, answers int) {
	buf := make([]byte, 100)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			continue
		}
		c.WriteTo(buf[:n], from)
		if answers > 1 {
			go drip(c, bytes.Clone(buf[:n]), from, answers-1)
		}
	}
}

// drip sends data every 50 ms, answers times.
func drip(c net.PacketConn, data []byte, to net.Addr, answers int) {
	for range answers {
		time.Sleep(50 * time.Millisecond) // the peer does something else in between
		c.WriteTo(data, to)
	}
}

// run runs a script and kills its remaining processes. Its timeout is shorter than the test's.
func run(script string) Ran {
	cmd := exec.Command("/bin/bash", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return Ran{err.Error(), -1}
	}
	late := time.AfterFunc(4*time.Minute, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	cmd.Wait()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return Ran{out.String(), cmd.ProcessState.ExitCode()}
}

// mirror starts a web server that answers each request with the request, keys included.
func mirror(at string) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, _ := httputil.DumpRequest(r, true)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Mirror", r.Header.Get("X-Api-Key"))
		json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"type": "mirror", "message": string(request)}})
	}))
	return nil
}
