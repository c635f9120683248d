// Package github is Loop's side of GitHub: the payloads and the signature of its webhooks, and a client of its API.
//
// What reads webhooks is pure. Decode takes any bytes: what GitHub documents is read, what is missing or of another shape
// than documented is as if it were not there, so that a field we do not need can never cost an event. Only a body that is
// no JSON object is refused. Nothing that Decode returns is to be trusted but for its origin: titles, texts, names of
// branches and of people are what strangers typed.
//
// A Client asks GitHub's REST API, each host for itself: one request at a time, none before the time that a limit names,
// a second between writes. Every request has a deadline, and a listing is whole or an error. What was answered before is
// asked for with its validator and, where it still holds, read from the journal. A host's token goes to that host alone,
// and into no log, error or argument vector. Nothing is tried again but with a fresh token, or in smaller pages.
//
// What the client finds can be written as the webhook that tells of the same fact (CommentCreated, ReviewSubmitted,
// Changed, Completed), so that one decoder reads both.
package github
