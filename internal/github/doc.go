// Package github reads what GitHub sends: the signature of a webhook and the payloads of the events that Loop understands.
//
// It is pure. Decode takes any bytes: what GitHub documents is read, what is missing or of another shape than documented
// is as if it were not there, so that a field we do not need can never cost an event. Only a body that is no JSON object
// is refused. Nothing that Decode returns is to be trusted but for its origin: titles, texts, names of branches and of
// people are what strangers typed.
package github
