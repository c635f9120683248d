package session

// Decode reads a session file.
var Decode = decode
