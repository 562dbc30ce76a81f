package manifest

type container struct {
	Name            string            `yaml:"name" json:"name"`
	Image           string            `yaml:"image" json:"image"`
	ImagePullPolicy string            `yaml:"imagePullPolicy" json:"imagePullPolicy"`
	RestartPolicy   string            `yaml:"restartPolicy,omitempty" json:"restartPolicy,omitempty"`
	Command         []string          `yaml:"command" json:"command"`
	WorkingDir      string            `yaml:"workingDir,omitempty" json:"workingDir,omitempty"`
	Env             []variable        `yaml:"env,omitempty" json:"env,omitempty"`
	StartupProbe    *probeSpec        `yaml:"startupProbe,omitempty" json:"startupProbe,omitempty"`
	LastWords       string            `yaml:"terminationMessagePolicy" json:"terminationMessagePolicy"`
	Resources       resources         `yaml:"resources" json:"resources"`
	SecurityContext containerSecurity `yaml:"securityContext" json:"securityContext"`
	VolumeMounts    []mount           `yaml:"volumeMounts,omitempty" json:"volumeMounts,omitempty"`
}

type variable struct {
	Name  string   `yaml:"name" json:"name"`
	Value string   `yaml:"value,omitempty" json:"value,omitempty"`
	From  *valueOf `yaml:"valueFrom,omitempty" json:"valueFrom,omitempty"`
}

type valueOf struct {
	Field field `yaml:"fieldRef" json:"fieldRef"`
}

type field struct {
	Path string `yaml:"fieldPath" json:"fieldPath"`
}

type probeSpec struct {
	Exec             action `yaml:"exec" json:"exec"`
	PeriodSeconds    int    `yaml:"periodSeconds" json:"periodSeconds"`
	TimeoutSeconds   int    `yaml:"timeoutSeconds" json:"timeoutSeconds"`
	FailureThreshold int    `yaml:"failureThreshold" json:"failureThreshold"`
}

type action struct {
	Command []string `yaml:"command" json:"command"`
}

type resources struct {
	Requests map[string]string `yaml:"requests,omitempty" json:"requests,omitempty"`
	Limits   map[string]string `yaml:"limits" json:"limits"`
}

type containerSecurity struct {
	User         int          `yaml:"runAsUser" json:"runAsUser"`
	Group        int          `yaml:"runAsGroup" json:"runAsGroup"`
	NonRoot      bool         `yaml:"runAsNonRoot,omitempty" json:"runAsNonRoot,omitempty"`
	Privileged   bool         `yaml:"privileged" json:"privileged"`
	Escalation   bool         `yaml:"allowPrivilegeEscalation" json:"allowPrivilegeEscalation"`
	ReadOnlyRoot bool         `yaml:"readOnlyRootFilesystem" json:"readOnlyRootFilesystem"`
	Capabilities capabilities `yaml:"capabilities" json:"capabilities"`
}

type capabilities struct {
	Add  []string `yaml:"add,omitempty" json:"add,omitempty"`
	Drop []string `yaml:"drop" json:"drop"`
}

type mount struct {
	Name     string `yaml:"name" json:"name"`
	Path     string `yaml:"mountPath" json:"mountPath"`
	ReadOnly bool   `yaml:"readOnly,omitempty" json:"readOnly,omitempty"`
}

type volume struct {
	Name      string        `yaml:"name" json:"name"`
	EmptyDir  *emptyDir     `yaml:"emptyDir,omitempty" json:"emptyDir,omitempty"`
	Secret    *secretSource `yaml:"secret,omitempty" json:"secret,omitempty"`
	ConfigMap *configSource `yaml:"configMap,omitempty" json:"configMap,omitempty"`
}

type emptyDir struct {
	Medium    string `yaml:"medium,omitempty" json:"medium,omitempty"`
	SizeLimit string `yaml:"sizeLimit,omitempty" json:"sizeLimit,omitempty"`
}

type secretSource struct {
	Name string `yaml:"secretName" json:"secretName"`
	Mode int    `yaml:"defaultMode" json:"defaultMode"`
}

type configSource struct {
	Name string `yaml:"name" json:"name"`
	Mode int    `yaml:"defaultMode" json:"defaultMode"`
}
