package manifest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"git-ward/protocols/boot"
	"git-ward/protocols/record"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/image"
	"git-ward/sandbox/probe"
)

// Where things are in a pod's containers: Ward's programs, what its containers tell each
// other, and the places that every agent's container has.
const (
	bin       = "/ward/bin"
	noteDir   = "/ward/net"
	note      = noteDir + "/note"
	secretDir = "/ward/secret"
	configDir = "/ward/config"
	nearDir   = "/ward/near"
	mirror    = "/mnt/remote"
	state     = "/bot"

	keyFile    = "key"
	knownFile  = "known_hosts"
	configFile = "config.toml"
	orderFile  = "order.json"
)

// pod is the Job's pod: first the fence, then the gate's container for the whole time, then
// the worker.
func (s *Spec) pod() podSpec {
	return podSpec{
		RestartPolicy: "Never", // a failed pod is replaced, with a newly fenced network
		Hostname:      "ward", ServiceAccount: s.Settings.Kube.ServiceAccount, GraceSeconds: graceSeconds,
		NodeSelector: s.Settings.Kube.Selector(), RuntimeClass: s.Settings.Kube.RuntimeClass,
		SecurityContext: podSecurity{FSGroup: image.WatcherID, Seccomp: seccomp{"RuntimeDefault"}},
		InitContainers:  []container{s.fence(), s.near()},
		Containers:      []container{s.worker()},
		Volumes:         s.volumes(),
	}
}

// graceSeconds is how long a terminated pod has for its last push.
const graceSeconds = 30

// fence installs the rules, reads them back, and notes their namespace. Only this container
// may do so.
func (s *Spec) fence() container {
	c := s.container("fence", 0, "NET_ADMIN")
	c.Command = []string{bin + "/git-ward-launch", "fence", "--policy", text(s.Policy), "--note", note}
	if s.Verify == nil {
		c.Command = append(c.Command, "--state", state)
	}
	c.Env = []variable{{Name: "WARD_NODE", From: &valueOf{field{"status.hostIP"}}}}
	c.VolumeMounts = append(c.VolumeMounts, mount{Name: "net", Path: noteDir})
	if s.Verify == nil {
		c.VolumeMounts = append(c.VolumeMounts, mount{Name: "state", Path: state})
	}
	return c
}

// near holds the key and connects to the gate.
func (s *Spec) near() container {
	c := s.container("near", GateUser)
	c.RestartPolicy = "Always"
	c.Command = []string{bin + "/git-ward-launch", "near", "--gate", s.Gate, "--key", secretDir + "/" + keyFile,
		"--known-hosts", secretDir + "/" + knownFile, "--dir", nearDir, "--mirror", mirror}
	if s.Verify != nil {
		c.Command = append(c.Command, "--verdict")
	}
	c.StartupProbe = &probeSpec{
		Exec:          action{[]string{bin + "/git-ward-launch", "near", "--ready", "--dir", nearDir}},
		PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: nearPatience,
	}
	c.VolumeMounts = append(c.VolumeMounts, mount{Name: "near", Path: nearDir}, mount{Name: "mirror", Path: mirror},
		mount{Name: "secret", Path: secretDir, ReadOnly: true}, mount{Name: "near-tmp", Path: "/tmp"})
	return c
}

// nearPatience is how often, once a second, near is asked whether the mirror is complete.
const nearPatience = 600

// worker is the container of the agent or its judge.
func (s *Spec) worker() container {
	if s.Verify != nil {
		return s.verifier()
	}
	// Root at first: a pod's containers get no ambient capabilities, and the watcher must
	// start and end the agent as another user. It starts with these three.
	c := s.container("agent", 0, "SETUID", "SETGID", "KILL")
	c.WorkingDir = state
	c.Command = append(s.first(), bin+"/ward-watcher", "--agent", bin+"/ward-agent", "--agent-user", strconv.Itoa(image.AgentID),
		"--bare", mirror, "--state", state, "--door", nearDir+"/door/sock", "--config", configDir+"/"+configFile,
		"--model", s.Model, "--directive", s.Directive)
	if s.Once {
		c.Command = append(c.Command, "--once")
	}
	c.Env = s.environment()
	c.VolumeMounts = append(c.VolumeMounts, places()...)
	c.Resources = s.bounds()
	return c
}

