// Package route says what an event means and who may ask for it: deliver it to a session, start one, close some, carry out
// a command, or drop it, always with a reason.
//
// It is pure: the same event, facts and policy give the same decision, whenever and however often they are asked. Refs
// names the work items that an event concerns, so that the caller can look up what is known of them; Decide then chooses.
// Nothing that a stranger can write widens what an event may do: authority comes from the policy, which is the operator's.
package route
