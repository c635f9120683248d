package filewatch

// OnceSettled is the clockwork of Run, for tests that have a clock of their own.
var OnceSettled = onceSettled
