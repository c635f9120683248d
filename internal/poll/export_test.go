package poll

// Slept is how Run knows that the machine was asleep.
var Slept = slept