// places are the two writable volumes of an agent's or verifier's container.
func places() []mount {
	return []mount{{"mirror", mirror, true}, {"near", nearDir, true}, {"net", noteDir, true},
		{"config", configDir, true}, {"state", state, false}, {"tmp", "/tmp", false}}
}

// first is the first process, which runs the watcher: it starts nothing if the fence does not
// hold, and ends when near does.
func (s *Spec) first() []string {
	known := probe.Surroundings{Bare: mirror, State: state, Egress: string(s.Policy.Mode), Connections: s.Policy.Connections}
	args := []string{bin + "/ward-inside", "--as", strconv.Itoa(image.WatcherID), "--netns", note, "--life", nearDir + "/life/sock",
		"--probe", text(known)}
	if s.Verify == nil {
		args = append(args, "--gateway", nearDir+"/gateway/sock")
		if s.Policy.Mode == firewall.Allowlist {
			args = append(args, "--proxy")
		}
	}
	return append(args, "--")
}

func (s *Spec) environment() []variable {
	return []variable{
		{Name: "PATH", Value: bin + ":/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"},
		{Name: "HOME", Value: state}, {Name: "LANG", Value: "C.UTF-8"},
		{Name: "GIT_AUTHOR_NAME", Value: record.AgentName}, {Name: "GIT_AUTHOR_EMAIL", Value: record.AgentMail},
		{Name: "GIT_COMMITTER_NAME", Value: record.AgentName}, {Name: "GIT_COMMITTER_EMAIL", Value: record.AgentMail},
		{Name: boot.UntilVar, Value: s.Until.UTC().Format("2006-01-02T15:04:05.999999999Z07:00")}, {Name: boot.LiveVar, Value: "1"}, {Name: boot.LeaseVar, Value: s.Directive},
	}
}

// container is one with exactly these capabilities. Each engine mounts two file systems in
// memory that anybody inside can write; an empty directory covers each.
func (s *Spec) container(name string, user int, rights ...string) container {
	return container{
		Name: name, Image: s.Image, ImagePullPolicy: "IfNotPresent", LastWords: "FallbackToLogsOnError",
		Resources: resources{Requests: map[string]string{"cpu": "50m", "memory": "64Mi"}, Limits: map[string]string{"cpu": "1", "memory": "512Mi"}},
		SecurityContext: containerSecurity{User: user, Group: user, NonRoot: user != 0, ReadOnlyRoot: true,
			Capabilities: capabilities{Add: rights, Drop: []string{"ALL"}}},
		VolumeMounts: []mount{{"covered", "/dev/mqueue", true}, {"covered", "/dev/shm", true}},
	}
}

// bounds are [sandbox] memory and cpus. Requests equal limits, because an overcommitted node
// would end a directive in the middle.
func (s *Spec) bounds() resources {
	b := s.Settings.Sandbox
	return resources{Limits: map[string]string{"cpu": fmt.Sprintf("%dm", int64(b.CPUs*1000)), "memory": strconv.FormatInt(b.Memory, 10)}}
}

func (s *Spec) volumes() []volume {
	b := s.Settings.Sandbox
	readers := 0o444
	if s.Verify != nil {
		readers = 0o440 // the order's secret is not for the commands
	}
	return []volume{
		{Name: "covered", EmptyDir: &emptyDir{}},
		{Name: "net", EmptyDir: &emptyDir{Medium: "Memory", SizeLimit: "1Mi"}},
		{Name: "near", EmptyDir: &emptyDir{Medium: "Memory", SizeLimit: "1Mi"}},
		{Name: "near-tmp", EmptyDir: &emptyDir{Medium: "Memory", SizeLimit: "64Mi"}},
		{Name: "mirror", EmptyDir: &emptyDir{}},
		{Name: "secret", Secret: &secretSource{s.companions(), 0o400}},
		{Name: "config", ConfigMap: &configSource{s.companions(), readers}},
		{Name: "state", EmptyDir: &emptyDir{SizeLimit: strconv.FormatInt(b.StateSize, 10)}},
		{Name: "tmp", EmptyDir: &emptyDir{Medium: "Memory", SizeLimit: strconv.FormatInt(b.TmpSize, 10)}},
	}
}

// text is a value as one argument.
func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("a struct of texts cannot be written: " + err.Error())
	}
	return escape(string(data))
}

// escape keeps the engine from expanding $(NAME) in an argument.
func escape(s string) string { return strings.ReplaceAll(s, "$(", "$$(") }
