// Package tmux is a small typed client of one private tmux server: the terminals that agents run in.
//
// The server is ours alone. It listens on a socket in our state folder, reads a configuration that we wrote, and outlives us; the
// person's own server and configuration are never touched. Ensure starts it, takes over one that runs, or gives one that lost its
// socket file its socket back. While a server that we recorded lives, no second one is started.
//
// # What is atomic
//
// A launch is one program in one pane. Its mark, a random number in hex, is put on the pane in the command that makes it. Every
// act on a pane names the mark (Target), and tmux itself compares it, and whether the program lives, in the command that acts: a
// check first and an act later would paste into a dead pane, which on tmux 3.3 and older ends the whole server. Where the
// comparison fails nothing is done, and the error is a *RefusedError that says what was found. A pane id that a new server gave
// out again carries no mark of ours and is refused.
//
// # What unknown means
//
// To «is it alive» there are five answers: Live, Dead, Foreign, Absent, Unknown. An error of the class ErrUnknown says that
// tmux did not answer in words that we know: it hung, the socket may not be opened, another version speaks. Then whatever was
// asked for may have happened or not, and nothing may be concluded: only Absent and Dead may lead to a new launch. The words that
// mean «absent» are a closed table; all else is unknown. Every answer must also begin with the server's pid, because tmux exits
// with 0 in some cases where it did nothing.
//
// # What goes in
//
// Nothing from outside ever stands in a tmux command: commands are made of constants, checked ids and words of a small alphabet,
// since an argument that ends in a semicolon would start another command. Text goes through standard input into a buffer of its
// own, made safe by Clean, and from there into the pane; the buffer is gone when Paste returns, unless the server did not answer.
// Keys are never sent: a viewer who only reads would stop them on tmux 3.7.
//
// # Who ends what
//
// Closing nothing is the rule: a program that ended leaves its pane, its exit and its history until RemoveSession, or until Respawn
// puts a new program there. This package signals no program; who ends one does so by its pid and finds the pane dead. Nobody
// ends the server but the person.
//
// All methods block until tmux has answered, at most 5 seconds for a question and 10 for a change (Options.Patience), and may be called at the same
// time from anywhere. Calls that start or heal the server wait for each other, also between processes.
package tmux
