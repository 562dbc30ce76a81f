package kube

import "time"

// The parts of the API's objects that are read.

type meta struct {
	Name        string            `json:"name"`
	UID         string            `json:"uid"`
	Version     string            `json:"resourceVersion"`
	Labels      map[string]string `json:"labels"`
	Created     time.Time         `json:"creationTimestamp"`
	Deleted     *time.Time        `json:"deletionTimestamp"`
	Annotations map[string]string `json:"annotations"`
}

type job struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Suspend bool `json:"suspend"`
	} `json:"spec"`
	Status struct {
		Active     int         `json:"active"`
		Failed     int         `json:"failed"`
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// ended is how a Job ended: "Complete" or "Failed"; nil while it runs.
func (j *job) ended() *condition {
	for i, c := range j.Status.Conditions {
		if c.Status == "True" && (c.Type == "Complete" || c.Type == "Failed") {
			return &j.Status.Conditions[i]
		}
	}
	return nil
}

type list[T any] struct {
	Metadata meta `json:"metadata"`
	Items    []T  `json:"items"`
}

type pod struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Node string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase      string      `json:"phase"`
		Reason     string      `json:"reason"`
		Message    string      `json:"message"`
		Conditions []condition `json:"conditions"`
		Init       []status    `json:"initContainerStatuses"`
		Containers []status    `json:"containerStatuses"`
	} `json:"status"`
}

// status is a container's status.
type status struct {
	Name     string `json:"name"`
	Started  *bool  `json:"started"`
	Restarts int    `json:"restartCount"`
	State    struct {
		Waiting    *waiting    `json:"waiting"`
		Running    *running    `json:"running"`
		Terminated *terminated `json:"terminated"`
	} `json:"state"`
	Last struct {
		Terminated *terminated `json:"terminated"`
	} `json:"lastState"`
}

type waiting struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type running struct {
	Since time.Time `json:"startedAt"`
}

type terminated struct {
	Code    int    `json:"exitCode"`
	Reason  string `json:"reason"`
	Message string `json:"message"` // the end of its output, see manifest
}

// container is one of the pod's container statuses, nil if unknown.
func (p *pod) container(name string) *status {
	for _, all := range [][]status{p.Status.Init, p.Status.Containers} {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
	}
	return nil
}

type event struct {
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Last    time.Time `json:"lastTimestamp"`
}
