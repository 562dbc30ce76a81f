package export

import (
	"encoding/xml"
	"io"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// What of JUnit's XML all of its readers know. There is no standard: it holds to the schema
// of Jenkins, and to that of Ant, too, which has nothing for what was skipped and asks for
// time and hostname. These say nothing here: Ward looks at things, and on which machine is
// nobody's business.
type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Package    string `xml:"package,attr"`
		ID         int    `xml:"id,attr"`
		Name       string `xml:"name,attr"`
		Timestamp  string `xml:"timestamp,attr"`
		Hostname   string `xml:"hostname,attr"`
		Tests      int    `xml:"tests,attr"`
		Failures   int    `xml:"failures,attr"`
		Errors     int    `xml:"errors,attr"`
		Skipped    int    `xml:"skipped,attr,omitempty"`
		Time       string `xml:"time,attr"`
		Properties struct {
			Property junitProperty `xml:"property"`
		} `xml:"properties"`
		Cases []junitCase `xml:"testcase"`
		Out   junitLines  `xml:"system-out"`
		Err   struct{}    `xml:"system-err"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Time    string      `xml:"time,attr"`
		Skipped *struct{}   `xml:"skipped"`
		Error   *junitFault `xml:"error"`
		Failure *junitFault `xml:"failure"`
	}
	junitFault struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",cdata"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitLines struct {
		Text string `xml:",cdata"`
	}
)

// junitTime is local time without a zone, as the schema has it: always UTC.
const junitTime = "2006-01-02T15:04:05"

func (r *Report) writeJUnit(w io.Writer) error {
	s := junitSuite{Package: "git-ward", Name: token(r.Name), Timestamp: time.Now().UTC().Format(junitTime), Hostname: "localhost",
		Tests: len(r.Cases), Time: "0"}
	s.Properties.Property = junitProperty{"tool", "git-ward"}
	var out strings.Builder
	for _, c := range r.Cases {
		j := junitCase{Class: token("git-ward." + c.Group), Name: token(c.Name), Time: "0"}
		fault := &junitFault{Message: token(c.Why), Type: token(c.Group), Text: lines(c.Detail)}
		switch c.Result {
		case Failed:
			j.Failure = fault
			s.Failures++
		case Broken:
			j.Error = fault
			s.Errors++
		case NotRun:
			j.Skipped = &struct{}{}
			s.Skipped++
			out.WriteString(lines(c.Name+": not run: "+c.Why) + "\n")
		default:
			out.WriteString(lines(c.Detail)) // warnings, which a case that passed has no place for
		}
		s.Cases = append(s.Cases, j)
	}
	s.Out.Text = out.String()
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Suite: s}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// maxAttribute bounds a line in an attribute, in bytes; Detail has the whole.
const maxAttribute = 1000

// token is one line that is not empty: tools tell cases by it.
func token(text string) string {
	text = strings.Join(strings.Fields(diag.Clean(diag.Cut(text, maxAttribute))), " ")
	if text == "" {
		return "-"
	}
	return text
}

// lines are lines without what XML has no character for.
func lines(text string) string {
	return diag.CleanLines(strings.ReplaceAll(text, "\t", "    "))
}
