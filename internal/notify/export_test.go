package notify

// Call tells a program of an event, and gives it so long.
var Call = call
