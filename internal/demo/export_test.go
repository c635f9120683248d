package main

// Run is the whole program.
var Run = run
