package manifest

import (
	"maps"
	"time"

	"git-ward/internal/config"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/pod"
)

// Spec is all that is known of one pod before it is made.
type Spec struct {
	Name      string // of the Job, see Name
	Only      string // ends the names of what goes with the Job; who deletes one by it deletes nobody else's. "" in what people read
	Namespace string
	Labels    map[string]string // of every object, beside those that this package sets
	Notes     map[string]string // annotations of the Job
	Image     string
	Settings  *config.Config
	Config    string          // the text of Settings, for the agent's checks before a push
	Gate      string          // ssh://USER@ADDRESS:PORT/PATH, as near takes it
	Policy    firewall.Policy // of the pod's network; its Gates are where near goes
	Model     string
	Directive string
	Once      bool          // the worker stays for no word: its launch ends when nothing is left
	Until     time.Time     // [budget] time is spent
	Time      time.Duration // the longest that the Job may take
	Secret    *Secret       // nil: a placeholder, for people to read
	Owner     *Owner        // what Secret, settings and NetworkPolicy go with; nil: nothing
	Suspend   bool          // the Job waits until it is told to begin
	Verify    *Verify       // a verifier's pod in place of an agent's
}

// Secret is what near alone gets.
type Secret struct {
	Key        []byte // private, as ssh-keygen writes it
	KnownHosts []byte // the gate's host key, as sshd(8) has it
}

// Verify is what a verifier's pod is to find out.
type Verify struct {
	Order string // JSON, as `git ward verify-in-pod` takes it; commands cannot read it
}

// GateUser is the user and group of near, whom alone the rules let through to the gate.
const GateUser = 1002

// The labels and the value by which Ward knows its own.
const (
	ManagedLabel = "app.kubernetes.io/managed-by"
	Managed      = "git-ward"
	JobLabel     = "ward/job"
)

// Objects are those of a pod's Job, in the order in which they are made when there is no
// Owner.
func (s *Spec) Objects() []Object {
	return append(s.Besides(), s.Job())
}

// Besides are the objects that go with the Job.
func (s *Spec) Besides() []Object {
	settings := s.companion("v1", "ConfigMap", nil)
	settings.Data = map[string]string{configFile: s.Config}
	if s.Verify != nil {
		settings.Data = map[string]string{orderFile: s.Verify.Order}
	}
	return []Object{s.secret(), settings, s.network()}
}

func (s *Spec) secret() Object {
	o := s.companion("v1", "Secret", nil)
	if s.Secret == nil {
		o.StringData = map[string]string{keyFile: placeholder, knownFile: placeholder}
		return o
	}
	o.StringData = map[string]string{keyFile: string(s.Secret.Key), knownFile: string(s.Secret.KnownHosts)}
	return o
}

// placeholder stands for what is never printed.
const placeholder = "(made for each launch, and never shown)\n"

// object is one of the Job's, but for the Job itself.
func (s *Spec) object(version, kind string, spec any) Object {
	o := Object{APIVersion: version, Kind: kind, Metadata: Meta{Name: s.Name, Namespace: s.Namespace, Labels: s.labels()}, Spec: spec}
	if s.Owner != nil {
		o.Metadata.Owners = []Owner{*s.Owner}
	}
	return o
}

// companion is one that goes with the Job.
func (s *Spec) companion(version, kind string, spec any) Object {
	o := s.object(version, kind, spec)
	o.Metadata.Name = s.companions()
	return o
}

// companions is the name of all that goes with the Job. Nobody may read these objects, so
// that the name alone says whose they are.
func (s *Spec) companions() string {
	if s.Only == "" {
		return s.Name
	}
	return s.Name + "-" + s.Only
}

func (s *Spec) labels() map[string]string {
	l := maps.Clone(s.Labels)
	if l == nil {
		l = map[string]string{}
	}
	l[ManagedLabel], l[JobLabel] = Managed, s.Name
	return l
}

// Job is the one that makes the pod.
func (s *Spec) Job() Object {
	o := s.object("batch/v1", "Job", jobSpec{
		Suspend: s.Suspend, BackoffLimit: tries, TTLSeconds: int64(keep.Seconds()),
		ActiveDeadlineSeconds: int64(s.Time.Seconds()),
		PodFailurePolicy: &failurePolicy{[]failureRule{
			// A node that is drained or lost is no fault of the pod's.
			{Action: "Ignore", OnPod: []podCondition{{"DisruptionTarget", "True"}}},
			// A fence that does not hold now will not hold at the next try. Who is told to end
			// has other codes, and is tried again.
			{Action: "FailJob", OnExitCodes: &exitCodes{s.main(), "In", []int{pod.NotHeld}}},
		}},
		Template: podTemplate{Meta{Labels: s.labels()}, s.pod()},
	})
	o.Metadata.Annotations = s.Notes
	return o
}

const (
	// tries is how often the engine makes a pod anew that failed, with pauses of its own.
	tries = 3
	// keep is how long a Job that ended is kept when no launcher is there to take it away.
	keep = time.Hour
)

// main is the container with whose end the pod's work ends.
func (s *Spec) main() string {
	if s.Verify != nil {
		return "verifier"
	}
	return "agent"
}
