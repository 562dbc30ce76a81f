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
	Name      string // the Job's name, see Name
	Only      string // ends the names of what goes with the Job; who deletes one by it deletes nobody else's. "" in what people read
	Namespace string
	Labels    map[string]string // labels of every object, besides this package's own
	Notes     map[string]string // annotations of the Job
	Image     string
	Settings  *config.Config
	Config    string          // the text of Settings, for the agent's checks before a push
	Gate      string          // ssh://USER@ADDRESS:PORT/PATH, for near
	Policy    firewall.Policy // of the pod's network; its Gates are near's targets
	Model     string
	Directive string
	Once      bool          // the worker does not wait for a person's word: the launch ends when nothing is left
	Until     time.Time     // [budget] time is spent
	Time      time.Duration // the Job's deadline
	Secret    *Secret       // nil: a placeholder, for people to read
	Owner     *Owner        // owner of the Secret, settings and NetworkPolicy; nil: none
	Suspend   bool          // the Job is created suspended
	Verify    *Verify       // a verifier's pod instead of an agent's
}

// Secret is what near alone gets.
type Secret struct {
	Key        []byte // private key, as ssh-keygen writes it
	KnownHosts []byte // the gate's host key, as in known_hosts (sshd(8))
}

// Verify is what a verifier's pod is to find out.
type Verify struct {
	Order string // JSON for `git ward verify-in-pod`; commands cannot read it
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

// placeholder replaces secrets in printed manifests.
const placeholder = "(made for each launch, and never shown)\n"

// object is one of the Job's objects, but not the Job.
func (s *Spec) object(version, kind string, spec any) Object {
	o := Object{APIVersion: version, Kind: kind, Metadata: Meta{Name: s.Name, Namespace: s.Namespace, Labels: s.labels()}, Spec: spec}
	if s.Owner != nil {
		o.Metadata.Owners = []Owner{*s.Owner}
	}
	return o
}

// companion is an object that is deleted with the Job.
func (s *Spec) companion(version, kind string, spec any) Object {
	o := s.object(version, kind, spec)
	o.Metadata.Name = s.companions()
	return o
}

// companions is the name of all objects of the Job. Nobody may read these objects, so the name
// alone must identify them.
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
			// A drained or lost node is not the pod's fault.
			{Action: "Ignore", OnPod: []podCondition{{"DisruptionTarget", "True"}}},
			// A fence that does not hold will not hold at the next try either. A terminated
			// pod has other codes, and is tried again.
			{Action: "FailJob", OnExitCodes: &exitCodes{s.main(), "In", []int{pod.NotHeld}}},
		}},
		Template: podTemplate{Meta{Labels: s.labels()}, s.pod()},
	})
	o.Metadata.Annotations = s.Notes
	return o
}

const (
	// tries is how often the engine replaces a failed pod, with its own pauses.
	tries = 3
	// keep is how long a finished Job stays if no launcher deletes it.
	keep = time.Hour
)

// main is the container whose end is the pod's.
func (s *Spec) main() string {
	if s.Verify != nil {
		return "verifier"
	}
	return "agent"
}
