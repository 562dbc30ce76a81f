package manifest

// Object is anything that has a name in a namespace. Its fields are those of the API's
// reference, v1.29 and later (native sidecars).
type Object struct {
	APIVersion string `yaml:"apiVersion" json:"apiVersion"`
	Kind       string `yaml:"kind" json:"kind"`
	Metadata   Meta   `yaml:"metadata" json:"metadata"`
	// Some kinds have a spec, the others data.
	Spec       any               `yaml:"spec,omitempty" json:"spec,omitempty"`
	Data       map[string]string `yaml:"data,omitempty" json:"data,omitempty"`
	StringData map[string]string `yaml:"stringData,omitempty" json:"stringData,omitempty"`
}

// Meta identifies an object.
type Meta struct {
	Name        string            `yaml:"name,omitempty" json:"name,omitempty"`
	Namespace   string            `yaml:"namespace,omitempty" json:"namespace,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty" json:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty" json:"annotations,omitempty"`
	Owners      []Owner           `yaml:"ownerReferences,omitempty" json:"ownerReferences,omitempty"`
}

// Owner is the object with which another one goes.
type Owner struct {
	APIVersion string `yaml:"apiVersion" json:"apiVersion"`
	Kind       string `yaml:"kind" json:"kind"`
	Name       string `yaml:"name" json:"name"`
	UID        string `yaml:"uid" json:"uid"`
}

type jobSpec struct {
	Suspend               bool           `yaml:"suspend,omitempty" json:"suspend,omitempty"`
	BackoffLimit          int            `yaml:"backoffLimit" json:"backoffLimit"`
	ActiveDeadlineSeconds int64          `yaml:"activeDeadlineSeconds" json:"activeDeadlineSeconds"`
	TTLSeconds            int64          `yaml:"ttlSecondsAfterFinished" json:"ttlSecondsAfterFinished"`
	PodFailurePolicy      *failurePolicy `yaml:"podFailurePolicy,omitempty" json:"podFailurePolicy,omitempty"`
	Template              podTemplate    `yaml:"template" json:"template"`
}

type failurePolicy struct {
	Rules []failureRule `yaml:"rules" json:"rules"`
}

type failureRule struct {
	Action      string         `yaml:"action" json:"action"`
	OnExitCodes *exitCodes     `yaml:"onExitCodes,omitempty" json:"onExitCodes,omitempty"`
	OnPod       []podCondition `yaml:"onPodConditions,omitempty" json:"onPodConditions,omitempty"`
}

type exitCodes struct {
	Container string `yaml:"containerName" json:"containerName"`
	Operator  string `yaml:"operator" json:"operator"`
	Values    []int  `yaml:"values" json:"values"`
}

type podCondition struct {
	Type   string `yaml:"type" json:"type"`
	Status string `yaml:"status" json:"status"`
}

type podTemplate struct {
	Metadata Meta    `yaml:"metadata" json:"metadata"`
	Spec     podSpec `yaml:"spec" json:"spec"`
}

type podSpec struct {
	RestartPolicy      string            `yaml:"restartPolicy" json:"restartPolicy"`
	Hostname           string            `yaml:"hostname,omitempty" json:"hostname,omitempty"`
	ServiceAccount     string            `yaml:"serviceAccountName,omitempty" json:"serviceAccountName,omitempty"`
	AutomountToken     bool              `yaml:"automountServiceAccountToken" json:"automountServiceAccountToken"`
	EnableServiceLinks bool              `yaml:"enableServiceLinks" json:"enableServiceLinks"`
	HostNetwork        bool              `yaml:"hostNetwork" json:"hostNetwork"`
	HostPID            bool              `yaml:"hostPID" json:"hostPID"`
	HostIPC            bool              `yaml:"hostIPC" json:"hostIPC"`
	ShareProcesses     bool              `yaml:"shareProcessNamespace" json:"shareProcessNamespace"`
	GraceSeconds       int64             `yaml:"terminationGracePeriodSeconds" json:"terminationGracePeriodSeconds"`
	NodeSelector       map[string]string `yaml:"nodeSelector,omitempty" json:"nodeSelector,omitempty"`
	RuntimeClass       string            `yaml:"runtimeClassName,omitempty" json:"runtimeClassName,omitempty"`
	SecurityContext    podSecurity       `yaml:"securityContext" json:"securityContext"`
	InitContainers     []container       `yaml:"initContainers,omitempty" json:"initContainers,omitempty"`
	Containers         []container       `yaml:"containers" json:"containers"`
	Volumes            []volume          `yaml:"volumes" json:"volumes"`
}

type podSecurity struct {
	FSGroup int     `yaml:"fsGroup,omitempty" json:"fsGroup,omitempty"`
	Seccomp seccomp `yaml:"seccompProfile" json:"seccompProfile"`
}

type seccomp struct {
	Type string `yaml:"type" json:"type"`
}
