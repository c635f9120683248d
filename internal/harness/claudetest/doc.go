// Package claudetest imitates the two sides of Claude Code for tests and demonstrations: API is the model that the real
// program talks to, and Main is a stand-in for the program itself, one of those of package agenttest.
//
// Both answer at once and at no cost, fail in each way in which the real ones were seen to fail, and listen on nothing but
// the loopback device. What they are to do stands in the newest prompt, as a directive such as [[claude delay=3000]], so that
// a test steers a run from its far end, through everything in between; or beside it, as Behavior or in the environment.
package claudetest
