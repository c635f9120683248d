// Package loop holds the words of Loop: work item, session, delivery, event, decision, run. Every other package speaks in
// them. The package is pure: it reads no clock, file or environment, and starts nothing.
package loop
