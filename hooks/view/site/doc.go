// Package site renders the HTML pages and their pictures. They are pure functions of what package view
// read. A static report and the server use the same pages (SEE-2); the same refs give the same bytes.
//
// html/template renders everything, pictures included. Only a lifecycle's picture is a template.HTML:
// html/template made it before, and a report reuses it for all units in the same state. Text by an
// agent or from a repository is escaped, its control characters are shown, and it is isolated from
// the direction of the text around it. Pages have no inline script and no style attribute, so that
// they work under the strictest content security policy.
package site
