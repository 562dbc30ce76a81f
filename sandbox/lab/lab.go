// Package lab gives tests network namespaces with an actor in each, which
// listens, tries to reach things, and looks at what comes over a wire. What a
// test of the fence sends stays in them: no wire leads to the machine's own
// network, so that a missing rule shows as a connection and no packet can leave.
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

// Order is what an actor is told: one of its fields.
type Order struct {
	Listen []string   // "tcp 0.0.0.0:80", "unix @name"; udp answers what it gets, drip for minutes
	Names  *Names     // be a name server
	Asked  bool       // tell what the name server was asked so far
	Ask    *Questions // ask a name server
	Sniff  string     // an interface: remember what arrives there
	Seen   bool       // tell it, and forget
	Try    []Attempt
	Run    string // a script for bash
	Mirror string // host:port of a web server that answers with what it was asked
	Flood  *Flood
}

// Ran is how a script ended, and what it said on both of its outputs.
type Ran struct {
	Out  string
	Code int
}

// Act obeys orders, one line of JSON each, until stdin ends. An attempt's answer
// is a list of Outcomes, that of Seen a count for each kind of packet, that of Flood and of
// Ask what came of it, and any other "done".
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
				answers = 20 * 240 // for as long as a script may run
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

// echo answers each packet, so many times.
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

// drip goes on answering.
func drip(c net.PacketConn, data []byte, to net.Addr, answers int) {
	for range answers {
		time.Sleep(50 * time.Millisecond) // who asked does something else in between
		c.WriteTo(data, to)
	}
}

// run runs a script, and ends what is left of it; one that hangs is ended before the test is.
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

// mirror answers every request with the request itself, key and all.
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
