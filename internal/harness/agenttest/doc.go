// Package agenttest imitates the programs of coding agents for tests and demonstrations: Claude Code, Cursor, Codex, those that
// our documentation declares as examples, and one that prints plain text.
//
// A stand-in takes the command line that Loop writes, answers at once and at no cost, and fails in each way in which the real
// program was seen to fail. What it is to do stands in the newest prompt, as a directive such as [[agent delay=3000]], so that
// a test steers a run from its far end, through everything in between; or in the environment.
package agenttest
