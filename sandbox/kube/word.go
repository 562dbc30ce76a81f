package kube

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// nearPatience is how long near may take to reach the gate before people are told.
const nearPatience = 20 * time.Second

// maxWords bounds the quoted messages of the cluster, in bytes.
const maxWords = 400

// pulled are the waiting reasons of a container whose image cannot be pulled.
var pulled = []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable"}

// starting are the waiting reasons that pass by themselves.
var starting = []string{"", "ContainerCreating", "PodInitializing"}

// why says in one line, with the remedy, why a pod does not work; "" if nothing is wrong.
func (p *Plan) why(o *pod, now time.Time) string {
	for _, c := range o.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return p.line("no node can run the pod", c.Message, "the pod waits until one has room for [sandbox] memory and cpus (and fits [kube] node_selector); lower these, or add a node")
		}
	}
	for _, all := range [][]status{o.Status.Init, o.Status.Containers} {
		for i := range all {
			if line := p.whyContainer(&all[i], now); line != "" {
				return line
			}
		}
	}
	return ""
}

// whyContainer is why for one of the pod's containers.
func (p *Plan) whyContainer(c *status, now time.Time) string {
	if w := c.State.Waiting; w != nil {
		switch {
		case slices.Contains(pulled, w.Reason):
			return p.line("the image "+p.Image+" is not to be had", w.Reason+" "+w.Message, "push it where the nodes pull from, and name it in [kube] image (git ward image build --pod makes it)")
		case c.Name == "near" && c.Last.Terminated != nil:
			return p.whyNear(c.Last.Terminated)
		case !slices.Contains(starting, w.Reason):
			return p.line("the container "+c.Name+" does not start", w.Reason+" "+w.Message, "kubectl describe pod has more; docs/cluster.md, \"When something fails\"")
		}
		return ""
	}
	if t := c.State.Terminated; t != nil && t.Code != 0 && c.Name == "fence" {
		return p.line("the pod's fence is not in place, so nothing starts", t.Message, "the namespace or the runtime prevents the rules: docs/cluster.md, \"Pod Security\" and \"RuntimeClass\"")
	}
	if r := c.State.Running; r != nil && c.Name == "near" && c.Started != nil && !*c.Started && now.Sub(r.Since) > nearPatience {
		return p.line(fmt.Sprintf("the pod does not reach the gate %s for %s", p.Gate.Address, now.Sub(r.Since).Round(10*time.Second)), "",
			"it tries on: is sshd there, open to the nodes' network, and does its AuthorizedKeysFile name "+p.Bare+"/ward/authorized_keys?")
	}
	return ""
}

// whyNear words the end of near; its last output is the best explanation.
func (p *Plan) whyNear(t *terminated) string {
	return p.line(fmt.Sprintf("near ended (exit %d) and is started again", t.Code), t.Message,
		"it is the pod's way to the gate "+p.Gate.Address.String()+": host key, key and lease have to hold (git ward lease, [kube] host_key_file)")
}

// line joins the event, the cluster's message, and the remedy.
func (p *Plan) line(what, words, remedy string) string {
	words = strings.TrimSpace(diag.Clean(diag.CutWord(lastLines(words), maxWords)))
	if words != "" {
		what += " (" + words + ")"
	}
	return what + ": " + remedy
}

// lastLines is the end of a text, as one line.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}

// how words the end of a failed pod.
func (o *pod) how(main string) string {
	said := strings.TrimSpace(o.Status.Reason + " " + o.Status.Message)
	for _, name := range []string{"fence", "near", main} {
		c := o.container(name)
		if c == nil || c.State.Terminated == nil || c.State.Terminated.Code == 0 {
			continue
		}
		t := c.State.Terminated
		said = strings.TrimSpace(fmt.Sprintf("%s %s: exit %d %s %s", said, name, t.Code, t.Reason, lastLines(t.Message)))
	}
	return diag.Clean(diag.CutWord(said, maxWords))
}

// oneLine is an error in one cleaned line with its remedy.
func oneLine(err error) string {
	words, _, _ := strings.Cut(diag.Clean(diag.CutWord(err.Error(), 2*maxWords)), "\n")
	if hints := diag.Hints(err); len(hints) > 0 {
		words += ": " + diag.Clean(hints[0])
	}
	return words
}
